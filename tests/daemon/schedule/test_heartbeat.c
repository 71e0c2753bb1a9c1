/* Looks at workers that are as the test says: which tasks are stalled, and when all is stuck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/syscall.h>

#include "daemon/schedule/heartbeat.h"
#include "daemon/schedule/scheduler.h"

#define N_WORKERS 3
#define SECOND    UINT64_C(1000000000)
#define TIMEOUT_S 10

static struct {
    struct leat_heartbeat heartbeat;
    struct leat_thread_state states[N_WORKERS];
    struct leat_task tasks[N_WORKERS];
    uint32_t n_submitted;
    unsigned n_asked;
} test;

static uint32_t taker; /* the last that took a task */

static void read_state(pid_t tid, struct leat_thread_state *ret_state) {
    assert_in_range(tid, 1, N_WORKERS);
    *ret_state = test.states[tid - 1];
    test.n_asked++;
}

static int begin(void **state) {
    (void)state;
    memset(&test, 0, sizeof(test));
    taker = 0;
    if (leat_heartbeat_init(&test.heartbeat, N_WORKERS, TIMEOUT_S * SECOND) < 0)
        return -1;
    test.heartbeat.read = read_state;
    for (int i = 0; i < N_WORKERS; i++)
        test.heartbeat.pulses[i].tid = i + 1;
    return 0;
}

static int end(void **state) {
    (void)state;
    leat_heartbeat_deinit(&test.heartbeat);
    return 0;
}

static void take(uint32_t number) {
    leat_heartbeat_begin(&test.heartbeat, number, &test.tasks[number]);
    test.n_submitted++;
    taker = number;
}

static void give(uint32_t number) {
    leat_heartbeat_end(&test.heartbeat, number);
    test.n_submitted--;
}

static void look(unsigned n_seconds) {
    for (unsigned i = 0; i < n_seconds; i++)
        leat_heartbeat_check(&test.heartbeat, SECOND, test.n_submitted);
}

static void is_as(char letter, int64_t call) {
    test.states[taker].letter = letter;
    test.states[taker].call = call;
}

static void test_short_tasks(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        take(0);
        look(4);
        give(0);
        look(i % 3 == 0);
    }
    assert_int_equal(test.heartbeat.n_stalled, 0);
    assert_false(test.heartbeat.is_stuck);
    assert_int_equal(test.n_asked, 0); /* the kernel is left alone */
}

/* A task is as old as the looks that saw it; one that begins in time is another one. */
static void test_stalled(void **state) {
    (void)state;
    take(1);
    is_as('R', -1);
    look(TIMEOUT_S);
    assert_int_equal(test.heartbeat.n_stalled, 0);
    look(1);
    assert_int_equal(test.heartbeat.n_stalled, 1);
    assert_ptr_equal(test.heartbeat.views[1].task, &test.tasks[1]);
    assert_int_equal(test.heartbeat.views[1].age_ns, TIMEOUT_S * SECOND);
    give(1);
    take(1);
    look(1);
    assert_int_equal(test.heartbeat.n_stalled, 0);
    assert_null(test.heartbeat.views[1].task);
}

/* However long: what a restart does not cure is stalled, and not stuck. */
static void test_waits_that_are_right(void **state) {
    static const struct {
        char letter;
        int64_t call;
        enum leat_thread_wait wait;
    } waits[] = {{'R', -1, LEAT_THREAD_COMPUTES},
                 {'D', SYS_read, LEAT_THREAD_STORAGE},
                 {'S', SYS_read, LEAT_THREAD_OTHERS},
                 {'S', -1, LEAT_THREAD_OTHERS}};

    (void)state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        take(0);
        is_as(waits[i].letter, waits[i].call);
        look(100 * TIMEOUT_S);
        assert_int_equal(test.heartbeat.n_stalled, 1);
        assert_int_equal(test.heartbeat.views[0].wait, waits[i].wait);
        assert_false(test.heartbeat.is_stuck);
        give(0);
    }
}

static void test_waits_that_are_not(void **state) {
    static const struct {
        char letter;
        int64_t call;
    } waits[] = {{'T', SYS_read}, {'t', -1}, {'Z', -1}, {0, -1}, {'S', SYS_futex}};

    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        take(2);
        is_as(waits[i].letter, waits[i].call);
        look(TIMEOUT_S);
        assert_false(test.heartbeat.is_stuck);
        look(1);
        assert_true(test.heartbeat.is_stuck);
        (void)end(state);
        (void)begin(state);
    }
}

