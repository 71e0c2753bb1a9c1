/* cut/blocks.h: the cutter's fast path: 64 bytes at a time, for well-quoted data only.
 *
 * It goes through whole records from scan->start and stops at the first byte for which counting
 * quotes may not tell what libcsv would: a quote within an unquoted field, or a
 * record above the limit. Everything before scan->start is then final.
 */
#pragma once

#include <stddef.h>

#include "pipeline/cut/format.h"

/* Owner: one call of cut or index. */
struct leat_cutter_scan {
    const struct leat_cutter *cutter;
    const uint8_t *data;
    size_t n_bytes;
    size_t start; /* of the next record; all before is counted */
    uint64_t n_records, n_lines;
    uint32_t *starts, *ends; /* [capacity]; NULL: only count */
    size_t capacity;
    bool ends_midline; /* the last record taken was cut off */
};

#define LEAT_CUTTER_BLOCKS_MIN_RECORD 128 /* max_record_bytes below: libcsv alone cuts */

/* Cuts all records of kind SEPARATOR or WHOLE (cut/documents.c). is_end: the last one ends with the
 * data. */
void leat_cutter_documents(struct leat_cutter_scan *scan, bool is_end);
size_t leat_cutter_skip_document(const struct leat_cutter *cutter, const uint8_t *data,
                                 size_t n_bytes, bool is_last, bool *ret_is_done);

/* Cuts all frames (cut/documents.c). is_end: what is left is one more record. */
void leat_cutter_frames(struct leat_cutter_scan *scan, bool is_end);

/* Returns where it stopped, or SIZE_MAX: nothing is wrong up to the end of the data. */
size_t leat_cutter_blocks(struct leat_cutter_scan *scan);

static inline bool leat_cutter_is_quoting(const struct leat_cutter *cutter) {
    return cutter->kind == LEAT_CUTTER_CSV && cutter->quote;
}

/* The same for CPUs without vectors (proto/base/simd.h); it stops at once where there are quotes.
 * leat_cutter_blocks() chooses. */
size_t leat_cutter_blocks_portable(struct leat_cutter_scan *scan);

/* Counts the record data[start .. end), unless it is blank. */
static inline void leat_cutter_put(struct leat_cutter_scan *scan, size_t start, size_t end) {
    size_t i = scan->n_records;

    if (end == start)
        return;
    if (scan->starts && i < scan->capacity) {
        scan->starts[i] = (uint32_t)start;
        scan->ends[i] = (uint32_t)end;
    }
    scan->n_records++;
}

/* Counts the record without the line end that it may have. */
static inline void leat_cutter_put_line(struct leat_cutter_scan *scan, size_t start, size_t end) {
    if (end > start && scan->data[end - 1] == '\n')
        end--;
    if (end > start && scan->data[end - 1] == '\r')
        end--;
    leat_cutter_put(scan, start, end);
}

/* The number of LF in those bytes. */
uint64_t leat_cutter_count_lines(const uint8_t *data, size_t n_bytes);
