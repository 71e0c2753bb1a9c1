/* cutter.c: see cutter.h.
 *
 * libcsv defines what a record is (cut/csv.c), and three rules end those that it cannot end
 * (end_of_record). The fast path (cut/blocks.c) takes whole stretches of well-quoted records,
 * libcsv only the record at which the fast path stopped. Documents (cut/documents.c) and frames
 * (cut/documents.c) need neither.
 *
 * Each decision about a record looks at no more than the max_record_bytes from its start, or at the
 * end of the file: so where pieces end changes nothing.
 */
#include "pipeline/cut/cutter.h"

#include <assert.h>
#include <string.h>

#include "pipeline/cut/blocks.h"
#include "pipeline/cut/csv.h"

/* Without this memory, text of many lines that each open a quote would be scanned up to the limit
 * for each line. All records that are inside quotes at the same line end go on alike: one that is
 * inside at a line start in [from, to) does not end before `to`, and has the state `csv` there. */
struct open_stretch {
    size_t from, to;
    struct leat_cutter_csv csv;
};

struct scan {
    struct leat_cutter_scan base;
    struct open_stretch open;
    bool is_end; /* the last record ends with the data */
};

/* The place behind the line end of the record at `start`, or 0 if it does not end before `limit`;
 * then *ret_csv is the parser's state there. */
static size_t run_quoted(struct scan *scan, size_t start, size_t limit,
                         struct leat_cutter_csv *csv) {
    const uint8_t *data = scan->base.data;
    bool may_jump = true;
    size_t at = start;

    if (start < limit && data[start] == '\n')
        return start + 1;
    leat_cutter_csv_begin(csv, scan->base.cutter);
    while (at < limit) {
        const uint8_t *line_end = memchr(data + at, '\n', limit - at);
        size_t next = line_end ? (size_t)(line_end - data) + 1 : limit;

        if (leat_cutter_csv_line(csv, data + at, next - at))
            return next;
        at = next;
        if (line_end && may_jump && at >= scan->open.from && at < scan->open.to) {
            at = scan->open.to;
            *csv = scan->open.csv;
        } else {
            may_jump = false;
        }
    }
    return 0;
}

static size_t run_line(const struct scan *scan, size_t start, size_t limit) {
    const uint8_t *line_end = memchr(scan->base.data + start, '\n', limit - start);

    return line_end ? (size_t)(line_end - scan->base.data) + 1 : 0;
}

/* The end of the record at `start`, or 0: it is in a piece that is still to come. */
static size_t end_of_record(struct scan *scan, size_t start) {
    size_t n = scan->base.n_bytes - start, max = scan->base.cutter->max_record_bytes;
    size_t limit = n < max ? scan->base.n_bytes : start + max, end, first_line;
    bool has_quotes = leat_cutter_is_quoting(scan->base.cutter);
    struct leat_cutter_csv csv;

    if (has_quotes)
        end = run_quoted(scan, start, limit, &csv);
    else
        end = run_line(scan, start, limit);
    if (end)
        return end;
    if (n < max && !scan->is_end)
        return 0;
    first_line = run_line(scan, start, limit);
    if (first_line && has_quotes)
        scan->open = (struct open_stretch){first_line, limit, csv};
    if (n < max && !(has_quotes && leat_cutter_csv_is_open(&csv)))
        return limit;
    scan->base.ends_midline = !first_line && n >= max;
    return first_line ? first_line : limit;
}

/* Takes records one by one until one ends behind `stop`. False: the data is done. */
static bool take_slowly(struct scan *scan, size_t stop) {
    struct leat_cutter_scan *base = &scan->base;

    while (base->start <= stop) {
        size_t end = base->start < base->n_bytes ? end_of_record(scan, base->start) : 0;
        if (!end)
            return false;
        if (base->ends_midline)
            leat_cutter_put(base, base->start, end);
        else
            leat_cutter_put_line(base, base->start, end);
        base->n_lines += leat_cutter_count_lines(base->data + base->start, end - base->start);
        base->start = end;
        if (base->ends_midline)
            return false;
    }
    return true;
}

