/* reader.h: a record reader (input.h) of Arrow files, which gives their rows as stripes.
 *
 * It reads the IPC streaming format and the file format, which is the same with a footer that lists
 * the batches ("Serialization and Interprocess Communication"). The first frame is the layout of
 * the rows; the others are the rows in order.
 *
 * A place (groups.h) is found by metadata: a group may span batches.
 *
 * A plain file is entered at any batch; of batches above a few MiB only the parts of columns are
 * read that the next rows need. A pipe or compressed file is read from front to back, one batch at
 * a time in memory.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/sources/arrow/rows.h"

/* Takes the file, also when it fails. The selections must outlive the input. */
int leat_arrow_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                    const struct leat_arrow_selection *selections, size_t n_selections,
                    struct leat_input **ret_input, struct leat_error *err);
