/* test_reconnect.c: libleat against a daemon that goes away at every point of the protocol, by
 * every way of going: the trainer sees every batch once and in order, what it holds stays what it
 * was, and no packet reaches a session that it does not belong to. And what no restart cures is
 * told at once. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/leat.h"
#include "proto/rng.h"
#include "tests/client/shared_fake_daemon.h"

#define HANG_MS  120000 /* nothing that comes at all takes so long */
#define N_STEPS  5      /* of an epoch, over all ranks */
#define WINDOW   3
#define N_BREAKS 64

enum how {
    CLOSE,    /* end of file, or a reset if there is something unread */
    GOAWAY,   /* with a word that it comes back */
    REFUSE,   /* the same, where that is still possible */
    SHORTAGE, /* a refusal that passes */
    N_HOWS,
};

/* A daemon that is honest until its budget of packets is used up. Owner: its thread, until it is
 * joined. */
struct script {
    size_t n_breaks, n_sessions;
    int budgets[N_BREAKS]; /* of the first sessions; the later ones are without end */
    enum how hows[N_BREAKS];
    int left;
    bool is_copy;
    uint32_t n_held;
    struct {
        uint64_t generation;
        uint32_t slot;
    } held[WINDOW];      /* of this session */
    uint64_t generation; /* the same ones in each session */
    int n_wrong;         /* packets of another session */
};

static bool act(struct script *script) {
    return script->left-- > 0;
}

static bool take_release(struct script *script, int fd) {
    struct leat_packet packet;

    if (!fake_receive(fd, &packet) || packet.kind == LEAT_PACKET_BYE)
        return false;
    for (uint32_t i = 0; i < script->n_held; i++)
        if (packet.kind == LEAT_PACKET_RELEASE && packet.batch.slot == script->held[i].slot &&
            packet.batch.generation == script->held[i].generation) {
            script->held[i] = script->held[--script->n_held];
            return true;
        }
    script->n_wrong++;
    return false;
}

static bool send_batch(struct script *script, int fd, uint64_t epoch, uint64_t step) {
    while (script->n_held == WINDOW)
        if (!take_release(script, fd))
            return false;
    if (!act(script))
        return false;
    script->held[script->n_held].generation = script->is_copy ? 1 : script->generation;
    script->held[script->n_held++].slot = script->is_copy ? 0 : (uint32_t)step;
    if (script->is_copy)
        fake_copy(fd, epoch, step);
    else
        fake_batch(fd, script->generation, (uint32_t)step, epoch, step);
    return true;
}

static bool send_epoch(struct script *script, int fd, const Leat__OpenRequest *request,
                       uint64_t epoch, uint64_t first, uint64_t *n_sent) {
    if (!script->is_copy) {
        if (!act(script))
            return false;
        script->generation++;
        fake_ring(fd, fake_memfd(N_STEPS, epoch, 0, FAKE_ALL_SEALS), script->generation, N_STEPS);
    }
    for (uint64_t step = first; step < N_STEPS; step++) {
        if (step % request->world_size != request->rank)
            continue;
        if (!send_batch(script, fd, epoch, step))
            return false;
        (*n_sent)++;
        if (request->has_n_steps && *n_sent == request->n_steps)
            return true;
    }
    return true;
}

static void send_epochs(struct script *script, int fd, const Leat__OpenRequest *request) {
    uint64_t first = request->start->step, n_sent = 0;

    script->generation = 0;
    script->n_held = 0;
    for (uint64_t epoch = request->start->epoch;; epoch++, first = 0) {
        bool is_last;

        if (!send_epoch(script, fd, request, epoch, first, &n_sent) || !act(script))
            return;
        is_last = (request->n_epochs && epoch + 1 == request->start->epoch + request->n_epochs) ||
                  (request->has_n_steps && n_sent == request->n_steps);
        fake_end(fd, epoch, is_last);
        if (is_last) {
            fake_wait_for_end(fd);
            return;
        }
    }
}

static bool open_truly(struct script *script, int fd, Leat__OpenRequest **ret_request) {
    if (!act(script))
        return false;
    fake_greet(fd);
    if (!act(script))
        return false;
    *ret_request = fake_take_open(fd);
    if (!*ret_request || !act(script))
        return false;
    fake_opened(fd, WINDOW);
    return true;
}

