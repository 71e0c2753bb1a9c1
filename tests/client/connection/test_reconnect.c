/* test_reconnect.c: libleat against a daemon that goes away at every point of the protocol, by
 * every way of going: the trainer sees every batch once and in order, what it holds stays what it
 * was, and no packet reaches a session that it does not belong to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/stream/stream.h"
#include "tests/client/shared_fake_trainer.h"

/* Takes a batch while it holds as many as it likes. */
static int take(struct fake_trainer *trainer, struct leat_batch **ret_batch) {
    uint32_t n_most = (uint32_t)leat_rng_below(&trainer->rng, FAKE_WINDOW);
    int r;

    while (trainer->n_held > n_most)
        fake_trainer_release(trainer);
    r = leat_stream_next(trainer->stream, FAKE_HANG_MS, ret_batch);
    if (r < 0)
        fail_msg("%d: %s", r, leat_error_text(leat_stream_error(trainer->stream)));
    if (r == 0)
        trainer->held[trainer->n_held++] = *ret_batch;
    return r;
}

/* All that was asked for, once and in order. */
static void expect_all(struct fake_trainer *trainer, uint64_t n_epochs, uint32_t rank,
                       uint32_t world) {
    struct leat_batch *batch;

    for (uint64_t epoch = 0; epoch < n_epochs; epoch++) {
        for (uint64_t step = rank; step < FAKE_N_STEPS; step += world) {
            assert_int_equal(take(trainer, &batch), 0);
            fake_check_batch(batch, epoch, step);
        }
        assert_int_equal(take(trainer, &batch), epoch + 1 == n_epochs ? LEAT_END : LEAT_END_EPOCH);
    }
    while (trainer->n_held > 0)
        fake_trainer_release(trainer);
}

static void run(struct fake_script *script, uint64_t seed) {
    struct leat_open_options options;
    struct fake_trainer trainer = {.script = script};

    fake_trainer_options(&trainer, &options);
    options.n_epochs = 2;
    options.world_size = 1 + (uint32_t)(seed % 2);
    options.rank = (uint32_t)(seed / 2) % options.world_size;
    assert_int_equal(fake_trainer_open(&trainer, script, &options), 0);
    trainer.rng.state = seed;
    expect_all(&trainer, 2, options.rank, options.world_size);
    assert_int_equal(trainer.n_lost, trainer.n_back);
    assert_true(trainer.n_tried >= trainer.n_back);
    fake_trainer_close(&trainer);
}

/* The first session breaks behind each number of packets, also while it is opened (but for a
 * shortage, which is an answer then), and so does the next. */
static void test_every_point(void **state) {
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++)
        for (int how = 0; how < (is_copy ? FAKE_REFUSE : FAKE_N_HOWS); how++)
            for (int first = how == FAKE_SHORTAGE ? 3 : 0; first < 18;
                 first += how == FAKE_CLOSE ? 1 : 2)
                for (int second = 0; second < 6; second += how == FAKE_CLOSE ? 2 : 5) {
                    struct fake_script script = {.is_copy = is_copy,
                                                 .n_breaks = 2,
                                                 .budgets = {first, second},
                                                 .hows = {(enum fake_how)how, (enum fake_how)how}};

                    run(&script, (uint64_t)(first * 6 + second));
                }
}

static void test_random(void **state) {
    struct leat_rng rng = {.state = 5};

    (void)state;
    for (uint64_t i = 0; i < 25; i++) {
        struct fake_script script = {.is_copy = i % 2, .n_breaks = 1 + leat_rng_below(&rng, 12)};

        for (size_t k = 0; k < script.n_breaks; k++) {
            script.budgets[k] = (int)leat_rng_below(&rng, 14) + (k == 0 ? 3 : 0);
            script.hows[k] = (enum fake_how)leat_rng_below(&rng, FAKE_N_HOWS);
        }
        run(&script, i);
    }
}

/* What was asked for in numbers is asked for less what was seen. */
static void test_n_steps(void **state) {
    (void)state;
    for (int budget = 3; budget < 14; budget++) {
        struct fake_script script = {.n_breaks = 1, .budgets = {budget}};
        struct fake_trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct leat_batch *batch;

        fake_trainer_options(&trainer, &options);
        options.n_steps = 7;
        assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
        for (uint64_t i = 0; i < 7; i++) {
            if (i == FAKE_N_STEPS)
                assert_int_equal(take(&trainer, &batch), LEAT_END_EPOCH);
            assert_int_equal(take(&trainer, &batch), 0);
            fake_check_batch(batch, i / FAKE_N_STEPS, i % FAKE_N_STEPS);
        }
        assert_int_equal(take(&trainer, &batch), LEAT_END);
        while (trainer.n_held > 0)
            fake_trainer_release(&trainer);
        fake_trainer_close(&trainer);
    }
}

