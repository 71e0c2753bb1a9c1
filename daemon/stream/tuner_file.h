/* tuner_file.h: what a tuner found, as the text of a file, for the next run of the same stream on
 * the same machine.
 *
 * The file has a line with the version, one line a value, and a checksum of all that. A file that
 * is damaged, foreign or of another version is ignored: the next run begins without it. Any thread.
 */
#pragma once

#include "pipeline/run/pipeline.h"
#include "proto/base/blake2b.h"
#include "proto/base/error.h"

#define LEAT_TUNER_FILE_MAX 1024 /* bytes */

/* The stream and machine that the file belongs to. */
struct leat_tuner_key {
    uint8_t stream[LEAT_DIGEST_BYTES], machine[LEAT_DIGEST_BYTES];
};

/* Returns the length of the text, which is terminated. */
size_t leat_tuner_file_print(const struct leat_tuner_key *key,
                             const struct leat_tuner_memory *memory,
                             char ret_text[LEAT_TUNER_FILE_MAX]);
/* 0, or -EINVAL and why the file is ignored. */
int leat_tuner_file_parse(const char *text, size_t n_bytes, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err);
