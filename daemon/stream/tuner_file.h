/* tuner_file.h: what a tuner found, as the text of a file, for the next run of the same stream on
 * the same machine.
 *
 * A first line with the version, a line a value, and a checksum of all before. What is damaged,
 * foreign or of another version is not believed: the next run begins as if there were nothing. Any
 * thread.
 */
#pragma once

#include "pipeline/run/tuner.h"
#include "proto/base/blake2b.h"
#include "proto/base/error.h"

#define LEAT_TUNER_FILE_MAX 1024 /* bytes */

/* What it belongs to. */
struct leat_tuner_key {
    uint8_t stream[LEAT_DIGEST_BYTES], machine[LEAT_DIGEST_BYTES];
};

/* Its length, terminated. */
size_t leat_tuner_file_print(const struct leat_tuner_key *key,
                             const struct leat_tuner_memory *memory,
                             char ret_text[LEAT_TUNER_FILE_MAX]);
/* 0, or -EINVAL and why it is not believed. */
int leat_tuner_file_parse(const char *text, size_t n_bytes, const struct leat_tuner_key *key,
                          struct leat_tuner_memory *ret_memory, struct leat_error *err);
