/* overflow.c: two pipes of addresses. One read gets exactly what one write put in, since that is
 * less than PIPE_BUF (pipe(7)).
 */
#include "daemon/schedule/overflow.h"

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
    const struct leat_overflow *overflow = data;
    int input = overflow->to_threads[0], output = overflow->from_threads[1];
    void (*work)(void *task) = overflow->work;
    void *task;

    while (read_task(input, &task)) {
        work(task);
        if (write_task(output, task) < 0)
            break;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct leat_overflow *overflow = poll->data;
    void *task;

    (void)status;
    (void)events;
    if (!read_task(overflow->from_threads[0], &task))
        return;
    if (--overflow->n_busy == 0)
        uv_unref((uv_handle_t *)poll);
    overflow->done(overflow->owner, task);
}

int leat_overflow_init(struct leat_overflow *overflow, uv_loop_t *loop, uint32_t n_most,
                       void (*work)(void *task), void (*done)(void *owner, void *task),
                       void *owner) {
    int r;

    *overflow =
        (struct leat_overflow){.work = work,
                               .done = done,
                               .owner = owner,
                               .n_most = n_most < LEAT_OVERFLOW_MAX ? n_most : LEAT_OVERFLOW_MAX,
                               .to_threads = {-1, -1},
                               .from_threads = {-1, -1}};
    if (pipe2(overflow->to_threads, O_CLOEXEC) < 0 || pipe2(overflow->from_threads, O_CLOEXEC) < 0)
        return -errno;
    r = uv_poll_init(loop, &overflow->poll, overflow->from_threads[0]);
    if (r < 0)
        return r;
    overflow->poll.data = overflow;
    overflow->has_poll = true;
    uv_unref((uv_handle_t *)&overflow->poll);
    return uv_poll_start(&overflow->poll, UV_READABLE, on_poll);
}

int leat_overflow_run(struct leat_overflow *overflow, void *task) {
    int r;

    if (overflow->n_busy >= overflow->n_most)
        return -EBUSY;
    if (overflow->n_busy == overflow->n_threads) {
        r = uv_thread_create(&overflow->threads[overflow->n_threads], run_thread, overflow);
        if (r < 0)
            return r;
        overflow->n_threads++;
    }
    r = write_task(overflow->to_threads[1], task);
    if (r < 0)
        return r;
    if (overflow->n_busy++ == 0)
        uv_ref(
            (uv_handle_t *)&overflow->poll); /* as a request does, a task keeps the loop running */
    return 0;
}

void leat_overflow_stop(struct leat_overflow *overflow) {
    assert(overflow->n_busy == 0);
    if (overflow->has_poll)
        uv_close((uv_handle_t *)&overflow->poll, NULL);
    overflow->has_poll = false;
}

static void close_pipe(int pipe[2]) {
    for (int i = 0; i < 2; i++) {
        if (pipe[i] >= 0)
            (void)close(pipe[i]);
        pipe[i] = -1;
    }
}

void leat_overflow_deinit(struct leat_overflow *overflow) {
    assert(!overflow->has_poll);
    if (overflow->to_threads[1] >= 0)
        (void)close(overflow->to_threads[1]);
    overflow->to_threads[1] = -1;
    while (overflow->n_threads > 0)
        (void)uv_thread_join(&overflow->threads[--overflow->n_threads]);
    close_pipe(overflow->to_threads);
    close_pipe(overflow->from_threads);
}