/* ---- other places ---- */

static void expect_batch(struct fake_trainer *trainer, uint64_t epoch, uint64_t step) {
    struct leat_batch *batch = NULL;

    assert_int_equal(leat_stream_next(trainer->stream, FAKE_HANG_MS, &batch), 0);
    fake_check_batch(batch, epoch, step);
    leat_batch_release(batch);
}

static void expect_outcome(struct fake_trainer *trainer, int outcome) {
    struct leat_batch *batch;

    assert_int_equal(leat_stream_next(trainer->stream, FAKE_HANG_MS, &batch), outcome);
}

static void test_seek(void **state) {
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        struct fake_script script = {.is_copy = is_copy};
        struct fake_trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct leat_batch *batch;

        fake_trainer_options(&trainer, &options);
        options.reconnect_timeout_ms = is_copy ? LEAT_NO_RECONNECT : 0;
        assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
        expect_batch(&trainer, 0, 0);
        assert_int_equal(leat_stream_next(trainer.stream, FAKE_HANG_MS, &batch), 0);
        assert_int_equal(leat_stream_seek(trainer.stream, 0, 2), 0); /* where it is, and held */
        fake_check_batch(batch, 0, 1);
        leat_batch_release(batch);
        assert_int_equal(leat_stream_seek(trainer.stream, 0, 2), 0); /* where it is */
        expect_batch(&trainer, 0, 2);
        assert_int_equal(script.n_sessions, 1);
        assert_int_equal(leat_stream_seek(trainer.stream, 7, 4), 0);
        expect_batch(&trainer, 7, 4);
        expect_outcome(&trainer, LEAT_END_EPOCH);
        assert_int_equal(leat_stream_seek(trainer.stream, 8, 0), 0); /* the next epoch anyway */
        expect_batch(&trainer, 8, 0);
        assert_int_equal(script.n_sessions, 2);
        assert_int_equal(leat_stream_seek(trainer.stream, 0, 1), 0);
        assert_int_equal(leat_stream_seek(trainer.stream, 3, 1), 0); /* twice, before it began */
        expect_batch(&trainer, 3, 1);
        assert_int_equal(trainer.n_lost + trainer.n_tried + trainer.n_back, 0);
        fake_trainer_close(&trainer);
    }
}

/* What was asked for is counted on where sessions are given up, and epochs are. */
static void test_pauses_and_limits(void **state) {
    struct fake_script script = {.n_breaks = 0};
    struct fake_trainer trainer = {.script = &script};
    struct leat_open_options options;

    (void)state;
    fake_trainer_options(&trainer, &options);
    options.n_epochs = 3;
    options.n_steps = 2 + FAKE_N_STEPS;
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    expect_batch(&trainer, 0, 0);
    assert_int_equal(leat_stream_pause(trainer.stream), 0);
    assert_int_equal(leat_stream_pause(trainer.stream), 0);
    expect_batch(&trainer, 0, 1);
    assert_int_equal(leat_stream_skip_epoch(trainer.stream), 0);
    for (uint64_t i = 0; i < FAKE_N_STEPS; i++)
        expect_batch(&trainer, 1, i);
    assert_int_equal(leat_stream_skip_epoch(trainer.stream), 0);
    expect_outcome(&trainer, LEAT_END);
    fake_trainer_close(&trainer);

    options.n_steps = 0;
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    assert_int_equal(leat_stream_skip_epoch(trainer.stream), 0);
    assert_int_equal(leat_stream_skip_epoch(trainer.stream), 0);
    expect_batch(&trainer, 2, 0);
    assert_int_equal(leat_stream_skip_epoch(trainer.stream), 0);
    expect_outcome(&trainer, LEAT_END);
    fake_trainer_close(&trainer);
}

