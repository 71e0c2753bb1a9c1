/* test_batch.c: batches that are written by the trainer, and calls that are woken or interrupted,
 * against a daemon that follows a script. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/leat.h"
#include "tests/client/shared_fake_daemon.h"

#define N_BATCHES 20

/* One slot, filled anew behind each release. */
static void serve_one_slot(int fd, void *argument) {
    int memfd = memfd_create("leat-fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct leat_packet packet;
    void *slot;

    (void)argument;
    fake_open(fd, 2);
    assert_int_equal(ftruncate(memfd, FAKE_SLOT_BYTES), 0);
    slot = mmap(NULL, FAKE_SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    assert_int_equal(fcntl(memfd, F_ADD_SEALS, FAKE_ALL_SEALS), 0);
    fake_ring(fd, memfd, 1, 1);
    for (uint64_t step = 0; step < N_BATCHES; step++) {
        (void)fake_fill_slot(slot, 0, step);
        fake_batch(fd, 1, 0, 0, step);
        if (!fake_receive(fd, &packet) || packet.kind != LEAT_PACKET_RELEASE)
            break;
    }
    fake_wait_for_end(fd);
    (void)munmap(slot, FAKE_SLOT_BYTES);
}

/* Whatever is written into a batch, the next one in its slot is as the daemon made it. */
static void test_writes(void **state) {
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    options.private_writes = true;
    fake_session_begin(&session, 0, serve_one_slot, NULL, &options);
    for (uint64_t step = 0; step < N_BATCHES; step++) {
        struct leat_batch *batch = fake_session_next(&session);
        const struct leat_ring *ring = leat_batch_ring(batch);
        int32_t *values = (int32_t *)(uintptr_t)leat_batch_find(batch, "x")->data;
        size_t offset = (size_t)((char *)values - (const char *)ring->memory);
        const int32_t *shared = (const void *)((const char *)ring->shared + offset);

        fake_check_batch(batch, 0, step);
        assert_ptr_not_equal(ring->memory, ring->shared);
        if (step % 3 != 1) {
            assert_int_equal(leat_batch_let_write(batch), 0);
            memset(values, 0xff, 24);
            assert_int_equal(values[5], -1);
        }
        assert_int_equal(shared[5], (int32_t)step + 5);
        leat_batch_release(batch);
    }
    fake_session_end(&session);
}

static void test_no_writes(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;

    (void)state;
    leat_open_options_init(&options);
    fake_session_begin(&session, 0, serve_one_slot, NULL, &options);
    batch = fake_session_next(&session);
    assert_int_equal(leat_batch_let_write(batch), -EROFS);
    assert_ptr_equal(leat_batch_ring(batch)->memory, leat_batch_ring(batch)->shared);
    fake_check_batch(batch, 0, 0);
    leat_batch_release(batch);
    fake_session_end(&session);
}

static void test_writes_of_a_child(void **state) {
    struct leat_open_options options;
    struct fake_session session;
    struct leat_batch *batch;
    int status = 1;
    pid_t child;

    (void)state;
    leat_open_options_init(&options);
    options.private_writes = true;
    fake_session_begin(&session, 0, serve_one_slot, NULL, &options);
    batch = fake_session_next(&session);
    assert_int_equal(leat_batch_let_write(batch), 0);
    child = fork();
    if (child == 0) {
        status = leat_batch_let_write(batch) == -EPERM ? 0 : 1;
        leat_stream_wake(session.stream);
        leat_batch_release(batch);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fake_check_batch(batch, 0, 0);
    leat_batch_release(batch);
    leat_batch_release(fake_session_next(&session));
    fake_session_end(&session);
}

static void serve_copies(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    for (uint64_t step = 0; step < N_BATCHES; step++)
        fake_copy(fd, 0, step);
    fake_wait_for_end(fd);
}

static void test_writes_into_copies(void **state) {
    struct leat_open_options options;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    fake_session_begin(&session, 1, serve_copies, NULL, &options);
    for (uint64_t step = 0; step < N_BATCHES; step++) {
        struct leat_batch *batch = fake_session_next(&session);

        fake_check_batch(batch, 0, step);
        assert_null(leat_batch_ring(batch));
        assert_int_equal(leat_batch_let_write(batch), 0);
        memset((void *)(uintptr_t)leat_batch_find(batch, "x")->data, 0xff, 24);
        leat_batch_release(batch);
    }
    fake_session_end(&session);
}

/* ---- waking ---- */

static void serve_nothing(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_wait_for_end(fd);
}

static void *wake_later(void *argument) {
    (void)usleep(50000);
    leat_stream_wake(argument);
    return NULL;
}

static void test_wake(void **state) {
    struct leat_open_options options;
    struct leat_batch *batch;
    struct fake_session session;
    pthread_t thread;

    (void)state;
    leat_open_options_init(&options);
    fake_session_begin(&session, 0, serve_nothing, NULL, &options);
    assert_int_equal(pthread_create(&thread, NULL, wake_later, session.stream), 0);
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), -EINTR);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(leat_stream_next(session.stream, 1, &batch), -ETIMEDOUT);
    leat_stream_wake(session.stream); /* before: several count as one */
    leat_stream_wake(session.stream);
    assert_int_equal(leat_stream_next(session.stream, 0, &batch), -EAGAIN);
    assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), -EINTR);
    assert_int_equal(leat_stream_next(session.stream, 1, &batch), -ETIMEDOUT);
    fake_session_end(&session);
}

