/* run/decode.c: which places of compressed files are decoded ahead of the scanner, and when.
 *
 * They are the ranges of the file in which the scanner is, then the beginnings of the files behind
 * it. What is decoded is bounded in number and bytes; a place that turns out to hold nothing of use
 * costs its time only. The scanner goes on without what is not there, but waits for what is being
 * decoded just now: to decode it twice would be no faster.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run_internal.h"

#define UNITS_AT_ONCE  8 /* decoded or being decoded */
#define UNIT_BYTES_MAX (32U << 20)
#define UNIT_BYTES_MIN (1U << 20)
#define JOB_BYTES      (3U << 20) /* besides: a range of the file, a decoder */
#define RANGES_AHEAD   64 /* of a file; of most of them nothing begins, where frames are long */
#define FILES_AHEAD    64
#define USELESS_RANGES 16 /* in a row: the file is one long frame */

/* Of sources that are mixed each has its part. */
static size_t ahead_bytes(const struct leat_run *run) {
    return (size_t)run->plan->options.decode_ahead / (run->whole ? run->whole->n_lanes : 1);
}

static size_t max_units(const struct leat_run *run) {
    size_t n = run->options.max_map_jobs / 2, n_memory = ahead_bytes(run) / UNIT_BYTES_MIN;

    n = n < UNITS_AT_ONCE ? n : UNITS_AT_ONCE;
    return n < n_memory ? n : n_memory;
}

static size_t n_units(const struct leat_run *run) {
    size_t n = run->ahead.n_busy + run->ahead.n_held;

    for (const struct leat_unit *unit = run->ahead.units; unit; unit = unit->next)
        n++;
    return n;
}

static bool next_key(struct leat_run *run, struct leat_unit_key *ret_key) {
    struct leat_ahead *ahead = &run->ahead;

    if (ahead->n_useless >= USELESS_RANGES)
        ahead->next_range = ahead->n_ranges;
    if (ahead->next_range < ahead->n_ranges) {
        if (ahead->next_range > ahead->range + RANGES_AHEAD)
            return false;
        *ret_key = (struct leat_unit_key){ahead->file, ahead->next_range++};
        return true;
    }
    if (ahead->next_file >= run->scan.end_file || ahead->next_file > ahead->file + FILES_AHEAD)
        return false;
    *ret_key = (struct leat_unit_key){ahead->next_file++, 0};
    return true;
}

static void count(struct leat_run *run) {
    struct leat_ahead *ahead = &run->ahead;
    uint64_t bytes = ahead->busy_bytes + ahead->scanner_bytes;

    for (const struct leat_unit *unit = ahead->units; unit; unit = unit->next)
        bytes += leat_input_memory(unit->input);
    leat_account_change(run->memory.account, LEAT_MEMORY_SOURCE, ahead->counted_bytes, bytes);
    ahead->counted_bytes = bytes;
}

/* Of one job; 0: there is no room for it. */
static size_t bytes_of_next(const struct leat_run *run) {
    size_t max = max_units(run), n_bytes;

    if (max == 0 || n_units(run) >= max)
        return 0;
    n_bytes = ahead_bytes(run) / max;
    n_bytes = n_bytes < UNIT_BYTES_MAX ? n_bytes : UNIT_BYTES_MAX;
    return leat_account_may_grow(run->memory.account, n_bytes + JOB_BYTES) ? n_bytes : 0;
}

bool leat_run_decode_next(struct leat_run *run, struct leat_decode_job *ret_decode) {
    struct leat_ahead *ahead = &run->ahead;
    struct leat_unit_key key;
    struct leat_unit *unit;
    size_t max_bytes;

    if (!ahead->is_compressed || run->scan_is_stale || run->scan_has_ended || run->is_complete ||
        run->has_failed)
        return false;
    max_bytes = bytes_of_next(run);
    if (max_bytes == 0 || !next_key(run, &key))
        return false;
    unit = calloc(1, sizeof(*unit));
    if (!unit)
        return false; /* it is read without */
    unit->key = key;
    *ret_decode = (struct leat_decode_job){
        .plan = run->plan,
        .opener = run->options.opener,
        .unit = unit,
        .max_bytes = max_bytes,
        .pass = ahead->pass,
        .counted_bytes = max_bytes + JOB_BYTES,
    };
    ahead->busy_bytes += ret_decode->counted_bytes;
    count(run);
    ahead->out[ahead->n_out++] = key;
    ahead->n_busy++;
    return true;
}

