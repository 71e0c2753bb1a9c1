/* test_rate_limit.c: connections that are allowed at given times, and floods of a real daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/net/rate_limit.h"
#include "proto/base/clock.h"
#include "tests/daemon/shared_control.h"
#include "tests/skip.h"

#define SECOND      UINT64_C(1000000000)
#define OTHER       65534
#define N_FLOOD_MAX 20000 /* by then somebody is refused */
#define PRICE       (SECOND / LEAT_RATE_PER_SECOND)

static struct leat_rate_limit limit;

static int begin(void **state) {
    (void)state;
    memset(&limit, 0, sizeof(limit));
    return 0;
}

/* So many of n connections are let in. */
static unsigned count_open(uid_t uid, unsigned n, uint64_t n_more, uint64_t now_ns) {
    unsigned n_open = 0;

    for (unsigned i = 0; i < n; i++)
        n_open += leat_rate_limit_take(&limit, uid, n_more, now_ns) == LEAT_RATE_ALLOWED;
    return n_open;
}

static void test_stock_and_pace(void **state) {
    uint64_t now = 1000 * SECOND;

    (void)state;
    assert_int_equal(count_open(7, 3 * LEAT_RATE_AT_ONCE, 0, now), LEAT_RATE_AT_ONCE);
    assert_int_equal(count_open(7, 3 * LEAT_RATE_AT_ONCE, 0, now + SECOND), LEAT_RATE_PER_SECOND);
    assert_int_equal(count_open(7, 10, 0, now + SECOND + PRICE - 1), 0);
    assert_int_equal(count_open(7, 10, 0, now + SECOND + PRICE), 1);
    now += 3600 * SECOND; /* the stock is no larger than it was */
    assert_int_equal(count_open(7, 3 * LEAT_RATE_AT_ONCE, 0, now), LEAT_RATE_AT_ONCE);
    assert_int_equal(count_open(7, 3 * LEAT_RATE_AT_ONCE, 100, now), 100);
}

/* The flood of one is nothing to others. */
static void test_users(void **state) {
    (void)state;
    assert_int_equal(count_open(1000, 100000, 0, SECOND), LEAT_RATE_AT_ONCE);
    assert_int_equal(count_open(1001, 700, 0, SECOND), 700);
    assert_int_equal(count_open(0, 700, 0, SECOND), 700);
    assert_int_equal(count_open(1000, 1, 0, SECOND), 0);
}

/* It is told at once, and then not for a while. */
static void test_told(void **state) {
    uint64_t now = SECOND;

    (void)state;
    (void)count_open(7, LEAT_RATE_AT_ONCE, 0, now);
    assert_int_equal(leat_rate_limit_take(&limit, 7, 0, now), LEAT_RATE_EXPLAINED);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(leat_rate_limit_take(&limit, 7, 0, now + 1), LEAT_RATE_REFUSED);
    now += LEAT_RATE_EXPLAIN_NS;
    (void)count_open(7, LEAT_RATE_PER_SECOND, 0, now - 1);
    assert_int_equal(leat_rate_limit_take(&limit, 7, 0, now - 1), LEAT_RATE_REFUSED);
    assert_int_equal(leat_rate_limit_take(&limit, 7, 0, now), LEAT_RATE_ALLOWED);
    assert_int_equal(leat_rate_limit_take(&limit, 7, 0, now), LEAT_RATE_EXPLAINED);
}

/* More users than the table holds, all in debt: each one more has no stock of its own. */
static void test_many_users(void **state) {
    (void)state;
    for (uid_t uid = 1; uid <= LEAT_RATE_USERS; uid++)
        assert_int_equal(count_open(uid, 2 * LEAT_RATE_AT_ONCE, 0, SECOND), LEAT_RATE_AT_ONCE);
    for (uid_t uid = 5000; uid < 6000; uid++)
        assert_int_equal(count_open(uid, 10, 0, SECOND), 0);
    assert_int_equal(count_open(6000, 10, 0, 20 * SECOND), 10);
}

static void test_opens(void **state) {
    uint64_t now = SECOND;

    (void)state;
    assert_int_equal(leat_rate_limit_next_ns(&limit, 7, 0, now), now);
    assert_int_equal(count_open(7, LEAT_RATE_AT_ONCE - 1, 0, now), LEAT_RATE_AT_ONCE - 1);
    assert_int_equal(leat_rate_limit_next_ns(&limit, 7, 0, now), now);
    assert_int_equal(count_open(7, 1, 0, now), 1);
    assert_int_equal(leat_rate_limit_next_ns(&limit, 7, 0, now), now + PRICE);
    assert_int_equal(count_open(7, 1, 0, now + PRICE - 1), 0);
    assert_int_equal(count_open(7, 1, 0, now + PRICE), 1);
}

