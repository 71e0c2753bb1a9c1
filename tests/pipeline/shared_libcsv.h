/* shared_libcsv.h: the fields of a CSV record by libcsv, as the judge of leat_cutter_split() in the
 * tests and fuzz targets.
 *
 * libcsv goes byte by byte and is strict; blanks are bytes of fields, and no byte ends a row but
 * the end of the record.
 */
#pragma once

#include "pipeline/cut/cutter.h"
#include "pipeline/cut/fields.h"

/* Whether leat_cutter_split(), in both its forms, gives for this record (not empty, n_readable
 * bytes may be read) what libcsv does, and leat_cutter_check() agrees on whether it is good. */
bool libcsv_agrees(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                   size_t n_readable);
