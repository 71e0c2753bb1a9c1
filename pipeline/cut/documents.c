/* cut/documents.c: cuts records that are no lines: up to a separator, a whole file, or a frame,
 * which says how long it is. See cutter.h.
 *
 * As with lines, each decision looks at no more than the max_record_bytes from the record's start.
 */
#include <string.h>

#include "pipeline/cut/blocks.h"
#include "pipeline/cut/cutter.h"

static bool is_blank(const uint8_t *data, size_t start, size_t end) {
    while (start < end && (data[start] == '\n' || data[start] == '\r'))
        start++;
    return start == end;
}

/* The number of bytes up to the next separator; SIZE_MAX: there is none. */
static size_t find_separator(const struct leat_cutter *cutter, const uint8_t *data,
                             size_t n_bytes) {
    const uint8_t *found = cutter->kind == LEAT_CUTTER_SEPARATOR
                               ? memmem(data, n_bytes, cutter->separator, cutter->n_separator)
                               : NULL;

    return found ? (size_t)(found - data) : SIZE_MAX;
}

static void take_record(struct leat_cutter_scan *scan, size_t n_bytes, size_t n_consumed) {
    size_t end = scan->start + n_bytes;

    if (!is_blank(scan->data, scan->start, end))
        leat_cutter_put(scan, scan->start, end);
    scan->n_lines += leat_cutter_count_lines(scan->data + scan->start, n_consumed);
    scan->start += n_consumed;
}

void leat_cutter_documents(struct leat_cutter_scan *scan, bool is_end) {
    size_t max = scan->cutter->max_record_bytes;

    while (scan->start < scan->n_bytes && !scan->ends_midline) {
        size_t n = scan->n_bytes - scan->start, limit = n < max ? n : max;
        size_t found = find_separator(scan->cutter, scan->data + scan->start, limit);

        if (found != SIZE_MAX) {
            take_record(scan, found, found + scan->cutter->n_separator);
        } else if (n >= max) {
            scan->ends_midline = true;
            take_record(scan, max, max);
        } else if (is_end) {
            take_record(scan, n, n);
        } else {
            return;
        }
    }
}

size_t leat_cutter_skip_document(const struct leat_cutter *cutter, const uint8_t *data,
                                 size_t n_bytes, bool is_last, bool *ret_is_done) {
    size_t found = n_bytes ? find_separator(cutter, data, n_bytes) : SIZE_MAX, n_left;

    *ret_is_done = found != SIZE_MAX;
    if (found != SIZE_MAX)
        return found + cutter->n_separator;
    n_left = is_last || cutter->kind == LEAT_CUTTER_WHOLE ? 0 : cutter->n_separator - 1;
    return n_bytes > n_left ? n_bytes - n_left : 0;
}

/* ---- frames ---- */

size_t leat_cutter_stripe(const uint8_t *data, size_t n_bytes, uint32_t *ret_n_frames) {
    size_t n = 0, n_left = n_bytes;
    uint32_t head, n_frames = 0;

    do {
        if (n_left < LEAT_FRAME_HEAD_BYTES)
            return 0;
        memcpy(&head, data + (size_t)n_frames++ * LEAT_FRAME_HEAD_BYTES, sizeof(head));
        n_left -= LEAT_FRAME_HEAD_BYTES;
        n += (head & LEAT_FRAME_SIZE) + LEAT_FRAME_BYTES;
    } while (head & LEAT_FRAME_HAS_NEXT);
    *ret_n_frames = n_frames;
    return n <= n_bytes ? n : 0;
}

static void put_frames(struct leat_cutter_scan *scan, uint32_t n_frames) {
    const uint8_t *heads = scan->data + scan->start;
    size_t start = scan->start;

    for (uint32_t i = 0; i < n_frames; i++) {
        size_t end = start + LEAT_FRAME_HEAD_BYTES + leat_frame_size(heads, i);

        leat_cutter_put(scan, start, end);
        start = end + LEAT_FRAME_TAIL_BYTES;
    }
}

void leat_cutter_frames(struct leat_cutter_scan *scan, bool is_end) {
    uint32_t n_frames;
    size_t n;

    while ((n = leat_cutter_stripe(scan->data + scan->start, scan->n_bytes - scan->start,
                                   &n_frames)) > 0) {
        if (scan->starts)
            put_frames(scan, n_frames);
        else
            scan->n_records += n_frames;
        scan->n_lines += n_frames;
        scan->start += n;
    }
    if (is_end) {
        leat_cutter_put(scan, scan->start, scan->n_bytes);
        scan->start = scan->n_bytes;
    }
}
