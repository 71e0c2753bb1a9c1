/* groups.h: the frames of a file's rows in groups, each of which can be gone to; the position of a
 * record reader (input.h).
 *
 * Places. A file may have millions of rows, and a place in it must be found without reading all
 * before it. So a place is the number of the row that begins a group, times 2^32, plus the bytes of
 * the group's frames in front of the record. A group has at most LEAT_ARROW_GROUP_BYTES, unless it
 * is one row; a block of the usual size is one group. At most one group is read to find a record.
 * Between groups there is a hole. The first frame of a file is the layout of its rows. The others
 * come in stripes (cut/format.h); which frames share one depends on how it is read.
 *
 * Owner: the reader.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/rows.h"

#define LEAT_ARROW_END 4 /* there are no more messages or rows */

struct leat_arrow_groups {
    struct leat_arrow_rows *rows;
    uint64_t row;       /* the next, of the file */
    uint64_t group_row; /* the first of its group */
    uint64_t n_group;   /* bytes of its frames so far */
    uint64_t n_to_skip; /* bytes to discard in front of the next */
    uint64_t stop;      /* the row in front of which it says that there is a hole; 0: none */
    size_t out_at;      /* in rows->out */
    bool is_begun;      /* the header was made, or is not wanted */
    bool has_ended;
};

/* Makes the stripes. Each function returns 0, LEAT_INPUT_WAITING, LEAT_ARROW_END or -errno. */
struct leat_arrow_maker {
    /* Reads the columns, and readies groups->rows. */
    int (*begin)(void *reader, struct leat_error *err);
    /* Puts a stripe of some rows from groups->row on, as leat_arrow_rows_put() does. */
    int (*make)(void *reader, const struct leat_arrow_room *room, uint64_t *ret_n_rows,
                struct leat_error *err);
};

/* These are the functions of leat_record_reader_ops. */
int leat_arrow_groups_read(struct leat_arrow_groups *groups, const struct leat_arrow_maker *maker,
                           void *reader, void *data, size_t size, size_t *ret_n,
                           struct leat_error *err);
void leat_arrow_groups_go(struct leat_arrow_groups *groups, uint64_t place);
uint64_t leat_arrow_groups_cross(struct leat_arrow_groups *groups);
