/* unit.h: the beginning of a range of a compressed file, decoded ahead of the scanner. */
#pragma once

#include "pipeline/io/input.h"

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
