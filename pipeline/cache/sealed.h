/* cache/sealed.h: a prepared set: a folder of shards (cache/shard.h), sealed by a set.json
 * (plan/set.h). It is never written again. The folder may be in a store (s3://bucket/folder/); then
 * shards are read block by block, as they are wanted.
 *
 * The functions read files: they block.
 */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/plan/plan.h"

struct leat_sealed_counts {
    uint64_t n_shards, n_blocks, n_records, n_rows, n_bytes;
};

/* Writes set.json of the shards in the folder, and removes what attempts left there that were
 * killed. plan: of the source, with its data. -ESTALE: a shard is missing, there twice, or of other
 * data or another spec. */
int leat_sealed_write(const struct leat_plan *plan, const struct leat_opener *opener,
                      const char *folder, struct leat_sealed_counts *ret_counts,
                      struct leat_error *err);

/* Opens the shards of plan->set as one file of that identity. -ESTALE: they are not those that were
 * sealed. */
int leat_sealed_open(const struct leat_plan *plan, const struct leat_opener *opener,
                     const struct leat_cache_identity *identity, struct leat_cache_file **ret_file,
                     struct leat_error *err);

/* True if the set is in an object store. */
bool leat_sealed_is_remote(const struct leat_plan *plan);

/* Puts the path of the shard that has the record in front of the message. */
void leat_sealed_name_shard(const struct leat_plan *plan, uint64_t record, struct leat_error *err);
