/* scan.c: the SCAN job: pread, cut, carry.
 *
 * A piece is what the cutter accepts of block_bytes; the rest, less than a record, is carried to
 * the next one. If that holds no whole record it is twice as much, up to what a record may have.
 * Files are read with pread and never mapped: one that is cut short meanwhile ends early instead of
 * killing the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/job.h"

void leat_scan_start(struct leat_scan *scan, const struct leat_plan *plan,
                     const struct leat_opener *opener) {
    *scan = (struct leat_scan){.plan = plan, .opener = opener, .fd = -1, .line = 1};
}

void leat_scan_start_behind(struct leat_scan *scan, const struct leat_plan *plan,
                            const struct leat_opener *opener, const struct leat_cache_span *last,
                            uint64_t n_records) {
    leat_scan_start(scan, plan, opener);
    scan->file = last->file;
    scan->piece_offset = last->offset + last->n_bytes;
    scan->line = last->line + last->n_lines;
    scan->record = n_records;
    scan->is_skipping = last->ends_midline;
    scan->is_midway = true;
}

void leat_scan_stop(struct leat_scan *scan) {
    if (scan->fd >= 0)
        (void)close(scan->fd);
    free(scan->carry);
    *scan = (struct leat_scan){.fd = -1};
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

/* Fills the buffer from n_filled to limit; *at_end: the file has no more. */
static int fill(struct leat_scan *scan, struct leat_buffer *buffer, size_t limit, size_t *n_filled,
                bool *at_end, uint64_t *n_bytes, struct leat_error *err) {
    while (*n_filled < limit) {
        ssize_t n =
            pread(scan->fd, buffer->data + *n_filled, limit - *n_filled, (off_t)scan->read_offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return leat_error_set(err, -errno, "%s: cannot read at byte %llu: %s", path_of(scan),
                                  (unsigned long long)scan->read_offset, strerror(errno));
        if (n == 0) {
            *at_end = true;
            return 0;
        }
        *n_filled += (size_t)n;
        *n_bytes += (uint64_t)n;
        scan->read_offset += (uint64_t)n;
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

static int open_file(struct leat_scan *scan, struct leat_error *err) {
    int fd;

    if (scan->fd >= 0)
        return 0;
    fd = scan->opener->open_file(scan->opener, path_of(scan), err);
    if (fd < 0)
        return fd;
    scan->fd = fd;
    if (!scan->is_midway) {
        scan->piece_offset = 0;
        scan->line = 1;
        scan->is_skipping = false;
    }
    scan->read_offset = scan->piece_offset;
    scan->is_begun = scan->is_midway;
    scan->is_midway = false;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

static void close_file(struct leat_scan *scan) {
    (void)close(scan->fd);
    scan->fd = -1;
    scan->file++;
    scan->n_carry = 0;
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
static void skip_line(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled) {
    bool is_done;
    size_t n = leat_cutter_skip(buffer->data, *n_filled, &is_done);

    memmove(buffer->data, buffer->data + n, *n_filled - n);
    *n_filled -= n;
    scan->piece_offset += n;
    scan->line += is_done;
    scan->is_skipping = !is_done;
}

/* Reads until the cutter accepts something or the file ends. */
static int read_cut(struct leat_scan *scan, struct leat_buffer *buffer, size_t *n_filled,
                    bool *at_end, struct leat_cut *ret_cut, uint64_t *n_bytes,
                    struct leat_error *err) {
    size_t limit = (size_t)scan->plan->options.block_bytes;

    for (;;) {
        int r;

        while (*n_filled >= limit) /* less than one record: read on */
            limit *= 2;
        r = grow_buffer(buffer, limit, err);
        if (r == 0)
            r = fill(scan, buffer, limit, n_filled, at_end, n_bytes, err);
        if (r == 0 && !scan->is_begun)
            r = begin_file(scan, buffer, n_filled, *at_end, err);
        if (r < 0 && r != -EAGAIN)
            return r;
        if (r == 0 && scan->is_skipping)
            skip_line(scan, buffer, n_filled);
        if (r == 0) {
            leat_cutter_cut(&scan->plan->cutter, buffer->data, *n_filled, *at_end, ret_cut);
            if (ret_cut->n_bytes > 0 || *at_end)
                return 0;
        }
    }
}

static int scan_piece(struct leat_scan_job *job, size_t index, uint64_t *n_bytes,
                      struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_buffer *buffer = job->buffers[index];
    size_t n_filled = scan->n_carry;
    struct leat_cut cut = {0};
    bool at_end = false;
    int r = open_file(scan, err);

    if (r == 0)
        r = grow_buffer(buffer, n_filled, err);
    if (r < 0)
        return r;
    if (n_filled > 0)
        memcpy(buffer->data, scan->carry, n_filled);
    r = read_cut(scan, buffer, &n_filled, &at_end, &cut, n_bytes, err);
    if (r == 0)
        r = keep_carry(scan, buffer->data + cut.n_bytes, n_filled - cut.n_bytes, err);
    if (r < 0)
        return r;
    if (cut.n_records > 0) {
        job->pieces[index] = (struct leat_piece){
            .buffer = buffer,
            .span = {.file = (uint32_t)scan->file,
                     .n_records = (uint32_t)cut.n_records,
                     .ends_midline = cut.ends_midline,
                     .offset = scan->piece_offset,
                     .n_bytes = cut.n_bytes,
                     .line = scan->line,
                     .n_lines = cut.n_lines},
            .record = scan->record,
        };
        job->buffers[index] = NULL;
    }
    scan->piece_offset += cut.n_bytes;
    scan->line += cut.n_lines;
    scan->record += cut.n_records;
    scan->is_skipping |= cut.ends_midline;
    if (at_end && !cut.ends_midline)
        close_file(scan);
    job->has_ended = scan->file == scan->plan->source->files.n_paths;
    return 0;
}

int leat_scan_execute(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < job->n_pieces && !job->has_ended; i++)
        r = scan_piece(job, i, n_bytes, err);
    return r;
}

int leat_scan_read(const struct leat_plan *plan, const struct leat_opener *opener,
                   const struct leat_cache_span *span, struct leat_buffer *buffer,
                   struct leat_error *err) {
    struct leat_scan scan;
    size_t n_filled = 0, limit = (size_t)span->n_bytes;
    uint64_t n_bytes = 0;
    bool at_end = false;
    int r;

    if (span->file >= plan->source->files.n_paths)
        return leat_error_set(err, -ESTALE, "there is no file %u", span->file);
    leat_scan_start(&scan, plan, opener);
    scan.file = span->file;
    r = open_file(&scan, err);
    scan.read_offset = span->offset;
    if (r == 0)
        r = grow_buffer(buffer, limit, err);
    if (r == 0)
        r = fill(&scan, buffer, limit, &n_filled, &at_end, &n_bytes, err);
    if (r == 0 && n_filled < limit)
        r = leat_error_set(err, -ESTALE, "%s: has become shorter", path_of(&scan));
    leat_scan_stop(&scan);
    return r;
}
