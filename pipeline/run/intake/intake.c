#include "pipeline/run/intake/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/intake/lane.h"

/* Blocks are found by the index, or dealt to lanes by it, and then made from the source. */
static bool has_indexed_blocks(const struct leat_intake *intake) {
    return intake->plan->blocks.block_size > 0 && intake->cache.is_index &&
           !intake->cache.only_builds;
}

/* ---- life ---- */

/* Mixed sources share the blocks that the knob allows. */
static uint64_t jobs_of_lane(const struct leat_intake *intake) {
    return (intake->knobs->of[LEAT_KNOB_JOBS] + intake->n_lanes - 1) / intake->n_lanes;
}

static bool may_start_later(const struct leat_run_options *options) {
    return options->first_step > 0 && !options->only_builds;
}

int leat_intake_init(struct leat_intake *intake, struct leat_plan *plan,
                     const struct leat_run_options *options, const struct leat_knobs *knobs,
                     uint64_t seed, struct leat_account *account, struct leat_job_pool *jobs,
                     struct leat_row_store *store, struct leat_error *err) {
    size_t n_mixed = plan->mixing ? plan->mixing->n_lanes : 0, n_lanes = n_mixed ? n_mixed : 1;
    size_t max_jobs;

    *intake = (struct leat_intake){
        .plan = plan,
        .options = options,
        .knobs = knobs,
        .account = account,
        .seed = seed,
        .jobs = jobs,
        .store = store,
    };
    leat_run_cache_init(&intake->cache, plan, options);
    leat_row_store_init(store, plan, plan->cache_path || intake->cache.is_index,
                        plan->skips.records.n_ranges > 0 || options->only_places);
    leat_run_spans_init(&intake->spans, plan, seed, options);
    leat_fast_forward_init(&intake->forward, plan,
                           may_start_later(options) || has_indexed_blocks(intake),
                           leat_run_options_are_of_some(options), store->max_bytes > 0);
    intake->lanes = calloc(n_lanes, sizeof(*intake->lanes));
    if (!intake->lanes)
        return leat_error_oom(err);
    intake->n_lanes = n_lanes;
    max_jobs = n_mixed ? (size_t)jobs_of_lane(intake) : options->max_map_jobs;
    for (size_t i = 0; i < n_lanes; i++)
        leat_lane_init(&intake->lanes[i], plan, options, account, (uint32_t)i, n_mixed, max_jobs);
    if (may_start_later(options) && intake->cache.state != LEAT_RUN_CACHE_CLOSED)
        leat_fast_forward_explain(&intake->forward, options->first_step, intake->cache.is_index);
    return 0;
}

void leat_intake_deinit(struct leat_intake *intake) {
    leat_run_cache_deinit(&intake->cache);
    for (size_t i = 0; i < intake->n_lanes; i++)
        leat_lane_deinit(&intake->lanes[i]);
    free(intake->lanes);
    leat_run_spans_deinit(&intake->spans);
    leat_fast_forward_deinit(&intake->forward);
    leat_note_list_deinit(&intake->changes);
    leat_account_change(intake->account, LEAT_MEMORY_CACHE, intake->cache_bytes, 0);
}

bool leat_intake_is_mixed(const struct leat_intake *intake) {
    return intake->plan->mixing != NULL;
}

struct leat_room leat_intake_room(const struct leat_intake *intake) {
    return (struct leat_room){
        .lanes = intake->lanes,
        .n_lanes = intake->n_lanes,
        .account = intake->account,
        .jobs = intake->jobs,
        .store = intake->store,
    };
}

uint32_t leat_intake_n_blocks(const struct leat_intake *intake) {
    struct leat_room room = leat_intake_room(intake);

    return leat_room_n_blocks(&room);
}

uint64_t leat_intake_order_bytes(const struct leat_intake *intake) {
    uint64_t n_bytes =
        leat_run_spans_bytes(&intake->spans) + leat_fast_forward_bytes(&intake->forward);

    for (size_t i = 0; i < intake->n_lanes; i++)
        n_bytes += intake->lanes[i].memory.blocks.n_bundle_bytes;
    return n_bytes;
}