static bool is_out(const struct leat_ahead *ahead, struct leat_unit_key key, size_t *ret_index) {
    for (size_t i = 0; i < ahead->n_out; i++)
        if (leat_unit_compare(ahead->out[i], key) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

void leat_run_decode_done(struct leat_run *run, struct leat_decode_job *decode) {
    struct leat_ahead *ahead = &run->ahead;
    struct leat_unit *unit = decode->unit;
    bool is_of_file = unit->key.file == ahead->file && unit->key.range > 0;
    size_t i;

    decode->unit = NULL;
    ahead->n_busy--;
    ahead->busy_bytes -= decode->counted_bytes;
    if (decode->pass != ahead->pass) {
        leat_unit_free(unit);
        count(run);
        return;
    }
    if (is_out(ahead, unit->key, &i))
        ahead->out[i] = ahead->out[--ahead->n_out];
    if (is_of_file)
        ahead->n_useless = unit->input ? 0 : ahead->n_useless + 1;
    if (unit->input)
        leat_unit_insert(&ahead->units, unit);
    else
        leat_unit_free(unit);
    count(run);
}

/* The scanner is about to read that place itself. */
static void give_up(struct leat_ahead *ahead, struct leat_unit_key key) {
    if (key.file == ahead->file && key.range >= ahead->next_range)
        ahead->next_range = key.range + 1;
    if (key.file >= ahead->next_file)
        ahead->next_file = key.file + 1;
}

static void set_horizon(const struct leat_ahead *ahead, struct leat_scan *scan) {
    memcpy(scan->missing, ahead->out, sizeof(ahead->out));
    scan->n_missing = ahead->n_out;
    scan->has_horizon = ahead->is_compressed;
    scan->horizon = (struct leat_unit_key){ahead->file, ahead->next_range};
    scan->horizon_file = ahead->next_file;
}

bool leat_run_decode_hand_over(struct leat_run *run) {
    struct leat_ahead *ahead = &run->ahead;
    size_t i;

    if (ahead->is_wanted && is_out(ahead, ahead->wanted, &i))
        return false;
    if (ahead->is_wanted)
        give_up(ahead, ahead->wanted);
    ahead->is_wanted = false;
    while (ahead->units) {
        struct leat_unit *unit = ahead->units;

        ahead->units = unit->next;
        ahead->scanner_bytes += leat_input_memory(unit->input);
        leat_unit_insert(&run->scan.units, unit);
        ahead->n_held++;
    }
    set_horizon(ahead, &run->scan);
    run->scan.has_horizon &= max_units(run) > 0;
    return true;
}

void leat_run_decode_follow(struct leat_run *run, const struct leat_scan_job *scan) {
    const struct leat_input *input = run->scan.input;
    struct leat_ahead *ahead = &run->ahead;

    ahead->n_held = 0;
    ahead->scanner_bytes = input ? leat_input_memory(input) : 0;
    for (const struct leat_unit *unit = run->scan.units; unit; unit = unit->next) {
        ahead->scanner_bytes += leat_input_memory(unit->input);
        ahead->n_held++;
    }
    count(run);
    ahead->is_wanted = scan->wants_unit;
    ahead->wanted = scan->wanted;
    if (run->scan.file != ahead->file) {
        ahead->next_range = ahead->n_ranges = 0;
        ahead->n_useless = 0;
    }
    ahead->file = run->scan.file;
    if (ahead->next_file <= ahead->file)
        ahead->next_file = ahead->file + 1;
    if (!input)
        return;
    ahead->is_compressed = leat_input_format(input) && !leat_input_has_lens(input);
    ahead->range = leat_input_offset(input) / LEAT_INPUT_RANGE;
    ahead->n_ranges = ahead->is_compressed
                          ? (leat_input_file_bytes(input) + LEAT_INPUT_RANGE - 1) / LEAT_INPUT_RANGE
                          : 0;
    if (ahead->next_range <= ahead->range)
        ahead->next_range = ahead->range + 1;
}

void leat_run_decode_reset(struct leat_run *run) {
    struct leat_ahead *ahead = &run->ahead;

    leat_unit_free_all(&ahead->units);
    *ahead = (struct leat_ahead){.pass = ahead->pass + 1,
                                 .n_busy = ahead->n_busy,
                                 .busy_bytes = ahead->busy_bytes,
                                 .counted_bytes = ahead->counted_bytes};
    count(run);
}
