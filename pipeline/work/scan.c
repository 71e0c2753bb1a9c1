/* scan.c: the SCAN job: read, cut, carry.
 *
 * A piece is the part of block_bytes that the cutter accepts; the rest, less than a record, is
 * carried to the next piece. If block_bytes hold no whole record, twice as much is read, up to the
 * largest record. Files are never mapped into memory, since one that is cut short would kill the
 * daemon.
 *
 * At a boundary between frames of a compressed file the scanner goes on with the unit that was
 * decoded ahead from there. Where a file is damaged, all whole records in front of that come first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

#define PASS_BYTES     (64U << 20) /* of text that one job skips */
#define PASS_MIN_BYTES 65536U      /* of text that it skips at a time */
#define COUNT_BYTES    (32U << 20) /* of text whose records one job counts */

void leat_scan_start(struct leat_scan *scan, struct leat_plan *plan,
                     const struct leat_opener *opener, bool may_read_once) {
    *scan = (struct leat_scan){
        .plan = plan, .opener = opener, .line = 1, .may_read_once = may_read_once};
    scan->end_file = plan->source->files.n_paths;
    if (may_read_once) {
        scan->first = plan->first_input;
        plan->first_input = NULL;
    }
}

void leat_scan_start_behind(struct leat_scan *scan, struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_cache_span *last,
                            uint64_t n_records, uint64_t n_file_records) {
    leat_scan_stop(scan);
    leat_scan_start(scan, plan, opener, false);
    scan->file = last->file;
    scan->record = n_records;
    scan->n_file_records = n_file_records;
    if (last->is_damaged) {
        scan->file++;
        return;
    }
    scan->piece_offset = last->offset + last->n_bytes;
    scan->line = last->line + last->n_lines;
    scan->is_skipping = last->ends_midline;
    scan->is_midway = true;
}

void leat_scan_stop(struct leat_scan *scan) {
    leat_input_close(scan->input);
    leat_input_close(scan->first);
    leat_unit_free_all(&scan->units);
    free(scan->carry);
    *scan = (struct leat_scan){.file = 0};
}

void leat_scan_limit(struct leat_scan *scan, size_t first_file, size_t end_file) {
    scan->file = first_file;
    scan->end_file = end_file;
}