void leat_intake_scale(struct leat_intake *intake, uint64_t before_bytes, uint64_t after_bytes) {
    for (size_t i = 0; i < intake->n_lanes; i++)
        leat_lane_memory_scale(&intake->lanes[i].memory, before_bytes, after_bytes);
}

void leat_intake_extend(struct leat_intake *intake, uint64_t n_epochs) {
    for (size_t i = 0; i < intake->n_lanes; i++)
        leat_reader_extend(&intake->lanes[i].reader, n_epochs);
}

/* ---- demand ---- */

static bool may_scan(const struct leat_lane *lane, const struct leat_demand *demand) {
    return leat_horizon_may_scan(demand->horizon, &demand->place, &lane->queue, lane->reader.epoch);
}

/* True if the lane reads rows in front of the first step. */
static bool is_fast_forwarding(const struct leat_lane *lane, const struct leat_demand *demand) {
    return lane->reader.epoch == lane->reader.first_epoch && !demand->has_failed &&
           demand->is_before_first;
}

/* True if the lane reads rows most of which are needed for the order alone. A builder makes all
 * blocks of its cache or index. */
static bool wants_counts(const struct leat_intake *intake, const struct leat_lane *lane,
                         const struct leat_demand *demand) {
    return is_fast_forwarding(lane, demand) || has_indexed_blocks(intake) ||
           (intake->forward.is_own && !demand->has_failed && !intake->cache.is_builder);
}

/* An index of compressed files is of no use where single pieces are read. */
static bool reads_index(const struct leat_intake *intake, const struct leat_lane *lane,
                        const struct leat_demand *demand) {
    return intake->store->max_bytes > 0 || is_fast_forwarding(lane, demand) ||
           has_indexed_blocks(intake) || (intake->forward.is_own && !intake->plan->is_compressed);
}

struct leat_run_cache_view leat_intake_view(const struct leat_intake *intake,
                                            struct leat_lane *lane,
                                            const struct leat_demand *demand) {
    return (struct leat_run_cache_view){
        .queue = &lane->queue,
        .epoch = lane->epoch,
        .pass = lane->pass,
        .reads_index = reads_index(intake, lane, demand),
    };
}

/* ---- passes ---- */

static void next_pass(struct leat_intake *intake, struct leat_lane *lane,
                      const struct leat_demand *demand, bool epoch_is_over) {
    leat_reader_next_pass(&lane->reader, epoch_is_over);
    lane->memory.scan_wants = 0; /* of the last pass */
    leat_run_cache_next_pass(&intake->cache, leat_intake_view(intake, lane, demand).reads_index);
    leat_run_spans_next_pass(&intake->spans);
}

static void restart_pass(struct leat_intake *intake, struct leat_lane *lane) {
    leat_reader_restart(&lane->reader);
    lane->memory.scan_wants = 0; /* of the last pass */
    intake->has_new_end = true;
}

/* Ends the pass that was read, which had n_records. */
static int end_scan(struct leat_intake *intake, struct leat_lane *lane,
                    const struct leat_demand *demand, uint64_t n_records, struct leat_error *err) {
    bool is_for_cache = intake->spans.is_building;
    bool is_queued = leat_lane_add(lane, (struct leat_queue_entry){
                                             .state = LEAT_ENTRY_PASS_END,
                                             .piece = {.record = n_records},
                                             .cache_generation = intake->cache.generation,
                                             .is_for_cache = is_for_cache,
                                         }) != NULL;

    intake->has_new_end = true;
    if (is_for_cache) {
        intake->spans.is_building = false;
        restart_pass(intake, lane);
        leat_run_cache_next_pass(&intake->cache,
                                 leat_intake_view(intake, lane, demand).reads_index);
    } else {
        next_pass(intake, lane, demand, false);
    }
    return is_queued ? 0 : leat_error_oom(err);
}

