/* feed.c: slots in, jobs out, batches on. What needs time (memory, jobs) is a task of the pool. */
#include "daemon/feed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"

static void finish_if_idle(struct leat_feed *feed);

/* The one setter of the state. */
static void set_state(struct leat_feed *feed, enum leat_feed_state state) {
    static const uint8_t moves[] = {
        [LEAT_FEED_STARTING] = 1 << LEAT_FEED_RUNNING | 1 << LEAT_FEED_CLOSING,
        [LEAT_FEED_RUNNING] = 1 << LEAT_FEED_GROWING | 1 << LEAT_FEED_CLOSING,
        [LEAT_FEED_GROWING] = 1 << LEAT_FEED_RUNNING | 1 << LEAT_FEED_CLOSING,
        [LEAT_FEED_CLOSING] = 0,
    };

    assert(moves[feed->state] & (1 << state));
    (void)moves;
    feed->state = state;
}

void leat_feed_mark(struct leat_feed *feed) {
    if (feed->is_dirty)
        return;
    feed->is_dirty = true;
    feed->next_dirty = feed->daemon->dirty_feeds;
    feed->daemon->dirty_feeds = feed;
}

static void fail(struct leat_feed *feed, const struct leat_error *err) {
    if (!feed->error.code) {
        feed->error = *err;
        leat_error_prefix(&feed->error, "streams.%s", feed->plan->spec->name);
    }
    leat_feed_mark(feed);
}

/* ---- rings ---- */

/* A ring is charged to the user, and counted in the account. */
static int charge_ring(struct leat_feed *feed, uint64_t bytes, struct leat_error *err) {
    int r;

    if (!leat_account_must_grow(&feed->account, bytes))
        return leat_admission_refuse_growth(&feed->account, "larger slots for its batches", bytes,
                                            err);
    r = leat_user_charge(feed->user, LEAT_CHARGE_RING_BYTES, bytes, err);
    if (r < 0)
        return r;
    leat_account_count(&feed->account, LEAT_MEMORY_RING, false);
    leat_account_change(&feed->account, LEAT_MEMORY_RING, 0, bytes);
    return 0;
}

static void discharge_ring(struct leat_feed *feed, uint64_t bytes) {
    leat_account_change(&feed->account, LEAT_MEMORY_RING, bytes, 0);
    leat_user_discharge(feed->user, LEAT_CHARGE_RING_BYTES, bytes);
}

void leat_feed_add_task(struct leat_feed *feed, struct leat_task *task) {
    feed->n_tasks++;
    leat_scheduler_add(&feed->daemon->scheduler, NULL, task);
}

void leat_feed_task_done(struct leat_feed *feed) {
    feed->n_tasks--;
    finish_if_idle(feed);
}

static void drop_ring_task(struct leat_ring_task *task) {
    task->feed->n_tasks--;
    free(task);
}

static void add_ring_task(struct leat_feed *feed, struct leat_ring_task *task,
                          void (*work)(struct leat_task *), void (*done)(struct leat_task *)) {
    task->feed = feed;
    task->task.class = LEAT_TASK_SLOW;
    task->task.work = work;
    task->task.done = done;
    leat_feed_add_task(feed, &task->task);
}

static void free_ring_work(struct leat_task *task) {
    struct leat_ring_task *ring_task = (struct leat_ring_task *)task;

    ring_task->ring = leat_ring_free(ring_task->ring);
}

static void free_ring_done(struct leat_task *task) {
    struct leat_ring_task *ring_task = (struct leat_ring_task *)task;
    struct leat_feed *feed = ring_task->feed;

    discharge_ring(feed, ring_task->charged_bytes);
    drop_ring_task(ring_task);
    finish_if_idle(feed);
}

