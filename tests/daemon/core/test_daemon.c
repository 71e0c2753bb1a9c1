/* test_daemon.c: many trainers at once, the limits of what they may take, and the daemon's end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/clock.h"

#include "tests/daemon/shared_daemon.h"

#define N_TRAINERS 12

static void expect_error(int fd, const char *says) {
    char text[1024] = "";

    if (!test_expect_error(fd, text, sizeof(text)) || !strstr(text, says))
        fail_msg("expected \"%s\", got \"%s\"", says, text);
    (void)close(fd);
}

static bool has_sessions(const Leat__StatusReply *status, uint64_t n) {
    return status->n_sessions == n;
}

/* Each at its own pace; each sees all steps in order. */
static void test_several(void **state) {
    struct test_daemon server;
    int fds[N_TRAINERS];
    uint64_t steps[N_TRAINERS] = {0};

    (void)state;
    test_daemon_start(&server, 400, "");
    for (int i = 0; i < N_TRAINERS; i++)
        fds[i] = test_open(&server, "numbers", (uint32_t)i + 1, 1);
    for (int turn = 0; turn < 100; turn++) {
        for (int i = 0; i < N_TRAINERS; i++) {
            for (int j = 0; j <= i % 3 && steps[i] < 100; j++) {
                struct leat_packet batch = test_next_batch(fds[i]);

                assert_int_equal(batch.batch.step, steps[i]++);
                test_release(fds[i], &batch);
            }
        }
    }
    for (int i = 0; i < N_TRAINERS; i++) {
        assert_int_equal(steps[i], 100);
        (void)close(fds[i]);
    }
    test_daemon_wait_idle(&server);
    test_daemon_stop(&server);
}

static void test_limits(void **state) {
    struct test_daemon server;
    int fds[3];

    (void)state;
    test_daemon_start(&server, 40, "max_user_sessions: 3\nmax_sessions: 5\n");
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            fds[i] = test_welcome(&server);
        expect_error(test_connect(&server, "trainer.sock", SOCK_SEQPACKET), "max_user_sessions");
        for (int i = 0; i < 3; i++)
            (void)close(fds[i]);
        test_daemon_wait_idle(&server);
    }
    test_daemon_stop(&server);
}

/* SIGTERM and SIGINT: told, closed, ended, whatever the trainers do. */
static void test_signals(void **state) {
    static const int numbers[] = {SIGTERM, SIGINT};
    struct test_daemon server;

    (void)state;
    for (int i = 0; i < 2; i++) {
        int fds[5];

        test_daemon_start(&server, 40, "");
        fds[0] = test_connect(&server, "trainer.sock", SOCK_SEQPACKET);
        fds[1] = test_welcome(&server);
        fds[2] = test_open(&server, "numbers", 2, 0);
        fds[3] = test_open(&server, "lists", 2, 0);
        (void)test_next_batch(fds[3]);
        fds[4] = test_connect(&server, "control.sock", SOCK_STREAM);
        test_daemon_wait(&server, has_sessions, 4, "the daemon has seen all of them");
        assert_int_equal(kill(getpid(), numbers[i]), 0);
        test_daemon_join(&server);
        for (int j = 0; j < 4; j++)
            expect_error(fds[j], "shutting down");
        (void)close(fds[4]);
    }
}

static int send_drain(const struct test_daemon *server, unsigned timeout_s) {
    uint8_t request[] = {8, 0, 0, 0, 0x08, 1, 0x3a, 4, 0x08, 0, 0, 0};
    unsigned timeout_ms = timeout_s * 1000;
    int fd = test_connect(server, "control.sock", SOCK_STREAM);

    request[9] = (uint8_t)(timeout_ms & 0x7f) | 0x80;
    request[10] = (uint8_t)(timeout_ms >> 7 & 0x7f) | 0x80;
    request[11] = (uint8_t)(timeout_ms >> 14);
    assert_int_equal(send(fd, request, sizeof(request), 0), sizeof(request));
    return fd;
}

/* Who holds batches may give them back first; nobody new is let in meanwhile. */
static void test_drain(void **state) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packet, batch, hello = test_hello(), bye = {.kind = LEAT_PACKET_BYE};
    struct test_daemon server;
    struct pollfd control = {.events = POLLIN};
    int fd, other;

    (void)state;
    test_daemon_start(&server, 40, "");
    fd = test_open(&server, "numbers", 1, 0);
    batch = test_next_batch(fd);
    control.fd = send_drain(&server, TEST_HANG_S);
    while (test_receive(fd, &packet, payload, NULL) != LEAT_PACKET_GOAWAY)
        ;
    other = test_connect(&server, "trainer.sock", SOCK_SEQPACKET);
    test_send(other, &hello, NULL);
    expect_error(other, "draining");
    assert_int_equal(poll(&control, 1, 0), 0);
    test_release(fd, &batch);
    test_send(fd, &bye, NULL);
    test_daemon_join(&server);
    assert_int_equal(poll(&control, 1, 0), 1);
    assert_true(recv(control.fd, payload, sizeof(payload), 0) > 4); /* done */
    (void)close(control.fd);
    (void)close(fd);
}

/* Not before its time, and then whatever is held. */
static void test_drain_timeout(void **state) {
    uint64_t start_ns;
    struct test_daemon server;
    int fd, control;

    (void)state;
    test_daemon_start(&server, 40, "");
    fd = test_open(&server, "numbers", 1, 0);
    (void)test_next_batch(fd);
    start_ns = leat_now_ns();
    control = send_drain(&server, 1);
    test_daemon_join(&server);
    assert_true(leat_now_ns() - start_ns >= UINT64_C(1000000000));
    (void)close(control);
    (void)close(fd);
}

/* What is not logged does not use up the lines of what is. */
static void test_log_quota(void **state) {
    struct test_daemon server;
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH};
    char *log;
    int fd;

    (void)state;
    test_daemon_start(&server, 40, "");
    for (int i = 0; i < 30; i++)
        (void)close(test_open(&server, "numbers", 1, 1));
    fd = test_connect(&server, "trainer.sock", SOCK_SEQPACKET);
    test_send(fd, &packet, NULL);
    expect_error(fd, "not expected");
    log = test_daemon_log(&server);
    assert_non_null(strstr(log, "event=bad-client"));
    free(log);
    test_daemon_stop(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several),       cmocka_unit_test(test_limits),
        cmocka_unit_test(test_signals),       cmocka_unit_test(test_drain),
        cmocka_unit_test(test_drain_timeout), cmocka_unit_test(test_log_quota),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
