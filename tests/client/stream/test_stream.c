/* test_stream.c: libleat against a daemon that follows a script, honest or not: what comes out of
 * leat_stream_next(), what is mapped when, and what a forked child may do. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/leat.h"
#include "tests/client/shared_fake_daemon.h"
#include "tests/skip.h"

static void check_batch(const struct leat_batch *batch, uint64_t epoch, uint64_t step) {
    const struct leat_tensor *x = leat_batch_find(batch, "x");

    fake_check_batch(batch, epoch, step);
    assert_int_equal(leat_batch_n_rows(batch), 2);
    assert_int_equal(leat_batch_n_tensors(batch), 1);
    assert_ptr_equal(x, leat_batch_tensor(batch, 0));
    assert_null(leat_batch_tensor(batch, 1));
    assert_null(leat_batch_find(batch, "y"));
    assert_int_equal(x->dtype, LEAT_INT32);
    assert_string_equal(x->dtype_name, "int32");
    assert_int_equal(x->ndim, 2);
    assert_int_equal(x->shape[0], 2);
    assert_int_equal(x->shape[1], 3);
    assert_int_equal(x->strides[0], 12);
    assert_int_equal(x->strides[1], 4);
    assert_int_equal(x->size_bytes, 24);
    assert_int_equal((uintptr_t)x->data % 64, 0);
}

/* Whether some mapping of the process holds that address, and how. */
static int find_mapping(const void *address, char ret_permissions[5], char *ret_name, size_t size) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    int is_found = 0;

    while (maps && !is_found && fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        int at = 0;

        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &from, &to, ret_permissions, &at) < 3)
            continue;
        is_found = (uintptr_t)address >= from && (uintptr_t)address < to;
        if (is_found)
            (void)snprintf(ret_name, size, "%s", line + at);
    }
    if (maps)
        (void)fclose(maps);
    return is_found;
}

/* Says what the daemon does first, and counts what the client then sends to it. */
struct notes {
    uint32_t window, n_batches;
    int fails;
    uint32_t n; /* releases */
    struct leat_packet packets[8];
    uint32_t n_reached;
    uint64_t reached; /* the epoch */
    int has_bye;      /* BYE came last */
};

static void note_packets(int fd, struct notes *notes) {
    struct leat_packet packet;

    while (fake_receive(fd, &packet)) {
        notes->has_bye = packet.kind == LEAT_PACKET_BYE;
        if (packet.kind == LEAT_PACKET_RELEASE && notes->n < 8)
            notes->packets[notes->n++] = packet;
        if (packet.kind == LEAT_PACKET_REACHED) {
            notes->n_reached++;
            notes->reached = packet.batch.epoch;
        }
    }
}

static void serve_epochs(int fd, void *argument) {
    struct notes ignored = {.n = 0};

    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(4, 0, 0, FAKE_ALL_SEALS), 1, 4);
    fake_batch(fd, 1, 0, 0, 0);
    fake_batch(fd, 1, 1, 0, 1);
    fake_end(fd, 0, 0);
    fake_ring(fd, fake_memfd(4, 1, 0, FAKE_ALL_SEALS), 2, 4);
    fake_batch(fd, 2, 0, 1, 0);
    fake_batch(fd, 2, 1, 1, 1);
    fake_end(fd, 1, 1);
    note_packets(fd, argument ? argument : &ignored);
}

static void test_epochs(void **state) {
    struct notes notes = {.n = 0};
    struct fake_session session;
    struct leat_batch *batch;
    uint64_t epoch, step;

    (void)state;
    fake_session_begin(&session, 0, serve_epochs, &notes, NULL);
    assert_string_equal(leat_stream_name(session.stream), "s");
    assert_int_equal(leat_stream_n_tensors(session.stream), 1);
    assert_string_equal(leat_stream_tensor(session.stream, 0)->name, "x");
    assert_int_equal(leat_stream_tensor(session.stream, 0)->shape[1], -1);
    assert_null(leat_stream_tensor(session.stream, 1));
    assert_int_equal(leat_stream_window(session.stream), 2);
    assert_int_equal(leat_stream_digest(session.stream)[1], 2);
    for (uint64_t i = 0; i < 2; i++) {
        batch = fake_session_next(&session);
        check_batch(batch, 0, i);
        leat_stream_position_numbers(session.stream, &epoch, &step);
        assert_int_equal(step, i + 1);
        leat_batch_release(batch);
    }
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END_EPOCH);
    assert_null(batch);
    leat_stream_position_numbers(session.stream, &epoch, &step);
    assert_int_equal(epoch, 1);
    assert_int_equal(step, 0);
    for (uint64_t i = 0; i < 2; i++) {
        batch = fake_session_next(&session);
        check_batch(batch, 1, i);
        leat_batch_release(batch);
    }
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END);
    assert_int_equal(leat_stream_next(session.stream, -1, &batch), LEAT_END);
    fake_session_end(&session);
    assert_int_equal(notes.n_reached, 1); /* the daemon makes epoch 0 anyway */
    assert_int_equal(notes.reached, 1);
}