/* Gives the memory of a ring back that nobody uses. */
static void free_ring(struct leat_feed *feed, struct leat_ring *ring) {
    struct leat_ring_task *task = calloc(1, sizeof(*task));
    struct leat_ring **link = &feed->rings;

    while (*link != ring)
        link = &(*link)->next;
    *link = ring->next;
    if (feed->ring == ring)
        feed->ring = NULL;
    if (!task) { /* then here, although it takes a while */
        discharge_ring(feed, ring->size_bytes);
        leat_ring_free(ring);
        return;
    }
    task->ring = ring;
    task->charged_bytes = ring->size_bytes;
    add_ring_task(feed, task, free_ring_work, free_ring_done);
}

static void free_ring_if_idle(struct leat_feed *feed, struct leat_ring *ring) {
    if (ring != feed->ring && leat_ring_is_idle(ring))
        free_ring(feed, ring);
}

/* All slots that were given come back; the ring goes when what is under way has come back too. */
static void retire_ring(struct leat_feed *feed) {
    struct leat_ring *ring = feed->ring;
    struct leat_slot slot;

    if (!ring)
        return;
    while (feed->run && leat_run_take_slot_back(feed->run, &slot))
        leat_ring_take_back(ring, slot.index);
    feed->ring = NULL;
    free_ring_if_idle(feed, ring);
}

static void make_ring_work(struct leat_task *task) {
    struct leat_ring_task *ring_task = (struct leat_ring_task *)task;

    (void)leat_ring_new(ring_task->generation, ring_task->slot_bytes, ring_task->n_slots,
                        &ring_task->ring, &ring_task->error);
}

static void install_ring(struct leat_feed *feed, struct leat_ring *ring) {
    retire_ring(feed);
    ring->next = feed->rings;
    feed->rings = feed->ring = ring;
}

static void make_ring_done(struct leat_task *task) {
    struct leat_ring_task *ring_task = (struct leat_ring_task *)task;
    struct leat_feed *feed = ring_task->feed;
    struct leat_error err = ring_task->error;
    bool is_first = feed->state == LEAT_FEED_STARTING;

    if (ring_task->ring)
        install_ring(feed, ring_task->ring);
    else
        discharge_ring(feed, ring_task->charged_bytes);
    drop_ring_task(ring_task);
    if (feed->state == LEAT_FEED_CLOSING) {
        retire_ring(feed);
        finish_if_idle(feed);
        return;
    }
    if (err.code)
        fail(feed, &err);
    set_state(feed, LEAT_FEED_RUNNING);
    leat_feed_mark(feed);
    if (is_first)
        feed->ops->on_started(feed->subscriber, err.code ? &err : NULL);
}

static int make_ring(struct leat_feed *feed, size_t min_slot_bytes, uint32_t n_slots,
                     struct leat_error *err) {
    struct leat_ring_task *task = calloc(1, sizeof(*task));
    int r;

    if (!task)
        return leat_error_oom(err);
    r = leat_ring_size(min_slot_bytes, n_slots, &task->slot_bytes, &task->charged_bytes);
    if (r < 0)
        r = leat_error_set(err, r, "%u slots of %zu bytes are more than an address space", n_slots,
                           min_slot_bytes);
    else
        r = charge_ring(feed, task->charged_bytes, err);
    if (r < 0) {
        free(task);
        return r;
    }
    task->n_slots = n_slots;
    task->generation = ++feed->daemon->next_generation;
    add_ring_task(feed, task, make_ring_work, make_ring_done);
    return 0;
}

/* A batch does not fit: slots with an eighth more than it needs, so that the next ones do; fewer of
 * them, where there were many because they were small. */
static void grow(struct leat_feed *feed, size_t need) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t slot_bytes = need + need / 8, limit = (size_t)feed->plan->options.max_batch_bytes;
    size_t n_slots = 2 * feed->ring->size_bytes / slot_bytes;

    if (slot_bytes > limit && need <= limit)
        slot_bytes = limit;
    if (n_slots < feed->min_slots)
        n_slots = feed->min_slots;
    if (n_slots > feed->ring->n_slots)
        n_slots = feed->ring->n_slots;
    set_state(feed, LEAT_FEED_GROWING);
    if (make_ring(feed, slot_bytes, (uint32_t)n_slots, &err) == 0)
        return;
    set_state(feed, LEAT_FEED_RUNNING);
    fail(feed, &err);
}

