/* feed_tuner.c: the tuner of a feed. It measures about every 100 ms in which something happens;
 * what the tuner decides is applied, logged, and kept for the next run by a task of the pool.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/settings.h"
#include "daemon/stream/consumer.h"
#include "daemon/stream/feed.h"
#include "daemon/stream/feeds.h"
#include "daemon/system/process.h"
#include "daemon/users/client_log.h"
#include "proto/base/clock.h"

#define BLOCKS_OF_INTERVAL 8  /* that end a sample, or: */
#define INTERVALS_MAX      20 /* of LEAT_TUNER_INTERVAL_NS */
#define BLOCK_BYTES_MOST   (UINT64_C(1) << 20)
#define JOBS_FACTOR        2
#define AHEAD_FACTOR       4
#define RING_BYTES_MOST    (UINT64_C(256) << 20) /* to which a ring may grow */
#define BLOCKS_BYTES_MOST  (UINT64_C(1) << 30)   /* of blocks, where there is no memory_limit, */
#define MEMORY_PART        8                     /* and this part of the machine's memory */

/* ---- limits ---- */

static bool is_on(const struct leat_feeds *feeds, const struct leat_plan *plan) {
    int own = plan->options.tuner;

    return own == LEAT_TUNER_AS_SET ? feeds->env->settings->tuner == LEAT_SETTINGS_TUNER_ON
                                    : own == LEAT_TUNER_ON;
}

void leat_feed_tuner_pins(const struct leat_plan *plan, bool ret_is_pinned[LEAT_N_KNOBS]) {
    ret_is_pinned[LEAT_KNOB_BLOCK_BYTES] = leat_config_given(&plan->options.base, "block_bytes");
    ret_is_pinned[LEAT_KNOB_JOBS] = plan->options.jobs_in_flight > 0;
    ret_is_pinned[LEAT_KNOB_AHEAD] = plan->has_prefetch;
    ret_is_pinned[LEAT_KNOB_COLLATED] = plan->options.collate_batches > 0;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void set_limits(const struct leat_feed *feed, struct leat_tuner_limits *ret_limits) {
    uint64_t n_slots = feed->n_slots;
    const struct leat_plan *plan = feed->plan;
    struct leat_tuner_limits *limits = ret_limits;
    uint64_t *start = limits->start.of, *most = limits->most.of;

    *limits = (struct leat_tuner_limits){.n_threads = feed->feeds->env->scheduler->max_long,
                                         .slot_bytes = plan->slot_bytes};
    leat_feed_tuner_pins(plan, limits->is_pinned);
    leat_run_get_knobs(feed->run, &limits->start);
    if (limits->is_pinned[LEAT_KNOB_AHEAD])
        n_slots = start[LEAT_KNOB_AHEAD];
    start[LEAT_KNOB_AHEAD] = n_slots;
    most[LEAT_KNOB_BLOCK_BYTES] = larger(start[LEAT_KNOB_BLOCK_BYTES], BLOCK_BYTES_MOST);
    most[LEAT_KNOB_JOBS] = start[LEAT_KNOB_JOBS] * JOBS_FACTOR;
    most[LEAT_KNOB_AHEAD] =
        larger(n_slots, smaller(smaller(n_slots * AHEAD_FACTOR, LEAT_RING_MAX_SLOTS),
                                RING_BYTES_MOST / (plan->slot_bytes ? plan->slot_bytes : 1)));
    most[LEAT_KNOB_COLLATED] = larger(start[LEAT_KNOB_COLLATED], (n_slots + 1) / 2);
    leat_knobs_clamp(&limits->most);
}

/* ---- what earlier runs kept ---- */

void leat_feed_tuner_recall(const struct leat_tuner_store *store, const struct leat_plan *plan,
                            struct leat_feed_kept *ret_kept) {
    struct leat_tuner_key key;
    bool is_pinned[LEAT_N_KNOBS];

    *ret_kept = (struct leat_feed_kept){.error = LEAT_ERROR_INIT};
    if (plan->options.tuner == LEAT_TUNER_OFF)
        return;
    leat_feed_tuner_pins(plan, is_pinned);
    leat_tuner_store_key(store, plan->spec_digest, is_pinned, &key);
    ret_kept->is_there =
        leat_tuner_store_read(store, &key, &ret_kept->memory, &ret_kept->error) == 0;
}

struct keep_task {
    struct leat_task task;
    struct leat_feed *feed;
    const struct leat_tuner_store *store;
    struct leat_tuner_key key;
    struct leat_tuner_memory memory;
    struct leat_error error;
};

static void keep_work(struct leat_task *task) {
    struct keep_task *keep = (struct keep_task *)task;

    (void)leat_tuner_store_write(keep->store, &keep->key, &keep->memory, &keep->error);
}

static void log_error(struct leat_feed *feed, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, text, sizeof(text));
    leat_client_log_event(feed->feeds->env, feed->user->uid, LEAT_EVENT_TUNER,
                          (const struct leat_log_field[]){LEAT_LOG_F("stream", feed->stream->name),
                                                          LEAT_LOG_T("error", text),
                                                          LEAT_LOG_FIELDS_END});
}

