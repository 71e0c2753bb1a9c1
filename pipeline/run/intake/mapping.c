#include "pipeline/run/intake/mapping.h"

#include <errno.h>
#include <stdio.h>

void leat_run_mapping_init(struct leat_run_mapping *mapping, struct leat_intake *intake,
                           struct leat_job_pool *jobs) {
    *mapping = (struct leat_run_mapping){.intake = intake, .jobs = jobs};
}

void leat_run_mapping_deinit(struct leat_run_mapping *mapping) {
    leat_note_list_deinit(&mapping->notes);
}

void leat_run_mapping_tell_job(const struct leat_run_mapping *mapping, struct leat_map_job *job) {
    const struct leat_intake *intake = mapping->intake;

    job->opener = intake->options->opener;
    job->index_schema = leat_run_cache_schema(&intake->cache);
    job->seed = intake->seed;
    job->now_ns = intake->options->now_ns;
    job->n_at_once = mapping->jobs->n_at_once;
}

/* True if the run makes only some rows of the block, so that the order needs no values of it. */
static bool is_without_values(const struct leat_intake *intake, const struct leat_demand *demand,
                              const struct leat_queue_entry *entry) {
    return entry->file && !intake->cache.is_index && !intake->cache.is_builder &&
           intake->forward.is_own && !demand->has_failed;
}

/* A block of an index, or one without values, is small. It leaves the large memory of the pool to
 * blocks with values. */
static struct leat_block *take_block(const struct leat_intake *intake, struct leat_lane *lane,
                                     const struct leat_demand *demand,
                                     const struct leat_queue_entry *entry) {
    bool is_small =
        (entry->file && intake->cache.is_index) || is_without_values(intake, demand, entry);

    return is_small ? leat_block_pool_take_exact(&lane->memory.blocks, 0)
                    : leat_block_pool_take(&lane->memory.blocks);
}

/* Makes the job of an entry that is not parked. */
static int begin(struct leat_run_mapping *mapping, struct leat_lane *lane,
                 const struct leat_demand *demand, struct leat_queue_entry *entry,
                 uint64_t large_bytes, struct leat_job **ret_job, struct leat_error *err) {
    struct leat_intake *intake = mapping->intake;
    struct leat_run_cache_view view = leat_intake_view(intake, lane, demand);
    struct leat_block *block = take_block(intake, lane, demand, entry);
    struct leat_job *job;

    if (!block)
        return leat_error_oom(err);
    job = leat_job_pool_take(mapping->jobs, LEAT_JOB_MAP, lane->index);
    if (!job) {
        leat_block_unref(block, 1);
        return leat_error_oom(err);
    }
    job->entry = entry;
    job->map = (struct leat_map_job){
        .plan = intake->plan,
        .piece = entry->piece,
        .block = block,
        .epoch = entry->epoch,
        .stop_after = (int)intake->plan->n_map,
        .without_values = is_without_values(intake, demand, entry),
        .is_unfused = intake->options->is_unfused,
        .large_bytes = large_bytes,
    };
    leat_run_mapping_tell_job(mapping, &job->map);
    leat_run_cache_start_map(&intake->cache, &view, entry, intake->store->max_bytes > 0, &job->map);
    leat_queue_entry_start_map(entry, block);
    leat_job_pool_count_map(mapping->jobs, job);
    *ret_job = job;
    return 1;
}

int leat_run_mapping_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err) {
    struct leat_queue_entry *entry =
        leat_job_pool_may_map(mapping->jobs) ? leat_block_queue_next_unmapped(&lane->queue) : NULL;
    struct leat_room room = leat_intake_room(mapping->intake);
    uint64_t large_bytes;
    int r;

    if (!entry)
        leat_lane_memory_want_map(&lane->memory, 0);
    if (!entry || !leat_horizon_may_map(demand->horizon, &demand->place, &lane->queue, entry) ||
        (!entry->parked && !leat_job_pool_may_begin(mapping->jobs)))
        return 0;
    r = leat_room_for_map(&room, lane, entry, &large_bytes, err);
    if (r <= 0) {
        mapping->is_short = true;
        return r;
    }
    if (!entry->parked)
        return begin(mapping, lane, demand, entry, large_bytes, ret_job, err);
    *ret_job = leat_queue_entry_unpark(entry);
    leat_job_pool_unpark(mapping->jobs);
    return 1;
}