/* Queues the failure behind the blocks that were read before it. */
static int fail_scan(struct leat_intake *intake, struct leat_lane *lane,
                     const struct leat_error *error, struct leat_error *err) {
    lane->reader.has_ended = true;
    return leat_lane_add(lane,
                         (struct leat_queue_entry){
                             .state = LEAT_ENTRY_PASS_END,
                             .cache_generation = intake->cache.generation,
                             .is_for_cache = intake->spans.is_building,
                             .error = *error,
                         })
               ? 0
               : leat_error_oom(err);
}

void leat_intake_start_pass(struct leat_intake *intake, struct leat_lane *lane,
                            const struct leat_demand *demand, uint64_t epoch, uint64_t pass) {
    uint64_t old_epoch = lane->epoch, old_pass = lane->pass;

    leat_lane_set_pass(lane, epoch, pass);
    if (leat_reader_skips(&lane->reader, old_epoch, old_pass, epoch))
        next_pass(intake, lane, demand, epoch != old_epoch);
}

/* ---- memory ---- */

bool leat_intake_tick(struct leat_intake *intake, const struct leat_demand *demand,
                      bool maps_wait) {
    bool is_starved = false;

    for (size_t i = 0; i < intake->n_lanes; i++) {
        struct leat_lane *lane = &intake->lanes[i];
        bool is_needed = lane->memory.map_wants > 0 ? maps_wait || !demand->is_over
                                                    : !demand->is_over && !lane->reader.has_ended &&
                                                          may_scan(lane, demand);

        is_starved |= leat_lane_memory_tick(&lane->memory, is_needed);
    }
    return is_starved;
}

void leat_intake_trim(struct leat_intake *intake) {
    for (size_t i = 0; i < intake->n_lanes; i++)
        if (leat_account_should_shrink(intake->account))
            leat_lane_memory_trim(&intake->lanes[i].memory);
}

/* ---- the cache ---- */

/* Queues a frame, or a part of one. */
static int add_frame(struct leat_intake *intake, struct leat_lane *lane,
                     const struct leat_demand *demand, const struct leat_span_part *part,
                     struct leat_error *err) {
    const struct leat_cache_frame *frame = part->frame;
    bool with_records =
        intake->store->keeps_records || (intake->forward.is_own && intake->cache.is_index);
    bool is_count_only =
        wants_counts(intake, lane, demand) &&
        leat_fast_forward_may_skip(&intake->forward, frame, with_records, !part->is_whole,
                                   is_fast_forwarding(lane, demand));
    struct leat_queue_entry *entry =
        leat_lane_add(lane, (struct leat_queue_entry){
                                .state = LEAT_ENTRY_CACHED,
                                .piece = {.span = frame->span, .record = frame->record},
                                .cache_generation = intake->cache.generation,
                                .file = leat_cache_file_ref(intake->cache.file),
                                .frame = *frame,
                                .from_record = part->from,
                                .to_record = part->to,
                                .order_lane = part->lane,
                                .is_for_cache = intake->spans.is_building,
                            });

    if (!entry) {
        leat_cache_file_unref(intake->cache.file);
        return leat_error_oom(err);
    }
    entry->n_idle_rows = leat_run_spans_take_idle_rows(&intake->spans);
    intake->counts.figures.n_source_records += frame->span.n_records;
    if (!is_count_only)
        return 0;
    intake->has_new_end = true;
    intake->cache.has_skipped = true; /* others get a turn before the next frame */
    return leat_fast_forward_add_block(&intake->forward, &lane->memory, lane->index, entry,
                                       frame->n_rows, intake->cache.is_index)
               ? 0
               : leat_error_oom(err);
}