static void serve_n_steps(int fd, void *argument) {
    const struct leat_packet end = {.kind = LEAT_PACKET_END, .end = {.n_steps = 2, .is_last = 1}};

    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(4, 0, 0, FAKE_ALL_SEALS), 1, 4);
    fake_batch(fd, 1, 0, 0, 0);
    fake_batch(fd, 1, 1, 0, 1);
    fake_send(fd, &end, NULL, -1);
    fake_wait_for_end(fd);
}

/* The stream ends within an epoch: the position stays there, and the epoch's steps stay unknown. */
static void test_n_steps(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;
    uint64_t epoch, step;

    (void)state;
    leat_open_options_init(&options);
    options.n_steps = 2;
    fake_session_begin(&session, 0, serve_n_steps, NULL, &options);
    for (uint64_t i = 0; i < 2; i++)
        leat_batch_release(fake_session_next(&session));
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END);
    leat_stream_position_numbers(session.stream, &epoch, &step);
    assert_int_equal(epoch, 0);
    assert_int_equal(step, 2);
    assert_int_equal(leat_stream_n_steps(session.stream, &step), -ENODATA);
    fake_session_end(&session);
}

static void serve_notice(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_refuse(fd, LEAT_PACKET_NOTICE, -ESTALE, "the file has changed");
    fake_end(fd, 0, 1);
    fake_wait_for_end(fd);
}

static void take_notice(void *user, const char *text) {
    char *told = user;
    size_t n = strlen(told);

    (void)snprintf(told + n, 100 - n, "%s;", text);
}

/* A stream goes on behind a notice, whether the trainer wants to know of it or not. */
static void test_notice(void **state) {
    (void)state;
    for (int is_wanted = 0; is_wanted < 2; is_wanted++) {
        struct leat_open_options options;
        struct fake_session session;
        struct leat_batch *batch;
        char told[100] = "";

        leat_open_options_init(&options);
        options.on_notice = is_wanted ? take_notice : NULL;
        options.on_notice_user = told;
        fake_session_begin(&session, 0, serve_notice, NULL, &options);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END);
        assert_string_equal(told, is_wanted ? "a.csv:14:3: the file has changed;" : "");
        fake_session_end(&session);
    }
}

static void serve_copies(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 3);
    for (uint64_t i = 0; i < 100; i++)
        fake_copy(fd, 0, i);
    fake_end(fd, 0, 1);
    fake_wait_for_end(fd);
}

static void test_copies(void **state) {
    struct fake_session session;
    struct leat_batch *batch, *held[2] = {NULL, NULL};

    (void)state;
    fake_session_begin(&session, 1, serve_copies, NULL, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        batch = fake_session_next(&session);
        check_batch(batch, 0, i);
        if (held[i % 2])
            check_batch(held[i % 2], 0, i - 2);
        leat_batch_release(held[i % 2]);
        held[i % 2] = batch;
    }
    leat_batch_release(held[0]);
    leat_batch_release(held[1]);
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END);
    fake_session_end(&session);
}

/* The address that a trainer reads from lies in the read-only mapping of the ring. */
static void test_no_copy(void **state) {
    struct fake_session session;
    struct leat_batch *batch;
    char permissions[5], name[512] = "";

    (void)state;
    fake_session_begin(&session, 0, serve_epochs, NULL, NULL);
    batch = fake_session_next(&session);
    assert_true(find_mapping(leat_batch_find(batch, "x")->data, permissions, name, sizeof(name)));
    assert_string_equal(permissions, "r--s");
    assert_non_null(strstr(name, "memfd:"));
    leat_batch_release(batch);
    fake_session_end(&session);
}

static void test_window(void **state) {
    struct fake_session session;
    struct leat_batch *first, *second, *third;

    (void)state;
    fake_session_begin(&session, 0, serve_epochs, NULL, NULL);
    first = fake_session_next(&session);
    second = fake_session_next(&session);
    assert_int_equal(leat_stream_next(session.stream, -1, &third), -ENOBUFS);
    assert_non_null(strstr(leat_error_text(leat_stream_error(session.stream)),
                           "and `window` allows no more: release one first"));
    leat_batch_release(first);
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &third), LEAT_END_EPOCH);
    check_batch(second, 0, 1);
    leat_batch_release(second);
    fake_session_end(&session);
}

