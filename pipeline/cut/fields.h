/* cut/fields.h: where in a CSV record its fields are, by RFC 4180. Pure; any thread.
 *
 * A field that begins with a quote goes up to the next quote that is not doubled, behind which a
 * delimiter or the end of the record must stand; in any other field there may be no quote. Nothing
 * is trimmed, and all other bytes are bytes of a field: CR, LF and NUL too. (A CR outside quotes is
 * wrong by leat_cutter_check(), which is not asked here.)
 */
#pragma once

#include <stddef.h>

#include "pipeline/cut/format.h"

/* The fields of record[0 .. n_bytes), as libcsv finds them (cut/csv.h), of which n_readable >=
 * n_bytes bytes may be read. The first `capacity` are written, all are counted. False: its quoting
 * is not RFC 4180's, as leat_cutter_check() tells in words; then what is written means nothing.
 * n_bytes: at most UINT32_MAX. cutter: of kind CSV, for its delimiter and quote. */
bool leat_cutter_split(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                       size_t n_readable, struct leat_cutter_field *fields, uint32_t capacity,
                       uint32_t *ret_n_fields);

/* Writes the bytes of such a field at `out`, which has room for n_bytes, with one quote for each
 * two. Returns their number. */
size_t leat_cutter_unquote(const struct leat_cutter *cutter, const uint8_t *bytes, size_t n_bytes,
                           uint8_t *out);