/* Records of the last frame's file, up to its end. */
static uint64_t n_file_records(const struct leat_cache_file *file,
                               const struct leat_cache_frame *last) {
    uint64_t n = 0;

    for (const struct leat_cache_frame *frame = last;
         frame >= file->frames && frame->span.file == last->span.file; frame--)
        n += frame->span.n_records;
    return n;
}

static void start_reading(struct leat_intake *intake, struct leat_lane *lane) {
    bool is_shard;
    size_t file;
    const struct leat_cache_frame *last =
        leat_run_cache_start_reading(&intake->cache, &is_shard, &file);

    if (is_shard)
        leat_reader_start_file(&lane->reader, file);
    leat_reader_start_behind(&lane->reader, last ? &last->span : NULL,
                             last ? last->record + last->span.n_records : 0,
                             last ? n_file_records(intake->cache.file, last) : 0);
}

/* To count the records, a run would read all of the source. */
static int fail_uncounted(const struct leat_intake *intake, struct leat_error *err) {
    const char *file = intake->plan->spec->file;

    return leat_error_set(err, -ENODATA,
                          "shuffle.lanes needs to know the number of records, but %s has no "
                          "complete %s for this data and these stages: make it with `leatctl cache "
                          "warm %s`, or prepare the data with `leatctl prepare`",
                          intake->cache.folder, intake->cache.is_index ? "index" : "cache",
                          file ? file : "FILE");
}

/* An index whose frames have several blocks would cost more than it saves; lanes have no choice. */
static bool has_use(const struct leat_intake *intake, const struct leat_cache_file *file) {
    return !intake->cache.is_index || intake->plan->blocks.n_lanes > 0 ||
           leat_run_spans_have_frames(&intake->spans, file);
}

/* The same for a source that is read block by block in random order. Its cache is used only once it
 * is complete, as blocks come from all over the source. */
static int queue_spans(struct leat_intake *intake, struct leat_lane *lane,
                       const struct leat_demand *demand, size_t max_blocks,
                       struct leat_error *err) {
    struct leat_run_cache_view view = leat_intake_view(intake, lane, demand);
    struct leat_cache_file *file = intake->cache.file;
    struct leat_span_part part;
    int r;

    if ((!file || !file->is_complete) && intake->plan->blocks.n_lanes > 0)
        return fail_uncounted(intake, err);
    if (!file || !file->is_complete || !has_use(intake, file)) {
        if (file && leat_run_cache_has_more_to_come(&intake->cache, &view))
            return 0;
        if (intake->cache.is_builder) {
            intake->spans.is_building = true;
            intake->cache.next_frame = intake->cache.file->n_frames;
            start_reading(intake, lane);
        }
        intake->cache.state = LEAT_RUN_CACHE_SCANNED;
        return 1;
    }
    r = leat_run_spans_start_pass(&intake->spans, file, intake->cache.generation,
                                  lane->reader.epoch, lane->reader.pass, err);
    while (r == 0 && leat_run_spans_next_part(&intake->spans, file, &part)) {
        if (lane->queue.n_blocks >= max_blocks)
            return 0;
        r = add_frame(intake, lane, demand, &part, err);
        if (r == 0)
            leat_run_spans_end_part(&intake->spans, &part);
    }
    return r < 0 ? r : end_scan(intake, lane, demand, file->n_records, err);
}

/* Queues frames up to max_blocks. 1: the scanner should read; 0: it should not; -errno. */
static int queue_frames(struct leat_intake *intake, struct leat_lane *lane,
                        const struct leat_demand *demand, size_t max_blocks,
                        struct leat_error *err) {
    struct leat_run_cache_view view = leat_intake_view(intake, lane, demand);
    struct leat_run_cache *cache = &intake->cache;
    int r = 0;

    if (leat_run_cache_has_frames(cache) && intake->spans.are_wanted)
        return queue_spans(intake, lane, demand, max_blocks, err);
    if (cache->state == LEAT_RUN_CACHE_FRAMES && !leat_run_cache_has_frames(cache))
        return 0;
    while (r == 0)
        switch (leat_run_cache_next_step(cache, &view)) {
        case LEAT_CACHE_STEP_FRAME:
            if (lane->queue.n_blocks >= max_blocks)
                return 0;
            r = add_frame(intake, lane, demand,
                          &(struct leat_span_part){.frame = &cache->file->frames[cache->next_frame],
                                                   .to = UINT32_MAX,
                                                   .is_whole = true},
                          err);
            if (r == 0)
                cache->next_frame++;
            break;
        case LEAT_CACHE_STEP_END:
            return end_scan(intake, lane, demand, cache->file->n_records, err);
        case LEAT_CACHE_STEP_START:
            start_reading(intake, lane);
            return 1;
        case LEAT_CACHE_STEP_READ:
            return 1;
        default:
            return 0;
        }
    return r;
}

