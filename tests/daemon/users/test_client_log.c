/* A user who fails over and over gets ten lines and a count; others are heard all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/users/client_log.h"

#define TEXT_MAX 60000

static struct {
    struct leat_client_log client_log;
    struct leat_log log;
    int ends[2];
    char text[TEXT_MAX];
} test;

static int begin(void **state) {
    (void)state;
    memset(&test, 0, sizeof(test));
    if (pipe2(test.ends, O_NONBLOCK) < 0)
        return -1;
    leat_log_init(&test.log, test.ends[1], LEAT_LOG_TEXT, LEAT_LOG_NOTICE);
    return 0;
}

static int end(void **state) {
    (void)state;
    (void)close(test.ends[0]);
    (void)close(test.ends[1]);
    return 0;
}

static void say(uid_t uid, uint64_t now_ns) {
    leat_client_log_write(&test.client_log, &test.log, uid, now_ns, LEAT_EVENT_REFUSED,
                          (struct leat_log_field[]){LEAT_LOG_N("about", uid), LEAT_LOG_FIELDS_END});
}

/* How often that stands in what was written since the last time. */
static unsigned heard(const char *what) {
    ssize_t n = read(test.ends[0], test.text, sizeof(test.text) - 1);
    unsigned n_times = 0;

    test.text[n > 0 ? n : 0] = '\0';
    for (const char *at = test.text; (at = strstr(at, what)); at++)
        n_times++;
    return n_times;
}

static void test_one_user(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        say(7, 1000 + i);
    say(8, 1100);
    assert_int_equal(heard("event=refused about=7"), LEAT_CLIENT_LOG_LINES);
    assert_int_equal(heard("event"), 0);
    leat_client_log_tick(&test.client_log, &test.log, 1000 + LEAT_CLIENT_LOG_NS - 1);
    assert_int_equal(heard("event"), 0);
    leat_client_log_tick(&test.client_log, &test.log, 1000 + LEAT_CLIENT_LOG_NS);
    assert_int_equal(heard("event=suppressed lines=90 uid=7"), 1);
    say(7, 2000 + LEAT_CLIENT_LOG_NS);
    assert_int_equal(heard("event=refused about=7"), 1);
}

/* Without a tick in between, too. */
static void test_time_is_over(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 12; i++)
        say(7, 0);
    say(7, LEAT_CLIENT_LOG_NS);
    (void)heard("event");
    say(7, LEAT_CLIENT_LOG_NS + 1);
    assert_int_equal(heard("event=refused"), 1);
    leat_client_log_tick(&test.client_log, &test.log, 3 * LEAT_CLIENT_LOG_NS);
    assert_int_equal(heard("event=suppressed"), 0);
}

/* However many users there are, lines stay few. */
static void test_many_users(void **state) {
    unsigned n = 0;

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        say(i, 1000);
        n += heard("event=refused");
    }
    assert_int_equal(n, LEAT_CLIENT_LOG_USERS + LEAT_CLIENT_LOG_LINES);
    leat_client_log_tick(&test.client_log, &test.log, 1000 + LEAT_CLIENT_LOG_NS);
    assert_int_equal(heard("uid=-1"), 1);
    assert_non_null(strstr(test.text, "lines=4926"));
}

static void test_not_wanted(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        leat_client_log_write(&test.client_log, &test.log, 7, 1, LEAT_EVENT_OPENED,
                              (struct leat_log_field[]){LEAT_LOG_FIELDS_END});
    say(7, 2);
    assert_int_equal(heard("event="), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_user, begin, end),
        cmocka_unit_test_setup_teardown(test_time_is_over, begin, end),
        cmocka_unit_test_setup_teardown(test_many_users, begin, end),
        cmocka_unit_test_setup_teardown(test_not_wanted, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
