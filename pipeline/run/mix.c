/* run/mix.c: a run of several sources that are mixed: rows of theirs, in the order that the mixer
 * says.
 *
 * Each source has a run of its own (a lane), which scans and maps it ahead as if it were alone,
 * pass after pass. Which lane the next row comes from does not depend on what is there already: if
 * that lane has none yet, the run waits for it. A lane's passes are its laps: it begins one when it
 * is to be read again, and when a pass of the whole ends.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/run_internal.h"

enum found { FOUND_ROW, FOUND_END, FOUND_NOTHING };

/* ---- life ---- */

static void start_mixer(struct leat_run *run) {
    leat_mixer_start(&run->mixer, run->plan->mixing, run->order.seed, run->epoch, run->pass);
}

int leat_run_mix_init(struct leat_run *run, struct leat_error *err) {
    size_t n = run->plan->mixing->n_lanes;
    struct leat_run_options options = run->options;

    options.account = run->memory.account;
    options.max_map_jobs = (uint32_t)leat_run_lane_jobs(run, run->knobs.of[LEAT_KNOB_JOBS]);
    run->scan_has_ended = true;
    run->lanes = calloc(n, sizeof(*run->lanes));
    if (!run->lanes)
        return leat_error_oom(err);
    for (; run->n_lanes < n; run->n_lanes++) {
        struct leat_run *lane = leat_run_new_lane(run, (uint32_t)run->n_lanes, &options);

        if (!lane)
            return leat_error_oom(err);
        run->lanes[run->n_lanes] = lane;
    }
    start_mixer(run);
    return 0;
}

void leat_run_mix_free(struct leat_run *run) {
    for (size_t i = 0; i < run->n_lanes; i++)
        leat_run_free(run->lanes[i]);
    free(run->lanes);
}

uint32_t leat_run_mix_n_blocks(const struct leat_run *run) {
    uint32_t n = 0;

    for (size_t i = 0; i < run->n_lanes; i++)
        n += run->lanes[i]->blocks.n_alive;
    return n;
}

/* ---- jobs ---- */

/* The lane that is waited for goes first. */
int leat_run_mix_job(struct leat_run *run, struct leat_job **ret_job) {
    size_t first;

    if (run->n_lanes == 0 || run->has_failed || run->is_complete)
        return 0;
    first = leat_mixer_next(&run->mixer);
    for (size_t i = 0; i < run->n_lanes; i++) {
        struct leat_run *lane = run->lanes[(first + i) % run->n_lanes];

        if (leat_run_scan_job(lane, ret_job) == LEAT_RUN_JOB ||
            leat_run_decode_job(lane, ret_job) == LEAT_RUN_JOB ||
            leat_run_map_job(lane, ret_job) == LEAT_RUN_JOB)
            return LEAT_RUN_JOB;
    }
    return 0;
}

/* ---- rows ---- */

/* The next row of the first block; false: it has none, or a bad record ends the run. */
static bool next_of_block(struct leat_run *run, struct leat_queue_entry *entry,
                          struct leat_ref *ret_ref) {
    bool is_over = entry->next_row == entry->block->n_rows;

    if (leat_run_meet_bad_before(run, entry, is_over ? UINT32_MAX : entry->next_row) < 0 || is_over)
        return false;
    *ret_ref = leat_ref_row(entry->block, entry->next_row++);
    entry->block->n_refs++;
    return true;
}

static enum found next_row(struct leat_run *run, struct leat_run *lane, struct leat_ref *ret_ref) {
    while (lane->first && !run->has_failed) {
        struct leat_queue_entry *entry = lane->first;

        if (entry->state == LEAT_ENTRY_MAPPING)
            return FOUND_NOTHING;
        if (leat_run_is_stale(lane, entry)) {
            leat_run_pop_entry(lane);
            continue;
        }
        if (entry->state == LEAT_ENTRY_SCANNED || entry->state == LEAT_ENTRY_PARKED)
            return FOUND_NOTHING;
        if (entry->error.code) {
            leat_run_fail(run, &entry->error);
            return FOUND_NOTHING;
        }
        if (entry->state == LEAT_ENTRY_PASS_END) {
            leat_run_pop_entry(lane);
            return FOUND_END;
        }
        if (next_of_block(run, entry, ret_ref))
            return FOUND_ROW;
        if (run->has_failed)
            break;
        leat_run_count_records(run, entry);
        leat_run_pop_entry(lane);
    }
    return FOUND_NOTHING;
}

/* The lane begins its next lap. */
static void begin_again(struct leat_run *lane, bool epoch_is_over) {
    uint64_t epoch = lane->epoch, pass = lane->pass;

    lane->epoch += epoch_is_over;
    lane->pass = epoch_is_over ? 0 : pass + 1;
    leat_run_skip_scan(lane, epoch, pass);
}

void leat_run_mix_next_pass(struct leat_run *run, bool epoch_is_over) {
    for (size_t i = 0; i < run->n_lanes; i++)
        begin_again(run->lanes[i], epoch_is_over);
    start_mixer(run);
}

static void end_pass(struct leat_run *run, bool epoch_is_done) {
    for (size_t i = 0; i < run->n_lanes; i++) {
        struct leat_queue_entry *entry = run->lanes[i]->first;

        if (entry && entry->state == LEAT_ENTRY_MAPPED && entry->next_row > 0)
            leat_run_count_records(run, entry);
    }
    leat_run_end_pass(run, epoch_is_done);
}

static void push_row(struct leat_run *run, struct leat_ref ref) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r;

    leat_mixer_take(&run->mixer);
    run->n_pass_rows++;
    run->n_order_rows++;
    r = leat_order_feed(&run->order, ref, &err);
    if (r < 0)
        leat_run_fail_order(run, &err);
    if (r > 0)
        end_pass(run, r == LEAT_ORDER_EPOCH_DONE);
}

void leat_run_mix_consume(struct leat_run *run) {
    while (leat_run_wants_rows(run) && !run->is_complete) {
        struct leat_run *lane = run->lanes[leat_mixer_next(&run->mixer)];
        enum leat_mixer_verdict verdict;
        struct leat_ref ref;
        enum found found = next_row(run, lane, &ref);

        if (found == FOUND_NOTHING)
            return;
        if (found == FOUND_ROW) {
            push_row(run, ref);
            continue;
        }
        verdict = leat_mixer_end(&run->mixer);
        if (verdict == LEAT_MIXER_REPEATS)
            begin_again(lane, false);
        else if (verdict == LEAT_MIXER_PASS_ENDS)
            end_pass(run, false);
    }
}