static void serve(int fd, void *argument) {
    struct script *script = argument;
    size_t number = script->n_sessions++;
    bool is_broken = number < script->n_breaks, is_open;
    Leat__OpenRequest *request = NULL;

    script->left = is_broken ? script->budgets[number] : INT_MAX;
    is_open = open_truly(script, fd, &request);
    if (is_open)
        send_epochs(script, fd, request);
    if (request)
        leat__open_request__free_unpacked(request, NULL);
    if (!is_broken || script->hows[number] == CLOSE)
        return;
    if (is_open)
        fake_refuse(fd, LEAT_PACKET_GOAWAY, -ESHUTDOWN, "the daemon is draining");
    else
        fake_refuse(fd, LEAT_PACKET_REFUSE, script->hows[number] == SHORTAGE ? -EDQUOT : -ESHUTDOWN,
                    "not now");
    (void)shutdown(fd, SHUT_WR);
    fake_wait_for_end(fd);
}

/* ---- the trainer ---- */

struct trainer {
    struct fake_daemon fake;
    struct script *script;
    struct leat_client *client;
    struct leat_stream *stream;
    uint32_t n_lost, n_tried, n_back;
    char reason[256];
    uint32_t n_held;
    struct leat_batch *held[WINDOW];
    struct leat_rng rng;
};

static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct trainer *trainer = user;

    assert_int_equal(event->struct_size, sizeof(*event));
    trainer->n_lost += event->kind == LEAT_RECONNECT_LOST;
    trainer->n_tried += event->kind == LEAT_RECONNECT_TRYING;
    trainer->n_back += event->kind == LEAT_RECONNECT_BACK;
    (void)snprintf(trainer->reason, sizeof(trainer->reason), "%s", event->reason);
}

static void options_of(struct trainer *trainer, struct leat_open_options *options) {
    leat_open_options_init(options);
    options->delivery = trainer->script->is_copy ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    options->on_reconnect = on_reconnect;
    options->on_reconnect_user = trainer;
    options->reconnect_timeout_ms = HANG_MS;
    options->world_size = 1;
}

static int try_open(struct trainer *trainer, struct script *script,
                    const struct leat_open_options *options) {
    *trainer = (struct trainer){.script = script};
    fake_daemon_start(&trainer->fake, script->is_copy, serve, script);
    assert_int_equal(leat_client_new(trainer->fake.directory, &trainer->client), 0);
    return leat_client_open(trainer->client, "s", options, &trainer->stream);
}

static void close_trainer(struct trainer *trainer) {
    leat_stream_close(trainer->stream);
    leat_client_free(trainer->client);
    fake_daemon_stop(&trainer->fake);
    assert_int_equal(trainer->script->n_wrong, 0);
}

static void check_batch(const struct leat_batch *batch, uint64_t epoch, uint64_t step) {
    const struct leat_tensor *x = leat_batch_find(batch, "x");

    assert_int_equal(leat_batch_epoch(batch), epoch);
    assert_int_equal(leat_batch_step(batch), step);
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(((const int32_t *)x->data)[i], (int32_t)step + i);
}

static void release_one(struct trainer *trainer) {
    uint32_t i = (uint32_t)leat_rng_below(&trainer->rng, trainer->n_held);
    struct leat_batch *batch = trainer->held[i];

    check_batch(batch, leat_batch_epoch(batch), leat_batch_step(batch));
    leat_batch_release(batch);
    trainer->held[i] = trainer->held[--trainer->n_held];
}

/* Takes a batch while it holds as many as it likes. */
static int take(struct trainer *trainer, struct leat_batch **ret_batch) {
    uint32_t n_most = (uint32_t)leat_rng_below(&trainer->rng, WINDOW);
    int r;

    while (trainer->n_held > n_most)
        release_one(trainer);
    r = leat_stream_next(trainer->stream, HANG_MS, ret_batch);
    if (r < 0)
        fail_msg("%d: %s", r, leat_error_text(leat_stream_error(trainer->stream)));
    if (r == 0)
        trainer->held[trainer->n_held++] = *ret_batch;
    return r;
}

