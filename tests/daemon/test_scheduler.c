/* test_scheduler.c: which task runs when, seen through tasks that wait for the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/scheduler.h"

#define MAX_TASKS 400

struct test_task {
    struct leat_task task;
    unsigned owner;
};

/* Owner: loop, but for the counters. */
static struct {
    uv_loop_t loop;
    struct leat_scheduler scheduler;
    struct test_task tasks[MAX_TASKS];
    unsigned n_added, n_done, n_begun;
    unsigned owners[MAX_TASKS]; /* of those that went to the pool, in that order */
    uint32_t n_running[LEAT_N_TASK_CLASSES], n_most[LEAT_N_TASK_CLASSES]; /* atomic */
    uint32_t n_long, n_most_long;                                         /* atomic */
    uint32_t n_started, n_most_started; /* long tasks that are with the pool */
    unsigned nap_us;
} test;

static void raise_most(uint32_t *most, uint32_t n) {
    uint32_t before = __atomic_load_n(most, __ATOMIC_RELAXED);

    while (n > before &&
           !__atomic_compare_exchange_n(most, &before, n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static bool is_long(const struct leat_task *task) {
    return task->class == LEAT_TASK_MAP || task->class == LEAT_TASK_SLOW;
}

static void work(struct leat_task *task) {
    raise_most(&test.n_most[task->class],
               __atomic_add_fetch(&test.n_running[task->class], 1, __ATOMIC_RELAXED));
    if (is_long(task))
        raise_most(&test.n_most_long, __atomic_add_fetch(&test.n_long, 1, __ATOMIC_RELAXED));
    uv_sleep(test.nap_us / 1000);
    if (is_long(task))
        (void)__atomic_sub_fetch(&test.n_long, 1, __ATOMIC_RELAXED);
    (void)__atomic_sub_fetch(&test.n_running[task->class], 1, __ATOMIC_RELAXED);
}

static void start(struct leat_task *task) {
    test.owners[test.n_begun++] = ((struct test_task *)task)->owner;
    test.n_started += is_long(task);
    if (test.n_started > test.n_most_started)
        test.n_most_started = test.n_started;
}

static void done(struct leat_task *task) {
    test.n_started -= is_long(task);
    test.n_done++;
}

static void add(struct leat_task_queue *queue, enum leat_task_class class, unsigned owner) {
    struct test_task *task = &test.tasks[test.n_added++];

    task->owner = owner;
    task->task.class = class;
    task->task.start = start;
    task->task.work = work;
    task->task.done = done;
    leat_scheduler_add(&test.scheduler, queue, &task->task);
}

static void begin(uint32_t n_workers, unsigned nap_us) {
    memset(&test, 0, sizeof(test));
    test.nap_us = nap_us;
    assert_int_equal(uv_loop_init(&test.loop), 0);
    leat_scheduler_init(&test.scheduler, &test.loop, n_workers);
}

static void end(void) {
    assert_int_equal(uv_run(&test.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(test.n_done, test.n_added);
    leat_scheduler_deinit(&test.scheduler);
    assert_int_equal(uv_loop_close(&test.loop), 0);
}

/* One worker, so one after the other: owners take turns, each owner's own are in order. */
static void test_fair(void **state) {
    struct leat_task_queue queues[3];
    unsigned n_of[3] = {0};

    (void)state;
    begin(1, 0);
    for (unsigned i = 0; i < 3; i++)
        leat_task_queue_init(&queues[i]);
    for (unsigned i = 0; i < 3; i++) /* the first comes with many */
        for (unsigned j = 0; j < (i == 0 ? 60U : 10U); j++)
            add(&queues[i], LEAT_TASK_MAP, i);
    end();
    for (unsigned i = 0; i < 33; i++)
        n_of[test.owners[i]]++;
    assert_in_range(n_of[0], 10, 14);
    assert_in_range(n_of[1], 9, 10);
    assert_in_range(n_of[2], 9, 10);
}

/* However much of the long kind waits, what is near to a trainer overtakes it. */
static void test_urgent_first(void **state) {
    struct leat_task_queue queue;

    (void)state;
    begin(1, 1000);
    leat_task_queue_init(&queue);
    for (int i = 0; i < 50; i++)
        add(&queue, LEAT_TASK_MAP, 0);
    add(NULL, LEAT_TASK_URGENT, 1);
    add(NULL, LEAT_TASK_SCAN, 2);
    end();
    assert_int_equal(test.owners[0], 0);
    assert_int_equal(test.owners[1], 1);
    assert_int_equal(test.owners[2], 2);
}

/* Long tasks never take more threads than there are workers, slow ones no more than half. */
static void test_bounds(void **state) {
    (void)state;
    for (uint32_t n_workers = 1; n_workers <= 4; n_workers++) {
        struct leat_task_queue queue;

        begin(n_workers, 1000);
        leat_task_queue_init(&queue);
        for (unsigned i = 0; i < 60; i++) {
            add(NULL, LEAT_TASK_SLOW, 0);
            add(&queue, LEAT_TASK_MAP, 1);
            add(&queue, LEAT_TASK_URGENT, 2);
        }
        end();
        assert_in_range(test.n_most[LEAT_TASK_SLOW], 1, n_workers > 1 ? n_workers / 2 : 1);
        assert_in_range(test.n_most_long, 1, n_workers); /* one thread is left for short tasks */
        assert_in_range(test.n_most_started, test.n_most_long, n_workers);
        assert_int_equal(test.n_started, 0);
        assert_true(leat_scheduler_n_threads(n_workers) > test.n_most_long);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fair),
        cmocka_unit_test(test_urgent_first),
        cmocka_unit_test(test_bounds),
    };

    (void)setenv("UV_THREADPOOL_SIZE", "8", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
