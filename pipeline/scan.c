/* scan.c: the SCAN job: read, cut, carry.
 *
 * A piece is what the cutter accepts of a buffer; the rest, less than a record, is carried to the
 * next one. If a buffer holds no whole record it grows, up to what a record may have. Files are
 * never mapped: one that is cut short meanwhile ends early instead of killing the daemon.
 *
 * At a boundary between frames of a compressed file the scanner goes on with what was decoded ahead
 * from there, if it was. Where a file is damaged, all whole records before are given first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/job.h"

void leat_scan_start(struct leat_scan *scan, struct leat_plan *plan,
                     const struct leat_opener *opener, bool may_read_once) {
    *scan = (struct leat_scan){
        .plan = plan, .opener = opener, .line = 1, .may_read_once = may_read_once};
    if (may_read_once) {
        scan->first = plan->first_input;
        plan->first_input = NULL;
    }
}

void leat_scan_stop(struct leat_scan *scan) {
    leat_input_close(scan->input);
    leat_input_close(scan->first);
    leat_unit_free_all(&scan->units);
    free(scan->carry);
    *scan = (struct leat_scan){.file = 0};
}

static const char *path_of(const struct leat_scan *scan) {
    return scan->plan->source->files.paths[scan->file];
}

static int grow_buffer(struct leat_buffer *buffer, size_t capacity, struct leat_error *err) {
    uint8_t *data;

    if (capacity <= buffer->capacity)
        return 0;
    data = realloc(buffer->data, capacity + LEAT_BUFFER_SLACK);
    if (!data)
        return leat_error_oom(err);
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

/* ---- what was decoded ahead ---- */

/* What was decoded at that place, or NULL. What lies before it is not wanted any more. */
static struct leat_unit *take_unit(struct leat_scan *scan, struct leat_unit_key key) {
    struct leat_unit *unit;

    while ((unit = scan->units) && leat_unit_compare(unit->key, key) < 0) {
        scan->units = unit->next;
        leat_unit_free(unit);
    }
    if (!unit || leat_unit_compare(unit->key, key) != 0)
        return NULL;
    scan->units = unit->next;
    return unit;
}

static bool is_missing(const struct leat_scan *scan, struct leat_unit_key key) {
    for (size_t i = 0; i < scan->n_missing; i++)
        if (leat_unit_compare(scan->missing[i], key) == 0)
            return true;
    return false;
}

static bool is_beyond(const struct leat_scan *scan, struct leat_unit_key key) {
    if (!scan->has_horizon)
        return false;
    return key.file == scan->horizon.file ? key.range >= scan->horizon.range
                                          : key.file >= scan->horizon_file;
}

/* False: that place is being decoded, or may be since the job began; it ends here. */
static bool may_pass(struct leat_scan_job *job, struct leat_unit_key key) {
    if (!is_missing(job->scan, key) && !is_beyond(job->scan, key))
        return true;
    job->is_waiting = job->wants_unit = true;
    job->wanted = key;
    return false;
}

/* At a boundary: goes on with the input that was decoded ahead from there. */
static void change_input(struct leat_scan *scan, struct leat_unit_key key) {
    struct leat_unit *unit = take_unit(scan, key);

    if (unit && unit->input && leat_input_adopt(unit->input, scan->input)) {
        leat_input_close(scan->input);
        scan->input = unit->input;
        unit->input = NULL;
    }
    leat_unit_free(unit);
}

/* ---- reading ---- */

static int check_passes(const struct leat_scan *scan, struct leat_error *err) {
    if (!leat_input_is_one_pass(scan->input) || scan->may_read_once)
        return 0;
    return leat_error_set(
        err, -ESPIPE,
        "%s: comes through a FIFO, and so once: there is no further epoch, and no "
        "position to go on from; ask for one epoch, or put it into a file",
        path_of(scan));
}

static int open_file(struct leat_scan_job *job, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_unit_key key = {.file = scan->file};
    struct leat_unit *unit;
    int r = 0;

    if (scan->input || !may_pass(job, key))
        return 0;
    unit = take_unit(scan, key);
    if (scan->file == 0 && scan->first) {
        scan->input = scan->first;
        scan->first = NULL;
    } else if (unit && unit->input) {
        scan->input = unit->input;
        unit->input = NULL;
    } else {
        r = leat_input_open(scan->opener, path_of(scan), &scan->plan->limits, &scan->input, err);
    }
    leat_unit_free(unit);
    scan->piece_offset = 0;
    scan->line = 1;
    scan->is_begun = scan->is_skipping = false;
    return r < 0 ? r : check_passes(scan, err);
}

