/* thread_pool.c: see thread_pool.h.
 *
 * The loop is woken by an eventfd of the pool's own. With a uv_async_t, the loop would turn in
 * circles until the thread that woke it has left uv_async_send(), and that thread may have lost its
 * processor there to a task that takes milliseconds.
 */
#include "daemon/schedule/thread_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MANY_THREADS 8

struct leat_pool_thread {
    struct leat_thread_pool *pool;
    struct leat_pool_thread *next; /* among idle ones */
    bool is_idle;
    pthread_cond_t woken;
    uv_thread_t thread;
};

/* ---- lists ---- */

static void append(struct leat_pool_list *list, struct leat_pool_task *task) {
    task->next = NULL;
    *list->last = task;
    list->last = &task->next;
}

static void clear(struct leat_pool_list *list) {
    list->first = NULL;
    list->last = &list->first;
}

static struct leat_pool_task *take_first(struct leat_pool_list *list) {
    struct leat_pool_task *task = list->first;

    if (task)
        list->first = task->next;
    if (!list->first)
        list->last = &list->first;
    return task;
}

/* ---- threads ---- */

/* Adds itself to the idle threads, from whose front they are woken. */
static void wait_idle(struct leat_pool_thread *self) {
    struct leat_thread_pool *pool = self->pool;
    struct leat_pool_thread **link = &pool->idle;

    while (pool->n_most < MANY_THREADS && *link)
        link = &(*link)->next;
    self->next = *link;
    *link = self;
    pool->n_idle++;
    self->is_idle = true;
    while (self->is_idle)
        (void)pthread_cond_wait(&self->woken, &pool->lock);
}

static void execute(struct leat_thread_pool *pool, struct leat_pool_task *task) {
    bool is_first;

    (void)pthread_mutex_unlock(&pool->lock);
    pool->work(task);
    (void)pthread_mutex_lock(&pool->lock);
    is_first = !pool->ended.first;
    append(&pool->ended, task);
    if (!is_first)
        return;
    (void)pthread_mutex_unlock(&pool->lock);
    (void)eventfd_write(pool->event_fd, 1);
    (void)pthread_mutex_lock(&pool->lock);
}

static void run_thread(void *data) {
    struct leat_pool_thread *self = data;
    struct leat_thread_pool *pool = self->pool;
    struct leat_pool_task *task;

    (void)pthread_mutex_lock(&pool->lock);
    while (!pool->is_stopping) {
        task = take_first(&pool->waiting);
        if (task)
            execute(pool, task);
        else
            wait_idle(self);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

/* ---- the loop ---- */

static void on_ended(uv_poll_t *poll, int status, int events) {
    struct leat_thread_pool *pool = poll->data;
    struct leat_pool_task *task, *next;
    eventfd_t n;

    (void)status, (void)events;
    (void)eventfd_read(pool->event_fd, &n);
    (void)pthread_mutex_lock(&pool->lock);
    task = pool->ended.first;
    clear(&pool->ended);
    (void)pthread_mutex_unlock(&pool->lock);
    for (; task; task = next) {
        next = task->next;
        if (--pool->n_out == 0)
            uv_unref((uv_handle_t *)poll);
        pool->done(pool->owner, task);
    }
}

int leat_thread_pool_init(struct leat_thread_pool *pool, uv_loop_t *loop, uint32_t n_most) {
    int r;

    *pool = (struct leat_thread_pool){.n_most = n_most, .event_fd = -1};
    clear(&pool->waiting);
    clear(&pool->ended);
    r = -pthread_mutex_init(&pool->lock, NULL);
    if (r < 0)
        return r;
    pool->has_lock = true;
    pool->threads = calloc(n_most, sizeof(*pool->threads));
    if (!pool->threads)
        return -ENOMEM;
    pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->event_fd < 0)
        return -errno;
    r = uv_poll_init(loop, &pool->poll, pool->event_fd);
    if (r < 0)
        return r;
    pool->has_poll = true;
    pool->poll.data = pool;
    uv_unref((uv_handle_t *)&pool->poll); /* A task keeps the loop running, the pool does not. */
    return uv_poll_start(&pool->poll, UV_READABLE, on_ended);
}

static int make_thread(struct leat_thread_pool *pool) {
    struct leat_pool_thread *thread = &pool->threads[pool->n_threads];
    int r;

    thread->pool = pool;
    r = -pthread_cond_init(&thread->woken, NULL);
    if (r < 0)
        return r;
    r = uv_thread_create(&thread->thread, run_thread, thread);
    if (r == 0)
        pool->n_threads++;
    else
        (void)pthread_cond_destroy(&thread->woken);
    return r;
}

int leat_thread_pool_grow(struct leat_thread_pool *pool, uint32_t n) {
    int r = n <= pool->n_most ? 0 : -EBUSY;

    while (r == 0 && pool->n_threads < n)
        r = make_thread(pool);
    return r;
}

void leat_thread_pool_add(struct leat_thread_pool *pool, struct leat_pool_task *task) {
    struct leat_pool_thread *thread;

    if (pool->n_out++ == 0)
        uv_ref((uv_handle_t *)&pool->poll);
    (void)pthread_mutex_lock(&pool->lock);
    append(&pool->waiting, task);
    thread = pool->idle;
    if (thread) {
        pool->idle = thread->next;
        pool->n_idle--;
        thread->is_idle = false;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    if (thread)
        (void)pthread_cond_signal(&thread->woken);
}

void leat_thread_pool_stop(struct leat_thread_pool *pool) {
    assert(pool->n_out == 0);
    if (pool->has_poll)
        uv_close((uv_handle_t *)&pool->poll, NULL);
    pool->has_poll = false;
}

static void stop_threads(struct leat_thread_pool *pool) {
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_stopping = true;
    for (struct leat_pool_thread *thread = pool->idle; thread; thread = thread->next) {
        thread->is_idle = false;
        (void)pthread_cond_signal(&thread->woken);
    }
    pool->idle = NULL;
    (void)pthread_mutex_unlock(&pool->lock);
    for (; pool->n_threads > 0; pool->n_threads--) {
        struct leat_pool_thread *thread = &pool->threads[pool->n_threads - 1];

        (void)uv_thread_join(&thread->thread);
        (void)pthread_cond_destroy(&thread->woken);
    }
}

void leat_thread_pool_deinit(struct leat_thread_pool *pool) {
    assert(!pool->has_poll);
    if (!pool->has_lock)
        return;
    stop_threads(pool);
    (void)pthread_mutex_destroy(&pool->lock);
    if (pool->event_fd >= 0)
        (void)close(pool->event_fd);
    free(pool->threads);
    pool->threads = NULL;
    pool->has_lock = false;
}
