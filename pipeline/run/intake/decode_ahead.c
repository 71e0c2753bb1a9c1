#include "pipeline/run/intake/decode_ahead.h"

#include <stdlib.h>

#define UNITS_AT_ONCE  8 /* decoded or being decoded */
#define UNIT_BYTES_MAX (32U << 20)
#define UNIT_BYTES_MIN (1U << 20)
#define JOB_BYTES      (3U << 20) /* besides the unit: a range of the file, a decoder */
#define RANGES_AHEAD   64         /* many, as no frame begins in most of them if frames are long */
#define FILES_AHEAD    64
#define USELESS_RANGES 16 /* in a row: the file is taken for one long frame */

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

void leat_decode_ahead_init(struct leat_decode_ahead *ahead, const struct leat_plan *plan,
                            const struct leat_opener *opener, struct leat_account *account,
                            size_t max_map_jobs, size_t n_shares) {
    size_t max_bytes = (size_t)plan->options.decode_ahead / n_shares;

    *ahead = (struct leat_decode_ahead){
        .plan = plan,
        .opener = opener,
        .account = account,
        .max_bytes = max_bytes,
        .max_units = smaller(smaller(max_map_jobs / 2, UNITS_AT_ONCE), max_bytes / UNIT_BYTES_MIN),
    };
}

static size_t n_units(const struct leat_decode_ahead *ahead) {
    size_t n = ahead->n_busy + ahead->n_held;

    for (const struct leat_unit *unit = ahead->units; unit; unit = unit->next)
        n++;
    return n;
}

static bool next_key(struct leat_decode_ahead *ahead, struct leat_unit_key *ret_key) {
    if (ahead->n_useless >= USELESS_RANGES)
        ahead->next_range = ahead->n_ranges;
    if (ahead->next_range < ahead->n_ranges) {
        if (ahead->next_range > ahead->range + RANGES_AHEAD)
            return false;
        *ret_key = (struct leat_unit_key){ahead->file, ahead->next_range++};
        return true;
    }
    if (ahead->next_file >= ahead->end_file || ahead->next_file > ahead->file + FILES_AHEAD)
        return false;
    *ret_key = (struct leat_unit_key){ahead->next_file++, 0};
    return true;
}

static void count(struct leat_decode_ahead *ahead) {
    uint64_t bytes = ahead->busy_bytes + ahead->scanner_bytes;

    for (const struct leat_unit *unit = ahead->units; unit; unit = unit->next)
        bytes += leat_input_memory(unit->input);
    leat_account_change(ahead->account, LEAT_MEMORY_SOURCE, ahead->counted_bytes, bytes);
    ahead->counted_bytes = bytes;
}

/* Bytes that the next job may take; 0: no job may start. */
static size_t bytes_of_next(const struct leat_decode_ahead *ahead) {
    size_t n_bytes;

    if (ahead->max_units == 0 || n_units(ahead) >= ahead->max_units)
        return 0;
    n_bytes = smaller(ahead->max_bytes / ahead->max_units, UNIT_BYTES_MAX);
    return leat_account_may_grow(ahead->account, n_bytes + JOB_BYTES) ? n_bytes : 0;
}

bool leat_decode_ahead_start_job(struct leat_decode_ahead *ahead, struct leat_decode_job *ret_job) {
    struct leat_unit_key key;
    struct leat_unit *unit;
    size_t max_bytes;

    if (!ahead->has_ranges)
        return false;
    max_bytes = bytes_of_next(ahead);
    if (max_bytes == 0 || !next_key(ahead, &key))
        return false;
    unit = calloc(1, sizeof(*unit));
    if (!unit)
        return false; /* The scanner reads the place itself. */
    unit->key = key;
    *ret_job = (struct leat_decode_job){
        .plan = ahead->plan,
        .opener = ahead->opener,
        .unit = unit,
        .max_bytes = max_bytes,
        .pass = ahead->pass,
        .counted_bytes = max_bytes + JOB_BYTES,
    };
    ahead->busy_bytes += ret_job->counted_bytes;
    count(ahead);
    ahead->out[ahead->n_out++] = key;
    ahead->n_busy++;
    return true;
}

static bool is_out(const struct leat_decode_ahead *ahead, struct leat_unit_key key,
                   size_t *ret_index) {
    for (size_t i = 0; i < ahead->n_out; i++)
        if (leat_unit_compare(ahead->out[i], key) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

void leat_decode_ahead_end_job(struct leat_decode_ahead *ahead, struct leat_decode_job *job) {
    struct leat_unit *unit = job->unit;
    bool is_of_file = unit->key.file == ahead->file && unit->key.range > 0;
    size_t i;

    job->unit = NULL;
    ahead->n_busy--;
    ahead->busy_bytes -= job->counted_bytes;
    if (job->pass != ahead->pass) {
        leat_unit_free(unit);
        count(ahead);
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
    count(ahead);
}

/* The scanner reads that place itself, so it is not decoded ahead. */
static void give_up(struct leat_decode_ahead *ahead, struct leat_unit_key key) {
    if (key.file == ahead->file && key.range >= ahead->next_range)
        ahead->next_range = key.range + 1;
    if (key.file >= ahead->next_file)
        ahead->next_file = key.file + 1;
}

bool leat_decode_ahead_hand_over(struct leat_decode_ahead *ahead, struct leat_scan *scan) {
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
        leat_scan_add_unit(scan, unit);
        ahead->n_held++;
    }
    leat_scan_expect_units(scan, ahead->out, ahead->n_out);
    if (ahead->has_ranges && ahead->max_units > 0)
        leat_scan_set_horizon(scan, (struct leat_unit_key){ahead->file, ahead->next_range},
                              ahead->next_file);
    return true;
}

void leat_decode_ahead_follow(struct leat_decode_ahead *ahead, const struct leat_scan_job *job) {
    const struct leat_scan *scan = job->scan;
    const struct leat_input *input = scan->input;

    ahead->n_held = 0;
    ahead->scanner_bytes = input ? leat_input_memory(input) : 0;
    for (const struct leat_unit *unit = scan->units; unit; unit = unit->next) {
        ahead->scanner_bytes += leat_input_memory(unit->input);
        ahead->n_held++;
    }
    count(ahead);
    ahead->is_wanted = job->wants_unit;
    ahead->wanted = job->wanted;
    ahead->end_file = scan->end_file;
    if (scan->file != ahead->file) {
        ahead->next_range = ahead->n_ranges = 0;
        ahead->n_useless = 0;
    }
    ahead->file = scan->file;
    if (ahead->next_file <= ahead->file)
        ahead->next_file = ahead->file + 1;
    if (!input)
        return;
    ahead->range = leat_input_range(input, &ahead->n_ranges);
    if (scan->route.table) /* it goes from place to place */
        ahead->n_ranges = 0;
    ahead->has_ranges = ahead->n_ranges > 0;
    if (ahead->next_range <= ahead->range)
        ahead->next_range = ahead->range + 1;
}

void leat_decode_ahead_reset(struct leat_decode_ahead *ahead) {
    leat_unit_free_all(&ahead->units);
    *ahead = (struct leat_decode_ahead){
        .plan = ahead->plan,
        .opener = ahead->opener,
        .account = ahead->account,
        .max_bytes = ahead->max_bytes,
        .max_units = ahead->max_units,
        .pass = ahead->pass + 1,
        .n_busy = ahead->n_busy,
        .busy_bytes = ahead->busy_bytes,
        .counted_bytes = ahead->counted_bytes,
    };
    count(ahead);
}