/* ---- jobs ---- */

bool leat_intake_take_end(struct leat_intake *intake) {
    bool has_new_end = intake->has_new_end;

    intake->has_new_end = false;
    return has_new_end;
}

static int take_job(struct leat_intake *intake, enum leat_job_kind kind, uint32_t lane,
                    struct leat_job **ret_job, struct leat_error *err) {
    *ret_job = leat_job_pool_take(intake->jobs, kind, lane);
    return *ret_job ? 1 : leat_error_oom(err);
}

int leat_intake_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                          struct leat_job **ret_job, struct leat_error *err) {
    struct leat_lane *lane = intake->lanes;
    bool may_open = !lane->reader.has_ended && !demand->is_over && !demand->is_cancelled &&
                    may_scan(lane, demand);
    enum leat_cache_task task;

    if (!leat_run_cache_next_task(&intake->cache, may_open, demand->is_cancelled, &task))
        return 0;
    if (take_job(intake, LEAT_JOB_CACHE, 0, ret_job, err) < 0)
        return err->code;
    leat_run_cache_start_job(&intake->cache, task,
                             leat_intake_view(intake, lane, demand).reads_index,
                             &lane->reader.watch, &(*ret_job)->cache);
    return 1;
}

/* Ends of passes are no blocks, so an empty source could queue any number of them. */
static bool is_ahead_by_passes(const struct leat_lane *lane) {
    return lane->queue.n_ends > lane->queue.n_blocks + 1;
}

/* True if blocks become count-only ones by what is known of them, without a look at the data. */
static bool places_only(const struct leat_intake *intake, const struct leat_lane *lane,
                        const struct leat_demand *demand) {
    return intake->forward.is_own && intake->forward.may_count &&
           leat_run_spans_have_places(&intake->spans) && wants_counts(intake, lane, demand);
}

/* Number of blocks that a SCAN job may queue, or -errno. */
static int scan_room(struct leat_intake *intake, struct leat_lane *lane,
                     const struct leat_demand *demand, bool only_places, struct leat_error *err) {
    size_t limit = only_places ? LEAT_SCAN_PLACES_MAX : (size_t)jobs_of_lane(intake) + 1;
    size_t n_blocks = lane->queue.n_blocks;
    size_t n_wanted = limit > n_blocks ? limit - n_blocks : 0;
    struct leat_room room = leat_intake_room(intake);
    int n_room = leat_room_for_blocks(&room, lane, n_wanted, demand->has_planned, err), r;

    intake->is_short |= n_room < (int)n_wanted;
    if (n_room < 0)
        return n_room;
    limit = n_blocks + (size_t)n_room;
    r = queue_frames(intake, lane, demand, limit, err);
    if (r <= 0)
        return r;
    return lane->queue.n_blocks < limit ? (int)(limit - lane->queue.n_blocks) : 0;
}