void leat_scan_watch(struct leat_scan *scan, struct leat_data_watch *watch) {
    scan->watch = watch;
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

static int check_passes(const struct leat_scan *scan, struct leat_error *err) {
    if (!leat_input_is_one_pass(scan->input) || scan->may_read_once)
        return 0;
    return leat_error_set(err, -ESPIPE,
                          "%s: a FIFO can be read only once, so leat cannot start a second epoch "
                          "or resume: request one epoch, or put the data into a file",
                          path_of(scan));
}

/* Checks that the file of a span is the same; notes the state of a file that is counted. */
static int meet_file(struct leat_scan *scan, struct leat_error *err) {
    struct leat_file_state state;
    int r;

    if (scan->route.span || !scan->counts)
        return scan->route.span ? leat_route_meet_file(scan, err) : 0;
    r = leat_input_state(scan->input, &state, err);
    return r < 0 ? r : leat_span_table_set_file(scan->counts, scan->file, &state, err);
}

static int open_file(struct leat_scan_job *job, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_unit_key key = {.file = scan->file};
    struct leat_unit *unit;
    int r = 0;

    if (scan->input || !leat_scan_may_pass(job, key))
        return 0;
    unit = leat_scan_take_unit(scan, key);
    if (scan->file == 0 && scan->first) {
        scan->input = scan->first;
        scan->first = NULL;
    } else if (unit && unit->input) {
        scan->input = unit->input;
        unit->input = NULL;
    } else {
        r = leat_plan_open_input(scan->plan, leat_plan_source_of(scan->plan, scan->file),
                                 scan->opener, path_of(scan), &scan->input, err);
    }
    leat_unit_free(unit);
    if (!scan->is_midway) {
        scan->piece_offset = 0;
        scan->line = 1;
        scan->n_file_records = 0;
        scan->is_skipping = false;
    }
    scan->n_to_pass = scan->piece_offset;
    scan->is_begun = scan->is_midway;
    scan->is_midway = false;
    if (r == 0)
        r = check_passes(scan, err);
    return r < 0 ? r : meet_file(scan, err);
}

static void close_file(struct leat_scan *scan) {
    scan->input = leat_input_close(scan->input);
    scan->file++;
    scan->n_carry = 0;
}

static const struct leat_cutter *cutter_of(const struct leat_scan *scan) {
    return &leat_plan_source_of(scan->plan, scan->file)->cutter;
}

/* Locates the error in the text; the place in the file is in its message. */
static int read_error(const struct leat_scan *scan, const struct leat_buffer *buffer,
                      size_t n_filled, const struct leat_error *cause, struct leat_error *err) {
    struct leat_cut whole;

    leat_cutter_cut(cutter_of(scan), buffer->data, n_filled, false, &whole);
    leat_error_set(err, cause->code, "%s", cause->message);
    leat_error_locate(err, path_of(scan),
                      (uint32_t)(scan->line + leat_cutter_lines(cutter_of(scan), buffer->data,
                                                                n_filled, whole.n_records)),
                      0);
    return cause->code;
}

/* Reads once. LEAT_INPUT_WAITING: no bytes for now. */
static int read_some(struct leat_scan_job *job, void *data, size_t size, size_t *ret_n,
                     struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    int r;

    while ((r = leat_input_read(scan->input, data, size, ret_n, err)) == LEAT_INPUT_BOUNDARY) {
        struct leat_unit_key key = {scan->file, leat_input_range(scan->input, &(uint64_t){0})};

        if (!leat_scan_may_pass(job, key))
            return LEAT_INPUT_WAITING;
        leat_scan_change_input(scan, key);
    }
    job->is_waiting |= r == LEAT_INPUT_WAITING;
    return r;
}

/* Skips the text that an earlier run has read. An uncompressed file is entered there; a compressed
 * one is decoded from its start, a part of it in each job. */
static int pass_over(struct leat_scan_job *job, struct leat_buffer *buffer,
                     struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    size_t n_left = PASS_BYTES;
    bool is_inside = scan->n_to_pass > 0;
    int r = 0;

    if (is_inside)
        r = leat_input_seek(scan->input, &scan->n_to_pass, err);
    if (r == 0 && is_inside && scan->route.span && leat_input_format(scan->input))
        return leat_error_set(err, -EINVAL,
                              "is compressed (%s), so `shuffle` with `blocks` cannot read its "
                              "blocks: give the stream a `cache`, or decompress the file",
                              leat_input_format(scan->input));
    while (r == 0 && scan->n_to_pass > 0) {
        size_t n = scan->n_to_pass < buffer->capacity ? (size_t)scan->n_to_pass : buffer->capacity;

        job->is_waiting = n_left == 0;
        if (n_left == 0)
            return LEAT_INPUT_WAITING;
        r = read_some(job, buffer->data, n < n_left ? n : n_left, &n, err);
        if (r == 0 && n == 0)
            return leat_error_set(err, -ESTALE, "the file was shortened");
        scan->n_to_pass -= n;
        n_left -= n;
    }
    return r;
}

/* A damaged span ends with the error that follows its bytes. */
static bool ends_with_error(const struct leat_scan *scan) {
    return scan->route.span && scan->route.span->place.is_damaged && scan->route.n_left == 0;
}

/* Bytes that may be read now, at most the rest of a span. */
static size_t n_readable(const struct leat_scan *scan, size_t n) {
    bool is_limited = scan->route.span && !ends_with_error(scan);

    return is_limited && n > scan->route.n_left ? (size_t)scan->route.n_left : n;
}

/* Sets *at_end after n bytes were read. */
static int look_for_end(struct leat_scan *scan, size_t n, bool *at_end, struct leat_error *err) {
    if (!scan->route.span) {
        *at_end = n == 0;
        return 0;
    }
    if (ends_with_error(scan))
        return leat_error_set(err, -ESTALE, "the file changed: its damaged bytes are now intact");
    scan->route.n_left -= n;
    *at_end = scan->route.n_left == 0 && !scan->route.span->place.is_damaged;
    return n > 0 || *at_end ? 0 : leat_error_set(err, -ESTALE, "the file was shortened");
}

/* Goes to the next bytes, which lie behind a hole in the file. */
static void cross_hole(struct leat_scan *scan) {
    uint64_t place = leat_input_cross(scan->input), n = place - scan->piece_offset;

    scan->piece_offset = place;
    if (scan->route.span)
        scan->route.n_left -= n < scan->route.n_left ? n : scan->route.n_left;
}

/* Fills the buffer from n_filled to limit; *at_end: the file has no more. LEAT_INPUT_WAITING: more
 * bytes will come later. It stops in front of a hole, as no piece has one. */
static int fill(struct leat_scan_job *job, struct leat_buffer *buffer, size_t limit,
                size_t *n_filled, bool *at_end, uint64_t *n_bytes, struct leat_error *err) {
    struct leat_error cause = LEAT_ERROR_INIT;
    int r = pass_over(job, buffer, &cause);

    while (r == 0 && *n_filled < limit && !*at_end) {
        size_t n = 0, n_wanted = n_readable(job->scan, limit - *n_filled);

        if (n_wanted > 0)
            r = read_some(job, buffer->data + *n_filled, n_wanted, &n, &cause);
        if (r == LEAT_INPUT_HOLE && *n_filled > 0)
            return 0;
        if (r == LEAT_INPUT_HOLE) {
            cross_hole(job->scan);
            r = 0;
            continue;
        }
        if (r == 0)
            r = look_for_end(job->scan, n, at_end, &cause);
        *n_filled += n;
        *n_bytes += n;
    }
    return r < 0 ? read_error(job->scan, buffer, *n_filled, &cause, err) : r;
}

/* Reads BOM and header at the start of a file. -EAGAIN: the buffer does not have all of it. */
static int begin_file(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled,
                      bool at_end, struct leat_error *err) {
    const struct leat_plan_source *source = leat_plan_source_of(scan->plan, scan->file);
    uint64_t n_lines = 0;
    size_t n_skipped = 0;
    int r = source->ops->begin_file(&source->config->base, buffer->data, *n_filled, at_end,
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

/* Skips the rest of a line whose record was cut off. */
static void skip_line(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled,
                      bool at_end) {
    uint64_t n_lines;
    bool is_done;
    size_t n =
        leat_cutter_skip(cutter_of(scan), buffer->data, *n_filled, at_end, &n_lines, &is_done);

    memmove(buffer->data, buffer->data + n, *n_filled - n);
    *n_filled -= n;
    scan->piece_offset += n;
    scan->line += n_lines;
    scan->is_skipping = !is_done;
}

/* Cuts the buffer. -EAGAIN: it does not have all of the header. */
static int cut(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled, bool at_end,
               struct leat_cut *ret_cut, struct leat_error *err) {
    int r = scan->is_begun ? 0 : begin_file(scan, buffer, n_filled, at_end, err);

    if (r < 0)
        return r;
    if (scan->is_skipping)
        skip_line(scan, buffer, n_filled, at_end);
    if (scan->is_skipping)
        return 0;
    leat_cutter_cut(cutter_of(scan), buffer->data, *n_filled, at_end, ret_cut);
    return 0;
}

/* True if a record may end behind the first n_seen bytes, in which none ends. Needs the end of a
 * line while the record may still grow. Saves cutting a long record again for each part that is
 * read. */
static bool may_cut(const struct leat_scan *scan, const struct leat_buffer *buffer, size_t n_seen,
                    size_t n_filled, bool at_end) {
    const struct leat_cutter *cutter = cutter_of(scan);

    return at_end || n_seen == 0 || scan->is_skipping || cutter->kind >= LEAT_CUTTER_SEPARATOR ||
           n_filled >= cutter->max_record_bytes ||
           memchr(buffer->data + n_seen, '\n', n_filled - n_seen);
}

static size_t block_bytes(const struct leat_scan_job *job) {
    return job->block_bytes ? job->block_bytes : (size_t)job->scan->plan->options.block_bytes;
}

/* Reads until the cutter accepts a piece, the file ends or waits, or a record wants a larger buffer
 * than it may have. If reading waits for other jobs nothing is cut yet; a FIFO may wait for long,
 * so its records are cut. A failure of reading comes behind all whole records. */
static int read_cut(struct leat_scan_job *job, struct leat_buffer *buffer, size_t *n_filled,
                    bool *at_end, struct leat_cut *ret_cut, uint64_t *n_bytes,
                    struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    size_t limit = block_bytes(job);
    uint64_t room = leat_scan_room_in_block(scan);
    size_t n_seen = scan->is_begun ? scan->n_carry : 0;

    limit = leat_scan_bytes_to_read(scan, limit);
    if (room < UINT64_MAX)
        leat_input_stop(scan->input, scan->n_file_records + room);
    if (room < UINT64_MAX && n_seen >= limit && !scan->is_skipping) {
        leat_cutter_cut(cutter_of(scan), buffer->data, *n_filled, false, ret_cut);
        if (ret_cut->n_records > room)
            return 0; /* The carried bytes hold the whole block. */
    }
    for (;;) {
        struct leat_error fault = LEAT_ERROR_INIT;
        int r, reading;

        while (*n_filled >= limit) /* less than one record */
            limit *= 2;
        if (limit > job->max_bytes) {
            job->is_waiting = true;
            job->wants_bytes = limit;
            return LEAT_INPUT_WAITING;
        }
        r = grow_buffer(buffer, limit, err);
        if (r < 0)
            return r;
        reading = fill(job, buffer, limit, n_filled, at_end, n_bytes, &fault);
        if (reading == LEAT_INPUT_WAITING && !leat_input_is_one_pass(scan->input))
            return reading;
        if (may_cut(scan, buffer, n_seen, *n_filled, *at_end)) {
            r = cut(scan, buffer, n_filled, *at_end, ret_cut, err);
            if (r < 0 && r != -EAGAIN)
                return r;
            if (r == 0 && (ret_cut->n_bytes > 0 || *at_end))
                return 0;
        }
        n_seen = scan->is_begun ? *n_filled : 0;
        if (reading < 0)
            *err = fault;
        if (reading != 0)
            return reading;
    }
}

/* Counts the separators of JSON, in strings too. */
static uint64_t count_marks(const uint8_t *data, size_t n_bytes) {
    uint64_t n = 0;

    for (size_t i = 0; i < n_bytes;) {
        size_t end = n_bytes - i > UINT8_MAX ? i + UINT8_MAX : n_bytes;
        uint8_t n_here = 0; /* small, so that the compiler counts many bytes at once */

        for (; i < end; i++)
            n_here += (uint8_t)((data[i] == ',') | (data[i] == ':') | (data[i] == '[') |
                                (data[i] == '{'));
        n += n_here;
    }
    return n;
}

static void set_piece(struct leat_scan_job *job, size_t index, const struct leat_cut *piece) {
    const struct leat_scan *scan = job->scan;

    job->pieces[index] = (struct leat_piece){
        .buffer = job->buffers[index],
        .span = {.file = (uint32_t)scan->file,
                 .n_records = (uint32_t)piece->n_records,
                 .ends_midline = piece->ends_midline,
                 .offset = scan->piece_offset,
                 .n_bytes = piece->n_bytes,
                 .line = scan->line,
                 .n_lines = piece->n_lines},
        .record = scan->record,
        .n_marks = job->max_bytes < SIZE_MAX && piece->n_bytes > block_bytes(job)
                       ? count_marks(job->buffers[index]->data, piece->n_bytes)
                       : 0,
    };
    job->buffers[index] = NULL;
}

/* Puts the reason behind the bytes of the piece. */
static int set_damage(struct leat_piece *piece, const char *reason, struct leat_error *err) {
    size_t n = (size_t)piece->span.n_bytes, n_reason = strlen(reason) + 1;

    if (grow_buffer(piece->buffer, n + n_reason, err) < 0)
        return -ENOMEM;
    memcpy(piece->buffer->data + n, reason, n_reason);
    piece->damage = (const char *)piece->buffer->data + n;
    piece->span.is_damaged = true;
    return 0;
}

/* Damage ends the file, and ends the stream only if bad records do. The rest of the buffer, less
 * than a record, becomes a bad record. */
static int end_damaged(struct leat_scan_job *job, size_t index, size_t n_filled, int r,
                       struct leat_error *err) {
    struct leat_cut rest = {.n_bytes = n_filled, .n_records = 1};
    struct leat_scan *scan = job->scan;
    struct leat_error fault = *err;

    if (r != -EBADMSG || fault.code != r || scan->plan->options.on_error == LEAT_ON_ERROR_FAIL)
        return r;
    *err = LEAT_ERROR_INIT;
    rest.n_lines = leat_cutter_lines(cutter_of(scan), job->buffers[index]->data, n_filled, 0);
    set_piece(job, index, &rest);
    scan->record++;
    r = set_damage(&job->pieces[index], fault.message, err);
    if (r == 0 && scan->route.span)
        return leat_route_leave(job, index, true, &rest, err);
    close_file(scan);
    return r;
}

/* Makes the piece, and carries the rest of the buffer. */
static int take_cut(struct leat_scan_job *job, size_t index, size_t n_filled, bool at_end,
                    const struct leat_cut *piece, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    int r = keep_carry(scan, job->buffers[index]->data + piece->n_bytes, n_filled - piece->n_bytes,
                       err);

    if (r < 0)
        return r;
    if (piece->n_records > 0)
        set_piece(job, index, piece);
    scan->piece_offset += piece->n_bytes;
    scan->line += piece->n_lines;
    scan->record += piece->n_records;
    scan->n_file_records += piece->n_records;
    scan->is_skipping |= piece->ends_midline;
    if (scan->route.span)
        return leat_route_leave(job, index, at_end, piece, err);
    if (!at_end || piece->ends_midline)
        return 0;
    r = scan->watch ? leat_data_watch_end_file(scan->watch, scan->file, scan->input, err) : 0;
    close_file(scan);
    return r;
}

/* Adds the piece to the table of a pass that only counts, and keeps its buffer. */
static int count_piece(struct leat_scan_job *job, size_t index, struct leat_error *err) {
    struct leat_piece *piece = &job->pieces[index];
    int r;

    if (!job->scan->counts || !piece->buffer)
        return 0;
    r = leat_span_table_add(job->scan->counts,
                            &leat_plan_source_of(job->scan->plan, piece->span.file)->cutter,
                            &piece->span, piece->buffer->data, err);
    job->buffers[index] = piece->buffer;
    *piece = (struct leat_piece){.buffer = NULL};
    return r;
}

static int scan_piece(struct leat_scan_job *job, size_t index, uint64_t *n_bytes,
                      struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_buffer *buffer = index < LEAT_SCAN_MAX ? job->buffers[index] : NULL;
    size_t n_filled;
    struct leat_cut piece = {0};
    bool at_end = false;
    int r = 0;

    if (scan->route.table && !scan->route.span && scan->file != scan->end_file)
        r = leat_route_enter(scan, err);
    if (r < 0 || scan->file == scan->end_file) {
        job->has_ended = r == 0;
        return r;
    }
    n_filled = scan->n_carry;
    r = open_file(job, err);
    if (r == 0 && job->is_waiting)
        return 0;
    if (r == 0)
        r = leat_route_take_place(job, index, err);
    job->lacks_buffer = r == 0 && !buffer;
    if (r > 0 || job->lacks_buffer) {
        job->has_ended = scan->file == scan->end_file;
        return 0;
    }
    if (r == 0)
        r = grow_buffer(buffer, n_filled, err);
    if (r < 0)
        return r;
    if (n_filled > 0)
        memcpy(buffer->data, scan->carry, n_filled);
    r = read_cut(job, buffer, &n_filled, &at_end, &piece, n_bytes, err);
    if (r == 0 && leat_scan_end_at_block(scan, buffer, &piece, &at_end, err) < 0)
        return -ENOMEM;
    r = r < 0 ? end_damaged(job, index, n_filled, r, err)
              : take_cut(job, index, n_filled, at_end, &piece, err);
    if (r == 0)
        r = count_piece(job, index, err);
    job->has_ended = scan->file == scan->end_file;
    return r;
}

static int count_some(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    uint64_t n_before = *n_bytes;
    int r = 0;

    while (r == 0 && *n_bytes - n_before < COUNT_BYTES && !job->has_ended && !job->is_waiting)
        r = scan_piece(job, 0, n_bytes, err);
    return r;
}

int leat_scan_execute(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    struct leat_data_watch *watch = job->scan->watch;
    int r = 0;

    if (watch && leat_data_watch_is_due(watch)) {
        r = leat_data_watch_check(watch, LEAT_DATA_WATCH_FILES, err);
        if (r < 0 || leat_data_watch_is_due(watch))
            return r;
    }
    if (job->scan->counts)
        return count_some(job, n_bytes, err);
    if (job->scan->route.table && !job->scan->route.is_checked)
        r = leat_route_check(job, err);
    if (r < 0 || job->is_outdated)
        return r;
    job->scan->route.is_checked = true;
    for (size_t i = 0;
         r == 0 && i < job->n_pieces && !job->has_ended && !job->is_waiting && !job->lacks_buffer;
         i++)
        r = scan_piece(job, i, n_bytes, err);
    return r;
}

/* Reads the whole piece on this thread, with the reason of a damaged one. */
static int read_again(struct leat_scan_job *job, struct leat_piece *piece, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    size_t n_filled = 0, limit = (size_t)piece->span.n_bytes;
    uint64_t n_bytes = 0;
    bool at_end = false;
    int r;

    do {
        job->is_waiting = false;
        r = fill(job, piece->buffer, limit, &n_filled, &at_end, &n_bytes, err);
    } while (r == LEAT_INPUT_WAITING);
    if (r == 0 && n_filled < limit)
        r = leat_error_set(err, -ESTALE, "%s: the file was shortened", path_of(job->scan));
    if (r < 0 || !piece->span.is_damaged)
        return r;
    if (fill(job, piece->buffer, limit + 1, &n_filled, &at_end, &n_bytes, &fault) != -EBADMSG)
        return leat_error_set(err, -ESTALE,
                              "%s: the file changed: its damaged bytes are now intact",
                              path_of(job->scan));
    return set_damage(piece, fault.message, err);
}

void leat_scan_close_kept(struct leat_scan_kept *kept) {
    kept->input = leat_input_close(kept->input);
}

/* Takes the open file if the piece is in it. */
static void take_kept(struct leat_scan *scan, uint64_t epoch, struct leat_scan_kept *kept) {
    struct leat_file_state state;

    if (!kept->input)
        return;
    if (kept->file != scan->file || kept->epoch != epoch ||
        leat_input_state(kept->input, &state, LEAT_ERROR_IGNORED) < 0 ||
        memcmp(&state, &kept->state, sizeof(state)) != 0 ||
        !leat_input_jump(kept->input, scan->piece_offset)) {
        leat_scan_close_kept(kept);
        return;
    }
    scan->input = kept->input;
    scan->is_begun = true;
    scan->is_midway = false;
    kept->input = NULL;
}

/* A compressed file would keep memory, too. */
static void keep(struct leat_scan *scan, uint64_t epoch, bool is_new, struct leat_scan_kept *kept) {
    if (leat_input_format(scan->input) || leat_input_is_one_pass(scan->input) ||
        (is_new && leat_input_state(scan->input, &kept->state, LEAT_ERROR_IGNORED) < 0))
        return;
    kept->input = scan->input;
    kept->file = (uint32_t)scan->file;
    kept->epoch = epoch;
    scan->input = NULL;
}

int leat_scan_read(const struct leat_plan *plan, const struct leat_opener *opener, uint64_t epoch,
                   struct leat_scan_kept *kept, struct leat_piece *piece, struct leat_error *err) {
    struct leat_scan scan = {.plan = plan, .opener = opener, .file = piece->span.file};
    struct leat_scan_job job = {.scan = &scan, .max_bytes = SIZE_MAX};
    size_t n_bytes = (size_t)piece->span.n_bytes + 1; /* with one that a damaged piece has not */
    bool is_new;
    int r = 0;

    if (scan.file >= plan->source->files.n_paths)
        return leat_error_set(err, -ESTALE, "file %u does not exist", piece->span.file);
    scan.piece_offset = piece->span.offset;
    scan.line = piece->span.line;
    scan.is_midway = true;
    if (kept)
        take_kept(&scan, epoch, kept);
    is_new = !scan.input;
    if (is_new)
        r = open_file(&job, err);
    if (r == 0)
        r = grow_buffer(piece->buffer, n_bytes > PASS_MIN_BYTES ? n_bytes : PASS_MIN_BYTES, err);
    if (r == 0)
        r = read_again(&job, piece, err);
    if (r == 0 && kept)
        keep(&scan, epoch, is_new, kept);
    leat_scan_stop(&scan);
    return r;
}
