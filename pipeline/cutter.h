/* cutter.h: finds where records end, without looking at fields. Pure; any thread.
 *
 * CSV: a line end (LF or CRLF) outside quotes ends a record; a quote opens only at the start of a
 * field, a doubled quote inside is a quote. LINES (JSONL): every LF ends a record. Blank lines are
 * no records. The input always begins at the start of a record. The fast path works on 64 bytes at
 * a time with the prefix-xor of the quote mask (Langdale and Lemire 2019) and falls back to a
 * scalar automaton for a piece in which any quote stands where RFC 4180 does not allow one, so that
 * the two agree on every input.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_cutter_kind {
    LEAT_CUTTER_CSV,
    LEAT_CUTTER_LINES,
};

struct leat_cutter {
    enum leat_cutter_kind kind;
    uint8_t delimiter;         /* CSV */
    uint8_t quote;             /* CSV; 0: no quoting at all */
    uint32_t max_record_bytes; /* a longer record is cut at its first line end, and is bad */
};

struct leat_cut {
    size_t n_bytes; /* up to and with the end of the last whole record; 0: no record ends in this
                       piece */
    uint64_t n_records; /* in these bytes, blank lines not counted */
    uint64_t n_lines;   /* LF in these bytes */
};

/* Cuts a piece that starts at a record. is_last: the file ends here, so the rest is a record too. A
 * record longer than max_record_bytes, or (is_last) one whose quote never closes, ends at the first
 * LF after its start; parse will call it bad. */
void leat_cutter_cut(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                     bool is_last, struct leat_cut *ret_cut);

/* The records of a whole cut: starts[i]..ends[i] without line ends and without blank lines. Exactly
 * cut.n_records of them are written; the arrays must hold `capacity` >= n_records. data must be
 * what cut() accepted, with the same is_last. */
size_t leat_cutter_index(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                         bool is_last, uint32_t *starts, uint32_t *ends, size_t capacity);

/* What is wrong with the quoting of one record (as indexed), or NULL; *ret_column: byte from 1,
 * *ret_line: lines from 0 into the record. */
const char *leat_cutter_check(const struct leat_cutter *cutter, const uint8_t *record,
                              size_t n_bytes, uint32_t *ret_line, uint32_t *ret_column);
