/* Sockets and a watchdog come from the environment as sd_listen_fds(3) and sd_watchdog_enabled(3)
 * describe it; what is meant for another process or is damaged is not taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/net/service_manager.h"

#define N_OPEN 3 /* descriptors from LEAT_PASSED_FD on */

static void set(const char *name, const char *value) {
    if (value)
        assert_int_equal(setenv(name, value, 1), 0);
    else
        assert_int_equal(unsetenv(name), 0);
}

static int take(struct leat_passed_sockets *sockets, const char *count, const char *names) {
    char pid[32];
    int r;

    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    set("LISTEN_PID", pid);
    set("LISTEN_FDS", count);
    set("LISTEN_FDNAMES", names);
    r = leat_passed_sockets_take(sockets);
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_FDNAMES"));
    return r;
}

static void test_taken(void **state) {
    struct leat_passed_sockets sockets;

    (void)state;
    assert_int_equal(take(&sockets, "3", "trainer::http"), 0);
    assert_int_equal(sockets.n, 3);
    assert_string_equal(sockets.names[0], "trainer");
    assert_string_equal(sockets.names[1], "");
    assert_string_equal(sockets.names[2], "http");
    for (int fd = LEAT_PASSED_FD; fd < LEAT_PASSED_FD + N_OPEN; fd++)
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);

    assert_int_equal(take(&sockets, "2", NULL), 0);
    assert_int_equal(sockets.n, 2);
    assert_string_equal(sockets.names[1], "unknown");
}

static void test_none(void **state) {
    struct leat_passed_sockets sockets;

    (void)state;
    assert_int_equal(take(&sockets, NULL, NULL), 0);
    assert_int_equal(sockets.n, 0);
    assert_int_equal(take(&sockets, "0", ""), 0);
    assert_int_equal(sockets.n, 0);
    set("LISTEN_FDS", "1");
    for (int i = 0; i < 3; i++) { /* they are another's */
        set("LISTEN_PID", (const char *const[]){NULL, "1", "self"}[i]);
        assert_int_equal(leat_passed_sockets_take(&sockets), 0);
        assert_int_equal(sockets.n, 0);
        set("LISTEN_FDS", "1");
    }
}

static void test_damaged(void **state) {
    static const struct {
        const char *count, *names;
        int code;
    } cases[] = {
        {"", NULL, -EINVAL},           {"-1", NULL, -EINVAL},
        {"1x", NULL, -EINVAL},         {" 1", NULL, -EINVAL},
        {"2147483647", NULL, -EINVAL}, {"99999999999999999999", NULL, -EINVAL},
        {"17", NULL, -E2BIG},          {"16", NULL, -EBADF},
        {"2", "one", -EINVAL},         {"2", "one:two:three", -EINVAL},
        {"1", "one:", -EINVAL},
    };
    struct leat_passed_sockets sockets;
    char name[LEAT_PASSED_NAME + 1];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(take(&sockets, cases[i].count, cases[i].names), cases[i].code);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(take(&sockets, "1", name), -EINVAL);
    assert_int_equal(take(&sockets, "1", name + 1), 0);
    assert_string_equal(sockets.names[0], name + 1);
}

static void test_watchdog(void **state) {
    char pid[32];

    (void)state;
    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    set("WATCHDOG_USEC", NULL);
    assert_int_equal(leat_watchdog_us(), 0);
    set("WATCHDOG_USEC", "20000000");
    assert_int_equal(leat_watchdog_us(), 20000000);
    set("WATCHDOG_PID", pid);
    assert_int_equal(leat_watchdog_us(), 20000000);
    set("WATCHDOG_PID", "1");
    assert_int_equal(leat_watchdog_us(), 0);
    set("WATCHDOG_PID", NULL);
    for (int i = 0; i < 4; i++) {
        set("WATCHDOG_USEC", (const char *const[]){"", "20 s", "-5", "18446744073709551615"}[i]);
        assert_int_equal(leat_watchdog_us(), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_watchdog),
    };
    int null = open("/dev/null", O_RDONLY);

    for (int fd = LEAT_PASSED_FD; fd < LEAT_PASSED_FD + N_OPEN; fd++)
        if (null < 0 || (fd != null && dup2(null, fd) < 0))
            return EXIT_FAILURE;
    (void)close(LEAT_PASSED_FD + 15); /* so that the last of 16 is not open */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
