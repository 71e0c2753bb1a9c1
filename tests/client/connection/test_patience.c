/* test_patience.c: how long libleat tries to come back: what no restart cures is told at once, what
 * one may cure is waited for as long as was said. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/leat.h"
#include "tests/client/shared_fake_trainer.h"

/* ---- what no restart cures ---- */

struct verdict {
    int n_sessions;
    int code; /* of the second session's refusal; 0: its OPENED is another one */
};

static void serve_verdict(int fd, void *argument) {
    struct verdict *verdict = argument;

    if (verdict->n_sessions++ == 0) {
        fake_open(fd, FAKE_WINDOW);
        return;
    }
    if (verdict->code) {
        fake_greet(fd);
        fake_refuse(fd, LEAT_PACKET_REFUSE, verdict->code, "buffer_size was 10, is 20");
    } else {
        fake_open(fd, 1);
    }
    fake_wait_for_end(fd);
}

static void test_told_at_once(void **state) {
    static const int codes[] = {-ESTALE, -EACCES, -EINVAL, -ENOENT, -EPROTO, -EIO, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct verdict verdict = {.code = codes[i]};
        struct leat_client *client;
        struct leat_stream *stream;
        struct leat_batch *batch;
        struct fake_daemon fake;

        fake_daemon_start(&fake, 0, serve_verdict, &verdict);
        assert_int_equal(leat_client_new(fake.directory, &client), 0);
        assert_int_equal(leat_client_open(client, "s", NULL, &stream), 0);
        assert_int_equal(leat_stream_next(stream, FAKE_HANG_MS, &batch),
                         codes[i] ? codes[i] : -ESTALE);
        assert_non_null(strstr(leat_error_text(leat_stream_error(stream)),
                               codes[i] ? "is 20" : "now allows a window of 1"));
        assert_int_equal(leat_stream_next(stream, 0, &batch), codes[i] ? codes[i] : -ESTALE);
        leat_stream_close(stream);
        leat_client_free(client);
        fake_daemon_stop(&fake);
        assert_int_equal(verdict.n_sessions, 2);
    }
}

/* A failure of the stream is none of the connection. */
static void serve_failure(int fd, void *argument) {
    int *n_sessions = argument;

    (*n_sessions)++;
    fake_open(fd, FAKE_WINDOW);
    fake_refuse(fd, LEAT_PACKET_GOAWAY, -EIO, "the disk is full of holes");
}

static void test_failure_of_the_stream(void **state) {
    struct leat_client *client;
    struct leat_stream *stream;
    struct leat_batch *batch;
    struct fake_daemon fake;
    int n_sessions = 0;

    (void)state;
    fake_daemon_start(&fake, 0, serve_failure, &n_sessions);
    assert_int_equal(leat_client_new(fake.directory, &client), 0);
    assert_int_equal(leat_client_open(client, "s", NULL, &stream), 0);
    assert_int_equal(leat_stream_next(stream, FAKE_HANG_MS, &batch), -EIO);
    leat_stream_close(stream);
    leat_client_free(client);
    fake_daemon_stop(&fake);
    assert_int_equal(n_sessions, 1);
}

/* ---- time ---- */

static _Atomic int seconds_ahead;

/* Replaces the C library's function, for libleat too. */
int clock_gettime(clockid_t clock, struct timespec *ret_time) {
    long r = syscall(SYS_clock_gettime, clock, ret_time);

    if (clock == CLOCK_MONOTONIC)
        ret_time->tv_sec += seconds_ahead;
    return (int)r;
}

static int reset_clock(void **state) {
    (void)state;
    seconds_ahead = 0;
    return 0;
}