int leat_run_mapping_materialize_job(struct leat_run_mapping *mapping,
                                     struct leat_count_only *found, struct leat_job **ret_job,
                                     struct leat_error *err) {
    struct leat_intake *intake = mapping->intake;
    struct leat_room room = leat_intake_room(intake);
    struct leat_queue_entry entry;
    uint64_t large_bytes;
    struct leat_job *job;
    int r;

    if (!found || !leat_job_pool_may_map(mapping->jobs))
        return 0;
    entry = (struct leat_queue_entry){
        .piece = found->piece, .file = found->file, .frame = found->frame};
    r = leat_room_for_map(&room, &intake->lanes[found->lane], &entry, &large_bytes, err);
    if (r <= 0) {
        mapping->is_short = mapping->lacks_for_batch = true;
        return r;
    }
    job = leat_job_pool_take(mapping->jobs, LEAT_JOB_MAP, found->lane);
    if (!job)
        return leat_error_oom(err);
    if (leat_count_only_start_job(found, &job->map) < 0) {
        leat_job_pool_give(mapping->jobs, job);
        return 0; /* The failure ends the run where the block is needed. */
    }
    leat_run_mapping_tell_job(mapping, &job->map);
    job->map.large_bytes = large_bytes;
    leat_job_pool_count_map(mapping->jobs, job);
    *ret_job = job;
    return 1;
}

void leat_run_mapping_park(struct leat_run_mapping *mapping, struct leat_job *job) {
    leat_job_pool_park(mapping->jobs, job);
    leat_queue_entry_park(job->entry, job);
}

static void take_notes(struct leat_run_mapping *mapping, const struct leat_notes *notes) {
    char text[64];

    for (uint32_t i = 0; i < notes->n_texts; i++)
        leat_note_list_add(&mapping->notes, notes->texts[i]);
    if (notes->n_dropped == 0)
        return;
    (void)snprintf(text, sizeof(text), "(%u more lines)", notes->n_dropped);
    leat_note_list_add(&mapping->notes, text);
}

void leat_run_mapping_take_back(struct leat_run_mapping *mapping, struct leat_queue_entry *entry,
                                struct leat_job *job) {
    struct leat_intake *intake = mapping->intake;

    take_notes(mapping, &job->map.notes);
    leat_lane_memory_count_block(&intake->lanes[job->lane].memory, job->map.block,
                                 job->map.large_bytes > 0);
    leat_job_pool_end_map(mapping->jobs, job);
    leat_run_cache_end_map(&intake->cache, entry, job);
}

void leat_run_mapping_forget(struct leat_run_mapping *mapping, struct leat_queue_entry *entry) {
    struct leat_job *job;

    if (!entry->parked)
        return;
    job = leat_queue_entry_unpark(entry);
    leat_job_pool_unpark(mapping->jobs);
    job->error.code = -ECANCELED;
    leat_run_mapping_take_back(mapping, entry, job);
    leat_job_pool_give(mapping->jobs, job);
}

int leat_run_mapping_end_job(struct leat_run_mapping *mapping, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err) {
    struct leat_intake *intake = mapping->intake;
    struct leat_run_cache_view view = leat_intake_view(intake, lane, demand);
    struct leat_queue_entry *entry = job->entry;
    int r = 0;

    if (job->map.n_parts > 0) {
        leat_run_mapping_take_back(mapping, NULL, job);
        leat_count_only_end_job(&job->map, &job->error);
        return 0;
    }
    leat_lane_memory_give_buffer(&lane->memory, leat_queue_entry_take_buffer(entry));
    leat_queue_entry_end_map(entry, &job->error);
    leat_run_mapping_take_back(mapping, entry, job);
    if (leat_run_cache_is_without_values(&intake->cache, entry, job) &&
        !leat_fast_forward_add_known(&intake->forward, &lane->memory, lane->index, entry,
                                     intake->cache.is_index))
        r = leat_error_oom(err);
    leat_run_cache_collect(&intake->cache, &view);
    return r;
}