/* All that was asked for, once and in order. */
static void expect_all(struct trainer *trainer, uint64_t n_epochs, uint32_t rank, uint32_t world) {
    struct leat_batch *batch;

    for (uint64_t epoch = 0; epoch < n_epochs; epoch++) {
        for (uint64_t step = rank; step < N_STEPS; step += world) {
            assert_int_equal(take(trainer, &batch), 0);
            check_batch(batch, epoch, step);
        }
        assert_int_equal(take(trainer, &batch), epoch + 1 == n_epochs ? LEAT_END : LEAT_END_EPOCH);
    }
    while (trainer->n_held > 0)
        release_one(trainer);
}

static void run(struct script *script, uint64_t seed) {
    struct leat_open_options options;
    struct trainer trainer = {.script = script};

    options_of(&trainer, &options);
    options.n_epochs = 2;
    options.world_size = 1 + (uint32_t)(seed % 2);
    options.rank = (uint32_t)(seed / 2) % options.world_size;
    assert_int_equal(try_open(&trainer, script, &options), 0);
    trainer.rng.state = seed;
    expect_all(&trainer, 2, options.rank, options.world_size);
    assert_int_equal(trainer.n_lost, trainer.n_back);
    assert_true(trainer.n_tried >= trainer.n_back);
    close_trainer(&trainer);
}

/* The first session is opened, then breaks behind each number of packets, and so does the next. */
static void test_every_point(void **state) {
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++)
        for (int how = 0; how < (is_copy ? REFUSE : N_HOWS); how++)
            for (int first = 3; first < 18; first += how == CLOSE ? 1 : 2)
                for (int second = 0; second < 6; second += how == CLOSE ? 2 : 5) {
                    struct script script = {.is_copy = is_copy,
                                            .n_breaks = 2,
                                            .budgets = {first, second},
                                            .hows = {(enum how)how, (enum how)how}};

                    run(&script, (uint64_t)(first * 6 + second));
                }
}

static void test_random(void **state) {
    struct leat_rng rng = {.state = 5};

    (void)state;
    for (uint64_t i = 0; i < 25; i++) {
        struct script script = {.is_copy = i % 2, .n_breaks = 1 + leat_rng_below(&rng, 12)};

        for (size_t k = 0; k < script.n_breaks; k++) {
            script.budgets[k] = (int)leat_rng_below(&rng, 14) + (k == 0 ? 3 : 0);
            script.hows[k] = (enum how)leat_rng_below(&rng, N_HOWS);
        }
        run(&script, i);
    }
}

/* What was asked for in numbers is asked for less what was seen. */
static void test_n_steps(void **state) {
    (void)state;
    for (int budget = 3; budget < 14; budget++) {
        struct script script = {.n_breaks = 1, .budgets = {budget}};
        struct trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct leat_batch *batch;

        options_of(&trainer, &options);
        options.n_steps = 7;
        assert_int_equal(try_open(&trainer, &script, &options), 0);
        for (uint64_t i = 0; i < 7; i++) {
            if (i == N_STEPS)
                assert_int_equal(take(&trainer, &batch), LEAT_END_EPOCH);
            assert_int_equal(take(&trainer, &batch), 0);
            check_batch(batch, i / N_STEPS, i % N_STEPS);
        }
        assert_int_equal(take(&trainer, &batch), LEAT_END);
        while (trainer.n_held > 0)
            release_one(&trainer);
        close_trainer(&trainer);
    }
}

/* ---- other places ---- */

static void expect_batch(struct trainer *trainer, uint64_t epoch, uint64_t step) {
    struct leat_batch *batch = NULL;

    assert_int_equal(leat_stream_next(trainer->stream, HANG_MS, &batch), 0);
    check_batch(batch, epoch, step);
    leat_batch_release(batch);
}

static void expect_outcome(struct trainer *trainer, int outcome) {
    struct leat_batch *batch;

    assert_int_equal(leat_stream_next(trainer->stream, HANG_MS, &batch), outcome);
}