static uint64_t now_ms(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

/* Nobody answers any more. */
static void open_and_leave_alone(struct fake_trainer *trainer, struct fake_script *script,
                                 int32_t reconnect_timeout_ms) {
    struct leat_open_options options;
    struct leat_batch *batch;
    char path[128];

    *script = (struct fake_script){.n_breaks = FAKE_BREAKS, .budgets = {6}};
    trainer->script = script;
    fake_trainer_options(trainer, &options);
    options.reconnect_timeout_ms = reconnect_timeout_ms;
    options.on_reconnect_user = trainer;
    assert_int_equal(fake_trainer_open(trainer, script, &options), 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(leat_stream_next(trainer->stream, FAKE_HANG_MS, &batch), 0);
        fake_check_batch(batch, 0, i);
        trainer->held[i] = batch;
    }
    trainer->n_held = 2;
    (void)snprintf(path, sizeof(path), "%s/trainer.sock", trainer->fake.directory);
    assert_int_equal(unlink(path), 0);
}

/* A call ends at its own time, and what it was for is tried on. */
static void test_patience(void **state) {
    struct leat_batch *batch;
    struct fake_script script;
    struct fake_trainer trainer;
    uint64_t start_ms = now_ms();

    (void)state;
    open_and_leave_alone(&trainer, &script, FAKE_HANG_MS);
    assert_int_equal(leat_stream_next(trainer.stream, 0, &batch), -EAGAIN);
    while (trainer.n_tried < 3)
        assert_int_equal(leat_stream_next(trainer.stream, 30, &batch), -ETIMEDOUT);
    assert_true(now_ms() - start_ms >= 30);
    assert_int_equal(trainer.n_lost, 1);
    assert_int_equal(trainer.n_back, 0);
    while (trainer.n_held > 0)
        fake_trainer_release(&trainer);
    fake_trainer_close(&trainer);
}

static void test_deadline(void **state) {
    struct leat_batch *batch;
    struct fake_script script;
    struct fake_trainer trainer;
    uint64_t start_ms = now_ms();

    (void)state;
    open_and_leave_alone(&trainer, &script, 300);
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_true(now_ms() - start_ms >= 290);
    assert_non_null(strstr(leat_error_text(leat_stream_error(trainer.stream)), "epoch 0, step 2"));
    assert_non_null(strstr(leat_error_text(leat_stream_error(trainer.stream)), "trainer.sock"));
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_int_equal(trainer.n_lost, 1);
    assert_int_equal(trainer.n_back, 0);
    assert_true(trainer.n_tried >= 1);
    while (trainer.n_held > 0)
        fake_trainer_release(&trainer);
    fake_trainer_close(&trainer);
}

static void test_not_wanted(void **state) {
    struct leat_batch *batch;
    struct fake_script script;
    struct fake_trainer trainer;

    (void)state;
    open_and_leave_alone(&trainer, &script, LEAT_NO_RECONNECT);
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_int_equal(trainer.n_lost, 0);
    while (trainer.n_held > 0)
        fake_trainer_release(&trainer);
    fake_trainer_close(&trainer);
}

static void expect_batch(struct leat_stream *stream, uint64_t step) {
    struct leat_batch *batch;

    assert_int_equal(leat_stream_next(stream, FAKE_HANG_MS, &batch), 0);
    fake_check_batch(batch, 0, step);
    leat_batch_release(batch);
}

/* How long a daemon is looked for begins with the first look. */
static void test_patience_begins_with_the_look(void **state) {
    struct fake_script script = {.n_breaks = 0};
    struct fake_trainer trainer = {.script = &script};
    struct leat_open_options options;

    (void)state;
    fake_trainer_options(&trainer, &options);
    options.reconnect_timeout_ms = FAKE_HANG_MS;
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    expect_batch(trainer.stream, 0);
    assert_int_equal(leat_stream_pause(trainer.stream), 0);
    seconds_ahead = FAKE_HANG_MS / 1000 + 1; /* longer than its patience */
    expect_batch(trainer.stream, 1);
    fake_trainer_close(&trainer);
}

/* ---- a daemon that answers and goes away, again and again ---- */

#define PATIENCE_MS   100000
#define LOSS_S        30 /* passes with each loss, */
#define N_LOSSES      4  /* so many of which use up the patience */
#define MANY_SESSIONS 20

static void serve_opened(int fd, void *argument) {
    int *n_sessions = argument;

    if (++*n_sessions < MANY_SESSIONS) {
        fake_open(fd, FAKE_WINDOW);
        return;
    }
    fake_greet(fd);
    fake_refuse(fd, LEAT_PACKET_REFUSE, -ESTALE, "the patience has no end");
    fake_wait_for_end(fd);
}

static void pass_time(void *user, const struct leat_reconnect_event *event) {
    int *n_lost = user;

    if (event->kind == LEAT_RECONNECT_LOST) {
        (*n_lost)++;
        seconds_ahead += LOSS_S;
    }
}

/* All losses up to the next batch share the patience. */
static void test_answers_and_goes(void **state) {
    struct leat_open_options options;
    struct leat_client *client;
    struct leat_stream *stream;
    struct leat_batch *batch;
    struct fake_daemon fake;
    int n_sessions = 0, n_lost = 0;

    (void)state;
    leat_open_options_init(&options);
    options.reconnect_timeout_ms = PATIENCE_MS;
    options.on_reconnect = pass_time;
    options.on_reconnect_user = &n_lost;
    fake_daemon_start(&fake, 0, serve_opened, &n_sessions);
    assert_int_equal(leat_client_new(fake.directory, &client), 0);
    assert_int_equal(leat_client_open(client, "s", &options, &stream), 0);
    assert_int_equal(leat_stream_next(stream, -1, &batch), -ECONNRESET);
    assert_non_null(strstr(leat_error_text(leat_stream_error(stream)), "no daemon answered for"));
    leat_stream_close(stream);
    leat_client_free(client);
    fake_daemon_stop(&fake);
    assert_in_range(n_lost, 1, N_LOSSES);
}

/* An event loop that never waits in leat_stream_next() gets all the same there. */
static void test_event_loop(void **state) {
    (void)state;
    for (int budget = 3; budget < 16; budget++) {
        struct fake_script script = {.n_breaks = 3,
                                     .budgets = {budget, 1, 2},
                                     .hows = {FAKE_CLOSE, FAKE_REFUSE, FAKE_SHORTAGE}};
        struct fake_trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct pollfd item = {.events = POLLIN};
        uint64_t n = 0;
        int r;

        fake_trainer_options(&trainer, &options);
        options.n_epochs = 2;
        assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
        item.fd = leat_stream_fd(trainer.stream);
        do {
            struct leat_batch *batch;

            r = leat_stream_next(trainer.stream, 0, &batch);
            assert_int_equal(leat_stream_fd(trainer.stream), item.fd);
            if (r == 0)
                fake_check_batch(batch, n / FAKE_N_STEPS, n % FAKE_N_STEPS);
            n += r == 0;
            leat_batch_release(batch);
            if (r == -EAGAIN)
                assert_int_equal(poll(&item, 1, FAKE_HANG_MS), 1);
            else
                assert_true(r >= 0);
        } while (r != LEAT_END);
        assert_int_equal(n, 2 * FAKE_N_STEPS);
        fake_trainer_close(&trainer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told_at_once),
        cmocka_unit_test(test_failure_of_the_stream),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test_teardown(test_patience_begins_with_the_look, reset_clock),
        cmocka_unit_test_teardown(test_answers_and_goes, reset_clock),
        cmocka_unit_test(test_event_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