static void close_file(struct leat_scan *scan) {
    scan->input = leat_input_close(scan->input);
    scan->file++;
    scan->n_carry = 0;
}

/* The place in the text; the file's own is in the message. */
static int read_error(const struct leat_scan *scan, const struct leat_buffer *buffer,
                      size_t n_filled, const struct leat_error *cause, struct leat_error *err) {
    uint64_t line = scan->line;

    for (size_t i = 0; i < n_filled; i++)
        line += buffer->data[i] == '\n';
    leat_error_set(err, cause->code, "%s", cause->message);
    leat_error_locate(err, path_of(scan), (uint32_t)line, 0);
    return cause->code;
}

/* Fills the buffer from n_filled on; *at_end: the file has no more. LEAT_INPUT_WAITING: not all of
 * it is there yet. */
static int fill(struct leat_scan_job *job, struct leat_buffer *buffer, size_t *n_filled,
                bool *at_end, uint64_t *n_bytes, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_error cause = LEAT_ERROR_INIT;

    while (*n_filled < buffer->capacity && !*at_end) {
        size_t n = 0;
        int r = leat_input_read(scan->input, buffer->data + *n_filled, buffer->capacity - *n_filled,
                                &n, &cause);

        if (r == LEAT_INPUT_BOUNDARY) {
            struct leat_unit_key key = {scan->file,
                                        leat_input_offset(scan->input) / LEAT_INPUT_RANGE};
            if (!may_pass(job, key))
                return LEAT_INPUT_WAITING;
            change_input(scan, key);
            continue;
        }
        if (r < 0)
            return read_error(scan, buffer, *n_filled, &cause, err);
        job->is_waiting = r == LEAT_INPUT_WAITING;
        if (r != 0)
            return r;
        *at_end = n == 0;
        *n_filled += n;
        *n_bytes += n;
    }
    return 0;
}

/* BOM and header at the start of a file; -EAGAIN: not all of it is in the buffer. */
static int begin_file(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled,
                      bool at_end, struct leat_error *err) {
    const struct leat_plan *plan = scan->plan;
    uint64_t n_lines = 0;
    size_t n_skipped = 0;
    int r = plan->source_ops->begin_file(&plan->source->base, buffer->data, *n_filled, at_end,
                                         path_of(scan), &n_skipped, &n_lines, err);

    if (r < 0)
        return r;
    memmove(buffer->data, buffer->data + n_skipped, *n_filled - n_skipped);
    *n_filled -= n_skipped;
    scan->piece_offset = n_skipped;
    scan->line = 1 + n_lines;
    scan->is_begun = true;
    return 0;
}

static int keep_carry(struct leat_scan *scan, const uint8_t *bytes, size_t n_bytes,
                      struct leat_error *err) {
    if (n_bytes > scan->carry_capacity) {
        uint8_t *carry = realloc(scan->carry, n_bytes);

        if (!carry)
            return leat_error_oom(err);
        scan->carry = carry;
        scan->carry_capacity = n_bytes;
    }
    if (n_bytes > 0)
        memcpy(scan->carry, bytes, n_bytes);
    scan->n_carry = n_bytes;
    return 0;
}

/* Behind a record that was cut off within its line: the rest of the line is no record. */
static void skip_line(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled,
                      bool at_end) {
    uint64_t n_lines;
    bool is_done;
    size_t n =
        leat_cutter_skip(&scan->plan->cutter, buffer->data, *n_filled, at_end, &n_lines, &is_done);

    memmove(buffer->data, buffer->data + n, *n_filled - n);
    *n_filled -= n;
    scan->piece_offset += n;
    scan->line += n_lines;
    scan->is_skipping = !is_done;
}

/* What can be cut of what is there; -EAGAIN: not even the header is. */
static int cut(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled, bool at_end,
               struct leat_cut *ret_cut, struct leat_error *err) {
    int r = scan->is_begun ? 0 : begin_file(scan, buffer, n_filled, at_end, err);

    if (r < 0)
        return r;
    if (scan->is_skipping)
        skip_line(scan, buffer, n_filled, at_end);
    if (scan->is_skipping)
        return 0;
    leat_cutter_cut(&scan->plan->cutter, buffer->data, *n_filled, at_end, ret_cut);
    return 0;
}

