/* run/blocks.c: from mapped blocks to batches of references: order, passes, epochs, bad records.
 *
 * Blocks are consumed strictly in the order of the data and only while batches are wanted, which is
 * the back-pressure of the whole pipeline: what is not consumed keeps its place in the line, and a
 * full line stops the scanner.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run_internal.h"

void leat_run_fail(struct leat_run *run, const struct leat_error *err) {
    run = leat_run_whole(run);
    if (run->has_failed)
        return;
    run->has_failed = true;
    run->error = *err;
    leat_error_prefix(&run->error, "streams.%s", run->plan->spec->name);
}

void leat_run_release_piece(struct leat_run *run, struct leat_piece *piece) {
    leat_run_give_buffer(run, piece->buffer);
    piece->buffer = NULL;
}

struct leat_queue_entry *leat_run_add_entry(struct leat_run *run, enum leat_entry_state state,
                                            const struct leat_piece *piece,
                                            const struct leat_error *err) {
    struct leat_queue_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    entry->state = state;
    entry->epoch = run->scan_epoch;
    entry->pass = run->scan_pass;
    entry->cache_generation = run->cache.generation;
    entry->to_record = UINT32_MAX;
    entry->is_passed_over = run->spans.is_building;
    if (piece)
        entry->piece = *piece;
    if (err)
        entry->error = *err;
    *run->last = entry;
    run->last = &entry->next;
    run->n_entries += state != LEAT_ENTRY_PASS_END;
    run->n_ends += state == LEAT_ENTRY_PASS_END;
    return entry;
}

void leat_run_pop_entry(struct leat_run *run) {
    struct leat_queue_entry *entry = run->first;

    run->first = entry->next;
    if (!run->first)
        run->last = &run->first;
    run->n_entries -= entry->state != LEAT_ENTRY_PASS_END;
    run->n_ends -= entry->state == LEAT_ENTRY_PASS_END;
    leat_run_forget_parked(run, entry);
    leat_residents_add(run, entry);
    if (entry->block)
        leat_block_unref(entry->block, 1);
    leat_run_release_piece(run, &entry->piece);
    leat_run_cache_forget(run, entry);
    free(entry);
}

bool leat_run_wants_epoch(const struct leat_run *run, uint64_t epoch) {
    return run->options.n_epochs == 0 || epoch - run->options.first_epoch < run->options.n_epochs;
}

/* Sources that are mixed may have to be read again and again. */
static bool wants_pass(const struct leat_run *run, uint64_t pass) {
    if (run->whole && run->plan->mixing->exhausted == LEAT_EXHAUSTED_REPEAT)
        return true;
    return run->plan->has_repeat &&
           (run->plan->repeat_count == 0 || pass < run->plan->repeat_count);
}

/* What comes once has one epoch, from its start; how many are asked for may be left open. */
int leat_run_check_passes(const struct leat_plan *plan, const struct leat_run_options *options,
                          struct leat_error *err) {
    const char *path = plan->source->files.paths[0];

    if (!plan->is_one_pass)
        return 0;
    if (options->first_epoch > 0 || options->first_step > 0)
        return leat_error_set(
            err, -ESPIPE,
            "%s: comes through a FIFO, and so once: there is no going on at epoch "
            "%llu, step %llu",
            path, (unsigned long long)options->first_epoch,
            (unsigned long long)options->first_step);
    if (options->n_epochs > 1)
        return leat_error_set(err, -ESPIPE,
                              "%s: comes through a FIFO, and so once: %llu epochs were asked for, "
                              "there is one",
                              path, (unsigned long long)options->n_epochs);
    return 0;
}

void leat_run_next_pass(struct leat_run *run, bool epoch_is_over) {
    leat_run_decode_reset(run);
    leat_scan_stop(&run->scan);
    if (!epoch_is_over && wants_pass(run, run->scan_pass + 1)) {
        run->scan_pass++;
    } else {
        run->scan_epoch++;
        run->scan_pass = 0;
    }
    run->scan_has_ended = !leat_run_wants_epoch(run, run->scan_epoch);
    run->scan_end_record = 0;
    run->memory.scan_wants = 0;
    leat_data_watch_next_pass(&run->watch);
    leat_run_cache_next_pass(run);
    leat_run_spans_next_pass(run);
    if (run->scan_has_ended)
        return;
    leat_scan_start(&run->scan, run->plan, run->options.opener, false);
    leat_run_limit_scan(run);
}

