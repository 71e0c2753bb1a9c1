/* scheduler.c: a list of users, each with lists of tasks by class. The lists are searched: they
 * hold only users and runs with tasks that wait, which are few.
 */
#include "daemon/schedule/scheduler.h"

#include <assert.h>
#include <sched.h>

#include "daemon/schedule/heartbeat.h"
#include "proto/base/list.h"

#define CPUS_A_SPARE_ONE   4
#define MANY_THREADS       8
#define LONG_TASKS_QUEUED  3
#define SHORT_TASKS_QUEUED 6
#define OVERFLOW_LEAST     4
#define OVERFLOW_MOST      64
#define QUICK_NS           UINT64_C(50000000)
#define GUESS_NS           UINT64_C(1000000) /* of a task whose kind is not known */
#define ESTIMATE_SHIFT     3                 /* the latest task counts for an eighth */
#define WATCH_MS           50

/* A quarter of the CPUs of a large machine is left to the loop, short tasks and trainers: all
 * others wait if the loop has to share its CPU. More workers than CPUs are given if they are set.
 */
static uint32_t n_mapping(uint32_t n_workers) {
    uint32_t n_cpus = uv_available_parallelism();
    uint32_t n_left = n_cpus < MANY_THREADS ? n_cpus : n_cpus - n_cpus / CPUS_A_SPARE_ONE;

    return n_workers > n_left && n_workers <= n_cpus ? n_left : n_workers;
}

/* With few threads, a short task must find one that does not map. With many threads and quick
 * tasks, one is ready at any moment. There the pool gets some long tasks more, so that no thread
 * falls asleep between two of them: waking it costs the loop more than all else that it does for a
 * task.
 */
static uint32_t max_long_tasks(uint32_t n_workers) {
    uint32_t n = n_mapping(n_workers);

    return n < MANY_THREADS ? n : n + LONG_TASKS_QUEUED;
}

/* Overflow threads for slow tasks, and as many for stand-ins. One user may have about half. */
static uint32_t n_overflow(uint32_t n_user) {
    uint32_t n = 2 * n_user > OVERFLOW_LEAST ? 2 * n_user : OVERFLOW_LEAST;

    return n < OVERFLOW_MOST / 2 ? n : OVERFLOW_MOST / 2;
}

static uint32_t n_user_slow(uint32_t n_workers) {
    return n_workers > 1 ? n_workers / 2 : 1;
}

uint32_t leat_scheduler_n_threads(uint32_t n_workers) {
    return n_mapping(n_workers) + 1;
}

uint32_t leat_scheduler_n_overflow(uint32_t n_workers) {
    return 2 * n_overflow(n_user_slow(n_workers));
}

/* ---- life ---- */

static void run_task(struct leat_pool_task *base);
static void finish_task(void *owner, struct leat_pool_task *base);

static int init_pool(struct leat_scheduler *scheduler, struct leat_thread_pool *pool,
                     uint32_t n_most) {
    int r = leat_thread_pool_init(pool, scheduler->loop, n_most);

    pool->owner = scheduler;
    pool->work = run_task;
    pool->done = finish_task;
    return r;
}

static int make_threads(struct leat_scheduler *scheduler, struct leat_error *err) {
    int r = leat_thread_pool_grow(&scheduler->pool, scheduler->n_threads);

    if (r < 0)
        leat_error_set(
            err, r, "only %u of %u threads can start: %s; lower `workers`, or allow more threads",
            scheduler->pool.n_threads, scheduler->n_threads, uv_strerror(r));
    return r;
}

int leat_scheduler_init(struct leat_scheduler *scheduler, uv_loop_t *loop, uint32_t n_workers,
                        struct leat_error *err) {
    uint32_t n_slow = n_user_slow(n_workers), n_threads = leat_scheduler_n_threads(n_workers);
    int r, r_overflow;

    *scheduler = (struct leat_scheduler){
        .loop = loop,
        .now_ns = uv_hrtime,
        .n_workers = n_workers,
        .n_threads = n_threads,
        .n_mapping = n_mapping(n_workers),
        .max_long = max_long_tasks(n_workers),
        .max_scans = n_threads - 1,
        .max_short = 2 * n_threads + SHORT_TASKS_QUEUED,
        .max_user_slow = n_slow,
        .max_slow = n_overflow(n_slow),
        .max_stand_ins = n_overflow(n_slow),
    };
    scheduler->told.at_ns = uv_hrtime();
    leat_task_user_init(&scheduler->nobody, 1);
    leat_task_queue_init(&scheduler->others, &scheduler->nobody);
    r = init_pool(scheduler, &scheduler->pool, n_threads);
    r_overflow = init_pool(scheduler, &scheduler->overflow, leat_scheduler_n_overflow(n_workers));
    r = r < 0 ? r : r_overflow;
    if (r == 0)
        r = uv_timer_init(loop, &scheduler->timer);
    scheduler->has_timer = r == 0;
    scheduler->timer.data = scheduler;
    if (r < 0)
        return leat_error_set(err, r, "the daemon cannot start its threads: %s", uv_strerror(r));
    return make_threads(scheduler, err);
}

