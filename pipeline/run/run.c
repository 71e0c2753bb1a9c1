/* run.c: hands out jobs, in which batches are put into slots. See run.h; jobs taken back:
 * run/complete.c; blocks: run/blocks.c; several sources at once: run/mix.c.
 *
 * Collation comes before quarantine, the cache, scanning, decoding ahead and mapping: what is
 * nearest to the trainer goes first, and what the others wait for.
 */
#include "pipeline/run/run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pipeline/run/rest.h"
#include "proto/base/shown.h"

void leat_run_out_of_memory(struct leat_run *run) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_oom(&err);
    leat_run_fail(run, &err);
}

static int out_of_memory(struct leat_run *run) {
    leat_run_out_of_memory(run);
    return -ENOMEM;
}

/* ---- life ---- */

static void start(struct leat_run *run, struct leat_plan *plan,
                  const struct leat_run_options *options, bool may_read_once) {
    run->quarantine_fd = -1;
    run->plan = leat_plan_ref(plan);
    run->options = *options;
    leat_run_default_knobs(plan, options->max_map_jobs, &run->knobs);
    leat_run_horizon_init(run);
    run->last = &run->first;
    run->last_output = &run->first_output;
    run->epoch = run->scan_epoch = options->first_epoch;
    leat_run_cache_init(run);
    leat_run_rest_init(run);
    leat_run_pools_init(run);
    leat_residents_init(run);
    leat_bares_init(run);
    leat_scan_start(&run->scan, plan, options->opener, may_read_once);
    leat_data_watch_init(&run->watch, plan, options->opener,
                         options->on_change == LEAT_ON_CHANGE_FAIL);
}

struct leat_run *leat_run_new_lane(struct leat_run *whole, uint32_t lane,
                                   const struct leat_run_options *options) {
    struct leat_run *run = calloc(1, sizeof(*run));

    if (!run)
        return NULL;
    run->whole = whole;
    run->lane = lane;
    start(run, whole->plan, options, false);
    leat_run_limit_scan(run);
    run->watch.first_file = run->scan.file;
    if (leat_data_watch_is_due(&run->watch))
        run->watch.end_file = run->scan.end_file;
    leat_data_watch_next_pass(&run->watch);
    run->order.seed = whole->order.seed;
    run->profile = whole->profile;
    return run;
}

static int check_ranks(const struct leat_run_options *options, struct leat_error *err) {
    uint64_t world_size = options->world_size ? options->world_size : 1;
    uint64_t n_ranks = options->n_ranks ? options->n_ranks : 1;

    if (options->first_rank >= world_size)
        return leat_error_set(err, -EINVAL, "rank %llu is outside 0..%llu",
                              (unsigned long long)options->first_rank,
                              (unsigned long long)world_size - 1);
    if (n_ranks > world_size - options->first_rank)
        return leat_error_set(err, -EINVAL, "%llu ranks from rank %llu on: there are %llu",
                              (unsigned long long)n_ranks, (unsigned long long)options->first_rank,
                              (unsigned long long)world_size);
    return 0;
}

int leat_run_new(struct leat_plan *plan, const struct leat_run_options *options,
                 struct leat_run **ret_run, struct leat_error *err) {
    struct leat_sequence wanted = {
        .seed = options->has_seed ? options->seed : (uint64_t)plan->options.seed,
        .first_epoch = options->first_epoch,
        .first_step = options->first_step,
        .n_steps = options->n_steps,
        .first_rank = options->first_rank,
        .n_ranks = options->n_ranks,
        .world_size = options->world_size,
        .round_phase = options->round_phase,
    };
    struct leat_run *run;
    int r;

    r = check_ranks(options, err);
    if (r == 0)
        r = leat_skips_check_rounds(&plan->skips, options->world_size, options->first_epoch,
                                    options->round_phase, err);
    if (r == 0)
        r = leat_run_check_passes(plan, options, err);
    if (r < 0)
        return r;
    run = calloc(1, sizeof(*run));
    if (!run)
        return leat_error_oom(err);
    start(run, plan, options, options->first_epoch == 0 && options->first_step == 0);
    if (options->only_builds)
        run->options.n_epochs = 1;
    r = leat_order_init(&run->order, plan, &wanted, err);
    run->order.may_evict = run->residents.max_bytes > 0;
    if (r == 0)
        r = leat_order_start_epoch(&run->order, run->epoch, err);
    if (r == 0)
        r = leat_run_profile_init(run, err);
    if (r == 0 && plan->mixing)
        r = leat_run_mix_init(run, err);
    if (r == 0 && run->cache.state != LEAT_RUN_CACHE_CLOSED)
        leat_bares_note(run);
    if (r < 0) {
        leat_run_free(run);
        return leat_error_agree(err, r);
    }
    *ret_run = run;
    return 0;
}

