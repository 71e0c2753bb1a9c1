/* run/spans.c: see run/spans.h. The order of blocks: stages/shuffle.c. */
#include "pipeline/run/spans.h"

#include <stdlib.h>

#include "pipeline/run/run_internal.h"

static bool are_wanted(const struct leat_run *run) {
    return leat_run_spans_are_wanted(run->plan, run->options.only_builds);
}

static void forget(struct leat_run *run) {
    struct leat_run_spans *spans = &run->spans;

    leat_span_table_deinit(&spans->table);
    leat_span_table_init(&spans->table, run->plan->blocks.block_size);
    spans->table_bytes = 0;
    spans->is_counted = false;
}

void leat_run_spans_deinit(struct leat_run *run) {
    leat_span_table_deinit(&run->spans.table);
    free(run->spans.order);
}

uint64_t leat_run_spans_bytes(const struct leat_run *run) {
    return run->spans.table_bytes +
           (run->spans.order ? run->spans.table.n_spans * sizeof(*run->spans.order) : 0);
}

/* ---- the order ---- */

static struct leat_rng start_rng(const struct leat_run *run) {
    const struct leat_block_order *blocks = &run->plan->blocks;
    uint64_t epoch = blocks->reshuffles ? run->scan_epoch : 0;
    uint64_t pass = blocks->reshuffles ? run->scan_pass : 0;

    return (struct leat_rng){leat_rng_key(run->order.seed, blocks->seed, epoch, LEAT_RNG_BLOCKS,
                                          (pass << 32) + blocks->index)};
}

/* For the pass that is read. */
static int draw(struct leat_run *run) {
    size_t n = run->spans.table.n_spans;
    uint32_t *left = reallocarray(NULL, n ? n : 1, sizeof(*left));
    struct leat_rng rng = start_rng(run);

    if (!left) {
        leat_run_out_of_memory(run);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        left[i] = (uint32_t)i;
    /* The drawn goes behind those that are left, from where all are turned around. */
    for (size_t i = n; i > 0; i--) {
        size_t drawn = (size_t)leat_rng_below(&rng, i);
        uint32_t span = left[drawn];

        left[drawn] = left[i - 1];
        left[i - 1] = span;
    }
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t span = left[i];

        left[i] = left[n - 1 - i];
        left[n - 1 - i] = span;
    }
    run->spans.order = left;
    return 0;
}

void leat_run_spans_next_pass(struct leat_run *run) {
    struct leat_run_spans *spans = &run->spans;

    free(spans->order);
    spans->order = NULL;
    spans->at = 0;
    spans->n_done = 0;
    spans->is_building = false;
    if (!spans->is_counted)
        forget(run);
}

/* ---- scanning ---- */

/* The same pass once more. */
static void restart(struct leat_run *run) {
    leat_run_decode_reset(run);
    leat_scan_stop(&run->scan);
    leat_scan_start(&run->scan, run->plan, run->options.opener, false);
    run->memory.scan_wants = 0;
    leat_run_whole(run)->has_end = true;
}

void leat_run_spans_start_scan(struct leat_run *run) {
    struct leat_run_spans *spans = &run->spans;

    if (!are_wanted(run) || spans->is_building)
        return;
    if (spans->is_of_cache)
        forget(run);
    spans->is_of_cache = false;
    if (!spans->is_counted) {
        spans->table.block_size = run->plan->blocks.block_size;
        run->scan.counts = &spans->table;
    } else if (spans->order || draw(run) == 0) {
        run->scan.route.table = &spans->table;
        run->scan.route.order = spans->order;
    }
}

bool leat_run_spans_end_scan(struct leat_run *run, const struct leat_scan_job *scan) {
    struct leat_run_spans *spans = &run->spans;

    if (scan->is_outdated) {
        spans->is_counted = false;
        leat_run_spans_next_pass(run);
        restart(run);
        return true;
    }
    if (!run->scan.counts)
        return false;
    spans->table_bytes = leat_span_table_bytes(&spans->table);
    if (scan->has_ended) {
        spans->is_counted = true;
        restart(run);
    }
    return true;
}

void leat_run_spans_end_building(struct leat_run *run) {
    run->spans.is_building = false;
    run->scan_end_record = 0;
    restart(run);
    leat_run_cache_next_pass(run);
}

/* ---- the cache ---- */

static int take_numbers(struct leat_run *run) {
    const struct leat_cache_file *file = run->cache.file;
    struct leat_run_spans *spans = &run->spans;
    struct leat_error err = LEAT_ERROR_INIT;
    int r = 0;

    if (spans->is_counted && spans->is_of_cache && spans->generation == run->cache.generation)
        return 0;
    forget(run);
    for (size_t i = 0; r == 0 && i < file->n_frames; i++)
        r = leat_span_table_add_records(&spans->table, file->frames[i].span.file,
                                        file->frames[i].span.n_records, &err);
    if (r < 0) {
        leat_run_fail(run, &err);
        return r;
    }
    spans->table_bytes = leat_span_table_bytes(&spans->table);
    spans->is_counted = spans->is_of_cache = true;
    spans->generation = run->cache.generation;
    return 0;
}

/* The next frame of the span, or what is meant of it. */
static bool add_part(struct leat_run *run, const struct leat_span *span) {
    struct leat_run_spans *spans = &run->spans;
    uint64_t from = span->record + spans->n_done, end = span->record + span->place.n_records;
    const struct leat_cache_frame *frame = leat_cache_file_find(run->cache.file, from);
    uint64_t frame_end = frame ? frame->record + frame->span.n_records : 0;
    struct leat_queue_entry *entry =
        frame ? leat_run_cache_add_frame(run, frame, from > frame->record || end < frame_end)
              : NULL;

    if (!entry)
        return false;
    entry->from_record = (uint32_t)(from - frame->record);
    if (end < frame_end)
        entry->to_record = (uint32_t)(end - frame->record);
    else
        end = frame_end;
    spans->n_done += (uint32_t)(end - from);
    return true;
}

/* False: there are more than there is room for. */
static bool add_frames(struct leat_run *run, size_t max_entries) {
    struct leat_run_spans *spans = &run->spans;

    while (spans->at < spans->table.n_spans) {
        const struct leat_span *span = &spans->table.spans[spans->order[spans->at]];

        if (run->n_entries >= max_entries || !add_part(run, span))
            return false;
        if (spans->n_done < span->place.n_records)
            continue;
        spans->at++;
        spans->n_done = 0;
    }
    return true;
}

bool leat_run_spans_let_scan(struct leat_run *run, size_t max_entries) {
    const struct leat_cache_file *file = run->cache.file;
    struct leat_run_spans *spans = &run->spans;

    if (!file || !file->is_complete) {
        spans->is_building = run->cache.is_builder;
        return true;
    }
    if (take_numbers(run) < 0 || (!spans->order && draw(run) < 0))
        return false;
    if (add_frames(run, max_entries))
        leat_run_end_scan(run, file->n_records);
    return false;
}