void leat_feed_fit_ring(struct leat_feed *feed, uint32_t n_slots, bool may_shrink) {
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t bytes = n_slots * (uint64_t)(feed->ring ? feed->ring->slot_bytes : 0);

    if (n_slots < feed->n_slots)
        n_slots = feed->n_slots;
    if (feed->state != LEAT_FEED_RUNNING || feed->error.code || !feed->ring ||
        n_slots == feed->ring->n_slots || feed->ring->slot_bytes > feed->plan->slot_bytes * 2 ||
        (n_slots < feed->ring->n_slots && !may_shrink) ||
        (n_slots > feed->ring->n_slots && !leat_account_may_grow(&feed->account, bytes)))
        return;
    set_state(feed, LEAT_FEED_GROWING);
    if (make_ring(feed, feed->ring->slot_bytes, n_slots, &err) < 0)
        set_state(feed, LEAT_FEED_RUNNING);
}

/* ---- jobs ---- */

static void job_start(struct leat_task *task) {
    leat_job_start(((struct leat_feed_job *)task)->job);
}

static void job_work(struct leat_task *task) {
    struct leat_job *job = ((struct leat_feed_job *)task)->job;

    leat_job_set_thread(job, leat_scheduler_thread());
    leat_job_execute(job);
}

/* One line for what goes wrong with the cache of a stream, which itself goes on; of many, the
 * first, the second, the fourth and so on. */
static void log_cache(struct leat_feed *feed) {
    struct leat_run_stats stats;
    char text[LEAT_ERROR_PRINT_MAX];
    bool is_many;

    leat_run_get_stats(feed->run, &stats);
    if (stats.n_cache_notes == feed->n_cache_notes)
        return;
    is_many = (stats.n_cache_notes & (stats.n_cache_notes - 1)) != 0;
    feed->n_cache_notes = stats.n_cache_notes;
    if (is_many)
        return;
    (void)leat_error_print(stats.cache_note, text, sizeof(text));
    leat_log_write(&feed->daemon->log, LEAT_EVENT_CACHE,
                   (const struct leat_log_field[]){LEAT_LOG_F("stream", feed->stream->name),
                                                   LEAT_LOG_N("count", stats.n_cache_notes),
                                                   LEAT_LOG_T("error", text), LEAT_LOG_FIELDS_END});
}

static void log_notes(struct leat_feed *feed) {
    uint32_t n_dropped = 0;
    char *note;

    while ((note = leat_run_take_note(feed->run))) {
        if (leat_user_may_log(feed->user, leat_daemon_now_ns(), &n_dropped))
            leat_log_write(&feed->daemon->log, LEAT_EVENT_HELPER,
                           (struct leat_log_field[]){
                               LEAT_LOG_F("stream", feed->plan->spec->name),
                               LEAT_LOG_T("text", note),
                               LEAT_LOG_N("suppressed", n_dropped),
                               LEAT_LOG_FIELDS_END,
                           });
        free(note);
    }
}

static void log_replay(struct leat_feed *feed) {
    char *why = leat_run_take_replay(feed->run);

    if (why)
        leat_log_write(&feed->daemon->log, LEAT_EVENT_REPLAY,
                       (struct leat_log_field[]){
                           LEAT_LOG_F("stream", feed->plan->spec->name),
                           LEAT_LOG_T("text", why),
                           LEAT_LOG_FIELDS_END,
                       });
    free(why);
}

static void job_done(struct leat_task *task) {
    struct leat_feed_job *feed_job = (struct leat_feed_job *)task;
    struct leat_feed *feed = feed_job->feed;

    leat_run_complete(feed->run, feed_job->job);
    log_cache(feed);
    log_notes(feed);
    log_replay(feed);
    feed_job->next = feed->free_jobs;
    feed->free_jobs = feed_job;
    feed->n_jobs--;
    if (feed->state == LEAT_FEED_CLOSING)
        finish_if_idle(feed);
    else
        leat_feed_mark(feed);
}

static struct leat_feed_job *take_job(struct leat_feed *feed) {
    struct leat_feed_job *feed_job = feed->free_jobs;