void leat_scheduler_stop(struct leat_scheduler *scheduler) {
    assert(scheduler->n_submitted == 0 && scheduler->n_waiting == 0);
    if (scheduler->has_timer)
        uv_close((uv_handle_t *)&scheduler->timer, NULL);
    scheduler->has_timer = false;
    leat_thread_pool_stop(&scheduler->pool);
    leat_thread_pool_stop(&scheduler->overflow);
}

void leat_scheduler_deinit(struct leat_scheduler *scheduler) {
    assert(!scheduler->has_timer && !scheduler->users && !scheduler->out);
    leat_task_user_deinit(&scheduler->nobody);
    leat_thread_pool_deinit(&scheduler->pool);
    leat_thread_pool_deinit(&scheduler->overflow);
}

void leat_task_user_init(struct leat_task_user *user, uint32_t weight) {
    *user = (struct leat_task_user){.share = {.weight = weight}};
    for (int i = 0; i < LEAT_N_TASK_CLASSES; i++)
        user->classes[i].last = &user->classes[i].first;
}

void leat_task_user_deinit(struct leat_task_user *user) {
    assert(user->n_waiting == 0 && user->n_out == 0);
    (void)user;
}

void leat_task_queue_init(struct leat_task_queue *queue, struct leat_task_user *user) {
    *queue = (struct leat_task_queue){.user = user, .share = {.weight = 1}};
    for (int i = 0; i < LEAT_N_TASK_CLASSES; i++) {
        queue->lists[i].queue = queue;
        queue->lists[i].last = &queue->lists[i].first;
    }
}

/* ---- tasks that wait ---- */

static void append_list(struct leat_task_user *user, enum leat_task_class class,
                        struct leat_task_list *list) {
    list->next = NULL;
    *user->classes[class].last = list;
    user->classes[class].last = &list->next;
}

static void append_task(struct leat_scheduler *scheduler, struct leat_task *task) {
    struct leat_task_queue *queue = task->queue;
    struct leat_task_user *user = queue->user;
    struct leat_task_list *list = &queue->lists[task->class];
    bool was_empty = !list->first;

    task->next = NULL;
    *list->last = task;
    list->last = &task->next;
    if (was_empty)
        append_list(user, task->class, list);
    if (queue->n_waiting++ == 0)
        leat_fair_enter(&user->fair, &queue->share);
    if (user->n_waiting++ == 0) {
        LEAT_LIST_ADD(&scheduler->users, user);
        leat_fair_enter(&scheduler->fair, &user->share);
    }
    scheduler->n_waiting++;
}

/* Takes the first task of the list to which `at` points. */
static struct leat_task *take_task(struct leat_scheduler *scheduler, struct leat_task_list **at,
                                   enum leat_task_class class) {
    struct leat_task_list *list = *at;
    struct leat_task_user *user = list->queue->user;
    struct leat_task *task = list->first;

    *at = list->next;
    if (!*at)
        user->classes[class].last = at;
    list->first = task->next;
    if (list->first)
        append_list(user, class, list); /* behind lists with the same tag */
    else
        list->last = &list->first;
    list->queue->n_waiting--;
    if (--user->n_waiting == 0)
        LEAT_LIST_REMOVE(user);
    scheduler->n_waiting--;
    return task;
}

/* ---- room ---- */

/* No user gets more threads than are then left for others. Of slow tasks those count that do not
 * wait for storage that hangs: the user's other streams go on. */
static bool has_stand_in(const struct leat_scheduler *scheduler,
                         const struct leat_task_user *user) {
    return user->n_stand_ins < scheduler->max_stand_ins - scheduler->n_stand_ins;
}

static bool has_slow(const struct leat_scheduler *scheduler, const struct leat_task_user *user) {
    return user->n_slow - user->n_slow_held < scheduler->max_user_slow &&
           user->n_slow < scheduler->max_slow - scheduler->n_slow;
}