/* ---- a daemon ---- */

static struct test_daemon server;
static int control;
static uint64_t start_ns;

static int set_up(void **state) {
    (void)state;
    start_ns = leat_now_ns();
    test_daemon_start(&server, 4000, "");
    control = test_control_connect(&server);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    (void)close(control);
    test_daemon_stop(&server);
    return 0;
}

/* On a connection that there is: a new one might be refused. */
static uint64_t ask_refused(void) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlReply *reply;
    uint64_t n;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATUS;
    request.status = &empty;
    reply = test_control_ask(control, &request);
    assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_STATUS);
    n = reply->status->n_refused;
    leat__control_reply__free_unpacked(reply, NULL);
    return n;
}

/* No more than this user may have made until now. */
static uint64_t n_allowed(void) {
    return LEAT_RATE_AT_ONCE + 256 + (leat_now_ns() - start_ns) * LEAT_RATE_PER_SECOND / SECOND + 1;
}

/* One that says nothing. Those before it have been accepted when its end comes. What it is told in
 * *ret_text: "": nothing. */
static void try_one(const char *name, int type, char *ret_text, size_t size) {
    int fd = test_connect(&server, name, type);

    ret_text[0] = '\0';
    (void)shutdown(fd, SHUT_WR);
    if (!strcmp(name, "trainer.sock")) {
        (void)test_expect_error(fd, ret_text, size);
    } else {
        Leat__ControlReply *reply = test_control_receive(fd);

        if (reply && reply->error)
            (void)snprintf(ret_text, size, "%s", reply->error->message);
        leat__control_reply__free_unpacked(reply, NULL);
    }
    (void)close(fd);
}

/* Connections that are dropped at once, then such that want to know why. Their number. */
static unsigned flood(const char *name, int type, unsigned n) {
    char text[512];

    for (unsigned i = 0; i < n; i++)
        (void)close(test_connect(&server, name, type));
    do {
        try_one(name, type, text, sizeof(text));
        assert_in_range(++n, 0, N_FLOOD_MAX);
    } while (!text[0]);
    assert_non_null(strstr(text, "this user connects too often: at most 1280 connections at once"));
    return n;
}

static void take_batches(int trainer, int n) {
    for (int i = 0; i < n; i++) {
        struct leat_packet batch = test_next_batch(trainer);

        test_release(trainer, &batch);
    }
}

/* A trainer that is there goes on. */
static void test_flood(void **state) {
    int trainer = test_open(&server, "numbers", 2, 2);
    unsigned n;
    char *log;

    (void)state;
    n = flood("trainer.sock", SOCK_SEQPACKET, 8000);
    assert_true(n - ask_refused() <= n_allowed());
    take_batches(trainer, 1000);
    (void)flood("control.sock", SOCK_STREAM, 1);
    take_batches(trainer, 1000);
    log = test_daemon_log(&server);
    assert_non_null(strstr(log, "event=refused uid="));
    free(log);
    (void)close(trainer);
}

/* Hundreds of ranks at once, of somebody else than the flood's user, are served. */
static int run_ranks(void) {
    int fds[200];

    if (setgid(OTHER) < 0 || setuid(OTHER) < 0)
        return 1;
    for (int i = 0; i < 200; i++)
        fds[i] = test_welcome(&server);
    for (int i = 0; i < 200; i++)
        (void)close(fds[i]);
    return 0;
}

static void test_others(void **state) {
    char path[128];
    int status;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        SKIP_CASE("only root can be two users");
    (void)snprintf(path, sizeof(path), "%s/trainer.sock", server.folder);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(server.folder, 0755), 0);
    (void)flood("trainer.sock", SOCK_SEQPACKET, 3000);
    pid = fork();
    if (pid == 0)
        _exit(run_ranks());
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stock_and_pace, begin),
        cmocka_unit_test_setup(test_users, begin),
        cmocka_unit_test_setup(test_told, begin),
        cmocka_unit_test_setup(test_many_users, begin),
        cmocka_unit_test_setup(test_opens, begin),
        cmocka_unit_test_setup_teardown(test_flood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