static void keep_done(struct leat_task *task) {
    struct keep_task *keep = (struct keep_task *)task;
    struct leat_feed *feed = keep->feed;

    if (keep->error.code)
        log_error(feed, &keep->error);
    free(keep);
    leat_feed_task_done(feed);
}

uint32_t leat_feed_tuner_slots(const struct leat_feed *feed) {
    return feed->tuner.is_on ? (uint32_t)feed->tuner.tuner.current.of[LEAT_KNOB_AHEAD] : 0;
}

void leat_feed_tuner_end(struct leat_feed *feed) {
    struct leat_feed_tuner *self = &feed->tuner;
    struct keep_task *keep;

    if (!self->is_on)
        return;
    self->is_on = false;
    feed->stream->tuner = self->tuner;
    feed->stream->has_tuner = true;
    if (self->tuner.n_decisions < 2 || !feed->feeds->tuners.folder.path[0])
        return;
    keep = calloc(1, sizeof(*keep));
    if (!keep)
        return;
    keep->feed = feed;
    keep->store = &feed->feeds->tuners;
    keep->key = self->key;
    keep->error = LEAT_ERROR_INIT;
    leat_tuner_recall(&self->tuner, &keep->memory);
    keep->task.class = LEAT_TASK_SLOW;
    keep->task.work = keep_work;
    keep->task.done = keep_done;
    leat_feed_add_task(feed, &keep->task);
}

/* ---- applying ---- */

/* Tries at each interval, since there may be room for the ring later. */
static void fit_ring(struct leat_feed *feed) {
    const struct leat_tuner *tuner = &feed->tuner.tuner;

    leat_feed_fit_ring(feed, (uint32_t)tuner->current.of[LEAT_KNOB_AHEAD],
                       tuner->phase == LEAT_TUNER_SETTLED);
}

static void log_decision(struct leat_feed *feed) {
    const struct leat_tuner *tuner = &feed->tuner.tuner;
    const struct leat_tuner_decision *latest =
        &tuner->history[(tuner->n_decisions - 1) % LEAT_TUNER_HISTORY];
    struct leat_log_field fields[LEAT_N_KNOBS + 4] = {
        LEAT_LOG_F("stream", feed->stream->name),
        LEAT_LOG_T("phase", leat_tuner_phase_name(tuner->phase)),
        LEAT_LOG_T("reason", latest->reason)};

    for (int i = 0; i < LEAT_N_KNOBS; i++)
        fields[3 + i] = (struct leat_log_field)LEAT_LOG_N(leat_knob_name((enum leat_knob)i),
                                                          latest->knobs.of[i]);
    leat_log_write(feed->feeds->env->log, LEAT_EVENT_TUNED, fields);
}

/* The guarantee was made for the plan's knobs. Raises it for larger blocks and more batches a job.
 * False: there is no memory for these. */