/* A batch outlives its stream, and the ring that was replaced. */
static void test_held_after_close(void **state) {
    struct fake_session session;
    struct leat_batch *first, *last, *none;
    const void *address;
    char permissions[5], name[512];

    (void)state;
    fake_session_begin(&session, 0, serve_epochs, NULL, NULL);
    first = fake_session_next(&session);
    leat_batch_release(fake_session_next(&session));
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &none), LEAT_END_EPOCH);
    last = fake_session_next(&session);
    check_batch(first, 0, 0);
    session.stream = leat_stream_close(session.stream);
    assert_null(session.stream);
    check_batch(first, 0, 0);
    address = leat_batch_find(first, "x")->data;
    leat_batch_release(first);
    assert_false(find_mapping(address, permissions, name, sizeof(name)));
    check_batch(last, 1, 0);
    leat_batch_release(last);
    fake_session_end(&session);
}

/* The older ring goes when the newer one is in use and nothing is held of it. */
static void test_generations(void **state) {
    struct fake_session session;
    struct leat_batch *batch, *none;
    const void *address;
    char permissions[5], name[512];

    (void)state;
    fake_session_begin(&session, 0, serve_epochs, NULL, NULL);
    batch = fake_session_next(&session);
    address = leat_batch_find(batch, "x")->data;
    leat_batch_release(batch);
    leat_batch_release(fake_session_next(&session));
    assert_true(find_mapping(address, permissions, name, sizeof(name)));
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &none), LEAT_END_EPOCH);
    batch = fake_session_next(&session);
    assert_false(find_mapping(address, permissions, name, sizeof(name)));
    leat_batch_release(batch);
    fake_session_end(&session);
}

static void serve_and_note(int fd, void *argument) {
    struct notes *notes = argument;

    fake_open(fd, notes->window);
    fake_ring(fd, fake_memfd(4, 0, 0, FAKE_ALL_SEALS), 9, 4);
    for (uint32_t i = 0; i < notes->n_batches; i++)
        fake_batch(fd, 9, i, 0, i);
    if (notes->fails)
        fake_refuse(fd, LEAT_PACKET_GOAWAY, -EIO, "a disk is gone");
    note_packets(fd, notes);
}

static void test_release_order(void **state) {
    static const uint32_t order[4] = {2, 0, 3, 1};
    struct notes notes = {.window = 4, .n_batches = 4};
    struct leat_batch *batches[4];
    struct fake_session session;

    (void)state;
    fake_session_begin(&session, 0, serve_and_note, &notes, NULL);
    for (size_t i = 0; i < 4; i++)
        batches[i] = fake_session_next(&session);
    for (size_t i = 0; i < 4; i++) {
        leat_batch_release(batches[order[i]]);
        leat_batch_release(batches[order[i]]); /* twice is once */
    }
    fake_session_end(&session);
    assert_int_equal(notes.n, 4);
    assert_true(notes.has_bye);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(notes.packets[i].batch.slot, order[i]);
        assert_int_equal(notes.packets[i].batch.step, order[i]);
        assert_int_equal(notes.packets[i].batch.generation, 9);
    }
}

/* Before a trainer waits, the daemon hears of all releases, however wide the window is. */
static void test_release_before_waiting(void **state) {
    struct notes notes = {.window = 64, .n_batches = 1};
    struct fake_session session;
    struct leat_batch *batch;

    (void)state;
    fake_session_begin(&session, 0, serve_and_note, &notes, NULL);
    leat_batch_release(fake_session_next(&session));
    assert_int_equal(leat_stream_next(session.stream, 0, &batch), -EAGAIN);
    fake_session_end(&session);
    assert_int_equal(notes.n, 1);
    assert_true(notes.has_bye);
}

/* Once no further batch is wanted, BYE alone is sent: a release would have another one made, and
 * would wait for a daemon that is stopped. */
static void test_release_at_the_end(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct notes notes = {.window = 4, .n_batches = 3, .fails = fails};
        struct leat_batch *batches[3], *none;
        struct fake_session session;

        fake_session_begin(&session, 0, serve_and_note, &notes, NULL);
        for (size_t i = 0; i < 3; i++)
            batches[i] = fake_session_next(&session);
        if (fails)
            assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &none), -EIO);
        else
            session.stream = leat_stream_close(session.stream);
        for (size_t i = 0; i < 3; i++)
            leat_batch_release(batches[i]);
        fake_session_end(&session);
        assert_int_equal(notes.n, 0);
        assert_true(notes.has_bye);
    }
}

