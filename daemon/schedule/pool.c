/* pool.c: tries out what libuv would end the process for. See pool.h. */
#include "daemon/schedule/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static int try_pipe(struct leat_error *err) {
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return leat_error_set(err, -errno, "the daemon cannot create a pipe: %s", strerror(errno));
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

static void wait_for_post(void *end) {
    uv_sem_wait(end);
}

/* Makes n threads that exist at the same time. */
static int try_threads(uint32_t n, struct leat_error *err) {
    uv_thread_t *threads = calloc(n, sizeof(*threads));
    uint32_t n_made = 0;
    uv_sem_t end;
    int r;

    if (!threads)
        return leat_error_oom(err);
    r = uv_sem_init(&end, 0);
    if (r < 0) {
        free(threads);
        return leat_error_set(err, r, "the daemon cannot start its threads: %s", uv_strerror(r));
    }
    while (r == 0 && n_made < n) {
        r = uv_thread_create(&threads[n_made], wait_for_post, &end);
        n_made += r == 0;
    }
    if (r < 0)
        leat_error_set(
            err, r, "only %u of %u threads can start: %s; lower `workers`, or allow more threads",
            n_made, n, uv_strerror(r));
    for (uint32_t i = 0; i < n_made; i++)
        uv_sem_post(&end);
    while (n_made > 0)
        (void)uv_thread_join(&threads[--n_made]);
    uv_sem_destroy(&end);
    free(threads);
    return r;
}

static void do_nothing(uv_work_t *request) {
    (void)request;
}

static void on_done(uv_work_t *request, int status) {
    (void)request;
    (void)status;
}

/* The first task makes the threads. */
static int make_threads(struct leat_error *err) {
    uv_work_t request;
    uv_loop_t loop;
    int r = uv_loop_init(&loop);

    if (r < 0)
        return leat_error_set(err, r, "the daemon cannot start its event loop: %s", uv_strerror(r));
    r = uv_queue_work(&loop, &request, do_nothing, on_done);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    return r < 0 ? leat_error_set(err, r, "the daemon cannot start its threads: %s", uv_strerror(r))
                 : 0;
}

int leat_pool_start(uint32_t n_threads, struct leat_error *err) {
    static bool has_started;
    char number[16];
    int r;

    if (has_started)
        return 0;
    (void)snprintf(number, sizeof(number), "%u", n_threads);
    if (setenv("UV_THREADPOOL_SIZE", number, 1) < 0)
        return leat_error_oom(err);
    r = try_pipe(err);
    if (r == 0)
        r = try_threads(n_threads, err);
    if (r == 0)
        r = make_threads(err);
    has_started = r == 0;
    return r;
}