static void free_entries(struct leat_run *run) {
    while (run->first) {
        struct leat_queue_entry *entry = run->first;

        run->first = entry->next;
        leat_run_forget_parked(run, entry);
        if (entry->block)
            leat_block_unref(entry->block, 1);
        leat_run_release_piece(run, &entry->piece);
        leat_run_cache_forget(run, entry);
        free(entry);
    }
    while (run->first_output) {
        struct leat_output_entry *entry = run->first_output;

        run->first_output = entry->next;
        free(entry);
    }
}

struct leat_run *leat_run_free(struct leat_run *run) {
    if (!run)
        return NULL;
    assert(run->n_jobs == 0);
    free_entries(run);
    leat_order_deinit(&run->order);
    leat_run_mix_free(run);
    leat_run_decode_reset(run);
    leat_scan_stop(&run->scan);
    leat_data_watch_deinit(&run->watch);
    leat_run_cache_deinit(run);
    leat_residents_deinit(run);
    leat_run_spans_deinit(run);
    free(run->bares.replay);
    leat_run_pools_deinit(run);
    free(run->slots.slots);
    free(run->quarantine.data);
    if (run->quarantine_fd >= 0)
        (void)close(run->quarantine_fd);
    leat_run_rest_deinit(run);
    leat_run_profile_deinit(run);
    leat_run_set_trace(run, NULL);
    leat_plan_unref(run->plan);
    free(run);
    return NULL;
}

void leat_run_cancel(struct leat_run *run) {
    run->is_cancelled = true;
}

/* ---- state ---- */

const struct leat_error *leat_run_error(const struct leat_run *run) {
    return run->has_failed && !run->first_output && !leat_run_has_line(run) ? &run->error : NULL;
}

void leat_run_get_stats(const struct leat_run *run, struct leat_run_stats *ret_stats) {
    *ret_stats = run->stats;
    ret_stats->n_jobs = run->n_jobs;
    ret_stats->n_blocks = run->blocks.n_alive + leat_run_mix_n_blocks(run);
    leat_run_cache_get_stats(run, ret_stats);
    leat_run_profile_get_stats(run, ret_stats);
    ret_stats->last_bad = &run->last_bad;
}

/* ---- jobs out ---- */

static int fail_too_large(struct leat_run *run, size_t need) {
    struct leat_error err = LEAT_ERROR_INIT;
    char size[LEAT_SHOW_BYTES_MAX];

    leat_error_set(
        &err, -EMSGSIZE,
        "a batch needs %s, more than max_batch_bytes (%lld): set max_length, or raise it",
        leat_show_bytes(need, size), (long long)run->plan->options.max_batch_bytes);
    leat_run_fail(run, &err);
    leat_residents_abandon(run, run->order.batcher.first);
    return 0;
}

/* Brings a slot that is large enough to the front; slots of an older, smaller ring may be in
 * between. */
static bool find_slot(struct leat_run *run, size_t need) {
    struct leat_slot_queue *queue = &run->slots;

    for (size_t i = 0; i < queue->n_slots; i++) {
        struct leat_slot slot = queue->slots[queue->first];

        if (slot.size_bytes >= need)
            return true;
        queue->first = (queue->first + 1) % queue->capacity;
        queue->slots[(queue->first + queue->n_slots - 1) % queue->capacity] = slot;
    }
    return false;
}

/* A batch that cannot be handed out, for want of memory, never is; nor is any behind it. */
static int fail_line(struct leat_run *run) {
    leat_run_out_of_memory(run);
    leat_residents_abandon(run, run->order.batcher.first);
    return 0;
}