    if (!feed_job)
        return calloc(1, sizeof(*feed_job));
    feed->free_jobs = feed_job->next;
    return feed_job;
}

static void submit(struct leat_feed *feed, struct leat_feed_job *feed_job, struct leat_job *job) {
    static const enum leat_task_class classes[LEAT_N_JOB_KINDS] = {
        [LEAT_JOB_SCAN] = LEAT_TASK_SCAN,      [LEAT_JOB_MAP] = LEAT_TASK_MAP,
        [LEAT_JOB_COLLATE] = LEAT_TASK_URGENT, [LEAT_JOB_QUARANTINE] = LEAT_TASK_URGENT,
        [LEAT_JOB_CACHE] = LEAT_TASK_SLOW,     [LEAT_JOB_DECODE] = LEAT_TASK_MAP,
        [LEAT_JOB_REST] = LEAT_TASK_SLOW,
    };

    feed_job->feed = feed;
    feed_job->job = job;
    feed_job->task.class = classes[leat_job_kind(job)];
    feed_job->task.start = job_start;
    feed_job->task.work = job_work;
    feed_job->task.done = job_done;
    feed->n_jobs++;
    leat_scheduler_add(&feed->daemon->scheduler, &feed->queue, &feed_job->task);
}

static void give_slots(struct leat_feed *feed) {
    struct leat_ring *ring = feed->ring;

    while (ring->n_in_state[LEAT_SLOT_FREE] > 0) {
        struct leat_slot slot = {.index = leat_ring_next_free(ring)};

        slot.memory = leat_ring_slot_memory(ring, slot.index);
        slot.size_bytes = ring->slot_bytes;
        slot.generation = ring->generation;
        if (leat_run_give_slot(feed->run, &slot) < 0)
            break;
        leat_ring_give(ring, slot.index);
    }
}

static void pump_jobs(struct leat_feed *feed) {
    for (;;) {
        struct leat_feed_job *feed_job = take_job(feed);
        struct leat_job *job;
        int r;

        if (!feed_job)
            return; /* the next completion tries again */
        r = leat_run_next_job(feed->run, &job);
        if (r == LEAT_RUN_JOB) {
            submit(feed, feed_job, job);
            continue;
        }
        feed_job->next = feed->free_jobs;
        feed->free_jobs = feed_job;
        if (r == LEAT_RUN_NEEDS_SLOT && feed->state == LEAT_FEED_RUNNING &&
            leat_run_slot_need(feed->run) > feed->ring->slot_bytes)
            grow(feed, leat_run_slot_need(feed->run));
        return;
    }
}

static void pump(struct leat_feed *feed) {
    if (feed->state == LEAT_FEED_CLOSING || feed->error.code || !feed->ring)
        return;
    leat_feed_tuner_step(feed);
    if (feed->state == LEAT_FEED_RUNNING)
        give_slots(feed);
    pump_jobs(feed);
}

void leat_feeds_trim(struct leat_daemon *daemon) {
    for (struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->run)
            leat_run_trim(feed->run);
}

void leat_feeds_tick(struct leat_daemon *daemon) {
    for (struct leat_feed *feed = daemon->feeds; feed; feed = feed->next)
        if (feed->state != LEAT_FEED_CLOSING && leat_run_tick(feed->run))
            leat_feed_mark(feed);
}

void leat_feeds_flush(struct leat_daemon *daemon) {
    while (daemon->dirty_feeds) {
        struct leat_feed *feed = daemon->dirty_feeds;

        daemon->dirty_feeds = feed->next_dirty;
        feed->is_dirty = false;
        pump(feed);
        if (feed->subscriber && feed->state != LEAT_FEED_STARTING)
            feed->ops->on_changed(feed->subscriber);
    }
}

/* ---- outputs ---- */

static struct leat_ring *find_ring(const struct leat_feed *feed, uint64_t generation) {
    struct leat_ring *ring = feed->rings;

    while (ring && ring->generation != generation)
        ring = ring->next;
    return ring;
}