/* The pipe tells it when to send, once the ring is there. */
static void serve_slowly(int fd, void *argument) {
    int *ends = argument; /* [0, 1]: go; [2, 3]: ready */
    char byte;

    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(1, 0, 0, FAKE_ALL_SEALS), 1, 1);
    assert_int_equal(write(ends[3], "x", 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    fake_batch(fd, 1, 0, 0, 0);
    fake_wait_for_end(fd);
}

static void test_timeouts_and_fd(void **state) {
    struct fake_session session;
    struct leat_batch *batch;
    struct pollfd item = {.events = POLLIN};
    int ends[4];
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(ends + 2), 0);
    fake_session_begin(&session, 0, serve_slowly, ends, NULL);
    item.fd = leat_stream_fd(session.stream);
    assert_int_equal(read(ends[2], &byte, 1), 1);
    assert_int_equal(leat_stream_next(session.stream, 20, &batch), -ETIMEDOUT);
    assert_null(batch);
    assert_int_equal(leat_stream_next(session.stream, 0, &batch), -EAGAIN);
    assert_int_equal(poll(&item, 1, 0), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(poll(&item, 1, FAKE_HANG_MS), 1);
    assert_int_equal(leat_stream_next(session.stream, 0, &batch), 0);
    assert_int_equal(poll(&item, 1, 0), 0);
    check_batch(batch, 0, 0);
    leat_batch_release(batch);
    fake_session_end(&session);
    for (size_t i = 0; i < 4; i++)
        (void)close(ends[i]);
}

static void test_fork(void **state) {
    struct fake_session session;
    struct leat_batch *held, *batch;
    int status = 0;
    pid_t pid;

    (void)state;
    SKIP_CASE_IF_EMULATED("qemu takes MADV_DONTFORK and children keep the mapping");
    fake_session_begin(&session, 0, serve_epochs, NULL, NULL);
    held = fake_session_next(&session);
    pid = fork();
    if (pid == 0) {
        int r = leat_stream_next(session.stream, -1, &batch);
        char permissions[5], name[512];
        int is_mapped =
            find_mapping(leat_batch_find(held, "x")->data, permissions, name, sizeof(name));

        leat_batch_release(held);
        leat_stream_close(session.stream);
        _exit(r == -EPERM && !is_mapped ? 42 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    check_batch(held, 0, 0);
    batch = fake_session_next(&session);
    check_batch(batch, 0, 1);
    leat_batch_release(batch);
    leat_batch_release(held);
    fake_session_end(&session);
}

/* Ranks see the steps congruent to theirs. */
static void serve_rank(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 4);
    fake_ring(fd, fake_memfd(16, 3, 0, FAKE_ALL_SEALS), 1, 16);
    fake_batch(fd, 1, 9, 3, 9);
    fake_batch(fd, 1, 13, 3, 13);
    fake_batch(fd, 1, 14, 3, 14);
    fake_wait_for_end(fd);
}

static void test_rank(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;
    uint64_t epoch, step;

    (void)state;
    leat_open_options_init(&options);
    options.rank = 1;
    options.world_size = 4;
    options.first_epoch = 3;
    options.first_step = 6;
    assert_int_equal(fake_session_try(&session, 0, serve_rank, NULL, &options), 0);
    leat_stream_position_numbers(session.stream, &epoch, &step);
    assert_int_equal(step, 9);
    for (uint64_t i = 9; i <= 13; i += 4) {
        batch = fake_session_next(&session);
        check_batch(batch, 3, i);
        leat_batch_release(batch);
    }
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), -EPROTO);
    fake_session_end(&session);
}

/* Steps may be left out, but none comes later than its followers. */
static void serve_gaps(int fd, void *argument) {
    uint64_t last = *(const uint64_t *)argument;

    fake_open(fd, 4);
    fake_ring(fd, fake_memfd(16, 3, 0, FAKE_ALL_SEALS), 1, 16);
    fake_batch(fd, 1, 5, 3, 5);
    fake_batch(fd, 1, 13, 3, 13);
    fake_batch(fd, 1, (uint32_t)last, 3, last);
    fake_wait_for_end(fd);
}

static void test_gaps(void **state) {
    static uint64_t wrong[] = {9, 13, 15};
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;

    (void)state;
    leat_open_options_init(&options);
    options.rank = 1;
    options.world_size = 4;
    options.first_epoch = 3;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fake_session_try(&session, 0, serve_gaps, &wrong[i], &options), 0);
        for (uint64_t step = 5; step <= 13; step += 8) {
            batch = fake_session_next(&session);
            check_batch(batch, 3, step);
            leat_batch_release(batch);
        }
        assert_int_equal(leat_stream_next(session.stream, 5000, &batch), -EPROTO);
        fake_session_end(&session);
    }
}

