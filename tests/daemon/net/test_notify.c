/* Words arrive where $NOTIFY_SOCKET says; a service manager that does not read stops nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/net/service_manager.h"

static int listen_at(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
    if (name[0] == '@')
        address.sun_path[0] = '\0';
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void test_heard(void **state) {
    char folder[] = "/tmp/leat-notify-XXXXXX", path[64], text[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int is_abstract = 0; is_abstract < 2; is_abstract++) {
        int fd;

        (void)snprintf(path, sizeof(path), "%s%s", is_abstract ? "@" : "",
                       is_abstract ? folder + 5 : folder);
        if (!is_abstract)
            (void)strcat(path, "/n");
        fd = listen_at(path);
        assert_int_equal(leat_notify("WATCHDOG=1"), 1);
        assert_int_equal(recv(fd, text, sizeof(text), 0), 10);
        assert_memory_equal(text, "WATCHDOG=1", 10);
        (void)close(fd);
        if (!is_abstract)
            (void)unlink(path);
        assert_true(leat_notify("WATCHDOG=1") < 0);
    }
    (void)rmdir(folder);
}

static void test_nobody_reads(void **state) {
    char name[64];
    int fd, r = 1;

    (void)state;
    (void)snprintf(name, sizeof(name), "@leat-notify-full-%d", (int)getpid());
    fd = listen_at(name);
    for (int i = 0; i < 100000 && r == 1; i++)
        r = leat_notify("STATUS=fine");
    assert_int_equal(r, -EAGAIN);
    (void)close(fd);
}

static void test_strange_places(void **state) {
    char name[300];

    (void)state;
    (void)unsetenv("NOTIFY_SOCKET");
    assert_int_equal(leat_notify("X=1"), 0);
    (void)setenv("NOTIFY_SOCKET", "", 1);
    assert_int_equal(leat_notify("X=1"), 0);
    (void)setenv("NOTIFY_SOCKET", "relative", 1);
    assert_int_equal(leat_notify("X=1"), -EINVAL);
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    name[0] = '/';
    (void)setenv("NOTIFY_SOCKET", name, 1);
    assert_int_equal(leat_notify("X=1"), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heard),
        cmocka_unit_test(test_nobody_reads),
        cmocka_unit_test(test_strange_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
