/* build_run.c: see build_run.h. The loop owns the run. Jobs run on libuv's pool, as in the daemon,
 * and are completed on the loop. */
#include "client/cli/cache/build_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "client/cli/base/interrupt.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/units.h"
#include "pipeline/cache/store.h"

#define TICK_MS 200

struct build {
    uv_loop_t loop;
    uv_timer_t timer;
    struct leat_run *run;
    uint64_t start_ns;
    bool has_ended, was_interrupted, is_shard;
    struct leat_cli_progress progress;
};

struct work {
    uv_work_t request;
    struct build *build;
    struct leat_job *job;
};

static void pump_jobs(struct build *build);

static void on_work(uv_work_t *request) {
    leat_job_execute(((struct work *)request->data)->job);
}

static void on_done(uv_work_t *request, int status) {
    struct work *work = request->data;
    struct build *build = work->build;

    (void)status; /* work is never cancelled */
    leat_run_complete(build->run, work->job);
    free(work);
    pump_jobs(build);
}

static bool submit_job(struct build *build, struct leat_job *job) {
    struct work *work = calloc(1, sizeof(*work));

    if (!work) { /* without memory, the job runs here */
        leat_job_execute(job);
        leat_run_complete(build->run, job);
        return true;
    }
    *work = (struct work){.build = build, .job = job};
    work->request.data = work;
    return uv_queue_work(&build->loop, &work->request, on_work, on_done) == 0;
}

static void stop_timer(struct build *build) {
    if (!build->has_ended)
        uv_close((uv_handle_t *)&build->timer, NULL);
    build->has_ended = true;
}

static void pump_jobs(struct build *build) {
    struct leat_job *job;
    int r;

    while ((r = leat_run_next_job(build->run, &job)) == LEAT_RUN_JOB) {
        leat_job_start(job);
        (void)submit_job(build, job);
    }
    if (r == LEAT_RUN_ENDED)
        stop_timer(build);
}

static void show_progress(struct build *build) {
    char text[LEAT_CLI_UNIT_MAX + 16], count[LEAT_CLI_UNIT_MAX];
    struct leat_run_stats stats;

    leat_run_get_stats(build->run, &stats);
    (void)snprintf(text, sizeof(text), "%s records",
                   leat_cli_count(stats.counts.figures.n_source_records, count));
    leat_cli_progress_show(&build->progress, stats.n_cache_done_bytes, stats.n_cache_total_bytes,
                           text);
}

static void on_tick(uv_timer_t *timer) {
    struct build *build = timer->data;

    show_progress(build);
    if (!leat_cli_interrupt_seen() || build->was_interrupted)
        return;
    build->was_interrupted = true;
    leat_run_cancel(build->run);
    pump_jobs(build);
}

static void set_pool(uint32_t n_workers) {
    char text[16];

    (void)snprintf(text, sizeof(text), "%u", n_workers + 1); /* one more reads and writes */
    (void)setenv("UV_THREADPOOL_SIZE", text, 1);
}

static int drive_loop(struct build *build, struct leat_error *err) {
    int r = uv_loop_init(&build->loop);

    if (r == 0)
        r = uv_timer_init(&build->loop, &build->timer);
    if (r < 0)
        return leat_error_set(err, r, "cannot start the event loop: %s", uv_strerror(r));
    build->timer.data = build;
    (void)uv_timer_start(&build->timer, on_tick, TICK_MS, TICK_MS);
    pump_jobs(build);
    (void)uv_run(&build->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&build->loop);
    leat_cli_progress_hide(&build->progress);
    if (build->was_interrupted)
        return leat_error_set(err, -EINTR,
                              build->is_shard
                                  ? "interrupted; the next attempt starts from the beginning"
                                  : "interrupted; the next attempt continues here");
    if (leat_run_error(build->run)) {
        *err = *leat_run_error(build->run);
        return err->code;
    }
    return 0;
}

static void take_result(const struct build *build, struct leat_cli_built *built) {
    const struct leat_cache_file *file = leat_run_get_cache(build->run);

    leat_run_get_stats(build->run, &built->stats);
    built->stats.stages = NULL;
    built->stats.last_bad = built->stats.cache_note = NULL;
    built->elapsed_ns = uv_hrtime() - build->start_ns;
    if (!file)
        return;
    leat_cache_store_name(&file->identity, built->name);
    built->is_complete = file->is_complete;
    built->n_blocks = file->n_frames;
    built->n_records = file->n_records;
    built->n_rows = file->n_rows;
    built->n_bytes = file->end;
}

int leat_cli_build(struct leat_plan *plan, const struct leat_run_options *options,
                   uint32_t n_workers, bool hides_progress, struct leat_cli_built *ret_built,
                   struct leat_error *err) {
    struct leat_run_options run_options = *options;
    struct build build = {.start_ns = uv_hrtime(), .is_shard = options->n_shards > 0};
    int r;

    if (n_workers == 0)
        n_workers = uv_available_parallelism();
    set_pool(n_workers);
    run_options.max_map_jobs = LEAT_BLOCKS_IN_QUEUE(n_workers);
    run_options.opener = &leat_opener_operator;
    *ret_built = (struct leat_cli_built){.n_blocks = 0};
    r = leat_run_new(plan, &run_options, &build.run, err);
    if (r < 0)
        return r;
    leat_cli_progress_begin(&build.progress, LEAT_PROGRESS_BYTES, hides_progress);
    leat_cli_interrupt_watch();
    r = drive_loop(&build, err);
    take_result(&build, ret_built);
    leat_run_free(build.run);
    return r;
}