/* The pool has a thread for short tasks, unless storage hangs. */
static enum leat_task_place place_short(const struct leat_scheduler *scheduler,
                                        const struct leat_task_user *user,
                                        enum leat_task_class class) {
    if (scheduler->n_pool_held >= scheduler->n_threads)
        return has_stand_in(scheduler, user) ? LEAT_TASK_IN_OVERFLOW : LEAT_TASK_NOWHERE;
    if (scheduler->n_pool_short >= scheduler->max_short ||
        (class == LEAT_TASK_SCAN && scheduler->n_pool_scans >= scheduler->max_scans))
        return LEAT_TASK_NOWHERE;
    return LEAT_TASK_IN_POOL;
}

/* Only runs that hold no thread get overflow threads, in place of the runs that do. */
static enum leat_task_place place_map(const struct leat_scheduler *scheduler,
                                      const struct leat_task_queue *queue) {
    uint64_t estimate_ns = queue->estimates_ns[LEAT_TASK_MAP];
    uint32_t n_most =
        estimate_ns > 0 && estimate_ns < QUICK_NS ? scheduler->max_long : scheduler->n_mapping;
    uint32_t n_going = scheduler->n_map - scheduler->n_map_held;

    if (n_going >= n_most || queue->n_map >= scheduler->max_long)
        return LEAT_TASK_NOWHERE;
    if (scheduler->n_pool_map + scheduler->n_pool_short_held < n_most)
        return LEAT_TASK_IN_POOL;
    return queue->n_held == 0 && n_going < scheduler->n_mapping &&
                   has_stand_in(scheduler, queue->user)
               ? LEAT_TASK_IN_OVERFLOW
               : LEAT_TASK_NOWHERE;
}

static enum leat_task_place place_of(const struct leat_scheduler *scheduler,
                                     const struct leat_task_queue *queue,
                                     enum leat_task_class class) {
    if (class == LEAT_TASK_MAP)
        return place_map(scheduler, queue);
    if (class != LEAT_TASK_SLOW)
        return place_short(scheduler, queue->user, class);
    return has_slow(scheduler, queue->user) ? LEAT_TASK_IN_OVERFLOW : LEAT_TASK_NOWHERE;
}

/* ---- turns ---- */

struct choice {
    struct leat_task_list **at; /* NULL: none */
    enum leat_task_class class;
    enum leat_task_place place;
};

static bool choose_list(const struct leat_scheduler *scheduler, struct leat_task_user *user,
                        enum leat_task_class class, struct choice *ret_choice) {
    struct leat_task_list **at = &user->classes[class].first;
    const struct leat_fair_share *least = NULL;

    for (; *at; at = &(*at)->next) {
        const struct leat_task_queue *queue = (*at)->queue;
        enum leat_task_place place;

        if (least && !leat_fair_is_before(&queue->share, least))
            continue;
        place = place_of(scheduler, queue, class);
        if (place == LEAT_TASK_NOWHERE)
            continue;
        least = &queue->share;
        *ret_choice = (struct choice){.at = at, .class = class, .place = place};
    }
    return least != NULL;
}

static bool choose_of(const struct leat_scheduler *scheduler, struct leat_task_user *user,
                      struct choice *ret_choice) {
    for (int class = 0; class < LEAT_N_TASK_CLASSES; class ++)
        if (user->classes[class].first &&
            choose_list(scheduler, user, (enum leat_task_class) class, ret_choice))
            return true;
    return false;
}

static bool choose_task(const struct leat_scheduler *scheduler, struct choice *ret_choice) {
    const struct leat_fair_share *least = NULL;

    for (struct leat_task_user *user = scheduler->users; user; user = user->next)
        if ((!least || leat_fair_is_before(&user->share, least)) &&
            choose_of(scheduler, user, ret_choice))
            least = &user->share;
    return least != NULL;
}

/* ---- on threads ---- */

/* SCHED_BATCH: a long task does not preempt others when it starts, and lets those preempt it that
 * wake: the loop, short tasks, trainers. It is no error if the system forbids it. */
static void set_policy(bool is_batch) {
    static const struct sched_param param = {.sched_priority = 0};
    static _Thread_local bool was_batch;

    if (is_batch == was_batch)
        return;
    was_batch = is_batch;
    (void)sched_setscheduler(0, is_batch ? SCHED_BATCH : SCHED_OTHER, &param);
}

