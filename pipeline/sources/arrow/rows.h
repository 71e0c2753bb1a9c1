/* rows.h: rows of a record batch as frames (layout.h), some at a time.
 *
 * It takes as many rows at once as keep the loaded parts of all columns small. The frames do not
 * depend on how many that are.
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
    uint64_t *sizes;   /* [max_rows]: of frames, with head and tail */
    uint32_t *lengths; /* [n_variable][max_rows] */
    uint32_t *cursors; /* [max_rows]: where the records stand in `out` */
    uint32_t *ends;    /* [max_rows]: up to where they are filled */
    bool has_long;     /* one of the rows is too long */
    uint8_t *out;      /* the frames */
    size_t n_out, capacity;
};

int leat_arrow_rows_init(struct leat_arrow_rows *rows, struct leat_arrow_columns *columns,
                         uint64_t max_record_bytes, struct leat_error *err);
void leat_arrow_rows_deinit(struct leat_arrow_rows *rows);
size_t leat_arrow_rows_memory(const struct leat_arrow_rows *rows);

/* Makes frames of some of the n_loaded > 0 loaded rows from `row` on, as long as they have at most
 * `room` bytes; with `must` at least one. */
int leat_arrow_rows_put(struct leat_arrow_rows *rows, uint64_t row, uint64_t n_loaded,
                        uint64_t room, bool must, uint64_t *ret_n_rows, struct leat_error *err);
/* Makes frames of some of the n_left > 0 rows from `row` on, as long as they have at most `room`
 * bytes; with `must` at least one. */
int leat_arrow_rows_make(struct leat_arrow_rows *rows, const struct leat_arrow_body *body,
                         uint64_t row, uint64_t n_left, uint64_t room, bool must,
                         uint64_t *ret_n_rows, struct leat_error *err);
/* Makes the frame of the layout. */
int leat_arrow_rows_make_header(struct leat_arrow_rows *rows, struct leat_error *err);
