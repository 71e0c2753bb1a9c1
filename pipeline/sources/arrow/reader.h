/* reader.h: an Arrow file as a lens (input.h): its rows as frames, one behind the other.
 *
 * What is read is the IPC streaming format, or the file format, which is the same with a footer
 * that says where the batches are ("Serialization and Interprocess Communication"). The first frame
 * is the layout of the rows, the others are the rows in the order of the batches.
 *
 * Places. A record batch may have millions of rows, and a place in it must be found without
 * reading all before. So a place is not a number of bytes from the start, but the number of a row,
 * with which a group begins, times 2^32, and a number of bytes behind there, that of its frames.
 * A group has no more than LEAT_ARROW_GROUP_BYTES, unless it is one row; groups go over the ends of
 * batches. A block of the usual size is one group. Batches say how many rows they have, so the
 * batch of a row is found by their metadata, and no more than a group is gone over to find a
 * record. In between there is a hole.
 *
 * A file that is as it is, is entered where it is wanted: of batches above a few MiB only those
 * parts of columns are read that are needed for the next rows. What comes through a pipe or a
 * decompressor is read from front to back, one batch at a time in memory.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/sources/arrow/rows.h"

#define LEAT_ARROW_GROUP_BYTES (UINT32_C(256) << 10)

/* Takes the file, also when it fails. The wishes must outlive the input. */
int leat_arrow_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                    const struct leat_arrow_wish *wishes, size_t n_wishes,
                    struct leat_input **ret_input, struct leat_error *err);