/* A process has one pool, and therefore one count. */
uint32_t leat_scheduler_thread(void) {
    static _Atomic uint32_t n_threads;
    static _Thread_local uint32_t number; /* counted from 1; 0: none yet */

    if (number == 0)
        number = atomic_fetch_add(&n_threads, 1) + 1;
    return number - 1;
}

static void run_task(struct leat_pool_task *base) {
    struct leat_task *task = (struct leat_task *)base;
    uint64_t (*now_ns)(void) = task->scheduler->now_ns;
    uint64_t start_ns = now_ns(), end_ns;

    atomic_store_explicit(&task->start_ns, start_ns, memory_order_relaxed);
    set_policy(task->class == LEAT_TASK_MAP || task->class == LEAT_TASK_SLOW);
    leat_heartbeat_begin(task->scheduler->heartbeat, leat_scheduler_thread(), task);
    task->work(task);
    leat_heartbeat_end(task->scheduler->heartbeat, leat_scheduler_thread());
    end_ns = now_ns();
    task->taken_ns = end_ns - start_ns;
    atomic_store_explicit(&task->end_ns, end_ns, memory_order_relaxed);
}

/* ---- tasks that are out ---- */

static bool is_short(const struct leat_task *task) {
    return task->class == LEAT_TASK_URGENT || task->class == LEAT_TASK_SCAN;
}

/* n: 1, or UINT32_MAX for one less. */
static void count_task(struct leat_scheduler *scheduler, const struct leat_task *task, uint32_t n) {
    struct leat_task_queue *queue = task->queue;
    bool is_map = task->class == LEAT_TASK_MAP;

    scheduler->n_submitted += n;
    scheduler->n_map += is_map ? n : 0;
    queue->n_map += is_map ? n : 0;
    queue->user->n_out += n;
    if (task->class == LEAT_TASK_SLOW) {
        queue->user->n_slow += n;
        scheduler->n_slow += n;
        return;
    }
    if (task->place == LEAT_TASK_IN_OVERFLOW) {
        queue->user->n_stand_ins += n;
        scheduler->n_stand_ins += n;
        return;
    }
    scheduler->n_pool_map += is_map ? n : 0;
    scheduler->n_pool_scans += task->class == LEAT_TASK_SCAN ? n : 0;
    scheduler->n_pool_short += is_short(task) ? n : 0;
}

static void count_held(struct leat_scheduler *scheduler, const struct leat_task *task, uint32_t n) {
    bool is_in_pool = task->place == LEAT_TASK_IN_POOL;

    task->queue->n_held += n;
    task->queue->user->n_slow_held += task->class == LEAT_TASK_SLOW ? n : 0;
    scheduler->n_map_held += task->class == LEAT_TASK_MAP ? n : 0;
    scheduler->n_pool_held += is_in_pool ? n : 0;
    scheduler->n_pool_short_held += is_in_pool && is_short(task) ? n : 0;
}

static void submit_waiting(struct leat_scheduler *scheduler);

/* Updates the estimate for the next task of its kind. */
static void learn_estimate(struct leat_task *task) {
    uint64_t *estimate_ns = &task->queue->estimates_ns[task->class];

    if (*estimate_ns == 0)
        *estimate_ns = task->taken_ns;
    else
        *estimate_ns += (task->taken_ns >> ESTIMATE_SHIFT) - (*estimate_ns >> ESTIMATE_SHIFT);
    *estimate_ns += *estimate_ns == 0;
}

static void settle_charges(struct leat_task *task) {
    struct leat_task_user *user = task->queue->user;

    leat_fair_end(&task->queue->share, task->queue_charge, task->taken_ns);
    leat_fair_end(&user->share, task->user_charge, task->taken_ns);
    user->worker_ns += task->taken_ns;
    if (task->class != LEAT_TASK_SLOW)
        task->scheduler->done_ns += task->taken_ns;
    learn_estimate(task);
}

static void finish_task(void *owner, struct leat_pool_task *base) {
    struct leat_scheduler *scheduler = owner;
    struct leat_task *task = (struct leat_task *)base;

    LEAT_LIST_REMOVE(task);
    count_task(scheduler, task, UINT32_MAX);
    if (task->is_held)
        count_held(scheduler, task, UINT32_MAX);
    settle_charges(task);
    task->done(task);
    submit_waiting(scheduler);
}