bool leat_feed_take(struct leat_feed *feed, struct leat_feed_output *ret_output) {
    struct leat_output output;

    if (feed->state == LEAT_FEED_CLOSING || !leat_run_take_output(feed->run, &output))
        return false;
    *ret_output = (struct leat_feed_output){
        .kind = output.kind,
        .slot = output.slot.index,
        .n_rows = output.n_rows,
        .epoch = output.epoch,
        .step = output.step,
        .used_bytes = output.used_bytes,
        .is_last = output.is_last,
    };
    if (output.kind == LEAT_OUTPUT_BATCH) {
        ret_output->ring = find_ring(feed, output.slot.generation);
        assert(ret_output->ring);
        leat_ring_ready(ret_output->ring, ret_output->slot);
        if (leat_run_is_ready(feed->run)) /* this one was in its way */
            leat_feed_mark(feed);
    }
    return true;
}

static void slot_is_free(struct leat_feed *feed, struct leat_ring *ring) {
    if (ring == feed->ring)
        leat_feed_mark(feed);
    else
        free_ring_if_idle(feed, ring);
    finish_if_idle(feed);
}

void leat_feed_untake(struct leat_feed *feed, const struct leat_feed_output *output) {
    if (output->kind != LEAT_OUTPUT_BATCH)
        return;
    leat_ring_take_back(output->ring, output->slot);
    slot_is_free(feed, output->ring);
}

void leat_feed_hold(struct leat_feed *feed, struct leat_ring *ring, uint32_t slot) {
    (void)feed;
    leat_ring_hold(ring, slot);
}

void leat_feed_release(struct leat_feed *feed, struct leat_ring *ring, uint32_t slot) {
    if (leat_ring_release(ring, slot))
        slot_is_free(feed, ring);
}

const struct leat_error *leat_feed_error(const struct leat_feed *feed) {
    if (feed->error.code)
        return &feed->error;
    return feed->run ? leat_run_error(feed->run) : NULL;
}

/* ---- life ---- */

static void link_feed(struct leat_daemon *daemon, struct leat_feed *feed) {
    feed->next = daemon->feeds;
    feed->link = &daemon->feeds;
    if (feed->next)
        feed->next->link = &feed->next;
    daemon->feeds = feed;
    daemon->n_feeds++;
}

static void unlink_feed(struct leat_feed *feed) {
    *feed->link = feed->next;
    if (feed->next)
        feed->next->link = feed->link;
    feed->daemon->n_feeds--;
}

/* Its run, within what the budget gives it. */
static int start_run(struct leat_feed *feed, const struct leat_run_options *options,
                     const struct leat_stream *stream, uint32_t window,
                     struct leat_admission *admission, struct leat_error *err) {
    struct leat_run_options run_options = *options;
    struct leat_daemon *daemon = feed->daemon;
    int r = leat_admission_open(daemon, feed->plan, window, &feed->account, admission, err);

    if (r < 0) {
        leat_error_prefix(err, "streams.%s", feed->plan->spec->name);
        return r;
    }
    run_options.max_map_jobs = 4 * daemon->n_workers + 2;
    run_options.n_map_threads = daemon->scheduler.max_long;
    run_options.now_ns = leat_daemon_now_ns;
    run_options.account = &feed->account;
    run_options.index_folder = leat_daemon_index_folder(daemon);
    run_options.is_unfused = daemon->options.is_unfused;
    r = leat_run_new(feed->plan, &run_options, &feed->run, err);
    if (r < 0) {
        leat_account_close(&feed->account);
        return r;
    }
    leat_run_set_trace(feed->run, stream->trace);
    feed->loaded_bytes = admission->memory.loaded_bytes;
    leat_account_change(&feed->account, LEAT_MEMORY_LOADED, 0, feed->loaded_bytes);
    return 0;
}