/* Reads until the cutter accepts something, or the file ends, or waits. A failure of reading comes
 * behind all records that are whole. */
static int read_cut(struct leat_scan_job *job, struct leat_buffer *buffer, size_t *n_filled,
                    bool *at_end, struct leat_cut *ret_cut, uint64_t *n_bytes,
                    struct leat_error *err) {
    for (;;) {
        struct leat_error fault = LEAT_ERROR_INIT;
        int reading = fill(job, buffer, n_filled, at_end, n_bytes, &fault);
        int r = cut(job->scan, buffer, n_filled, *at_end, ret_cut, err);

        if (r < 0 && r != -EAGAIN)
            return r;
        if (r == 0 && (ret_cut->n_bytes > 0 || *at_end))
            return 0;
        if (reading < 0)
            *err = fault;
        if (reading != 0)
            return reading;
        if (*n_filled == buffer->capacity) { /* less than one record: read on */
            r = grow_buffer(buffer, buffer->capacity * 2, err);
            if (r < 0)
                return r;
        }
    }
}

static void set_piece(struct leat_scan_job *job, size_t index, size_t n_bytes, size_t n_records) {
    const struct leat_scan *scan = job->scan;

    job->pieces[index] = (struct leat_piece){
        .buffer = job->buffers[index],
        .n_bytes = n_bytes,
        .n_records = n_records,
        .file = (uint32_t)scan->file,
        .offset = scan->piece_offset,
        .line = scan->line,
        .record = scan->record,
    };
    job->buffers[index] = NULL;
}

/* Damage ends its file, not the stream, if bad records do not: what is left in the buffer, less
 * than a record, is a bad one. */
static int end_damaged(struct leat_scan_job *job, size_t index, size_t n_filled,
                       struct leat_error *err) {
    struct leat_buffer *buffer = job->buffers[index];
    struct leat_error fault = *err;
    size_t n_message = strlen(fault.message) + 1;

    if (fault.code != -EBADMSG || job->scan->plan->options.on_error == LEAT_ON_ERROR_FAIL)
        return fault.code;
    *err = LEAT_ERROR_INIT;
    if (grow_buffer(buffer, n_filled + n_message, err) < 0)
        return -ENOMEM;
    memcpy(buffer->data + n_filled, fault.message, n_message);
    set_piece(job, index, n_filled, 0);
    job->pieces[index].damage = (const char *)buffer->data + n_filled;
    close_file(job->scan);
    return 0;
}

/* Cuts a piece of what could be read; what is left of it is carried on. */
static int take_cut(struct leat_scan_job *job, size_t index, size_t n_filled, bool at_end,
                    const struct leat_cut *piece, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    int r = keep_carry(scan, job->buffers[index]->data + piece->n_bytes, n_filled - piece->n_bytes,
                       err);

    if (r < 0)
        return r;
    if (piece->n_records > 0)
        set_piece(job, index, piece->n_bytes, piece->n_records);
    scan->piece_offset += piece->n_bytes;
    scan->line += piece->n_lines;
    scan->record += piece->n_records;
    scan->is_skipping |= piece->ends_midline;
    if (at_end && !piece->ends_midline)
        close_file(scan);
    return 0;
}

static int scan_piece(struct leat_scan_job *job, size_t index, uint64_t *n_bytes,
                      struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_buffer *buffer = job->buffers[index];
    size_t n_filled = scan->n_carry, block_bytes = (size_t)scan->plan->options.block_bytes;
    struct leat_cut piece = {0};
    bool at_end = false;
    int r = open_file(job, err);

    if (r == 0 && job->is_waiting)
        return 0;
    if (r == 0)
        r = grow_buffer(buffer, n_filled + block_bytes, err);
    if (r < 0)
        return r;
    if (n_filled > 0)
        memcpy(buffer->data, scan->carry, n_filled);
    r = read_cut(job, buffer, &n_filled, &at_end, &piece, n_bytes, err);
    r = r < 0 ? end_damaged(job, index, n_filled, err)
              : take_cut(job, index, n_filled, at_end, &piece, err);
    job->has_ended = scan->file == scan->plan->source->files.n_paths;
    return r;
}

int leat_scan_execute(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < job->n_pieces && !job->has_ended && !job->is_waiting; i++)
        r = scan_piece(job, i, n_bytes, err);
    return r;
}
