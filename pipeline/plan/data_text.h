/* data_text.h: what data is (data_digest.h) as text, to tell later what has changed: a line for
 * each file, with its size, its hashes, and its name as it was written. */
#pragma once

#include "pipeline/plan/data_digest.h"
#include "proto/base/text.h"

#define LEAT_DATA_TEXT_MAX (4U << 20) /* bytes; files beyond are only counted */

/* malloc'ed; NULL when memory is out. files: those that the data was made of. */
char *leat_data_text(const struct leat_files *files, const struct leat_data *data);

/* The same for machines that compare their data, without hashes of ranges: size in bytes TAB 16
 * digits of the digest TAB name as a JSON string. At most n_max bytes of whole lines.
 * malloc'ed; NULL when memory is out, or there is no file. */
char *leat_data_text_brief(const struct leat_files *files, const struct leat_data *data,
                           size_t n_max);

/* Adds in words what differs: "data.csv had 1,234 bytes, has 1,250". Adds nothing if the texts do
 * not tell. Both may be any text. */
void leat_data_text_compare(const char *old, const char *new, struct leat_text *text);