static void hand_over(struct leat_scheduler *scheduler, struct leat_task *task) {
    struct leat_thread_pool *overflow = &scheduler->overflow;

    if (task->place == LEAT_TASK_IN_OVERFLOW &&
        leat_thread_pool_grow(overflow, overflow->n_out + 1) == 0) {
        leat_thread_pool_add(overflow, &task->base);
        return;
    }
    if (task->place == LEAT_TASK_IN_OVERFLOW) { /* no further thread could be made */
        count_task(scheduler, task, UINT32_MAX);
        task->place = LEAT_TASK_IN_POOL;
        count_task(scheduler, task, 1);
    }
    leat_thread_pool_add(&scheduler->pool, &task->base);
}

static void submit_task(struct leat_scheduler *scheduler, struct leat_task *task,
                        enum leat_task_place place) {
    struct leat_task_queue *queue = task->queue;
    uint64_t known_ns = queue->estimates_ns[task->class];
    uint64_t estimate_ns = known_ns > 0 ? known_ns : GUESS_NS;

    task->place = place;
    task->is_held = false;
    atomic_store_explicit(&task->start_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&task->end_ns, 0, memory_order_relaxed);
    task->user_charge = leat_fair_begin(&scheduler->fair, &queue->user->share, estimate_ns);
    task->queue_charge = leat_fair_begin(&queue->user->fair, &queue->share, estimate_ns);
    LEAT_LIST_ADD(&scheduler->out, task);
    count_task(scheduler, task, 1);
    if (task->start)
        task->start(task);
    hand_over(scheduler, task);
}

/* A task that has ended stays out until the loop has handled that. */
static uint64_t worked_ns(const struct leat_task *task, uint64_t now_ns) {
    uint64_t start_ns = atomic_load_explicit(&task->start_ns, memory_order_relaxed);
    uint64_t end_ns = atomic_load_explicit(&task->end_ns, memory_order_relaxed);
    uint64_t until_ns = end_ns ? end_ns : now_ns;

    return start_ns != 0 && start_ns < until_ns ? until_ns - start_ns : 0;
}

uint64_t leat_scheduler_busy_ns(struct leat_scheduler *scheduler, uint64_t now_ns) {
    uint64_t most_ns = (now_ns - scheduler->told.at_ns) * scheduler->n_workers;
    uint64_t task_ns = scheduler->done_ns, more_ns;

    for (const struct leat_task *task = scheduler->out; task; task = task->next)
        if (task->class != LEAT_TASK_SLOW)
            task_ns += worked_ns(task, now_ns);
    more_ns = task_ns > scheduler->told.task_ns ? task_ns - scheduler->told.task_ns : 0;
    scheduler->told.task_ns += more_ns;
    scheduler->told.busy_ns += more_ns < most_ns ? more_ns : most_ns;
    scheduler->told.at_ns = now_ns;
    return scheduler->told.busy_ns;
}

bool leat_scheduler_has_untaken(const struct leat_scheduler *scheduler) {
    uint32_t n_begun = 0, n_out = 0;

    for (const struct leat_task *task = scheduler->out; task; task = task->next) {
        if (task->place != LEAT_TASK_IN_POOL)
            continue;
        n_out++;
        n_begun += atomic_load_explicit(&task->start_ns, memory_order_relaxed) != 0;
    }
    return n_out > n_begun && n_begun < scheduler->n_threads;
}

static void find_held(struct leat_scheduler *scheduler) {
    uint64_t now_ns = scheduler->now_ns();

    for (struct leat_task *task = scheduler->out; task; task = task->next) {
        uint64_t start_ns = atomic_load_explicit(&task->start_ns, memory_order_relaxed);

        if (task->is_held || start_ns == 0 || now_ns < start_ns + LEAT_TASK_HELD_NS)
            continue;
        task->is_held = true;
        count_held(scheduler, task, 1);
    }
}

static void on_timer(uv_timer_t *timer) {
    struct leat_scheduler *scheduler = timer->data;

    scheduler->is_watching = false;
    find_held(scheduler);
    submit_waiting(scheduler);
}

static void submit_waiting(struct leat_scheduler *scheduler) {
    struct choice choice = {.at = NULL};

    while (scheduler->n_waiting > 0 && choose_task(scheduler, &choice))
        submit_task(scheduler, take_task(scheduler, choice.at, choice.class), choice.place);
    if (scheduler->n_waiting > 0 && !scheduler->is_watching)
        scheduler->is_watching = uv_timer_start(&scheduler->timer, on_timer, WATCH_MS, 0) == 0;
}

void leat_scheduler_add(struct leat_scheduler *scheduler, struct leat_task_queue *queue,
                        struct leat_task *task) {
    task->scheduler = scheduler;
    task->queue = queue ? queue : &scheduler->others;
    append_task(scheduler, task);
    submit_waiting(scheduler);
}