static bool guarantee_knobs(struct leat_feed *feed, const struct leat_knobs *knobs) {
    struct leat_plan turned = *feed->plan;
    struct leat_memory_plan before, after;

    if (feed->account.budget->limit_bytes == UINT64_MAX)
        return true;
    leat_memory_plan(&turned, 0, &before);
    turned.options.block_bytes = (int64_t)knobs->of[LEAT_KNOB_BLOCK_BYTES];
    turned.options.collate_batches = (int64_t)knobs->of[LEAT_KNOB_COLLATED];
    leat_memory_plan(&turned, 0, &after);
    return leat_account_guarantee(&feed->account, feed->guaranteed_bytes +
                                                      larger(leat_memory_plan_least(&after),
                                                             leat_memory_plan_least(&before)) -
                                                      leat_memory_plan_least(&before)) == 0;
}

static void apply_knobs(struct leat_feed *feed) {
    struct leat_knobs knobs = feed->tuner.tuner.current;

    if (!guarantee_knobs(feed, &knobs)) {
        const uint64_t *start = feed->tuner.tuner.limits.start.of;

        knobs.of[LEAT_KNOB_BLOCK_BYTES] =
            smaller(knobs.of[LEAT_KNOB_BLOCK_BYTES], start[LEAT_KNOB_BLOCK_BYTES]);
        knobs.of[LEAT_KNOB_COLLATED] =
            smaller(knobs.of[LEAT_KNOB_COLLATED], start[LEAT_KNOB_COLLATED]);
        (void)guarantee_knobs(feed, &knobs);
    }
    leat_run_set_knobs(feed->run, &knobs);
}

void leat_feed_tuner_start(struct leat_feed *feed, const struct leat_feed_kept *kept) {
    struct leat_feed_tuner *self = &feed->tuner;
    struct leat_tuner_limits limits;

    if (!is_on(feed->feeds, feed->plan))
        return;
    set_limits(feed, &limits);
    leat_tuner_store_key(&feed->feeds->tuners, feed->plan->spec_digest, limits.is_pinned,
                         &self->key);
    leat_tuner_init(&self->tuner, &limits, kept && kept->is_there ? &kept->memory : NULL);
    self->is_on = true;
    self->start_ns = leat_now_ns();
    leat_run_get_stats(feed->run, &self->last);
    if (kept && kept->error.code)
        log_error(feed, &kept->error);
    apply_knobs(feed);
}

/* ---- measuring ---- */

static bool is_waited_for(const struct leat_feed *feed) {
    const struct leat_broadcast_reader *reader = feed->broadcast_run.readers;

    for (; reader; reader = reader->next_reader)
        if (leat_consumer_of(reader)->ops->is_starved(leat_consumer_of(reader)))
            return true;
    return false;
}

void leat_feed_tuner_note_waits(struct leat_feed *feed, uint64_t now_ns) {
    struct leat_feed_tuner *self = &feed->tuner;
    bool is_starved = is_waited_for(feed);

    if (self->is_starved == is_starved)
        return;
    self->is_starved = is_starved;
    if (is_starved)
        self->starved_since_ns = now_ns;
    else
        self->starved_ns += now_ns - self->starved_since_ns;
}

static uint64_t room_of(const struct leat_feed *feed, uint64_t used_bytes) {
    uint64_t most = BLOCKS_BYTES_MOST, memory = leat_process_memory_limit();
    uint64_t room = leat_account_room(&feed->account);

    if (feed->feeds->env->settings->memory_limit)
        return room;
    if (memory > 0 && memory / MEMORY_PART < most)
        most = memory / MEMORY_PART;
    return smaller(room, used_bytes < most ? most - used_bytes : 1); /* no one else wants it */
}

