/* The threads of the daemon: each task is executed once and told to the loop. Of many threads, the
 * one that fell asleep last is woken first; of few, the one that has slept longest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "daemon/schedule/thread_pool.h"

#define N_TASKS   20000
#define N_THREADS 4

struct task {
    struct leat_pool_task base;
    pthread_t thread;
    unsigned n_executed, n_done, order;
    uv_sem_t *semaphore; /* that it waits for; may be NULL */
};

static struct {
    uv_loop_t loop;
    struct leat_thread_pool pool;
    struct task tasks[N_TASKS];
    pthread_t loop_thread;
    unsigned n_done;
} test;

static void work(struct leat_pool_task *base) {
    static _Atomic unsigned n;
    struct task *task = (struct task *)base;

    if (task->semaphore)
        uv_sem_wait(task->semaphore);
    task->thread = pthread_self();
    task->order = n++;
    task->n_executed++;
}

static void done(void *owner, struct leat_pool_task *base) {
    assert_ptr_equal(owner, &test);
    assert_true(pthread_equal(pthread_self(), test.loop_thread));
    ((struct task *)base)->n_done++;
    test.n_done++;
}

static void begin(uint32_t n_most, uint32_t n_threads) {
    memset(&test, 0, sizeof(test));
    test.loop_thread = pthread_self();
    assert_int_equal(uv_loop_init(&test.loop), 0);
    assert_int_equal(leat_thread_pool_init(&test.pool, &test.loop, n_most), 0);
    test.pool.owner = &test;
    test.pool.work = work;
    test.pool.done = done;
    assert_int_equal(leat_thread_pool_grow(&test.pool, n_threads), 0);
}

static void end(void) {
    leat_thread_pool_stop(&test.pool);
    (void)uv_run(&test.loop, UV_RUN_DEFAULT);
    leat_thread_pool_deinit(&test.pool);
    assert_int_equal(uv_loop_close(&test.loop), 0);
}

/* The loop runs as long as a task is out, and no longer. */
static void run(void) {
    (void)uv_run(&test.loop, UV_RUN_DEFAULT);
    assert_int_equal(test.pool.n_out, 0);
}

static void wait_until_idle(uint32_t n_threads) {
    uint32_t n;

    do {
        assert_int_equal(pthread_mutex_lock(&test.pool.lock), 0);
        n = test.pool.n_idle;
        assert_int_equal(pthread_mutex_unlock(&test.pool.lock), 0);
    } while (n < n_threads);
}

static void test_each_once(void **state) {
    (void)state;
    begin(N_THREADS, N_THREADS);
    for (unsigned i = 0; i < N_TASKS; i++) {
        leat_thread_pool_add(&test.pool, &test.tasks[i].base);
        if (i % 97 == 0)
            (void)uv_run(&test.loop, UV_RUN_NOWAIT);
    }
    run();
    for (unsigned i = 0; i < N_TASKS; i++)
        assert_true(test.tasks[i].n_executed == 1 && test.tasks[i].n_done == 1);
    assert_int_equal(test.n_done, N_TASKS);
    end();
}

static void test_first_in_first_out(void **state) {
    (void)state;
    begin(N_THREADS, 1);
    for (unsigned i = 0; i < 100; i++)
        leat_thread_pool_add(&test.pool, &test.tasks[i].base);
    run();
    for (unsigned i = 1; i < 100; i++)
        assert_int_equal(test.tasks[i].order, test.tasks[i - 1].order + 1);
    end();
}

static void run_one_by_one(uint32_t n_threads, unsigned n_tasks) {
    begin(n_threads, n_threads);
    for (unsigned i = 0; i < n_tasks; i++) {
        wait_until_idle(n_threads);
        leat_thread_pool_add(&test.pool, &test.tasks[i].base);
        run();
    }
}

/* Tasks that come one by one keep one of many threads at work, and the others asleep. */
static void test_many_threads(void **state) {
    (void)state;
    run_one_by_one(12, 50);
    for (unsigned i = 1; i < 50; i++)
        assert_true(pthread_equal(test.tasks[i].thread, test.tasks[0].thread));
    end();
}

static void test_few_threads(void **state) {
    (void)state;
    run_one_by_one(3, 30);
    for (unsigned i = 3; i < 30; i++)
        assert_true(pthread_equal(test.tasks[i].thread, test.tasks[i - 3].thread) &&
                    !pthread_equal(test.tasks[i].thread, test.tasks[i - 1].thread));
    end();
}

/* A task that is added while others hold threads finds one that is free. */
static void test_held_threads(void **state) {
    uv_sem_t semaphore;

    (void)state;
    assert_int_equal(uv_sem_init(&semaphore, 0), 0);
    begin(N_THREADS, N_THREADS);
    for (unsigned i = 0; i < N_THREADS - 1; i++) {
        test.tasks[i].semaphore = &semaphore;
        leat_thread_pool_add(&test.pool, &test.tasks[i].base);
    }
    leat_thread_pool_add(&test.pool, &test.tasks[N_THREADS].base);
    while (test.n_done == 0)
        (void)uv_run(&test.loop, UV_RUN_ONCE);
    assert_int_equal(test.tasks[N_THREADS].n_done, 1);
    for (unsigned i = 0; i < N_THREADS - 1; i++)
        uv_sem_post(&semaphore);
    run();
    assert_int_equal(test.n_done, N_THREADS);
    end();
    uv_sem_destroy(&semaphore);
}

static void test_growth(void **state) {
    (void)state;
    begin(2, 0);
    assert_int_equal(leat_thread_pool_grow(&test.pool, 1), 0);
    assert_int_equal(test.pool.n_threads, 1);
    assert_int_equal(leat_thread_pool_grow(&test.pool, 1), 0);
    assert_int_equal(test.pool.n_threads, 1);
    assert_int_equal(leat_thread_pool_grow(&test.pool, 3), -EBUSY);
    assert_int_equal(leat_thread_pool_grow(&test.pool, 2), 0);
    assert_int_equal(test.pool.n_threads, 2);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_once),    cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_many_threads), cmocka_unit_test(test_few_threads),
        cmocka_unit_test(test_held_threads), cmocka_unit_test(test_growth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
