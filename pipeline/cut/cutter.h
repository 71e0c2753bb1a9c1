/* cutter.h: finds where records end, without looking at fields. Pure; any thread.
 *
 * CSV: a line end (LF or CRLF) outside quotes ends a record; a quote opens only at the start of a
 * field, a doubled quote inside is a quote; a quote elsewhere is a byte like others. A CR without
 * LF ends nothing. LINES (JSONL): every LF ends a record. Blank lines (nothing, or only CR) are no
 * records. SEPARATOR: a record goes up to the next separator, WHOLE: up to the end of the file;
 * those of nothing but line ends are none. FRAMES: a record says how long it is; they are made by
 * leat itself, of files that have no records as bytes (sources/arrow), none above the limit. They
 * come in stripes (cut/format.h), which are never cut. A frame counts as a line. The input always
 * begins at the start of a record.
 *
 * Broken data is cut so that one bad record costs one line, and not the rest of the file:
 *
 * - A record above max_record_bytes (with its line end), or one whose quote is still open at the
 *   end of the file, ends at the first LF after its start.
 * - If there is no LF within max_record_bytes, the record is those max_record_bytes bytes, and the
 *   cut ends there, within a line (ends_midline): what is left of the line is no record, the caller
 *   skips it to behind the next LF (leat_cutter_skip) before it cuts on. With SEPARATOR and WHOLE
 *   it is the same, with the separator and the end of the file in the place of LF.
 *
 * leat_cutter_check() tells what is wrong with such a record. All this depends on the bytes of the
 * file alone, not on how they come in pieces.
 *
 * The fast path works on 64 bytes at a time with the prefix-xor of the quote mask (Langdale and
 * Lemire 2019). Where a quote stands within an unquoted field, and where there is no vector unit,
 * libcsv takes the record (cut/csv.h): the two agree on every input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/cut/format.h"

struct leat_cut {
    size_t n_bytes; /* up to the end of the last whole record; 0: no record ends in this piece */
    uint64_t n_records; /* in these bytes, blank lines not counted */
    uint64_t n_lines;   /* LF in these bytes */
    bool ends_midline;  /* the last record was cut off within its line; see above */
};

/* Cuts a piece that starts at a record. is_last: the file ends here, so the rest is a record too.
 * If n_bytes >= max_record_bytes, ret_cut->n_bytes is never 0. */
void leat_cutter_cut(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                     bool is_last, struct leat_cut *ret_cut);

/* The records of a whole cut: starts[i]..ends[i] without line ends and without blank lines. Exactly
 * cut.n_records of them are written; the arrays must hold `capacity` >= n_records. `data` must be
 * the cut.n_bytes that cut() accepted, at most UINT32_MAX. */
size_t leat_cutter_index(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                         uint32_t *starts, uint32_t *ends, size_t capacity);

/* After a cut that ends_midline: the number of bytes up to the next end of a record. *ret_is_done:
 * the data has that end; else what is left (less than a separator, nothing if it is_last) is given
 * again with the next piece. *ret_lines: LF in these bytes. */
size_t leat_cutter_skip(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                        bool is_last, uint64_t *ret_lines, bool *ret_is_done);

/* The number of line ends in those bytes, which begin where a record does, or in a line, and have
 * the ends of n_records. */
uint64_t leat_cutter_lines(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                           uint64_t n_records);

/* FRAMES: the size of the stripe that begins there; 0: it is not complete. */
size_t leat_cutter_stripe(const uint8_t *data, size_t n_bytes, uint32_t *ret_n_frames);

/* Tells what is wrong with one record (as indexed): its quoting, a CR outside quotes, its length;
 * NULL if nothing is. The text follows "the record". *ret_column: byte from 1, *ret_line: lines
 * from 0 into the record. */
const char *leat_cutter_check(const struct leat_cutter *cutter, const uint8_t *record,
                              size_t n_bytes, uint32_t *ret_line, uint32_t *ret_column);