int leat_intake_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                         const struct leat_demand *demand, struct leat_job **ret_job,
                         struct leat_error *err) {
    struct leat_reader *reader = &lane->reader;
    struct leat_scan_job *scan;
    bool only_places;
    int n_pieces;

    if (reader->is_out || reader->has_ended || is_ahead_by_passes(lane) || !may_scan(lane, demand))
        return 0;
    only_places = places_only(intake, lane, demand);
    n_pieces = scan_room(intake, lane, demand, only_places, err);
    if (n_pieces <= 0 || !leat_reader_may_scan(reader))
        return n_pieces < 0 ? n_pieces : 0;
    if (leat_run_spans_start_scan(&intake->spans, &reader->scan, reader->epoch, reader->pass) < 0)
        return leat_error_oom(err);
    if (take_job(intake, LEAT_JOB_SCAN, lane->index, ret_job, err) < 0)
        return err->code;
    scan = &(*ret_job)->scan;
    leat_reader_start_job(reader, leat_lane_memory_start_scan(&lane->memory),
                          (size_t)intake->knobs->of[LEAT_KNOB_BLOCK_BYTES], (size_t)n_pieces,
                          only_places, scan);
    if (leat_lane_give_buffers(lane, scan) == 0)
        return 1;
    leat_lane_take_buffers(lane, scan);
    leat_reader_abort_job(reader);
    leat_job_pool_give(intake->jobs, *ret_job);
    return leat_error_oom(err);
}

int leat_intake_decode_job(struct leat_intake *intake, struct leat_lane *lane,
                           const struct leat_demand *demand, struct leat_job **ret_job,
                           struct leat_error *err) {
    struct leat_decode_job decode;

    if (lane->reader.is_stale || lane->reader.has_ended || !may_scan(lane, demand) ||
        !leat_decode_ahead_start_job(&lane->reader.ahead, &decode))
        return 0;
    if (take_job(intake, LEAT_JOB_DECODE, lane->index, ret_job, err) < 0) {
        leat_decode_ahead_end_job(&lane->reader.ahead, &decode);
        return err->code;
    }
    (*ret_job)->decode = decode;
    return 1;
}

/* ---- jobs back ---- */

static void take_changes(struct leat_intake *intake, struct leat_lane *lane) {
    char *text;

    intake->counts.figures.n_changed_files += leat_data_watch_take_changes(&lane->reader.watch);
    while ((text = leat_data_watch_take_text(&lane->reader.watch)))
        leat_note_list_move(&intake->changes, text);
}

static int queue_piece(struct leat_intake *intake, struct leat_lane *lane,
                       const struct leat_demand *demand, struct leat_piece *piece,
                       struct leat_error *err) {
    bool is_count_only = !intake->spans.is_building && wants_counts(intake, lane, demand) &&
                         leat_fast_forward_may_count(&intake->forward, &lane->memory, piece);
    struct leat_queue_entry *entry =
        leat_lane_add(lane, (struct leat_queue_entry){
                                .state = LEAT_ENTRY_SCANNED,
                                .piece = *piece,
                                .cache_generation = intake->cache.generation,
                                .to_record = UINT32_MAX,
                                .is_for_cache = intake->spans.is_building,
                            });

    if (!entry)
        return leat_error_oom(err);
    piece->buffer = NULL;
    return is_count_only &&
                   !leat_fast_forward_add_block(&intake->forward, &lane->memory, lane->index, entry,
                                                piece->span.n_records, true)
               ? leat_error_oom(err)
               : 0;
}

/* False: no further piece is wanted. */
static bool take_piece(struct leat_intake *intake, struct leat_lane *lane,
                       const struct leat_demand *demand, struct leat_piece *piece, int *r,
                       struct leat_error *err) {
    enum leat_cache_sifted sifted;

    if (piece->span.n_records == 0)
        return true;
    sifted = leat_cache_shard_sift(&intake->cache.shard, intake->cache.data, piece);
    if (sifted != LEAT_CACHE_SIFT_TAKE)
        return sifted == LEAT_CACHE_SIFT_SKIP;
    intake->counts.figures.n_source_records += piece->span.n_records;
    lane->reader.end_record = piece->record + piece->span.n_records;
    if (*r == 0)
        *r = queue_piece(intake, lane, demand, piece, err);
    return true;
}