static void measure_jobs(const struct leat_run_stats *before, const struct leat_run_stats *now,
                         struct leat_tuner_sample *sample) {
    const struct leat_run_job_stats *map = &now->jobs[LEAT_JOB_MAP];
    const struct leat_run_job_stats *collate = &now->jobs[LEAT_JOB_COLLATE];
    const struct leat_stream_counts *counts = &now->counts, *old = &before->counts;

    sample->n_batches = counts->figures.n_batches - old->figures.n_batches;
    sample->n_batch_bytes = counts->spreads[LEAT_SPREAD_BATCH_BYTES].total -
                            old->spreads[LEAT_SPREAD_BATCH_BYTES].total;
    sample->n_blocks = map->n_jobs - before->jobs[LEAT_JOB_MAP].n_jobs;
    sample->n_maps = now->n_made_blocks - before->n_made_blocks;
    sample->map_ns = sample->n_maps > 0 ? map->busy_ns - before->jobs[LEAT_JOB_MAP].busy_ns : 0;
    sample->n_mapped_bytes = now->n_made_bytes - before->n_made_bytes;
    sample->n_collations = collate->n_jobs - before->jobs[LEAT_JOB_COLLATE].n_jobs;
    sample->collate_ns = collate->busy_ns - before->jobs[LEAT_JOB_COLLATE].busy_ns;
    sample->scan_ns = now->jobs[LEAT_JOB_SCAN].busy_ns - before->jobs[LEAT_JOB_SCAN].busy_ns;
    for (int i = 0; i < LEAT_N_JOB_KINDS; i++)
        sample->busy_ns += now->jobs[i].busy_ns - before->jobs[i].busy_ns;
    sample->slotless_ns = counts->figures.no_slot_ns - old->figures.no_slot_ns;
}

static void measure_interval(struct leat_feed *feed, const struct leat_run_stats *now,
                             uint64_t now_ns, struct leat_tuner_sample *sample) {
    static const enum leat_memory memories[] = {LEAT_MEMORY_SOURCE, LEAT_MEMORY_SCRATCH,
                                                LEAT_MEMORY_BLOCKS};
    struct leat_feed_tuner *self = &feed->tuner;

    *sample = (struct leat_tuner_sample){.wall_ns = now_ns - self->start_ns};
    measure_jobs(&self->last, now, sample);
    sample->starved_ns = self->starved_ns;
    if (self->is_starved)
        sample->starved_ns += now_ns - self->starved_since_ns;
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        sample->used_bytes += feed->account.pools[memories[i]].current_bytes;
    sample->room_bytes = room_of(feed, sample->used_bytes);
}

static void begin_interval(struct leat_feed_tuner *self, const struct leat_run_stats *now,
                           uint64_t now_ns) {
    self->start_ns = self->starved_since_ns = now_ns;
    self->starved_ns = 0;
    self->last = *now;
}

void leat_feed_tuner_step(struct leat_feed *feed) {
    struct leat_feed_tuner *self = &feed->tuner;
    uint64_t now_ns = self->is_on ? leat_now_ns() : 0, n_decisions;
    struct leat_tuner_sample sample;
    struct leat_run_stats stats;
    bool has_changed;

    if (!self->is_on || now_ns - self->start_ns < LEAT_TUNER_INTERVAL_NS)
        return;
    leat_run_get_stats(feed->run, &stats);
    if (stats.jobs[LEAT_JOB_MAP].n_jobs - self->last.jobs[LEAT_JOB_MAP].n_jobs <
            BLOCKS_OF_INTERVAL &&
        now_ns - self->start_ns < UINT64_C(1) * INTERVALS_MAX * LEAT_TUNER_INTERVAL_NS)
        return;
    leat_feed_tuner_note_waits(feed, now_ns); /* trainers may have come and gone */
    measure_interval(feed, &stats, now_ns, &sample);
    begin_interval(self, &stats, now_ns);
    n_decisions = self->tuner.n_decisions;
    has_changed = leat_tuner_take(&self->tuner, &sample);
    if (self->tuner.n_decisions != n_decisions)
        log_decision(feed);
    if (has_changed)
        apply_knobs(feed);
    fit_ring(feed);
}
