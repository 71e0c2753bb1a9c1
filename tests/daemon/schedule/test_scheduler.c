/* test_scheduler.c: which task runs when, seen through tasks that wait for the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/schedule/scheduler.h"

#define SECOND    UINT64_C(1000000000)
#define MS        UINT64_C(1000000)
#define MAX_TASKS 2000
#define N_USERS   3
#define N_QUEUES  4
#define N_OWNERS  4

struct test_task {
    struct leat_task task;
    unsigned owner, nap_ms;
    uint64_t task_ns;
    uv_sem_t *waits_for; /* NULL: nothing */
};

/* Owner: loop, but for the counters. */
static struct {
    uv_loop_t loop;
    struct leat_scheduler scheduler;
    struct leat_task_user users[N_USERS];
    struct leat_task_queue queues[N_USERS][N_QUEUES];
    struct test_task tasks[MAX_TASKS];
    unsigned n_added, n_done, n_begun, n_done_of[N_OWNERS];
    unsigned nap_ms;            /* of the tasks that are added */
    unsigned owners[MAX_TASKS]; /* of those that went to threads, in that order */
    uint32_t n_running[LEAT_N_TASK_CLASSES], n_most[LEAT_N_TASK_CLASSES]; /* atomic */
    uint32_t n_started[LEAT_N_TASK_CLASSES], n_most_started[LEAT_N_TASK_CLASSES];
    uint64_t task_ns;  /* that a task takes by the clock of the test */
    uint64_t clock_ns; /* atomic */
} test;

