/* test_address.c: where the daemon is looked for, and what is said when it is not there. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/transport/address.h"
#include "tests/skip.h"

static char root[] = "/tmp/leat-address-XXXXXX";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

static const char *below(const char *name, char *buffer, size_t size) {
    (void)snprintf(buffer, size, "%s/%s", root, name);
    return buffer;
}

/* A socket in a folder below the root; not listening: connections are refused. */
static int make_socket(const char *folder, const char *name, int is_listening) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", root, folder);
    (void)mkdir(address.sun_path, 0755);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s/%s", root, folder, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    if (is_listening)
        assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static int try_connect(const char *address, struct leat_error *err) {
    int fd = -1;
    int r;

    *err = LEAT_ERROR_INIT;
    r = leat_address_connect(address, LEAT_SOCKET_TRAINER, SOCK_SEQPACKET, 1000, &fd, NULL, err);
    assert_int_equal(r, err->code);
    if (r == 0)
        (void)close(fd);
    return r;
}

static void test_search(void **state) {
    char path[128], file[128], other[128];
    struct leat_error err;
    int listener = make_socket("leat", "trainer.sock", 1);

    (void)state;
    (void)unsetenv("LEAT_SOCKET");
    (void)setenv("XDG_RUNTIME_DIR", root, 1);
    assert_int_equal(try_connect(NULL, &err), 0);
    (void)setenv("LEAT_SOCKET", below("nowhere", path, sizeof(path)), 1);
    assert_int_equal(try_connect(NULL, &err), -ECONNREFUSED);
    assert_non_null(strstr(err.message, "nowhere/trainer.sock"));
    (void)setenv("LEAT_SOCKET", below("leat", path, sizeof(path)), 1);
    assert_int_equal(try_connect(NULL, &err), 0);
    assert_int_equal(try_connect(below("leat/trainer.sock", file, sizeof(file)), &err), 0);
    assert_int_equal(try_connect(below("leat/copy.sock", other, sizeof(other)), &err), 0);
    (void)unsetenv("LEAT_SOCKET");
    (void)close(listener);
}

static void test_other_name(void **state) {
    struct leat_error err;
    char path[128];
    int listener = make_socket("named", "mine", 1);

    (void)state;
    assert_int_equal(try_connect(below("named/mine", path, sizeof(path)), &err), 0);
    (void)close(listener);
}

static void test_all_places_are_told(void **state) {
    struct leat_error err;

    (void)state;
    (void)unsetenv("LEAT_SOCKET");
    (void)setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
    if (access("/run/leat", F_OK) == 0)
        SKIP_CASE("/run/leat exists on this machine");
    assert_int_equal(try_connect(NULL, &err), -ECONNREFUSED);
    assert_non_null(strstr(err.message, "/nonexistent/leat/trainer.sock"));
    assert_non_null(strstr(err.message, "/run/leat/trainer.sock"));
    assert_non_null(strstr(err.message, "leatd --config"));
    assert_non_null(strstr(err.message, "LEAT_SOCKET"));
}

static void test_refused(void **state) {
    struct leat_error err;
    char path[128];
    int dead = make_socket("dead", "trainer.sock", 0);

    (void)state;
    assert_int_equal(try_connect(below("dead", path, sizeof(path)), &err), -ECONNREFUSED);
    assert_non_null(strstr(err.message, "refused"));
    (void)close(dead);
}

static void test_wrong_kind(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    char path[128];
    int fd, listener = make_socket("kind", "copy.sock", 1);

    (void)state;
    assert_int_equal(leat_address_connect(below("kind", path, sizeof(path)), LEAT_SOCKET_COPY,
                                          SOCK_STREAM, 1000, &fd, NULL, &err),
                     -EPROTOTYPE);
    (void)close(listener);
}

static void test_too_long(void **state) {
    struct leat_error err;
    char path[256];

    (void)state;
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(try_connect(path, &err), -ENAMETOOLONG);
}

/* Whoever may not connect is told which group to join, and how. */
static void test_denied(void **state) {
    char path[128];
    int status = 0, listener;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        SKIP_CASE("only root can become another user");
    listener = make_socket("locked", "trainer.sock", 1);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(below("locked/trainer.sock", path, sizeof(path)), 0660), 0);
    pid = fork();
    if (pid == 0) {
        struct leat_error err = LEAT_ERROR_INIT;
        int fd;
        int r = setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0
                    ? 1
                    : leat_address_connect(path, LEAT_SOCKET_TRAINER, SOCK_SEQPACKET, 1000, &fd,
                                           NULL, &err);

        _exit(r == -EACCES && strstr(err.message, "usermod -aG root nobody") ? 42 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 42);
    (void)close(listener);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),   cmocka_unit_test(test_other_name),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_all_places_are_told),
        cmocka_unit_test(test_denied),   cmocka_unit_test(test_wrong_kind),
        cmocka_unit_test(test_too_long),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