int leat_intake_end_scan_job(struct leat_intake *intake, struct leat_lane *lane,
                             const struct leat_demand *demand, struct leat_job *job,
                             struct leat_error *err) {
    struct leat_run_cache_view view = leat_intake_view(intake, lane, demand);
    struct leat_scan_job *scan = &job->scan;
    bool is_stale, is_enough = false;
    enum leat_span_scan meaning;
    int r = 0;

    intake->counts.figures.n_source_bytes += job->n_bytes;
    take_changes(intake, lane);
    is_stale = leat_reader_end_job(&lane->reader, scan);
    leat_lane_memory_end_scan(&lane->memory, scan);
    leat_lane_take_buffers(lane, scan);
    for (size_t i = 0; i < scan->n_pieces; i++) {
        if (!is_stale && !is_enough)
            is_enough = !take_piece(intake, lane, demand, &scan->pieces[i], &r, err);
        leat_lane_release_piece(lane, &scan->pieces[i]);
    }
    meaning = is_stale || job->error.code ? LEAT_SPAN_SCAN_READ
                                          : leat_run_spans_end_scan(&intake->spans, scan);
    if (meaning != LEAT_SPAN_SCAN_READ) {
        if (meaning == LEAT_SPAN_SCAN_AGAIN)
            restart_pass(intake, lane);
        return r;
    }
    if (is_stale)
        next_pass(intake, lane, demand, lane->epoch != lane->reader.epoch);
    else if (job->error.code && !is_enough && r == 0)
        r = fail_scan(intake, lane, &job->error, err);
    else if ((scan->has_ended || is_enough) && r == 0)
        r = end_scan(intake, lane, demand, lane->reader.end_record, err);
    leat_run_cache_collect(&intake->cache, &view);
    return r;
}

int leat_intake_end_cache_job(struct leat_intake *intake, const struct leat_demand *demand,
                              struct leat_job *job, struct leat_error *err) {
    const struct leat_run_cache *cache = &intake->cache;
    struct leat_lane *lane = intake->lanes;
    enum leat_run_cache_event event;

    if (job->cache.task == LEAT_CACHE_OPEN)
        take_changes(intake, lane);
    event = leat_run_cache_end_job(&intake->cache, &job->cache, &job->error);
    if (event == LEAT_CACHE_EVENT_CHANGED)
        return fail_scan(intake, lane, &job->error, err);
    if (event == LEAT_CACHE_EVENT_FOUND && is_fast_forwarding(lane, demand) &&
        may_start_later(intake->options) && !(cache->file && cache->file->n_frames > 0))
        leat_fast_forward_explain(&intake->forward, intake->options->first_step, cache->is_index);
    return 0;
}

void leat_intake_count_cache(struct leat_intake *intake) {
    uint64_t bytes = leat_run_cache_n_bytes(&intake->cache, &intake->lanes->queue);

    leat_account_change(intake->account, LEAT_MEMORY_CACHE, intake->cache_bytes, bytes);
    intake->cache_bytes = bytes;
}

/* ---- notes ---- */

void leat_note_list_deinit(struct leat_note_list *list) {
    while (list->n_texts > 0)
        free(list->texts[--list->n_texts]);
}

void leat_note_list_add(struct leat_note_list *list, const char *text) {
    if (list->n_texts < LEAT_NOTE_LIST_MAX)
        leat_note_list_move(list, strdup(text));
}

void leat_note_list_move(struct leat_note_list *list, char *take_text) {
    if (take_text && list->n_texts < LEAT_NOTE_LIST_MAX)
        list->texts[list->n_texts++] = take_text;
    else
        free(take_text);
}

char *leat_note_list_take(struct leat_note_list *list) {
    char *text = list->n_texts > 0 ? list->texts[0] : NULL;

    if (text)
        memmove(list->texts, list->texts + 1, --list->n_texts * sizeof(list->texts[0]));
    return text;
}