static void raise_most(uint32_t *most, uint32_t n) {
    uint32_t before = __atomic_load_n(most, __ATOMIC_RELAXED);

    while (n > before &&
           !__atomic_compare_exchange_n(most, &before, n, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void work(struct leat_task *task) {
    const struct test_task *self = (const struct test_task *)task;

    raise_most(&test.n_most[task->class],
               __atomic_add_fetch(&test.n_running[task->class], 1, __ATOMIC_RELAXED));
    if (self->waits_for)
        uv_sem_wait(self->waits_for);
    uv_sleep(self->nap_ms);
    (void)__atomic_add_fetch(&test.clock_ns, self->task_ns, __ATOMIC_RELAXED);
    (void)__atomic_sub_fetch(&test.n_running[task->class], 1, __ATOMIC_RELAXED);
}

static void start(struct leat_task *task) {
    test.owners[test.n_begun++] = ((struct test_task *)task)->owner;
    test.n_started[task->class]++;
    if (test.n_started[task->class] > test.n_most_started[task->class])
        test.n_most_started[task->class] = test.n_started[task->class];
}

static void done(struct leat_task *task) {
    test.n_started[task->class]--;
    test.n_done++;
    test.n_done_of[((struct test_task *)task)->owner]++;
}

static struct test_task *add_waiting(struct leat_task_queue *queue, enum leat_task_class class,
                                     unsigned owner, uv_sem_t *waits_for) {
    struct test_task *task = &test.tasks[test.n_added++];

    task->owner = owner;
    task->nap_ms = test.nap_ms;
    task->task_ns = test.task_ns;
    task->waits_for = waits_for;
    task->task.class = class;
    task->task.start = start;
    task->task.work = work;
    task->task.done = done;
    leat_scheduler_add(&test.scheduler, queue, &task->task);
    return task;
}

static void add(struct leat_task_queue *queue, enum leat_task_class class, unsigned owner) {
    (void)add_waiting(queue, class, owner, NULL);
}

static void begin(uint32_t n_workers) {
    struct leat_error err = LEAT_ERROR_INIT;

    memset(&test, 0, sizeof(test));
    assert_int_equal(uv_loop_init(&test.loop), 0);
    assert_int_equal(leat_scheduler_init(&test.scheduler, &test.loop, n_workers, &err), 0);
    for (unsigned i = 0; i < N_USERS; i++) {
        leat_task_user_init(&test.users[i], 1);
        for (unsigned j = 0; j < N_QUEUES; j++)
            leat_task_queue_init(&test.queues[i][j], &test.users[i]);
    }
}

static uint64_t now_ns(void) {
    return __atomic_load_n(&test.clock_ns, __ATOMIC_RELAXED);
}

/* One worker, so one task after the other, and a clock that only they turn. */
static void begin_in_order(uint64_t task_ns) {
    begin(1);
    test.task_ns = task_ns;
    test.clock_ns = SECOND;
    test.scheduler.now_ns = now_ns;
}

static void end(void) {
    assert_int_equal(uv_run(&test.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(test.n_done, test.n_added);
    for (unsigned i = 0; i < LEAT_N_TASK_CLASSES; i++)
        assert_int_equal(test.n_started[i], 0);
    for (unsigned i = 0; i < N_USERS; i++)
        leat_task_user_deinit(&test.users[i]);
    leat_scheduler_stop(&test.scheduler);
    assert_int_equal(uv_run(&test.loop, UV_RUN_DEFAULT), 0);
    leat_scheduler_deinit(&test.scheduler);
    assert_int_equal(uv_loop_close(&test.loop), 0);
}

/* The same, of tasks that wait on a semaphore until all others are done. */
static void end_waiting(uv_sem_t *semaphore, unsigned n_waiting) {
    while (test.n_done < test.n_added - n_waiting)
        (void)uv_run(&test.loop, UV_RUN_ONCE);
    for (unsigned i = 0; i < n_waiting; i++)
        uv_sem_post(semaphore);
    end();
}

/* How many of the first n that went to threads were that owner's. */
static unsigned count_first(unsigned n, unsigned owner) {
    unsigned n_of = 0;

    for (unsigned i = 0; i < n; i++)
        n_of += test.owners[i] == owner;
    return n_of;
}

/* Of two users with as much weight each has half, however many queues and tasks the first has. */
static void test_users_share(void **state) {
    (void)state;
    begin_in_order(2 * MS);
    for (unsigned i = 0; i < 80; i++)
        add(&test.queues[0][i % N_QUEUES], LEAT_TASK_MAP, 0);
    for (unsigned i = 0; i < 20; i++)
        add(&test.queues[1][0], LEAT_TASK_MAP, 1);
    end();
    assert_in_range(count_first(30, 1), 14, 16);
    assert_int_equal(test.users[0].worker_ns, 80 * 2 * MS);
    assert_int_equal(test.users[1].worker_ns, 20 * 2 * MS);
}

/* What goes on counts as it goes on, what has ended as long as it took, slow tasks not at all; and
 * it is never more than all workers could have done, though there are more threads. */
static void test_busy(void **state) {
    struct test_task *tasks[3];
    uv_sem_t semaphore;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    begin(1);
    test.clock_ns = SECOND;
    test.scheduler.now_ns = now_ns;
    test.scheduler.told.at_ns = SECOND;
    for (int i = 0; i < 3; i++)
        tasks[i] = add_waiting(&test.queues[0][0],
                               i == 0   ? LEAT_TASK_MAP
                               : i == 1 ? LEAT_TASK_URGENT
                                        : LEAT_TASK_SLOW,
                               0, &semaphore);
    for (int i = 0; i < 3; i++)
        while (__atomic_load_n((uint64_t *)&tasks[i]->task.start_ns, __ATOMIC_RELAXED) == 0)
            uv_sleep(1);
    assert_int_equal(leat_scheduler_busy_ns(&test.scheduler, SECOND), 0);
    assert_int_equal(leat_scheduler_busy_ns(&test.scheduler, 2 * SECOND), SECOND);
    test.clock_ns = 2 * SECOND;
    for (int i = 0; i < 3; i++)
        uv_sem_post(&semaphore);
    end();
    assert_int_equal(test.scheduler.done_ns, 2 * SECOND);
    assert_int_equal(leat_scheduler_busy_ns(&test.scheduler, 2 * SECOND + MS), SECOND);
    begin_in_order(2 * MS);
    test.scheduler.told.at_ns = SECOND;
    for (unsigned i = 0; i < 80; i++)
        add(&test.queues[0][0], LEAT_TASK_MAP, 0);
    end();
    assert_int_equal(leat_scheduler_busy_ns(&test.scheduler, 10 * SECOND), 160 * MS);
    uv_sem_destroy(&semaphore);
}

static void test_weights(void **state) {
    (void)state;
    begin_in_order(2 * MS);
    test.users[1].share.weight = 3;
    for (unsigned i = 0; i < 80; i++)
        add(&test.queues[0][0], LEAT_TASK_MAP, 0);
    for (unsigned i = 0; i < 80; i++)
        add(&test.queues[1][0], LEAT_TASK_MAP, 1);
    end();
    assert_in_range(count_first(60, 1), 44, 46);
}

/* Of one user's runs each has its share of the time, not of the tasks. */
static void test_queues_share(void **state) {
    (void)state;
    begin_in_order(MS);
    for (unsigned i = 0; i < 60; i++)
        add(&test.queues[0][0], LEAT_TASK_MAP, 0);
    test.task_ns = 8 * MS;
    for (unsigned i = 0; i < 20; i++)
        add(&test.queues[0][1], LEAT_TASK_MAP, 1);
    end();
    assert_in_range(count_first(45, 1), 4, 6);
}

/* However much of the long kind waits, what is near to a trainer overtakes it. */
static void test_urgent_first(void **state) {
    (void)state;
    begin_in_order(MS);
    for (int i = 0; i < 50; i++)
        add(&test.queues[0][0], LEAT_TASK_MAP, 0);
    add(NULL, LEAT_TASK_URGENT, 1);
    add(NULL, LEAT_TASK_SCAN, 2);
    end();
    assert_int_equal(test.owners[0], 0);
    assert_int_equal(test.owners[1], 1);
    assert_int_equal(test.owners[2], 2);
}

/* Mapping never takes more threads than there are workers, slow work of a user half as many. */
static void test_bounds(void **state) {
    (void)state;
    for (uint32_t n_workers = 1; n_workers <= 4; n_workers++) {
        begin(n_workers);
        test.nap_ms = 1; /* so that several run at once */
        test.clock_ns = SECOND;
        test.scheduler.now_ns = now_ns; /* it stands still: nothing takes long */
        for (unsigned i = 0; i < 60; i++) {
            add(&test.queues[1][0], LEAT_TASK_SLOW, 0);
            add(&test.queues[0][0], LEAT_TASK_MAP, 1);
            add(&test.queues[0][1], LEAT_TASK_URGENT, 2);
        }
        end();
        assert_in_range(test.n_most_started[LEAT_TASK_SLOW], 1, n_workers > 1 ? n_workers / 2 : 1);
        assert_in_range(test.n_most_started[LEAT_TASK_MAP], 1, n_workers);
        assert_in_range(test.n_most[LEAT_TASK_MAP], 1, n_workers);
        assert_true(leat_scheduler_n_threads(n_workers) > test.n_most[LEAT_TASK_MAP]);
    }
}

/* Tasks of one run hold all workers. Openings do not wait for them, nor do the runs of others, nor
 * another run of the same user; more of those that hold threads there are not. */
static void test_held(void **state) {
    uv_sem_t semaphore;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    for (uint32_t n_workers = 1; n_workers <= 3; n_workers++) {
        begin(n_workers);
        for (unsigned i = 0; i < 20; i++)
            (void)add_waiting(&test.queues[0][0], LEAT_TASK_MAP, 0, &semaphore);
        add(&test.queues[0][1], LEAT_TASK_SLOW, 1);
        add(&test.queues[1][0], LEAT_TASK_SLOW, 1);
        for (unsigned i = 0; i < 10; i++) {
            add(&test.queues[1][0], LEAT_TASK_MAP, 2);
            add(&test.queues[1][0], LEAT_TASK_SCAN, 2);
            add(&test.queues[1][0], LEAT_TASK_URGENT, 2);
            add(&test.queues[0][1], LEAT_TASK_MAP, 3);
        }
        while (test.n_done < 42)
            (void)uv_run(&test.loop, UV_RUN_ONCE);
        assert_int_equal(test.n_done_of[0], 0);
        assert_in_range(test.scheduler.n_map_held, 1, n_workers);
        assert_int_equal(test.scheduler.n_submitted, n_workers);
        end_waiting(&semaphore, 20);
    }
    uv_sem_destroy(&semaphore);
}

/* Nobody can have all the threads: whatever a user's runs hold, a second and a third get on. */
static void test_one_user_cannot_take_all(void **state) {
    uv_sem_t semaphore;
    unsigned n_waiting = 0;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    begin(2);
    for (unsigned j = 0; j < N_QUEUES; j++)
        for (unsigned i = 0; i < 4; i++, n_waiting++)
            (void)add_waiting(&test.queues[0][j], i == 3 ? LEAT_TASK_SLOW : LEAT_TASK_MAP, 0,
                              &semaphore);
    for (unsigned i = 0; i < 3 * N_QUEUES; i++) {
        add(&test.queues[1][0], LEAT_TASK_MAP, 1);
        add(&test.queues[1][0], LEAT_TASK_SLOW, 1);
        add(&test.queues[2][0], LEAT_TASK_MAP, 2);
        add(&test.queues[2][0], LEAT_TASK_URGENT, 2);
    }
    end_waiting(&semaphore, n_waiting);
    assert_true(test.n_done_of[1] > 0 && test.n_done_of[2] > 0);
    uv_sem_destroy(&semaphore);
}

/* Storage hangs under an opening: others of the same user go on, and those of others. */
static void test_hung_opening(void **state) {
    uv_sem_t semaphore;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    begin(1);
    (void)add_waiting(&test.queues[0][0], LEAT_TASK_SLOW, 0, &semaphore);
    for (unsigned i = 0; i < 10; i++) {
        add(&test.queues[0][1], LEAT_TASK_SLOW, 1);
        add(&test.queues[1][0], LEAT_TASK_SLOW, 1);
    }
    end_waiting(&semaphore, 1);
    uv_sem_destroy(&semaphore);
}

/* Storage hangs under all threads of the pool: batches of others go on beside it. */
static void test_hung_pool(void **state) {
    uv_sem_t semaphore;
    unsigned n_waiting = 0;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    begin(2);
    for (unsigned i = 0; i < 8; i++, n_waiting += 2) {
        (void)add_waiting(&test.queues[0][i % N_QUEUES], LEAT_TASK_SCAN, 0, &semaphore);
        (void)add_waiting(&test.queues[0][i % N_QUEUES], LEAT_TASK_MAP, 0, &semaphore);
    }
    while (test.scheduler.n_pool_held < test.scheduler.n_threads)
        (void)uv_run(&test.loop, UV_RUN_ONCE);
    for (unsigned i = 0; i < 20; i++) {
        add(&test.queues[1][0], LEAT_TASK_URGENT, 1);
        add(&test.queues[1][0], LEAT_TASK_SCAN, 1);
        add(&test.queues[1][0], LEAT_TASK_MAP, 1);
    }
    end_waiting(&semaphore, n_waiting);
    uv_sem_destroy(&semaphore);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users_share),  cmocka_unit_test(test_weights),
        cmocka_unit_test(test_busy),         cmocka_unit_test(test_queues_share),
        cmocka_unit_test(test_urgent_first), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_held),         cmocka_unit_test(test_one_user_cannot_take_all),
        cmocka_unit_test(test_hung_pool),    cmocka_unit_test(test_hung_opening),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
