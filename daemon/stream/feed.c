/* feed.c: the jobs, outputs and life of a feed. Whatever takes time is a task of the pool. See
 * feed.h.
 */
#include "daemon/stream/feed.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/stream/consumer.h"
#include "daemon/stream/feeds.h"
#include "daemon/system/process.h"
#include "daemon/users/client_log.h"
#include "proto/base/clock.h"
#include "proto/base/list.h"

void leat_feed_add_task(struct leat_feed *feed, struct leat_task *task) {
    feed->n_tasks++;
    task->stream = feed->stream;
    leat_scheduler_add(feed->feeds->env->scheduler, &feed->user->queue, task);
}

void leat_feed_task_done(struct leat_feed *feed) {
    feed->n_tasks--;
    leat_feed_finish_if_idle(feed);
}

/* The one setter of the state. */
void leat_feed_set_state(struct leat_feed *feed, enum leat_feed_state state) {
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
    feed->next_dirty = feed->feeds->dirty;
    feed->feeds->dirty = feed;
}

void leat_feed_fail(struct leat_feed *feed, const struct leat_error *err) {
    if (!feed->error.code) {
        feed->error = *err;
        leat_error_prefix(&feed->error, "streams.%s", feed->plan->spec->name);
    }
    leat_feed_mark(feed);
}

void leat_feed_out_of_memory(struct leat_feed *feed) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_oom(&err);
    leat_feed_fail(feed, &err);
}

/* ---- jobs ---- */

static void job_start(struct leat_task *task) {
    leat_job_start(((struct leat_feed_job *)task)->job);
}

/* Lets the loop see the processor time used. No clock of pthread_getcpuclockid() is 0. */
static void show_clock(struct leat_feed_job *feed_job, uint64_t cpu_ns) {
    clockid_t clock;

    if (pthread_getcpuclockid(pthread_self(), &clock) != 0)
        return;
    atomic_store_explicit(&feed_job->cpu_start_ns, cpu_ns, memory_order_relaxed);
    atomic_store_explicit(&feed_job->cpu_clock, clock, memory_order_release);
}

static void job_work(struct leat_task *task) {
    struct leat_feed_job *feed_job = (struct leat_feed_job *)task;
    uint64_t start_ns = leat_now_ns();
    struct leat_usage before, after;
    struct leat_job_usage usage;

    leat_usage_read(&before);
    show_clock(feed_job, before.cpu_ns);
    leat_job_set_thread(feed_job->job, leat_scheduler_thread());
    leat_job_execute(feed_job->job);
    leat_usage_read(&after);
    usage.queue_ns = start_ns - feed_job->submit_ns;
    leat_usage_split(&before, &after, leat_now_ns() - start_ns, &usage.cpu_ns, &usage.delay_ns);
    leat_job_set_usage(feed_job->job, &usage);
}

static uint64_t cpu_so_far(struct leat_feed_job *feed_job) {
    clockid_t clock = atomic_load_explicit(&feed_job->cpu_clock, memory_order_acquire);
    uint64_t start_ns = atomic_load_explicit(&feed_job->cpu_start_ns, memory_order_relaxed);
    uint64_t ns = clock ? leat_clock_ns(clock) : 0;

    return ns > start_ns ? ns - start_ns : 0;
}

void leat_feed_add_running(const struct leat_feed *feed, uint64_t now_ns,
                           struct leat_run_job_stats *jobs) {
    for (struct leat_task *task = feed->feeds->env->scheduler->out; task; task = task->next) {
        struct leat_feed_job *feed_job = (struct leat_feed_job *)task;
        uint64_t start_ns = atomic_load_explicit(&task->start_ns, memory_order_relaxed);
        struct leat_run_job_stats *stats;

        if (task->queue != &feed->queue || task->work != job_work || start_ns == 0 ||
            start_ns > now_ns)
            continue;
        stats = &jobs[leat_job_kind(feed_job->job)];
        stats->busy_ns += now_ns - start_ns;
        stats->cpu_ns += cpu_so_far(feed_job);
    }
}