static void scan_all(struct scan *scan) {
    struct leat_cutter_scan *base = &scan->base;
    size_t max = base->cutter->max_record_bytes, stop;

    if (base->cutter->kind == LEAT_CUTTER_FRAMES) {
        leat_cutter_frames(base, scan->is_end);
        return;
    }
    if (base->cutter->kind >= LEAT_CUTTER_SEPARATOR) {
        leat_cutter_documents(base, scan->is_end);
        return;
    }
    if (max < LEAT_CUTTER_BLOCKS_MIN_RECORD) {
        (void)take_slowly(scan, SIZE_MAX);
        return;
    }
    do {
        stop = leat_cutter_blocks(base);
        if (stop == SIZE_MAX) {
            if (!scan->is_end && base->n_bytes - base->start < max)
                return; /* what is left waits for the next piece */
            stop = base->start;
        }
    } while (take_slowly(scan, stop));
}

void leat_cutter_cut(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                     bool is_last, struct leat_cut *ret_cut) {
    struct scan scan = {
        .base = {.cutter = cutter, .data = data, .n_bytes = n_bytes},
        .is_end = is_last,
    };

    assert(cutter->max_record_bytes >= LEAT_CUTTER_MAX_RECORD_MIN);
    scan_all(&scan);
    *ret_cut = (struct leat_cut){
        .n_bytes = scan.base.start,
        .n_records = scan.base.n_records,
        .n_lines = scan.base.n_lines,
        .ends_midline = scan.base.ends_midline,
    };
}

/* A cut always ends with a record. So a record that does not end before was cut off by a rule that
 * saw more bytes than are here; the rules decide the same at the end of a file. */
size_t leat_cutter_index(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                         uint32_t *starts, uint32_t *ends, size_t capacity) {
    struct scan scan = {
        .base = {.cutter = cutter,
                 .data = data,
                 .n_bytes = n_bytes,
                 .starts = starts,
                 .ends = ends,
                 .capacity = capacity},
        .is_end = true,
    };

    assert(n_bytes <= UINT32_MAX);
    scan_all(&scan);
    return scan.base.n_records;
}

size_t leat_cutter_skip(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                        bool is_last, uint64_t *ret_lines, bool *ret_is_done) {
    const uint8_t *line_end;
    size_t n;

    *ret_is_done = true;
    *ret_lines = 0;
    if (cutter->kind == LEAT_CUTTER_FRAMES)
        return 0;
    if (cutter->kind >= LEAT_CUTTER_SEPARATOR) {
        n = leat_cutter_skip_document(cutter, data, n_bytes, is_last, ret_is_done);
        *ret_lines = leat_cutter_count_lines(data, n);
        return n;
    }
    line_end = n_bytes ? memchr(data, '\n', n_bytes) : NULL;
    *ret_is_done = line_end != NULL;
    *ret_lines = line_end != NULL;
    return line_end ? (size_t)(line_end - data) + 1 : n_bytes;
}

uint64_t leat_cutter_lines(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                           uint64_t n_records) {
    return cutter->kind == LEAT_CUTTER_FRAMES ? n_records : leat_cutter_count_lines(data, n_bytes);
}

/* Locates a fault at record[at]. */
static const char *locate_fault(const uint8_t *record, size_t at, const char *message,
                                uint32_t *ret_line, uint32_t *ret_column) {
    const uint8_t *line = record;

    *ret_line = 0;
    for (size_t i = 0; i < at; i++)
        if (record[i] == '\n') {
            ++*ret_line;
            line = record + i + 1;
        }
    *ret_column = (uint32_t)(record + at - line) + 1;
    return message;
}

const char *leat_cutter_check(const struct leat_cutter *cutter, const uint8_t *record,
                              size_t n_bytes, uint32_t *ret_line, uint32_t *ret_column) {
    const char *message;
    size_t at;

    if (n_bytes >= cutter->max_record_bytes)
        return locate_fault(record, 0, "is longer than max_record_bytes", ret_line, ret_column);
    if (cutter->kind != LEAT_CUTTER_CSV)
        return NULL;
    message = leat_cutter_csv_check(cutter, record, n_bytes, &at);
    return message ? locate_fault(record, at, message, ret_line, ret_column) : NULL;
}