int leat_feed_new(struct leat_daemon *daemon, struct leat_user *user, struct leat_plan *plan,
                  const struct leat_run_options *options, uint32_t window,
                  const struct leat_feed_ops *ops, void *subscriber, struct leat_stream *stream,
                  struct leat_feed **ret_feed, struct leat_error *err) {
    struct leat_feed *feed = calloc(1, sizeof(*feed));
    struct leat_admission admission;
    int r;

    if (!feed)
        return leat_error_oom(err);
    feed->daemon = daemon;
    feed->plan = plan;
    r = start_run(feed, options, stream, window, &admission, err);
    if (r < 0) {
        free(feed);
        return r;
    }
    feed->ops = ops;
    feed->subscriber = subscriber;
    feed->min_slots = admission.n_min_slots;
    feed->n_slots = admission.n_slots;
    (void)leat_plan_ref(plan);
    feed->user = leat_user_ref(user);
    feed->stream = leat_stream_ref(stream);
    leat_task_queue_init(&feed->queue);
    link_feed(daemon, feed);
    r = make_ring(feed, plan->slot_bytes, admission.n_slots, err);
    if (r < 0) {
        leat_feed_close(feed);
        return r;
    }
    *ret_feed = feed;
    return 0;
}

void leat_feed_close(struct leat_feed *feed) {
    feed->subscriber = NULL;
    leat_run_cancel(feed->run);
    (void)leat_account_guarantee(&feed->account, 0); /* it takes no more */
    set_state(feed, LEAT_FEED_CLOSING);
    finish_if_idle(feed);
}

/* Ends the run: batches that nobody took are forgotten, and their slots free. */
static void end_run(struct leat_feed *feed) {
    struct leat_run_stats stats;
    struct leat_output output;

    while (leat_run_take_output(feed->run, &output))
        if (output.kind == LEAT_OUTPUT_BATCH)
            leat_ring_take_back(find_ring(feed, output.slot.generation), output.slot.index);
    retire_ring(feed);
    leat_feed_tuner_end(feed);
    leat_run_get_stats(feed->run, &stats);
    leat_stream_totals_add(&feed->stream->totals, &stats);
    feed->run = leat_run_free(feed->run);
    for (struct leat_ring *ring = feed->rings, *next; ring; ring = next) {
        next = ring->next;
        free_ring_if_idle(feed, ring);
    }
}

static void remove_dirty(struct leat_feed *feed) {
    struct leat_feed **link = &feed->daemon->dirty_feeds;

    if (!feed->is_dirty)
        return;
    while (*link != feed)
        link = &(*link)->next_dirty;
    *link = feed->next_dirty;
}

static void free_feed(struct leat_feed *feed) {
    struct leat_daemon *daemon = feed->daemon;

    remove_dirty(feed);
    unlink_feed(feed);
    while (feed->free_jobs) {
        struct leat_feed_job *feed_job = feed->free_jobs;

        feed->free_jobs = feed_job->next;
        free(feed_job);
    }
    leat_plan_unref(feed->plan);
    leat_account_change(&feed->account, LEAT_MEMORY_LOADED, feed->loaded_bytes, 0);
    leat_pool_stats_keep(feed->stream->totals.pools, feed->account.pools);
    leat_account_close(&feed->account);
    leat_user_unref(feed->user);
    leat_streams_unref(&daemon->streams, feed->stream);
    free(feed);
    leat_heap_freed(&daemon->heap);
    leat_daemon_on_ended(daemon);
}

/* A run that is cancelled may still have a cache to complete, and something to give up. */
static bool has_last_job(struct leat_feed *feed) {
    struct leat_feed_job *feed_job = take_job(feed);
    struct leat_job *job;

    if (!feed_job)
        return false;
    if (leat_run_next_job(feed->run, &job) == LEAT_RUN_JOB) {
        submit(feed, feed_job, job);
        return true;
    }
    feed_job->next = feed->free_jobs;
    feed->free_jobs = feed_job;
    return false;
}

static void finish_if_idle(struct leat_feed *feed) {
    if (feed->state != LEAT_FEED_CLOSING)
        return;
    if (feed->run && feed->n_jobs == 0 && !has_last_job(feed))
        end_run(feed);
    if (!feed->run && !feed->rings && feed->n_tasks == 0)
        free_feed(feed);
}
