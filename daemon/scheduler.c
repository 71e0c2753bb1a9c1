/* scheduler.c: a list of task lists a class; the one that was served goes to the end. */
#include "daemon/scheduler.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>

#include "daemon/heartbeat.h"

#define CPUS_A_SPARE_ONE   4
#define MANY_THREADS       8
#define LONG_TASKS_IN_LINE 3

/* A quarter of the CPUs of a large machine is left to the loop, to short tasks and to trainers: if
 * the loop has to share its CPU, all the others wait for it. Who wants more workers than there are
 * CPUs gets them. */
static uint32_t n_mapping(uint32_t n_workers) {
    uint32_t n_cpus = uv_available_parallelism();
    uint32_t n_left = n_cpus < MANY_THREADS ? n_cpus : n_cpus - n_cpus / CPUS_A_SPARE_ONE;

    return n_workers > n_left && n_workers <= n_cpus ? n_left : n_workers;
}

/* With few threads, a short task must find one that does not map. With many, one of them gets ready
 * every moment anyhow; there it pays to keep long tasks in line, so that no thread falls asleep
 * between two of them: waking it costs more than all else that the loop does for a task. */
static uint32_t max_long_tasks(uint32_t n_workers) {
    uint32_t n = n_mapping(n_workers);

    return n < MANY_THREADS ? n : n + LONG_TASKS_IN_LINE;
}

uint32_t leat_scheduler_n_threads(uint32_t n_workers) {
    return n_mapping(n_workers) + 1;
}

void leat_scheduler_init(struct leat_scheduler *scheduler, uv_loop_t *loop, uint32_t n_workers) {
    *scheduler = (struct leat_scheduler){
        .loop = loop, .n_workers = n_workers, .max_long = max_long_tasks(n_workers)};
    for (int i = 0; i < LEAT_N_TASK_CLASSES; i++)
        scheduler->classes[i].last = &scheduler->classes[i].first;
    leat_task_queue_init(&scheduler->others);
}

void leat_scheduler_deinit(struct leat_scheduler *scheduler) {
    assert(scheduler->n_submitted == 0 && scheduler->n_waiting == 0);
    (void)scheduler;
}

void leat_task_queue_init(struct leat_task_queue *queue) {
    *queue = (struct leat_task_queue){.lists = {{.next = NULL}}};
    for (int i = 0; i < LEAT_N_TASK_CLASSES; i++)
        queue->lists[i].last = &queue->lists[i].first;
}

static void append_list(struct leat_scheduler *scheduler, enum leat_task_class class,
                        struct leat_task_list *list) {
    list->next = NULL;
    *scheduler->classes[class].last = list;
    scheduler->classes[class].last = &list->next;
}

static struct leat_task *take_from_class(struct leat_scheduler *scheduler,
                                         enum leat_task_class class) {
    struct leat_task_list *list = scheduler->classes[class].first;
    struct leat_task *task;

    if (!list)
        return NULL;
    scheduler->classes[class].first = list->next;
    if (!list->next)
        scheduler->classes[class].last = &scheduler->classes[class].first;
    task = list->first;
    list->first = task->next;
    if (list->first)
        append_list(scheduler, class, list);
    else
        list->last = &list->first;
    return task;
}

static bool is_long(enum leat_task_class class) {
    return class == LEAT_TASK_MAP || class == LEAT_TASK_SLOW;
}

static struct leat_task *take_next(struct leat_scheduler *scheduler) {
    uint32_t max_slow = scheduler->n_workers > 1 ? scheduler->n_workers / 2 : 1;

    for (int class = 0; class < LEAT_N_TASK_CLASSES; class ++) {
        struct leat_task *task;

        if (is_long((enum leat_task_class) class) && scheduler->n_long >= scheduler->max_long)
            continue;
        if (class == LEAT_TASK_SLOW && scheduler->n_slow >= max_slow)
            continue;
        task = take_from_class(scheduler, (enum leat_task_class) class);
        if (task)
            return task;
    }
    return NULL;
}

static void submit_waiting(struct leat_scheduler *scheduler);

/* A long task does not push others aside when it gets going, and is pushed aside by those that are
 * woken: the loop, short tasks, trainers. Where that is forbidden, things go on without. */
static void set_policy(bool is_batch) {
    static const struct sched_param param = {.sched_priority = 0};
    static _Thread_local bool was_batch;

    if (is_batch == was_batch)
        return;
    was_batch = is_batch;
    (void)sched_setscheduler(0, is_batch ? SCHED_BATCH : SCHED_OTHER, &param);
}

/* libuv's pool is one for the whole process, and so is the count. */
uint32_t leat_scheduler_thread(void) {
    static _Atomic uint32_t n_threads;
    static _Thread_local uint32_t number; /* and one; 0: none yet */

    if (number == 0)
        number = atomic_fetch_add(&n_threads, 1) + 1;
    return number - 1;
}

static void on_work(uv_work_t *request) {
    struct leat_task *task = request->data;

    set_policy(is_long(task->class));
    leat_heartbeat_begin(task->scheduler->heartbeat, leat_scheduler_thread(), task);
    task->work(task);
    leat_heartbeat_end(task->scheduler->heartbeat, leat_scheduler_thread());
}

static void on_done(uv_work_t *request, int status) {
    struct leat_task *task = request->data;
    struct leat_scheduler *scheduler = task->scheduler;

    assert(status == 0);
    (void)status;
    scheduler->n_submitted--;
    scheduler->n_slow -= task->class == LEAT_TASK_SLOW;
    scheduler->n_long -= is_long(task->class);
    task->done(task);
    submit_waiting(scheduler);
}

static void submit_waiting(struct leat_scheduler *scheduler) {
    while (scheduler->n_waiting > 0) {
        struct leat_task *task = take_next(scheduler);
        int r;

        if (!task)
            return;
        scheduler->n_waiting--;
        scheduler->n_submitted++;
        scheduler->n_slow += task->class == LEAT_TASK_SLOW;
        scheduler->n_long += is_long(task->class);
        task->request.data = task;
        if (task->start)
            task->start(task);
        r = uv_queue_work(scheduler->loop, &task->request, on_work, on_done);
        assert(r == 0); /* it fails only without a work function */
        (void)r;
    }
}

void leat_scheduler_add(struct leat_scheduler *scheduler, struct leat_task_queue *queue,
                        struct leat_task *task) {
    struct leat_task_list *list = &(queue ? queue : &scheduler->others)->lists[task->class];
    bool was_empty = !list->first;

    task->scheduler = scheduler;
    task->next = NULL;
    *list->last = task;
    list->last = &task->next;
    if (was_empty)
        append_list(scheduler, task->class, list);
    scheduler->n_waiting++;
    submit_waiting(scheduler);
}