/* Logs problems with the stream's cache, without which it goes on: the first, the second, the
 * fourth and so on. */
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
    leat_client_log_event(feed->feeds->env, feed->user->uid, LEAT_EVENT_CACHE,
                          (const struct leat_log_field[]){LEAT_LOG_F("stream", feed->stream->name),
                                                          LEAT_LOG_N("count", stats.n_cache_notes),
                                                          LEAT_LOG_T("error", text),
                                                          LEAT_LOG_FIELDS_END});
}

static void log_text(const struct leat_feed *feed, enum leat_event event, const char *text) {
    leat_client_log_event(feed->feeds->env, feed->user->uid, event,
                          (struct leat_log_field[]){LEAT_LOG_F("stream", feed->plan->spec->name),
                                                    LEAT_LOG_T("text", text), LEAT_LOG_FIELDS_END});
}

static void report_change(struct leat_feed *feed, const char *text) {
    struct leat_error notice = LEAT_ERROR_INIT;

    log_text(feed, LEAT_EVENT_DATA_CHANGED, text);
    leat_error_set(&notice, -ESTALE, "the data changed while the stream was read: %s", text);
    leat_error_prefix(&notice, "streams.%s", feed->plan->spec->name);
    feed->ops->notify(feed, &notice);
}

/* Reports what jobs of the run noted. */
static void report_notes(struct leat_feed *feed) {
    char *text;

    log_cache(feed);
    for (; (text = leat_run_take_note(feed->run)); free(text))
        log_text(feed, LEAT_EVENT_HELPER, text);
    for (; (text = leat_run_take_change(feed->run)); free(text))
        report_change(feed, text);
    text = leat_run_take_replay(feed->run);
    if (text)
        log_text(feed, LEAT_EVENT_REPLAY, text);
    free(text);
}

static void keep_job(struct leat_feed *feed, struct leat_feed_job *feed_job) {
    feed_job->next = feed->free_jobs;
    feed->free_jobs = feed_job;
}