static int collate_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_batcher *batcher = &run->order.batcher;
    struct leat_job *job;
    size_t max = (size_t)run->knobs.of[LEAT_KNOB_COLLATED], room = leat_run_slot_room(run);
    size_t need = leat_run_slot_need(run);

    if (need > (size_t)run->plan->options.max_batch_bytes)
        return fail_too_large(run, need);
    if (need == 0 || room == 0 || !leat_residents_have_first(run) ||
        !leat_run_may_make_first(run) || (run->n_collate_out > 0 && room < max))
        return 0;
    max = room < max ? room : max;
    job = leat_run_take_job(run, LEAT_JOB_COLLATE);
    if (!job)
        return fail_line(run);
    job->collate.plan = run->plan;
    job->collate.n_items = 0;
    while (job->collate.n_items < max && (need = leat_run_slot_need(run)) > 0 &&
           leat_residents_have_first(run) && leat_run_may_make_first(run) && find_slot(run, need)) {
        struct leat_collate_item *item = &job->collate.items[job->collate.n_items];
        struct leat_output output = {.kind = LEAT_OUTPUT_BATCH,
                                     .epoch = batcher->first->epoch,
                                     .step = batcher->first->step,
                                     .n_rows = batcher->first->n_refs};

        *item = (struct leat_collate_item){.output = leat_run_add_output(run, &output, false)};
        if (!item->output) {
            fail_line(run);
            break;
        }
        (void)leat_run_take_slot_back(run, &item->slot);
        item->batch = leat_residents_pop(run);
        run->collate_bytes += item->batch->n_bytes;
        leat_run_count_made(run, output.epoch);
        item->output->output.slot = item->slot;
        job->collate.n_items++;
    }
    if (job->collate.n_items == 0) {
        leat_run_give_job(run, job);
        return 0;
    }
    run->n_collate_out++;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static int quarantine_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_job *job;

    if (run->quarantine_is_out || (run->quarantine.n_bytes == 0 && !run->quarantine.failed))
        return 0;
    if (run->quarantine.failed)
        return out_of_memory(run);
    job = leat_run_take_job(run, LEAT_JOB_QUARANTINE);
    if (!job)
        return out_of_memory(run);
    job->quarantine = (struct leat_quarantine_job){
        .path = run->plan->quarantine_path,
        .text = run->quarantine.data,
        .n_bytes = run->quarantine.n_bytes,
        .fd = run->quarantine_fd,
        .offset = run->quarantine_offset,
    };
    run->quarantine = (struct leat_text){.data = NULL};
    run->quarantine_is_out = true;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static int take_buffers(struct leat_run *run, struct leat_scan_job *scan) {
    for (size_t i = 0; i < scan->n_pieces; i++) {
        scan->buffers[i] = leat_run_take_buffer(run);
        if (!scan->buffers[i])
            return -ENOMEM;
    }
    return 0;
}

void leat_run_give_buffers(struct leat_run *run, struct leat_scan_job *scan) {
    for (size_t i = 0; i < scan->n_pieces; i++) {
        struct leat_piece unused = {.buffer = scan->buffers[i]};

        leat_run_release_piece(run, &unused);
    }
}

/* Passes over nothing are no blocks: ahead of the order there would be any number of them. */
static bool is_ahead_by_passes(const struct leat_run *run) {
    return run->n_ends > run->n_entries + 1;
}

