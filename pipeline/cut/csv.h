/* cut/csv.h: CSV by libcsv, the definition of what a record and a field are. It goes byte by
 * byte and takes what the vector code (cut/blocks.c, cut/fields.c) finds irregular, or all
 * records where there is no vector unit. Pure; any thread.
 *
 * libcsv is strict here: no blank is trimmed, LF alone ends a row, and a quote where RFC 4180 has
 * none is a fault. The cutter goes on behind a fault at the next delimiter or LF, so that one bad
 * record costs one line. Fields are not kept: memory does not grow with them.
 */
#pragma once

#include <csv.h>

#include "pipeline/cut/format.h"

/* The parser of one record. A copy goes on by itself, on the same thread. Owner: one call. */
struct leat_cutter_csv {
    struct csv_parser parser;
    uint8_t delimiter;
    bool is_faulty; /* behind a fault, up to the next delimiter */
    bool has_ended; /* with the LF that was fed last */
};

/* Begins a record of a cutter that has a quote. */
void leat_cutter_csv_begin(struct leat_cutter_csv *csv, const struct leat_cutter *cutter);
/* Feeds more of the record: a line with its LF, or a part of one. True: that LF ends the record. A
 * record does not begin with LF. */
bool leat_cutter_csv_line(struct leat_cutter_csv *csv, const uint8_t *line, size_t n_bytes);
/* True inside quotes. */
bool leat_cutter_csv_is_open(const struct leat_cutter_csv *csv);

/* leat_cutter_split() by libcsv. */
bool leat_cutter_csv_split(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                           struct leat_cutter_field *fields, uint32_t capacity,
                           uint32_t *ret_n_fields);
/* leat_cutter_check() by libcsv, of all but its length; *ret_at: the byte of the fault. */
const char *leat_cutter_csv_check(const struct leat_cutter *cutter, const uint8_t *record,
                                  size_t n_bytes, size_t *ret_at);
