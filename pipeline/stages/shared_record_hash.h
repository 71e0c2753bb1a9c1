/* shared_record_hash.h: the hash of a record or of one of its fields, for split and dedup. Pure;
 * any thread.
 *
 * BLAKE2b over `seed` (eight bytes, little endian) and the record's bytes in the source, without
 * the line end; or over the key of a field (shared_key.h). It depends on nothing else: not on the
 * file, the place in it, or the seed of the stream.
 */
#pragma once

#include "pipeline/stages/shared_key.h"

struct leat_record_hash {
    uint64_t words[2]; /* the first 16 bytes, little endian */
};

/* Finds the column of `input`; it must be able to be a key. */
int leat_record_hash_plan(const struct leat_config *config, struct leat_planner *planner,
                          const char *input, uint32_t *ret_column, struct leat_error *err);

/* column: of the key; LEAT_RECORD_HASH_ALL: the whole record. */
#define LEAT_RECORD_HASH_ALL UINT32_MAX
struct leat_record_hash leat_record_hash(struct leat_map *map, uint32_t row, uint32_t column,
                                         uint64_t seed);
