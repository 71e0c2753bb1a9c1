/* rows.h: rows of a record batch as frames (layout.h), some at a time.
 *
 * So many rows are taken at once that what is read of all columns stays small, whatever the size
 * of the batch. Which rows come together shows nowhere: frames stand one behind the other.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/columns.h"

struct leat_arrow_rows {
    struct leat_arrow_columns *columns;
    uint64_t max_record_bytes;
    uint32_t max_rows, n_variable;
    char bad[64]; /* what stands in place of a row that is too long */
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

/* Frames of rows from `row` on, of n_left > 0: some, as long as they have no more than `room`
 * bytes; the first in any case, if it must. */
int leat_arrow_rows_make(struct leat_arrow_rows *rows, const struct leat_arrow_body *body,
                         uint64_t row, uint64_t n_left, uint64_t room, bool must,
                         uint64_t *ret_n_rows, struct leat_error *err);
/* The frame of the layout. */
int leat_arrow_rows_make_header(struct leat_arrow_rows *rows, struct leat_error *err);
