/* rows.h: rows of a record batch as stripes (layout.h), some at a time.
 *
 * It takes as many rows at once as keep the loaded parts of all columns small. Their frames do not
 * depend on how many that are. A row that is too long is a stripe of its own.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/columns.h"

#define LEAT_ARROW_GROUP_BYTES (UINT32_C(256) << 10) /* of frames in one group (groups.h) */

struct leat_arrow_rows {
    struct leat_arrow_columns *columns;
    uint64_t max_record_bytes;
    uint32_t max_rows, n_variable;
    char bad[64]; /* the body in place of a row that is too long */
    size_t n_bad;
    uint64_t *sizes;                   /* [max_rows]: of frames, with head and tail */
    uint32_t *lengths;                 /* [n_variable][max_rows] */
    uint64_t first_loaded, end_loaded; /* rows of the batch; 0, 0: none */
    uint8_t *out;                      /* the stripe */
    size_t n_out, capacity;
};

/* How many rows are wanted. */
struct leat_arrow_room {
    uint64_t n_bytes;  /* of their frames, at most */
    uint64_t n_wanted; /* of these */
    uint64_t n_rows;
    bool must; /* the first row may have more than n_bytes */
};

int leat_arrow_rows_init(struct leat_arrow_rows *rows, struct leat_arrow_columns *columns,
                         uint64_t max_record_bytes, struct leat_error *err);
void leat_arrow_rows_deinit(struct leat_arrow_rows *rows);
size_t leat_arrow_rows_memory(const struct leat_arrow_rows *rows);

/* Makes a stripe of some of the n_loaded > 0 loaded rows from `row` on: as many as have n_wanted
 * bytes at most, at least one; none if the first one has no room. */
int leat_arrow_rows_put(struct leat_arrow_rows *rows, uint64_t row, uint64_t n_loaded,
                        const struct leat_arrow_room *room, uint64_t *ret_n_rows,
                        struct leat_error *err);
/* The same for some of the n_left > 0 rows, which it loads. rows->end_loaded must be 0 for a new
 * batch. */
int leat_arrow_rows_make(struct leat_arrow_rows *rows, const struct leat_arrow_body *body,
                         uint64_t row, uint64_t n_left, const struct leat_arrow_room *room,
                         uint64_t *ret_n_rows, struct leat_error *err);
/* Makes the frame of the layout. */
int leat_arrow_rows_make_header(struct leat_arrow_rows *rows, struct leat_error *err);