void leat_run_limit_scan(struct leat_run *run) {
    if (run->whole)
        leat_plan_lane_files(run->plan, run->lane, &run->scan.file, &run->scan.end_file);
}

void leat_run_end_scan(struct leat_run *run, uint64_t n_records) {
    struct leat_piece end = {.record = n_records};

    if (!leat_run_add_entry(run, LEAT_ENTRY_PASS_END, &end, NULL))
        leat_run_out_of_memory(run);
    leat_run_whole(run)->has_end = true;
    if (run->spans.is_building)
        leat_run_spans_end_building(run);
    else
        leat_run_next_pass(run, false);
}

/* ---- bad records ---- */

void leat_run_bad_error(const struct leat_run *run, uint32_t file,
                        const struct leat_bad_record *bad, struct leat_error *err) {
    *err = LEAT_ERROR_INIT;
    leat_error_set(err, -EBADMSG, "%s", bad->message);
    leat_error_locate(err, run->plan->source->files.paths[file], (uint32_t)bad->line, bad->column);
    if (bad->field)
        leat_error_prefix(err, "%s", bad->field);
    if (bad->stage)
        leat_error_prefix(err, "%s", bad->stage);
}

static int meet_bad(struct leat_run *run, uint32_t file, const struct leat_bad_record *bad) {
    const struct leat_stream_options *options = &run->plan->options;
    struct leat_error err;

    run->stats.n_bad_records++;
    run->n_epoch_bad++;
    leat_run_bad_error(run, file, bad, &run->last_bad);
    if (options->on_error == LEAT_ON_ERROR_FAIL) {
        leat_run_fail(run, &run->last_bad);
        return -EBADMSG;
    }
    if (options->max_errors > 0 && run->n_epoch_bad > (uint64_t)options->max_errors) {
        char text[LEAT_ERROR_PRINT_MAX];

        err = LEAT_ERROR_INIT;
        (void)leat_error_print(&run->last_bad, text, sizeof(text));
        leat_error_set(&err, -EBADMSG,
                       "more than max_errors (%lld) bad records; the last is %.300s",
                       (long long)options->max_errors, text);
        leat_run_fail(run, &err);
        return -EBADMSG;
    }
    if (options->on_error == LEAT_ON_ERROR_QUARANTINE && run->epoch == run->options.first_epoch &&
        run->pass == 0)
        leat_quarantine_add(&run->quarantine, run->plan, file, bad);
    return 0;
}