int leat_run_scan_job(struct leat_run *run, struct leat_job **ret_job) {
    size_t limit = (size_t)run->knobs.of[LEAT_KNOB_JOBS] + 1, n_wanted, n_room;
    struct leat_job *job;

    if (run->scan_is_out || run->scan_has_ended || run->is_complete || run->has_failed ||
        is_ahead_by_passes(run) || !leat_run_may_scan(run, run->scan_epoch))
        return 0;
    n_wanted = limit > run->n_entries ? limit - run->n_entries : 0;
    n_room = leat_run_room(run, n_wanted);
    leat_run_whole(run)->memory.is_short |= n_room < n_wanted;
    limit = run->n_entries + n_room;
    if (run->has_failed || !leat_run_cache_lets_scan(run, limit) || run->n_entries >= limit ||
        !leat_run_decode_hand_over(run))
        return 0;
    job = leat_run_take_job(run, LEAT_JOB_SCAN);
    if (!job)
        return out_of_memory(run);
    leat_run_spans_start_scan(run);
    run->scan.watch = &run->watch;
    n_room = limit - run->n_entries;
    job->scan = (struct leat_scan_job){.scan = &run->scan,
                                       .max_bytes = leat_run_reserve_scan(run),
                                       .block_bytes = (size_t)run->knobs.of[LEAT_KNOB_BLOCK_BYTES],
                                       .n_pieces = n_room < LEAT_SCAN_MAX ? n_room : LEAT_SCAN_MAX};
    if (take_buffers(run, &job->scan) < 0) {
        leat_run_give_buffers(run, &job->scan);
        leat_run_give_job(run, job);
        return out_of_memory(run);
    }
    run->scan_is_out = true;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

int leat_run_decode_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_decode_job decode;
    struct leat_job *job;

    if (!leat_run_may_scan(run, run->scan_epoch) || !leat_run_decode_next(run, &decode))
        return 0;
    job = leat_run_take_job(run, LEAT_JOB_DECODE);
    if (!job) {
        leat_run_decode_done(run, &decode);
        return out_of_memory(run);
    }
    job->decode = decode;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static struct leat_queue_entry *next_unmapped(const struct leat_run *run) {
    for (struct leat_queue_entry *entry = run->first; entry; entry = entry->next)
        if (entry->state == LEAT_ENTRY_SCANNED || entry->state == LEAT_ENTRY_CACHED ||
            entry->state == LEAT_ENTRY_PARKED)
            return entry;
    return NULL;
}

static int go_on(struct leat_run *run, struct leat_queue_entry *entry, struct leat_job **ret_job) {
    *ret_job = leat_run_unpark(run, entry);
    entry->state = LEAT_ENTRY_MAPPING;
    leat_run_whole(run)->n_maps_out++;
    return LEAT_RUN_JOB;
}

/* Each block that is begun has scratch memory until all of its stages are done. */
static bool may_begin(const struct leat_run *whole) {
    return !whole->options.is_unfused || whole->n_maps_out + whole->n_parked < whole->n_at_once;
}

int leat_run_map_job(struct leat_run *run, struct leat_job **ret_job) {
    struct leat_run *whole = leat_run_whole(run);
    bool is_wanted =
        !whole->has_failed && !whole->is_complete && whole->n_maps_out < whole->map_limit;
    struct leat_queue_entry *entry = is_wanted ? next_unmapped(run) : NULL;
    struct leat_job *job;
    uint64_t large_bytes;

    if (!entry)
        run->memory.map_wants = 0;
    if (!entry || !leat_run_may_begin(run, entry) || (!entry->parked && !may_begin(whole)))
        return 0;
    if (!leat_run_may_map(run, entry, &large_bytes)) {
        whole->memory.is_short = true;
        return 0;
    }
    if (entry->parked)
        return go_on(run, entry, ret_job);
    job = leat_run_take_job(run, LEAT_JOB_MAP);
    if (!job)
        return out_of_memory(run);
    entry->block = leat_block_pool_take(&run->blocks);
    job->entry = entry;
    job->map = (struct leat_map_job){
        .plan = run->plan,
        .piece = entry->piece,
        .block = entry->block,
        .seed = run->order.seed,
        .epoch = entry->epoch,
        .stop_after = (int)run->plan->n_map,
        .now_ns = run->options.now_ns,
        .n_at_once = whole->n_at_once,
        .is_unfused = whole->options.is_unfused,
    };
    if (!entry->block) {
        leat_run_give_job(run, job);
        return out_of_memory(run);
    }
    leat_run_cache_start_map(run, entry, &job->map);
    job->map.large_bytes = large_bytes;
    leat_account_change(whole->memory.account, LEAT_MEMORY_SCRATCH, 0, large_bytes);
    entry->state = LEAT_ENTRY_MAPPING;
    whole->n_maps_out++;
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static int rest_job(struct leat_run *run, bool is_for_good, struct leat_job **ret_job) {
    struct leat_job *job =
        leat_run_wants_rest(run, is_for_good) ? leat_run_take_job(run, LEAT_JOB_REST) : NULL;

    if (!job)
        return 0;
    leat_run_begin_rest(run, &job->rest, is_for_good);
    *ret_job = job;
    return LEAT_RUN_JOB;
}

static bool has_ended(const struct leat_run *run) {
    return run->is_cancelled || (!run->first_output && (run->has_failed || run->is_complete));
}

static int make_job(struct leat_run *run, struct leat_job **ret_job) {
    static int (*const makers[])(struct leat_run *, struct leat_job **) = {
        collate_job,         leat_run_gather_job, leat_run_bare_job,
        quarantine_job,      leat_run_cache_job,  leat_run_scan_job,
        leat_run_decode_job, leat_run_map_job,    leat_run_mix_job};

    run->memory.is_short = false;
    do { /* once more, where that brought a pass to its end */
        run->has_end = false;
        leat_run_profile_consume(run);
        leat_run_move_ends(run);
        leat_run_count_order(run);
        for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
            if (makers[i](run, ret_job) == LEAT_RUN_JOB)
                return LEAT_RUN_JOB;
    } while (run->has_end);
    if (rest_job(run, false, ret_job) == LEAT_RUN_JOB)
        return LEAT_RUN_JOB;
    return leat_run_has_pending(run) ? LEAT_RUN_NEEDS_SLOT : 0;
}

static int next_job(struct leat_run *run, struct leat_job **ret_job) {
    int r = 0;

    *ret_job = NULL;
    if (!run->is_cancelled)
        r = make_job(run, ret_job);
    else if (run->n_jobs == 0)
        r = leat_run_cache_job(run, ret_job);
    if (r != 0)
        return r;
    if (run->n_jobs > 0 || !has_ended(run))
        return LEAT_RUN_WAITING;
    return rest_job(run, true, ret_job) == LEAT_RUN_JOB ? LEAT_RUN_JOB : LEAT_RUN_ENDED;
}

int leat_run_next_job(struct leat_run *run, struct leat_job **ret_job) {
    int r = next_job(run, ret_job);

    leat_run_profile_watch(run, run->is_cancelled || (has_ended(run) && !run->order.batcher.first));
    return r;
}