static void test_seek(void **state) {
    (void)state;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        struct script script = {.is_copy = is_copy};
        struct trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct leat_batch *batch;

        options_of(&trainer, &options);
        options.reconnect_timeout_ms = is_copy ? LEAT_NO_RECONNECT : 0;
        assert_int_equal(try_open(&trainer, &script, &options), 0);
        expect_batch(&trainer, 0, 0);
        assert_int_equal(leat_stream_next(trainer.stream, HANG_MS, &batch), 0);
        assert_int_equal(leat_stream_seek(trainer.stream, 7, 0), -EBUSY);
        assert_string_equal(leat_stream_error(trainer.stream)->message,
                            "1 batches are held: release them before another place is sought");
        assert_int_equal(leat_stream_seek(trainer.stream, 0, 2), 0); /* where it is, and held */
        check_batch(batch, 0, 1);
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
        close_trainer(&trainer);
    }
}

/* What was asked for is counted anew, also behind the end. */
static void test_seek_behind_the_end(void **state) {
    struct script script = {.n_breaks = 3, .budgets = {INT_MAX, 6, 5}};
    struct trainer trainer = {.script = &script};
    struct leat_open_options options;

    (void)state;
    options_of(&trainer, &options);
    options.n_epochs = 1;
    options.world_size = 2;
    options.rank = 1;
    assert_int_equal(try_open(&trainer, &script, &options), 0);
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        assert_int_equal(leat_stream_seek(trainer.stream, epoch, 0), 0);
        expect_batch(&trainer, epoch, 1);
        expect_batch(&trainer, epoch, 3);
        expect_outcome(&trainer, LEAT_END);
        expect_outcome(&trainer, LEAT_END);
    }
    assert_true(trainer.n_back > 0);
    close_trainer(&trainer);
}

static void test_seek_in_an_event_loop(void **state) {
    struct script script = {.n_breaks = 0};
    struct trainer trainer = {.script = &script};
    struct pollfd item = {.events = POLLIN};
    struct leat_open_options options;
    struct leat_batch *batch;

    (void)state;
    options_of(&trainer, &options);
    assert_int_equal(try_open(&trainer, &script, &options), 0);
    item.fd = leat_stream_fd(trainer.stream);
    expect_batch(&trainer, 0, 0);
    assert_int_equal(leat_stream_seek(trainer.stream, 2, 0), 0);
    do
        assert_int_equal(poll(&item, 1, HANG_MS), 1);
    while (leat_stream_next(trainer.stream, 0, &batch) == -EAGAIN);
    check_batch(batch, 2, 0);
    leat_batch_release(batch);
    close_trainer(&trainer);
}

/* ---- what no restart cures ---- */

struct verdict {
    int n_sessions;
    int code; /* of the second session's refusal; 0: its OPENED is another one */
};

static void serve_verdict(int fd, void *argument) {
    struct verdict *verdict = argument;

    if (verdict->n_sessions++ == 0) {
        fake_open(fd, WINDOW);
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
        assert_int_equal(leat_stream_next(stream, HANG_MS, &batch), codes[i] ? codes[i] : -ESTALE);
        assert_non_null(strstr(leat_error_text(leat_stream_error(stream)),
                               codes[i] ? "is 20" : "window of 1 now"));
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
    fake_open(fd, WINDOW);
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
    assert_int_equal(leat_stream_next(stream, HANG_MS, &batch), -EIO);
    leat_stream_close(stream);
    leat_client_free(client);
    fake_daemon_stop(&fake);
    assert_int_equal(n_sessions, 1);
}

/* ---- time ---- */

static uint64_t now_ms(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000U + (uint64_t)now.tv_nsec / 1000000U;
}

/* Nobody answers any more. */
static void open_and_leave_alone(struct trainer *trainer, struct script *script,
                                 int32_t reconnect_timeout_ms) {
    struct leat_open_options options;
    struct leat_batch *batch;
    char path[128];

    *script = (struct script){.n_breaks = N_BREAKS, .budgets = {6}};
    trainer->script = script;
    options_of(trainer, &options);
    options.reconnect_timeout_ms = reconnect_timeout_ms;
    options.on_reconnect_user = trainer;
    assert_int_equal(try_open(trainer, script, &options), 0);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(leat_stream_next(trainer->stream, HANG_MS, &batch), 0);
        check_batch(batch, 0, i);
        trainer->held[i] = batch;
    }
    trainer->n_held = 2;
    (void)snprintf(path, sizeof(path), "%s/trainer.sock", trainer->fake.directory);
    assert_int_equal(unlink(path), 0);
}