/* What was asked for is counted anew, also behind the end. */
static void test_seek_behind_the_end(void **state) {
    struct fake_script script = {.n_breaks = 3, .budgets = {INT_MAX, 6, 5}};
    struct fake_trainer trainer = {.script = &script};
    struct leat_open_options options;

    (void)state;
    fake_trainer_options(&trainer, &options);
    options.n_epochs = 1;
    options.world_size = 2;
    options.rank = 1;
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        assert_int_equal(leat_stream_seek(trainer.stream, epoch, 0), 0);
        expect_batch(&trainer, epoch, 1);
        expect_batch(&trainer, epoch, 3);
        expect_outcome(&trainer, LEAT_END);
        expect_outcome(&trainer, LEAT_END);
    }
    assert_true(trainer.n_back > 0);
    fake_trainer_close(&trainer);
}

/* A session that is given up after a seek does not count the batches from before the seek. */
static void test_pause_after_a_seek(void **state) {
    struct fake_script script = {.n_breaks = 0};
    struct fake_trainer trainer = {.script = &script};
    struct leat_open_options options;

    (void)state;
    fake_trainer_options(&trainer, &options);
    options.n_steps = 3;
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    expect_batch(&trainer, 0, 0);
    expect_batch(&trainer, 0, 1);
    assert_int_equal(leat_stream_seek(trainer.stream, 4, 0), 0);
    expect_batch(&trainer, 4, 0);
    assert_int_equal(leat_stream_pause(trainer.stream), 0);
    expect_batch(&trainer, 4, 1);
    expect_batch(&trainer, 4, 2);
    expect_outcome(&trainer, LEAT_END);
    fake_trainer_close(&trainer);
}

static void test_seek_in_an_event_loop(void **state) {
    struct fake_script script = {.n_breaks = 0};
    struct fake_trainer trainer = {.script = &script};
    struct pollfd item = {.events = POLLIN};
    struct leat_open_options options;
    struct leat_batch *batch;

    (void)state;
    fake_trainer_options(&trainer, &options);
    assert_int_equal(fake_trainer_open(&trainer, &script, &options), 0);
    item.fd = leat_stream_fd(trainer.stream);
    expect_batch(&trainer, 0, 0);
    assert_int_equal(leat_stream_seek(trainer.stream, 2, 0), 0);
    do
        assert_int_equal(poll(&item, 1, FAKE_HANG_MS), 1);
    while (leat_stream_next(trainer.stream, 0, &batch) == -EAGAIN);
    fake_check_batch(batch, 2, 0);
    leat_batch_release(batch);
    fake_trainer_close(&trainer);
}

/* ---- many ---- */

static size_t count_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(folder))
        n++;
    (void)closedir(folder);
    return n;
}

static void serve_one_batch(int fd, void *argument) {
    Leat__OpenRequest *request;

    (void)argument;
    fake_greet(fd);
    request = fake_take_open(fd);
    fake_opened(fd, 1);
    fake_ring(fd, fake_memfd(1, 0, request->start->step, FAKE_ALL_SEALS), 1, 1);
    fake_batch(fd, 1, 0, 0, request->start->step);
    leat__open_request__free_unpacked(request, NULL);
}

static void test_ten_thousand(void **state) {
    struct leat_client *client;
    struct leat_stream *stream;
    struct fake_daemon fake;
    size_t n_fds = 0, n_bytes = 0;

    (void)state;
    fake_daemon_start(&fake, 0, serve_one_batch, NULL);
    assert_int_equal(leat_client_new(fake.directory, &client), 0);
    assert_int_equal(leat_client_open(client, "s", NULL, &stream), 0);
    assert_true(leat_stream_fd(stream) >= 0);
    for (uint64_t i = 0; i < 10000; i++) {
        struct leat_batch *batch;
        int r = leat_stream_next(stream, FAKE_HANG_MS, &batch);

        if (r < 0)
            fail_msg("%d: %s", r, leat_error_text(leat_stream_error(stream)));
        fake_check_batch(batch, 0, i);
        leat_batch_release(batch);
        if (i == 100) {
            n_fds = count_fds();
            n_bytes = mallinfo2().uordblks;
        }
    }
    assert_true(count_fds() <= n_fds + 2);
    assert_true(mallinfo2().uordblks <= n_bytes + (256 << 10));
    leat_stream_close(stream);
    leat_client_free(client);
    fake_daemon_stop(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_point),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_n_steps),
        cmocka_unit_test(test_seek),
        cmocka_unit_test(test_pauses_and_limits),
        cmocka_unit_test(test_seek_behind_the_end),
        cmocka_unit_test(test_pause_after_a_seek),
        cmocka_unit_test(test_seek_in_an_event_loop),
        cmocka_unit_test(test_ten_thousand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
