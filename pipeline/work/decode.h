/* decode.h: the DECODE job: decodes the beginning of a range of a compressed file, or of a row
 * group, ahead of the scanner. Any thread.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/plan/plan.h"

struct leat_decode_job {
    const struct leat_plan *plan;
    const struct leat_opener *opener;
    struct leat_unit *unit; /* out: its input */
    size_t max_bytes;
    uint64_t pass, counted_bytes; /* the run's own */
};

int leat_decode_execute(const struct leat_decode_job *job, struct leat_error *err);

/* The beginning of a range of a compressed file, decoded ahead of the scanner. */
/* A range of a file, in which a unit that is decoded ahead may begin. */
struct leat_unit_key {
    size_t file;
    uint64_t range;
};

/* The text that was decoded there. Owner: the DECODE job, then the run, then the SCAN job. */
struct leat_unit {
    struct leat_unit *next;
    struct leat_unit_key key;
    struct leat_input *input; /* NULL: no frame begins there */
};

#define LEAT_UNITS_MAX 16 /* units that are being decoded or wait to be read */

int leat_unit_compare(struct leat_unit_key a, struct leat_unit_key b);
/* Inserts the unit into a list that is sorted by key. */
void leat_unit_insert(struct leat_unit **list, struct leat_unit *unit);
struct leat_unit *leat_unit_free(struct leat_unit *unit);
void leat_unit_free_all(struct leat_unit **list);
