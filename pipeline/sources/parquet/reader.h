/* parquet/reader.h: a record reader (input.h) of Parquet files, which gives their rows as stripes
 * (groups.h), just as that of Arrow files does.
 *
 * The footer is at the end, so the file must be plain. Only the columns that are wanted are read,
 * page by page. A row is found by its row group and the headers of the pages in front of it.
 *
 * Owner: the job that reads.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/arrow/columns.h"

/* Takes the file, also when it fails. The selections must outlive the input. */
int leat_parquet_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                      const struct leat_arrow_selection *selections, size_t n_selections,
                      struct leat_input **ret_input, struct leat_error *err);
