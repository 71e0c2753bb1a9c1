/* planner.h: the schema while a plan is built; stages see of it what is in stage.h.
 *
 * Columns are numbered once; the schema is the list of names that are visible at a point. The
 * planner records what each stage reads and makes, from which follow needed columns, kept columns
 * and dead stages. One thread.
 */
#pragma once

#include "pipeline/stage/stage.h"

struct leat_planner_name {
    char name[LEAT_NAME_MAX + 1];
    uint32_t column;
};

#define LEAT_PLANNER_WHY_MAX 128
/* A field that some sources have, but not all alike. */
struct leat_planner_lack {
    char name[LEAT_NAME_MAX + 1];
    char why[LEAT_PLANNER_WHY_MAX];
    bool is_unread; /* the source cannot read the field: users are told */
};

struct leat_planner_edge {
    uint32_t stage; /* position in planning order; 0: the source */
    uint32_t column;
    int32_t result; /* of a use: the only column that is made of it; -1: any */
};

struct leat_planner_edges {
    struct leat_planner_edge *items;
    size_t n_items, capacity;
};

struct leat_planner {
    struct leat_field *fields; /* [LEAT_FIELDS_MAX], fixed so that pointers to fields stay good */
    uint32_t n_columns;
    struct leat_planner_name *names; /* [LEAT_FIELDS_MAX] */
    size_t n_names;
    struct leat_planner_edges uses, makes, keeps;
    struct leat_planner_lack *lacks;
    size_t n_lacks, lacks_capacity;
    uint32_t stage;      /* being planned */
    uint64_t kind_index; /* of that stage among those of its name */

    bool has_batch, drop_last, has_prefetch, has_repeat;
    bool is_chunked, is_packed;         /* rows are parts of records; several of them */
    uint64_t batch_size, prefetch_size; /* batch_size: rows at most */
    uint64_t max_tokens;                /* of a batch; 0: any number */
    const uint32_t *counted;            /* [n_counted]: lists whose tokens count */
    size_t n_counted;
    const struct leat_bucketing *bucketing;
    uint64_t repeat_count; /* 0: without end */
};

int leat_planner_init(struct leat_planner *planner);
void leat_planner_deinit(struct leat_planner *planner);
/* The stage that makes the column, by its position in planning order; 0: the source. */
uint32_t leat_planner_maker(const struct leat_planner *planner, uint32_t column);
/* The same for a field that the source cannot read. */
int leat_planner_add_unread(struct leat_planner *planner, const char *name, const char *why);
/* Describes the fields that are not read; "" if there are none. malloc'ed; NULL: memory ran out. */
char *leat_planner_tell_unread(const struct leat_planner *planner);
int leat_planner_add_lack(struct leat_planner *planner, const char *name, const char *why);
/* Why the field is missing; NULL: no source has it. */
const char *leat_planner_lacks(const struct leat_planner *planner, const char *name);