static void job_done(struct leat_task *task) {
    struct leat_feed_job *feed_job = (struct leat_feed_job *)task;
    struct leat_feed *feed = feed_job->feed;

    leat_run_complete(feed->run, feed_job->job);
    report_notes(feed);
    keep_job(feed, feed_job);
    feed->n_jobs--;
    if (feed->state == LEAT_FEED_CLOSING)
        leat_feed_finish_if_idle(feed);
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

static void submit_job(struct leat_feed *feed, struct leat_feed_job *feed_job,
                       struct leat_job *job) {
    static const enum leat_task_class classes[LEAT_N_JOB_KINDS] = {
        [LEAT_JOB_SCAN] = LEAT_TASK_SCAN,      [LEAT_JOB_MAP] = LEAT_TASK_MAP,
        [LEAT_JOB_COLLATE] = LEAT_TASK_URGENT, [LEAT_JOB_QUARANTINE] = LEAT_TASK_URGENT,
        [LEAT_JOB_CACHE] = LEAT_TASK_SLOW,     [LEAT_JOB_DECODE] = LEAT_TASK_MAP,
        [LEAT_JOB_IDLE] = LEAT_TASK_SLOW,
    };

    feed_job->feed = feed;
    feed_job->job = job;
    feed_job->task.class = classes[leat_job_kind(job)];
    feed_job->task.stream = feed->stream;
    feed_job->task.start = job_start;
    feed_job->task.work = job_work;
    feed_job->task.done = job_done;
    feed_job->submit_ns = leat_now_ns();
    atomic_store_explicit(&feed_job->cpu_clock, 0, memory_order_relaxed);
    feed->n_jobs++;
    leat_scheduler_add(feed->feeds->env->scheduler, &feed->queue, &feed_job->task);
}

static void pump_jobs(struct leat_feed *feed) {
    for (;;) {
        struct leat_feed_job *feed_job = take_job(feed);
        struct leat_job *job;
        int r;

        if (!feed_job && feed->n_jobs == 0)
            leat_feed_out_of_memory(feed);
        if (!feed_job)
            return; /* the next completion tries again */
        r = leat_run_next_job(feed->run, &job);
        if (r == LEAT_RUN_JOB) {
            submit_job(feed, feed_job, job);
            continue;
        }
        keep_job(feed, feed_job);
        if (r == LEAT_RUN_NEEDS_SLOT && feed->state == LEAT_FEED_RUNNING &&
            leat_run_slot_need(feed->run) > feed->ring->slot_bytes)
            leat_feed_grow_slots(feed, leat_run_slot_need(feed->run));
        return;
    }
}

/* The number of batches, of all ranks, that go to the broadcast as soon as they are made. A trainer
 * is waiting for them, or for later ones. */
static uint64_t count_credit(const struct leat_feed *feed) {
    const struct leat_broadcast_reader *reader = feed->broadcast_run.readers;
    uint64_t most = 0;

    for (; reader; reader = reader->next_reader) {
        const struct leat_consumer *consumer = leat_consumer_of(reader);

        if (!consumer->ops->has_unsent(consumer) && leat_broadcast_lack(reader) > most)
            most = leat_broadcast_lack(reader);
    }
    return most > 0 ? (most - 1) * feed->broadcast_run.n_ranks + 1 : 0;
}

static void pump_feed(struct leat_feed *feed) {
    if (feed->state == LEAT_FEED_CLOSING || feed->error.code || !feed->ring)
        return;
    leat_feed_tuner_step(feed);
    if (feed->ring->n_slots < feed->min_slots)
        leat_feed_fit_ring(feed, feed->min_slots, false);
    leat_run_set_credit(feed->run, count_credit(feed));
    leat_feed_give_slots(feed); /* also while a larger ring is made */
    pump_jobs(feed);
}

void leat_feeds_trim(struct leat_feeds *feeds) {
    for (struct leat_feed *feed = feeds->first; feed; feed = feed->next)
        if (feed->run)
            leat_run_trim(feed->run);
}

void leat_feeds_tick(struct leat_feeds *feeds) {
    for (struct leat_feed *feed = feeds->first; feed; feed = feed->next) {
        if (feed->state == LEAT_FEED_CLOSING)
            continue;
        leat_feed_give_back(feed);
        if (leat_run_tick(feed->run))
            leat_feed_mark(feed);
    }
}

/* True if a batch is pending and the ring has no slot left for it. */
static bool is_starved(const struct leat_feed *feed) {
    return feed->state == LEAT_FEED_RUNNING && feed->ring && leat_run_lacks_slot(feed->run) &&
           feed->ring->n_in_state[LEAT_SLOT_FREE] == 0;
}

/* Hands ready outputs to hungry readers. Only then does it show whether a slot is missing. */
static void serve_readers(struct leat_feed *feed) {
    while (feed->broadcast_run.n_hungry > 0 && leat_feed_pull(feed))
        ;
    leat_broadcast_set_starved(&feed->broadcast_run, is_starved(feed));
    feed->ops->act(feed);
}

static void flush_consumer(struct leat_feeds *feeds) {
    struct leat_consumer *consumer = feeds->dirty_consumers;

    feeds->dirty_consumers = consumer->next_dirty;
    consumer->is_dirty = false;
    consumer->ops->flush(consumer);
}

void leat_feeds_flush(struct leat_feeds *feeds) {
    while (feeds->dirty || feeds->dirty_consumers) {
        struct leat_feed *feed = feeds->dirty;

        if (!feed) {
            flush_consumer(feeds);
            continue;
        }
        feeds->dirty = feed->next_dirty;
        feed->is_dirty = false;
        pump_feed(feed);
        if (feed->state != LEAT_FEED_STARTING && feed->state != LEAT_FEED_CLOSING)
            serve_readers(feed);
    }
}

/* ---- outputs ---- */

static struct leat_slot_ring *find_ring(const struct leat_feed *feed, uint64_t generation) {
    struct leat_slot_ring *ring = feed->rings;

    while (ring && ring->generation != generation)
        ring = ring->next;
    return ring;
}

static struct leat_feed_item *take_item(struct leat_feed *feed) {
    struct leat_feed_item *item = feed->free_items;

    if (!item)
        return calloc(1, sizeof(*item));
    feed->free_items = item->next_free;
    return item;
}

static void fill_item(struct leat_feed *feed, const struct leat_output *output,
                      struct leat_feed_item *item) {
    *item = (struct leat_feed_item){
        .base = {.is_end = output->kind == LEAT_OUTPUT_EPOCH_END,
                 .is_last = output->is_last,
                 .epoch = output->epoch,
                 .step = output->step,
                 .generation = output->slot.generation,
                 .slot = output->slot.index},
        .n_rows = output->n_rows,
        .used_bytes = output->used_bytes,
    };
    if (item->base.is_end)
        return;
    leat_daemon_stream_made(feed->stream, feed->number);
    item->ring = find_ring(feed, output->slot.generation);
    assert(item->ring);
    leat_slot_ring_ready(item->ring, item->base.slot);
    if (leat_run_slot_need(feed->run) > 0) /* the next batch can be made now, or lacks a slot */
        leat_feed_mark(feed);
}

bool leat_feed_pull(struct leat_feed *feed) {
    struct leat_feed_item *item;
    struct leat_output output;

    if (feed->state == LEAT_FEED_CLOSING || feed->broadcast_run.has_ended)
        return false;
    item = take_item(feed);
    if (!item)
        leat_feed_out_of_memory(feed);
    if (item && leat_run_take_output(feed->run, &output)) {
        fill_item(feed, &output, item);
        leat_broadcast_output(&feed->broadcast_run, &item->base);
        return true;
    }
    if (item) {
        item->next_free = feed->free_items;
        feed->free_items = item;
    }
    if (!leat_feed_error(feed))
        return false;
    leat_daemon_stream_fail(feed->stream, leat_feed_error(feed), false, feed->feeds->n_made);
    leat_broadcast_fail(&feed->broadcast_run);
    return true;
}

void leat_feed_reach(struct leat_feed *feed, uint64_t epoch) {
    if (epoch <= feed->reached || !feed->run)
        return;
    feed->reached = epoch;
    leat_run_reach(feed->run, epoch);
    leat_feed_mark(feed);
}

/* A slot of an older ring is of no use to the run. */
static void slot_is_free(struct leat_feed *feed, struct leat_slot_ring *ring) {
    if (ring == feed->ring)
        leat_broadcast_set_starved(&feed->broadcast_run, false);
    else
        leat_feed_free_ring_if_idle(feed, ring);
    leat_feed_mark(feed);
    leat_feed_finish_if_idle(feed);
}

void leat_feed_free_item(struct leat_feed_item *item) {
    struct leat_feed *feed = leat_feed_of(item->base.run);
    struct leat_slot_ring *ring = item->ring;

    item->next_free = feed->free_items;
    feed->free_items = item;
    if (!ring)
        return;
    leat_slot_ring_take_back(ring, item->base.slot);
    slot_is_free(feed, ring);
}

void leat_feed_extend(struct leat_feed *feed) {
    const struct leat_broadcast_run *run = &feed->broadcast_run;
    uint64_t n_epochs =
        run->end_epoch == LEAT_BROADCAST_NO_LIMIT ? 0 : run->end_epoch - feed->first_epoch;
    uint64_t n_steps = run->n_wanted == LEAT_BROADCAST_NO_LIMIT ? 0 : run->n_wanted;
    struct leat_error err = LEAT_ERROR_INIT;

    if (feed->state == LEAT_FEED_CLOSING || run->has_ended)
        return;
    if (leat_run_extend(feed->run, n_epochs, n_steps, &err) < 0)
        leat_feed_fail(feed, &err);
    leat_feed_mark(feed);
}

const struct leat_error *leat_feed_error(const struct leat_feed *feed) {
    if (feed->error.code)
        return &feed->error;
    return feed->run ? leat_run_error(feed->run) : NULL;
}

/* ---- life ---- */

static int start_run(struct leat_feed *feed, const struct leat_feed_order *order,
                     struct leat_error *err) {
    struct leat_run_options options = order->options;
    const struct leat_env *env = feed->feeds->env;
    int r;

    options.max_map_jobs = LEAT_BLOCKS_IN_QUEUE(env->n_workers);
    options.n_map_threads = env->scheduler->max_long;
    options.now_ns = leat_now_ns;
    options.account = &feed->account;
    options.index_folder = leat_feeds_index_folder(feed->feeds);
    options.is_unfused = env->is_unfused;
    options.is_told = true;
    r = leat_run_new(feed->plan, &options, &feed->run, err);
    if (r < 0)
        return r;
    leat_run_set_trace(feed->run, order->stream->trace);
    return 0;
}

int leat_feed_new(struct leat_feeds *feeds, const struct leat_feed_order *order,
                  struct leat_feed **ret_feed, struct leat_error *err) {
    const struct leat_admission *admission = &order->admission;
    struct leat_feed *feed = calloc(1, sizeof(*feed));
    int r = -ENOMEM;

    if (feed) {
        feed->feeds = feeds;
        feed->plan = order->plan;
        feed->account = admission->account;
        if (feeds->streams.on_run)
            feeds->streams.on_run(feeds->streams.user, order->stream);
        r = start_run(feed, order, err);
    } else {
        leat_error_oom(err);
    }
    if (r < 0) {
        struct leat_account account = admission->account;

        leat_account_close(&account);
        order->ops->end(order->take_share);
        free(feed);
        return r;
    }
    feed->ops = order->ops;
    feed->share = order->take_share;
    feed->number = ++feeds->n_made;
    feed->first_epoch = feed->reached = order->options.first_epoch;
    feed->min_slots = feed->least_slots = admission->n_min_slots;
    feed->n_slots = admission->n_slots;
    feed->guaranteed_bytes = admission->guaranteed_bytes;
    (void)leat_plan_ref(feed->plan);
    feed->user = leat_user_ref(order->user);
    feed->stream = leat_daemon_stream_ref(order->stream);
    leat_task_queue_init(&feed->queue, &feed->user->tasks);
    LEAT_LIST_ADD(&feeds->first, feed);
    feeds->n_feeds++;
    r = leat_feed_make_ring(feed, feed->plan->slot_bytes, admission->n_slots, false, err);
    if (r < 0) {
        leat_feed_close(feed);
        return r;
    }
    /* Counted last: a feed that is refused returns no memory that others wait for. */
    feed->loaded_bytes = admission->memory.loaded_bytes;
    leat_account_change(&feed->account, LEAT_MEMORY_LOADED, 0, feed->loaded_bytes);
    leat_feed_tuner_start(feed, order->kept);
    *ret_feed = feed;
    return 0;
}

void leat_feed_close(struct leat_feed *feed) {
    leat_run_cancel(feed->run);
    (void)leat_account_guarantee(&feed->account, 0); /* it takes no more memory */
    leat_feed_set_state(feed, LEAT_FEED_CLOSING);
    leat_feed_finish_if_idle(feed);
}

/* Memory of a run that has ended, which is given back on the pool. */
struct leftover_task {
    struct leat_task task;
    struct leat_feed *feed;
    struct leat_leftovers leftovers;
};

static void leftover_work(struct leat_task *task) {
    leat_leftovers_free(&((struct leftover_task *)task)->leftovers);
}

static void leftover_done(struct leat_task *task) {
    struct leftover_task *leftover = (struct leftover_task *)task;
    struct leat_feed *feed = leftover->feed;

    leat_leftovers_discharge(&leftover->leftovers, &feed->account);
    free(leftover);
    leat_feed_task_done(feed);
}

static void free_run(struct leat_feed *feed) {
    struct leftover_task *leftover = calloc(1, sizeof(*leftover));

    if (!leftover) { /* then on the loop, although it takes a while */
        feed->run = leat_run_free(feed->run);
        return;
    }
    leat_run_end(feed->run, &leftover->leftovers);
    feed->run = NULL;
    leftover->feed = feed;
    leftover->task.class = LEAT_TASK_SLOW;
    leftover->task.work = leftover_work;
    leftover->task.done = leftover_done;
    leat_feed_add_task(feed, &leftover->task);
}

/* Ends the run, drops batches that were not taken, and frees their slots. */
static void end_run(struct leat_feed *feed) {
    struct leat_run_stats stats;
    struct leat_output output;

    while (leat_run_take_output(feed->run, &output))
        if (output.kind == LEAT_OUTPUT_BATCH)
            leat_slot_ring_take_back(find_ring(feed, output.slot.generation), output.slot.index);
    leat_feed_retire_ring(feed);
    leat_feed_tuner_end(feed);
    leat_run_get_stats(feed->run, &stats);
    leat_stream_totals_add(&feed->stream->totals, &stats);
    free_run(feed);
    for (struct leat_slot_ring *ring = feed->rings, *next; ring; ring = next) {
        next = ring->next;
        leat_feed_free_ring_if_idle(feed, ring);
    }
}

static void remove_dirty(struct leat_feed *feed) {
    struct leat_feed **link = &feed->feeds->dirty;

    if (!feed->is_dirty)
        return;
    while (*link != feed)
        link = &(*link)->next_dirty;
    *link = feed->next_dirty;
}

static void free_feed(struct leat_feed *feed) {
    struct leat_feeds *feeds = feed->feeds;

    remove_dirty(feed);
    LEAT_LIST_REMOVE(feed);
    feeds->n_feeds--;
    while (feed->free_jobs) {
        struct leat_feed_job *feed_job = feed->free_jobs;

        feed->free_jobs = feed_job->next;
        free(feed_job);
    }
    while (feed->free_items) {
        struct leat_feed_item *item = feed->free_items;

        feed->free_items = item->next_free;
        free(item);
    }
    leat_plan_unref(feed->plan);
    leat_account_change(&feed->account, LEAT_MEMORY_LOADED, feed->loaded_bytes, 0);
    leat_pool_stats_keep(feed->stream->totals.pools, feed->account.pools);
    leat_account_close(&feed->account);
    leat_user_unref(feed->user);
    leat_streams_unref(&feeds->streams, feed->stream);
    feed->ops->end(feed->share);
    free(feed);
    feeds->heap.is_due = true; /* much memory was freed */
    leat_env_ended(feeds->env);
}

/* Submits a last job of a cancelled run, as to complete a cache. False: there is none. */
static bool has_last_job(struct leat_feed *feed) {
    struct leat_feed_job *feed_job = take_job(feed);
    struct leat_job *job;

    if (!feed_job)
        return false;
    if (leat_run_next_job(feed->run, &job) == LEAT_RUN_JOB) {
        submit_job(feed, feed_job, job);
        return true;
    }
    keep_job(feed, feed_job);
    return false;
}

void leat_feed_finish_if_idle(struct leat_feed *feed) {
    if (feed->state != LEAT_FEED_CLOSING)
        return;
    if (feed->run && feed->n_jobs == 0 && !has_last_job(feed))
        end_run(feed);
    if (!feed->run && !feed->rings && feed->n_tasks == 0)
        free_feed(feed);
}
