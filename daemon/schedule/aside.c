/* aside.c: two pipes of addresses. What is written to a pipe is read by one thread, whole: it is
 * less than PIPE_BUF (pipe(7)). */
#include "daemon/schedule/aside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool read_task(int fd, void **ret_task) {
    ssize_t n;

    do {
        n = read(fd, ret_task, sizeof(*ret_task));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*ret_task);
}

static int write_task(int fd, void *task) {
    ssize_t n;

    do {
        n = write(fd, &task, sizeof(task));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(task) ? 0 : -EPIPE;
}

static void run_thread(void *data) {
    const struct leat_aside *aside = data;
    int input = aside->to_threads[0], output = aside->from_threads[1];
    void (*work)(void *task) = aside->work;
    void *task;

    while (read_task(input, &task)) {
        work(task);
        if (write_task(output, task) < 0)
            break;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct leat_aside *aside = poll->data;
    void *task;

    (void)status;
    (void)events;
    if (!read_task(aside->from_threads[0], &task))
        return;
    if (--aside->n_busy == 0)
        uv_unref((uv_handle_t *)poll);
    aside->done(aside->owner, task);
}

int leat_aside_init(struct leat_aside *aside, uv_loop_t *loop, uint32_t n_most,
                    void (*work)(void *task), void (*done)(void *owner, void *task), void *owner) {
    int r;

    *aside = (struct leat_aside){.work = work,
                                 .done = done,
                                 .owner = owner,
                                 .n_most = n_most < LEAT_ASIDE_MAX ? n_most : LEAT_ASIDE_MAX,
                                 .to_threads = {-1, -1},
                                 .from_threads = {-1, -1}};
    if (pipe2(aside->to_threads, O_CLOEXEC) < 0 || pipe2(aside->from_threads, O_CLOEXEC) < 0)
        return -errno;
    r = uv_poll_init(loop, &aside->poll, aside->from_threads[0]);
    if (r < 0)
        return r;
    aside->poll.data = aside;
    aside->has_poll = true;
    uv_unref((uv_handle_t *)&aside->poll);
    return uv_poll_start(&aside->poll, UV_READABLE, on_poll);
}

int leat_aside_run(struct leat_aside *aside, void *task) {
    int r;

    if (aside->n_busy >= aside->n_most)
        return -EBUSY;
    if (aside->n_busy == aside->n_threads) {
        r = uv_thread_create(&aside->threads[aside->n_threads], run_thread, aside);
        if (r < 0)
            return r;
        aside->n_threads++;
    }
    r = write_task(aside->to_threads[1], task);
    if (r < 0)
        return r;
    if (aside->n_busy++ == 0)
        uv_ref((uv_handle_t *)&aside->poll); /* as with requests: the loop goes on until it is */
    return 0;
}

void leat_aside_stop(struct leat_aside *aside) {
    assert(aside->n_busy == 0);
    if (aside->has_poll)
        uv_close((uv_handle_t *)&aside->poll, NULL);
    aside->has_poll = false;
}

static void close_pipe(int pipe[2]) {
    for (int i = 0; i < 2; i++) {
        if (pipe[i] >= 0)
            (void)close(pipe[i]);
        pipe[i] = -1;
    }
}

void leat_aside_deinit(struct leat_aside *aside) {
    assert(!aside->has_poll);
    if (aside->to_threads[1] >= 0)
        (void)close(aside->to_threads[1]);
    aside->to_threads[1] = -1;
    while (aside->n_threads > 0)
        (void)uv_thread_join(&aside->threads[--aside->n_threads]);
    close_pipe(aside->to_threads);
    close_pipe(aside->from_threads);
}
