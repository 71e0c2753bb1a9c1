/* reader.h: a record reader (input.h) of Arrow files, which gives their rows as frames.
 *
 * It reads the IPC streaming format and the file format, which is the same with a footer that lists
 * the batches ("Serialization and Interprocess Communication"). The first frame is the layout of
 * the rows; the others are the rows in order.
 *
 * Places. A record batch may have millions of rows, and a place in it must be found without reading
 * all before it. So a place is the number of the row that begins a group, times 2^32, plus the
 * bytes of the group's frames in front of the record. A group has at most LEAT_ARROW_GROUP_BYTES,
 * unless it is one row, and may span batches; a block of the usual size is one group. The batch of
 * a row is found by metadata, so at most one group is read to find a record. Between groups there
 * is a hole.
 *
 * A plain file is entered at any batch; of batches above a few MiB only the parts of columns are
 * read that the next rows need. A pipe or compressed file is read from front to back, one batch at
 * a time in memory.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/sources/arrow/rows.h"

#define LEAT_ARROW_GROUP_BYTES (UINT32_C(256) << 10)

/* Takes the file, also when it fails. The selections must outlive the input. */
int leat_arrow_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                    const struct leat_arrow_selection *selections, size_t n_selections,
                    struct leat_input **ret_input, struct leat_error *err);