static void test_a_batch_before_a_wake(void **state) {
    struct leat_open_options options;
    struct leat_batch *batch = NULL;
    struct fake_session session;

    (void)state;
    leat_open_options_init(&options);
    fake_session_begin(&session, 1, serve_copies, NULL, &options);
    leat_batch_release(fake_session_next(&session));
    leat_stream_wake(session.stream);
    while (leat_stream_next(session.stream, FAKE_HANG_MS, &batch) == -EINTR)
        ;
    assert_non_null(batch);
    fake_check_batch(batch, 0, 1);
    leat_batch_release(batch);
    fake_session_end(&session);
}

/* ---- signals while it is opened ---- */

static void serve_late(int fd, void *argument) {
    (void)argument;
    fake_greet(fd);
    (void)usleep(100000);
    leat__open_request__free_unpacked(fake_take_open(fd), NULL);
    fake_opened(fd, 2);
    fake_wait_for_end(fd);
}

static void on_alarm(int number) {
    (void)number;
}

static int count(void *user) {
    int *n_left = user;

    return --*n_left < 0;
}

static void ring_every_ms(int ms) {
    struct itimerval timer = {.it_value = {.tv_usec = ms * 1000},
                              .it_interval = {.tv_usec = ms * 1000}};

    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

static int open_under_alarms(int n_left) {
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct leat_open_options options;
    struct fake_session session = {.client = NULL};
    sigset_t alarms;
    int r;

    leat_open_options_init(&options);
    options.on_interrupt = n_left < 0 ? NULL : count;
    options.on_interrupt_user = &n_left;
    (void)sigemptyset(&alarms);
    (void)sigaddset(&alarms, SIGALRM);
    (void)pthread_sigmask(SIG_BLOCK, &alarms, NULL); /* of the daemon's thread */
    fake_daemon_start(&session.fake, 0, serve_late, NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    assert_int_equal(leat_client_new(session.fake.directory, &session.client), 0);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    ring_every_ms(5);
    r = leat_client_open(session.client, "s", &options, &session.stream);
    ring_every_ms(0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    fake_session_end(&session);
    return r;
}

static void test_interrupted_openings(void **state) {
    (void)state;
    assert_int_equal(open_under_alarms(-1), -EINTR);
    assert_int_equal(open_under_alarms(2), -EINTR);
    assert_int_equal(open_under_alarms(1000000), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_no_writes),
        cmocka_unit_test(test_writes_of_a_child),
        cmocka_unit_test(test_writes_into_copies),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_a_batch_before_a_wake),
        cmocka_unit_test(test_interrupted_openings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