int leat_run_meet_bad_before(struct leat_run *run, struct leat_queue_entry *entry, uint32_t row) {
    const struct leat_block *block = entry->block;
    uint32_t record =
        row < block->n_rows && block->records ? block->records[row] : entry->to_record;

    while (entry->next_bad < block->n_bad && block->bad[entry->next_bad].record < record) {
        int r = block->bad[entry->next_bad].record < entry->from_record
                    ? 0
                    : meet_bad(run, block->file, &block->bad[entry->next_bad]);

        entry->next_bad++;
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- ends ---- */

static int fail_without_batches(const struct leat_run *run, struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX] = "";

    if (run->n_epoch_bad > 0)
        (void)leat_error_print(&run->last_bad, text, sizeof(text));
    return leat_error_set(
        err, -ENODATA,
        "epoch %llu has no batches: %llu records were read, %llu of them were bad, and filters "
        "left %llu%s%s%.300s",
        (unsigned long long)run->epoch, (unsigned long long)run->n_epoch_records,
        (unsigned long long)run->n_epoch_bad, (unsigned long long)run->n_epoch_rows,
        run->n_epoch_rows ? ", of which `skip`, other filters or `drop_last` left none" : "",
        text[0] ? "; the last bad one is " : "", text);
}

static int check_epoch(struct leat_run *run, struct leat_error *err) {
    const struct leat_batcher *batcher = &run->order.batcher;
    bool is_first = run->epoch == batcher->first_epoch;

    if (batcher->n_closed == 0)
        return fail_without_batches(run, err);
    if (batcher->n_rounds == 0 && !(is_first && batcher->first_step > 0))
        return leat_error_set(
            err, -ENODATA,
            "no rank of %llu gets a batch: epoch %llu has only %llu steps; `uneven: pad` gives all "
            "of them one",
            (unsigned long long)batcher->world_size, (unsigned long long)run->epoch,
            (unsigned long long)batcher->n_closed);
    /* A rank's own first step may lie behind the end, in the round in which the epoch ends. */
    if (is_first && batcher->first_step >= batcher->n_closed + batcher->world_size)
        return leat_error_set(
            err, -EINVAL, "step %llu was asked for, but epoch %llu has only %llu steps",
            (unsigned long long)batcher->first_step, (unsigned long long)run->epoch,
            (unsigned long long)batcher->n_closed);
    return 0;
}

static int end_epoch(struct leat_run *run, struct leat_error *err) {
    bool is_last = !leat_run_wants_epoch(run, run->epoch + 1);
    int r;

    if (run->order.batcher.n_left == 0) {
        run->has_pending_end = true;
        return 0;
    }
    r = leat_batcher_end_round(&run->order.batcher, err);
    if (r == 0 && run->order.batcher.n_left == 0) { /* as it was filled up */
        run->has_pending_end = true;
        return 0;
    }
    if (r == 0)
        r = check_epoch(run, err);
    if (r == 0 && leat_batcher_add_end(&run->order.batcher, is_last) < 0)
        r = leat_error_oom(err);
    if (r < 0)
        return r;
    run->n_epoch_bad = run->n_epoch_rows = run->n_epoch_records = 0;
    run->is_complete = is_last;
    run->epoch++;
    run->pass = 0;
    run->horizon.n_lined_before = run->order.batcher.n_lined;
    return is_last ? 0 : leat_order_start_epoch(&run->order, run->epoch, err);
}

static void start_next_pass(struct leat_run *run, bool epoch_is_done) {
    struct leat_error err = LEAT_ERROR_INIT;
    bool with_next = !epoch_is_done && run->n_pass_rows > 0 && wants_pass(run, run->pass + 1);
    int r = leat_order_end_pass(&run->order, run->epoch, run->pass, &with_next, &err);

    run->n_epoch_rows += run->n_pass_rows;
    run->n_pass_rows = 0;
    if (r == 0 && with_next)
        run->pass++;
    else if (r == 0)
        r = end_epoch(run, &err);
    if (r < 0)
        leat_run_fail_order(run, &err);
}

void leat_run_skip_scan(struct leat_run *run, uint64_t epoch, uint64_t pass) {
    if (run->scan_has_ended || run->has_failed || run->scan_epoch != epoch)
        return;
    if (run->scan_pass != pass && run->epoch == epoch)
        return; /* it is in a later pass that is wanted */
    if (run->scan_is_out)
        run->scan_is_stale = true;
    else
        leat_run_next_pass(run, run->epoch != epoch);
}

static void follow(struct leat_run *run, uint64_t epoch, uint64_t pass) {
    if (run->has_pending_end)
        return;
    if (run->n_lanes == 0)
        leat_run_skip_scan(run, epoch, pass);
    else if (!run->has_failed && !run->is_complete)
        leat_run_mix_next_pass(run, run->epoch != epoch);
}

void leat_run_end_pass(struct leat_run *run, bool epoch_is_done) {
    uint64_t epoch = run->epoch, pass = run->pass;

    start_next_pass(run, epoch_is_done);
    follow(run, epoch, pass);
}

void leat_run_end_epoch(struct leat_run *run) {
    uint64_t epoch = run->epoch, pass = run->pass;
    struct leat_error err = LEAT_ERROR_INIT;

    if (end_epoch(run, &err) < 0)
        leat_run_fail(run, &err);
    follow(run, epoch, pass);
}

/* ---- blocks ---- */

bool leat_run_is_stale(const struct leat_run *run, const struct leat_queue_entry *entry) {
    return entry->epoch < run->epoch || (entry->epoch == run->epoch && entry->pass < run->pass);
}

/* Bad records that wait to be written are bounded too: a slow disk stops the line of blocks. */
#define QUARANTINE_BYTES (4U << 20)

/* Batches that wait for slots hold on to their blocks: few, as the slots are what is kept ready. */
static size_t ready_limit(const struct leat_run *run) {
    return LEAT_READY_JOBS * (size_t)run->knobs.of[LEAT_KNOB_COLLATED];
}

static bool has_enough(const struct leat_run *run) {
    return run->order.batcher.n_left == 0 || run->order.batcher.n_ready >= ready_limit(run) ||
           leat_run_is_at_horizon(run);
}

/* The record of the entry's next row; behind the last that is meant of it: where those end. */
static uint32_t next_record(const struct leat_queue_entry *entry) {
    const struct leat_block *block = entry->block;
    uint32_t record = block->n_records;

    if (entry->next_row < block->n_rows)
        record = block->records ? block->records[entry->next_row] : entry->next_row;
    return record < entry->to_record ? record : entry->to_record;
}

void leat_run_count_records(struct leat_run *run, const struct leat_queue_entry *entry) {
    run->n_epoch_records += next_record(entry) - entry->from_record;
}

static bool has_row(const struct leat_queue_entry *entry) {
    return entry->next_row < entry->block->n_rows && next_record(entry) < entry->to_record;
}

/* Pushes rows until the block or the wish for batches ends; true: the block is used up. */
static bool consume_block(struct leat_run *run, struct leat_queue_entry *entry) {
    struct leat_block *block = entry->block;
    struct leat_error err = LEAT_ERROR_INIT;

    while (has_row(entry) && next_record(entry) < entry->from_record)
        entry->next_row++;
    while (has_row(entry)) {
        struct leat_ref ref = leat_ref_row(block, entry->next_row);
        int r;

        if (has_enough(run) || (entry->next_bad < block->n_bad &&
                                leat_run_meet_bad_before(run, entry, entry->next_row) < 0))
            return false;
        entry->next_row++;
        block->n_refs++;
        run->n_pass_rows++;
        run->n_order_rows++;
        r = leat_order_feed(&run->order, ref, &err);
        if (r < 0)
            leat_run_fail_order(run, &err);
        if (r > 0) {
            leat_run_count_records(run, entry);
            leat_run_end_pass(run, r == LEAT_ORDER_EPOCH_DONE);
        }
        if (r != 0)
            return false;
    }
    if (leat_run_meet_bad_before(run, entry, UINT32_MAX) < 0)
        return false;
    leat_run_count_records(run, entry);
    return true;
}

/* Who wants only the cache wants to know of bad records all the same. */
static void pass_over(struct leat_run *run, struct leat_queue_entry *entry) {
    if (entry->state == LEAT_ENTRY_PASS_END)
        run->is_complete = true;
    else
        (void)leat_run_meet_bad_before(run, entry, UINT32_MAX);
}

bool leat_run_wants_rows(const struct leat_run *run) {
    return !run->has_failed && !run->is_cancelled && run->quarantine.n_bytes < QUARANTINE_BYTES &&
           !has_enough(run);
}

static void consume_line(struct leat_run *run) {
    while (run->first && leat_run_wants_rows(run)) {
        struct leat_queue_entry *entry = run->first;

        if (entry->state == LEAT_ENTRY_MAPPING)
            return;
        if (run->is_complete || leat_run_is_stale(run, entry)) {
            leat_run_pop_entry(run);
            continue;
        }
        if (entry->state == LEAT_ENTRY_SCANNED || entry->state == LEAT_ENTRY_CACHED ||
            entry->state == LEAT_ENTRY_PARKED)
            return;
        if (entry->error.code) {
            leat_run_fail(run, &entry->error);
            return;
        }
        if (run->options.only_builds)
            pass_over(run, entry);
        else if (entry->is_passed_over)
            ; /* it comes again, from the cache */
        else if (entry->state == LEAT_ENTRY_PASS_END)
            leat_run_end_pass(run, false);
        else if (!consume_block(run, entry))
            continue;
        leat_run_pop_entry(run);
    }
}

void leat_run_consume(struct leat_run *run) {
    if (run->n_lanes > 0)
        leat_run_mix_consume(run);
    else
        consume_line(run);
    leat_run_stop_at_limit(run);
}