/* Who runs now and then waits for no lock for ever. */
static void test_lock_that_is_given_back(void **state) {
    (void)state;
    take(0);
    is_as('S', SYS_futex);
    for (int i = 0; i < 100; i++) {
        look(TIMEOUT_S / 2 - 1);
        test.states[0].cpu_ticks++;
    }
    assert_int_equal(test.heartbeat.n_stalled, 1);
    assert_false(test.heartbeat.is_stuck);
}

/* Who waits for storage may have the lock that others wait for. */
static void test_lock_behind_storage(void **state) {
    (void)state;
    take(0);
    is_as('D', SYS_read);
    take(1);
    is_as('S', SYS_futex);
    look(10 * TIMEOUT_S);
    assert_int_equal(test.heartbeat.n_stalled, 2);
    assert_false(test.heartbeat.is_stuck);
    give(0);
    look(1);
    assert_true(test.heartbeat.is_stuck);
}

/* A process that was stopped as a whole, or a machine that slept, has not aged its tasks. */
static void test_pause_of_all(void **state) {
    (void)state;
    take(0);
    is_as('S', SYS_futex);
    look(1);
    leat_heartbeat_check(&test.heartbeat, 3600 * SECOND, test.n_submitted);
    assert_int_equal(test.heartbeat.views[0].age_ns, LEAT_HEARTBEAT_LOOK_NS);
    assert_int_equal(test.heartbeat.n_stalled, 0);
}

static void test_nobody_takes_work(void **state) {
    (void)state;
    test.n_submitted = 1;
    look(TIMEOUT_S - 1);
    take(0); /* that is progress */
    give(0);
    look(TIMEOUT_S);
    assert_false(test.heartbeat.is_stuck);
    look(1);
    assert_true(test.heartbeat.is_stuck);
}

/* All workers have a task: what lies in the pool waits for them, and that is that. */
static void test_all_have_work(void **state) {
    (void)state;
    for (uint32_t i = 0; i < N_WORKERS; i++) {
        take(i);
        is_as('R', -1);
    }
    test.n_submitted += 5;
    look(20 * TIMEOUT_S);
    assert_int_equal(test.heartbeat.n_stalled, N_WORKERS);
    assert_false(test.heartbeat.is_stuck);
}

static void test_off(void **state) {
    (void)state;
    test.heartbeat.timeout_ns = 0;
    take(0);
    is_as('T', -1);
    look(1000);
    assert_int_equal(test.heartbeat.n_stalled, 0);
    assert_false(test.heartbeat.is_stuck);
    test.heartbeat.timeout_ns = TIMEOUT_S * SECOND;
    look(TIMEOUT_S);
    look(1);
    assert_int_equal(test.heartbeat.n_stalled, 1);
    test.heartbeat.timeout_ns = 0; /* what was stalled is not told of any more: it may end */
    look(1);
    assert_int_equal(test.heartbeat.n_stalled, 0);
    assert_null(test.heartbeat.views[0].task);
    leat_heartbeat_begin(NULL, 0, &test.tasks[0]);
    leat_heartbeat_end(NULL, 0);
    leat_heartbeat_begin(&test.heartbeat, N_WORKERS + 7, &test.tasks[0]); /* none of ours */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_tasks, begin, end),
        cmocka_unit_test_setup_teardown(test_stalled, begin, end),
        cmocka_unit_test_setup_teardown(test_waits_that_are_right, begin, end),
        cmocka_unit_test_setup_teardown(test_waits_that_are_not, begin, end),
        cmocka_unit_test_setup_teardown(test_lock_that_is_given_back, begin, end),
        cmocka_unit_test_setup_teardown(test_lock_behind_storage, begin, end),
        cmocka_unit_test_setup_teardown(test_pause_of_all, begin, end),
        cmocka_unit_test_setup_teardown(test_nobody_takes_work, begin, end),
        cmocka_unit_test_setup_teardown(test_all_have_work, begin, end),
        cmocka_unit_test_setup_teardown(test_off, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