/* An epoch of 9 steps that began within a round may have fewer rounds than others. */
static void serve_ends(int fd, void *argument) {
    struct leat_packet end = {.kind = LEAT_PACKET_END, .end = {.epoch = 3, .n_steps = 9}};

    (void)argument;
    fake_open(fd, 4);
    fake_send(fd, &end, NULL, -1);
    end.end.epoch++;
    fake_send(fd, &end, NULL, -1);
    fake_wait_for_end(fd);
}

static void test_steps_of_whole_epochs(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;

    (void)state;
    leat_open_options_init(&options);
    options.rank = 1;
    options.world_size = 4;
    options.first_epoch = 3;
    for (options.first_step = 4; options.first_step < 9; options.first_step++) {
        uint64_t n_steps = 0;

        assert_int_equal(fake_session_try(&session, 0, serve_ends, NULL, &options), 0);
        assert_int_equal(leat_stream_n_steps(session.stream, &n_steps), -ENODATA);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END_EPOCH);
        assert_int_equal(leat_stream_n_steps(session.stream, &n_steps),
                         options.first_step % 4 == 0 ? 0 : -ENODATA);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END_EPOCH);
        assert_int_equal(leat_stream_n_steps(session.stream, &n_steps), 0);
        assert_int_equal(n_steps, 9);
        fake_session_end(&session);
    }
}

/* The digests and the seed are those of the fake daemon. */
static void test_position(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;
    uint64_t epoch, step, seed;
    uint32_t world_size;

    (void)state;
    leat_open_options_init(&options);
    options.rank = 1;
    options.world_size = 4;
    options.position = "leat1:spec=00112233445566778899aabbccddeeff:"
                       "data=00000000000000000000000000000000:seed=7:epoch=3:step=6:world=2\n";
    assert_int_equal(fake_session_try(&session, 0, serve_rank, NULL, &options), 0);
    for (uint64_t i = 0; i < 3; i++) { /* rounds of 6..9, 10..13 and 14..17 */
        assert_int_equal(leat_position_parse(leat_stream_position(session.stream), &epoch, &step,
                                             &seed, &world_size),
                         0);
        assert_int_equal(epoch, 3);
        assert_int_equal(step, 6 + 4 * i);
        assert_int_equal(seed, 0);
        assert_int_equal(world_size, 4);
        assert_non_null(strstr(leat_stream_position(session.stream), ":data=0000"));
        if (i == 2)
            break;
        batch = fake_session_next(&session);
        check_batch(batch, 3, 9 + 4 * i);
        leat_batch_release(batch);
    }
    fake_session_end(&session);
    assert_int_equal(leat_position_parse(NULL, NULL, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(leat_position_parse("leat1:", NULL, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(leat_position_parse(options.position, NULL, NULL, NULL, NULL), 0);
}

/* Of two ranks that have seen equally many batches it is the same, and the position is a part. */
static void test_fingerprint(void **state) {
    const char *wanted = "leat1:spec=01020300000000000000000000000000:"
                         "data=00000000000000000000000000000000:seed=0:epoch=3:step=6:world=4:"
                         "order=5";
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;
    const char *text;

    (void)state;
    leat_open_options_init(&options);
    options.first_epoch = 3;
    options.first_step = 6;
    options.world_size = 4;
    options.rank = 1;
    assert_int_equal(fake_session_try(&session, 0, serve_rank, NULL, &options), 0);
    assert_string_equal(leat_stream_fingerprint(session.stream), wanted);
    assert_string_equal(leat_stream_files(session.stream), FAKE_FILES);
    batch = fake_session_next(&session);
    check_batch(batch, 3, 9);
    text = leat_stream_fingerprint(session.stream);
    assert_non_null(strstr(text, ":epoch=3:step=10:world=4:order=5"));
    assert_int_equal(strncmp(text, leat_stream_position(session.stream),
                             strlen(leat_stream_position(session.stream))),
                     0);
    leat_batch_release(batch);
    fake_session_end(&session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs),
        cmocka_unit_test(test_n_steps),
        cmocka_unit_test(test_notice),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_no_copy),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_held_after_close),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_release_order),
        cmocka_unit_test(test_release_before_waiting),
        cmocka_unit_test(test_release_at_the_end),
        cmocka_unit_test(test_timeouts_and_fd),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_rank),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_steps_of_whole_epochs),
        cmocka_unit_test(test_position),
        cmocka_unit_test(test_fingerprint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