/* A call ends at its own time, and what it was for is tried on. */
static void test_patience(void **state) {
    struct leat_batch *batch;
    struct script script;
    struct trainer trainer;
    uint64_t start_ms = now_ms();

    (void)state;
    open_and_leave_alone(&trainer, &script, HANG_MS);
    assert_int_equal(leat_stream_next(trainer.stream, 0, &batch), -EAGAIN);
    while (trainer.n_tried < 3)
        assert_int_equal(leat_stream_next(trainer.stream, 30, &batch), -ETIMEDOUT);
    assert_true(now_ms() - start_ms >= 30);
    assert_int_equal(trainer.n_lost, 1);
    assert_int_equal(trainer.n_back, 0);
    while (trainer.n_held > 0)
        release_one(&trainer);
    close_trainer(&trainer);
}

static void test_deadline(void **state) {
    struct leat_batch *batch;
    struct script script;
    struct trainer trainer;
    uint64_t start_ms = now_ms();

    (void)state;
    open_and_leave_alone(&trainer, &script, 300);
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_true(now_ms() - start_ms >= 290);
    assert_non_null(strstr(leat_error_text(leat_stream_error(trainer.stream)), "(0, 2)"));
    assert_non_null(strstr(leat_error_text(leat_stream_error(trainer.stream)), "trainer.sock"));
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_int_equal(trainer.n_lost, 1);
    assert_int_equal(trainer.n_back, 0);
    assert_true(trainer.n_tried >= 1);
    while (trainer.n_held > 0)
        release_one(&trainer);
    close_trainer(&trainer);
}

static void test_not_wanted(void **state) {
    struct leat_batch *batch;
    struct script script;
    struct trainer trainer;

    (void)state;
    open_and_leave_alone(&trainer, &script, LEAT_NO_RECONNECT);
    assert_int_equal(leat_stream_next(trainer.stream, -1, &batch), -ECONNRESET);
    assert_int_equal(trainer.n_lost, 0);
    while (trainer.n_held > 0)
        release_one(&trainer);
    close_trainer(&trainer);
}

/* An event loop that never waits in leat_stream_next() gets all the same there. */
static void test_event_loop(void **state) {
    (void)state;
    for (int budget = 3; budget < 16; budget++) {
        struct script script = {
            .n_breaks = 3, .budgets = {budget, 1, 2}, .hows = {CLOSE, REFUSE, SHORTAGE}};
        struct trainer trainer = {.script = &script};
        struct leat_open_options options;
        struct pollfd item = {.events = POLLIN};
        uint64_t n = 0;
        int r;

        options_of(&trainer, &options);
        options.n_epochs = 2;
        assert_int_equal(try_open(&trainer, &script, &options), 0);
        item.fd = leat_stream_fd(trainer.stream);
        do {
            struct leat_batch *batch;

            r = leat_stream_next(trainer.stream, 0, &batch);
            assert_int_equal(leat_stream_fd(trainer.stream), item.fd);
            if (r == 0)
                check_batch(batch, n / N_STEPS, n % N_STEPS);
            n += r == 0;
            leat_batch_release(batch);
            if (r == -EAGAIN)
                assert_int_equal(poll(&item, 1, HANG_MS), 1);
            else
                assert_true(r >= 0);
        } while (r != LEAT_END);
        assert_int_equal(n, 2 * N_STEPS);
        close_trainer(&trainer);
    }
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
        int r = leat_stream_next(stream, HANG_MS, &batch);

        if (r < 0)
            fail_msg("%d: %s", r, leat_error_text(leat_stream_error(stream)));
        check_batch(batch, 0, i);
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
        cmocka_unit_test(test_seek_behind_the_end),
        cmocka_unit_test(test_seek_in_an_event_loop),
        cmocka_unit_test(test_told_at_once),
        cmocka_unit_test(test_failure_of_the_stream),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_not_wanted),
        cmocka_unit_test(test_event_loop),
        cmocka_unit_test(test_ten_thousand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
