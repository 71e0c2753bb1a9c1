/* cache/shard.h: a shard of a cache, which one of several batch jobs prepares.
 *
 * A shard is KEY-I-of-N.leat. Its key depends on the contents of the data and on what is done to
 * records, not on the place of the files, so all machines give it the same name. It is written
 * under a name of its own and gets its final name when it is complete. There are no locks: any
 * number of attempts may run at once, and the first that ends counts. In a store (s3://) its file
 * has no name until it is complete; then it becomes an object, unless that is there. The functions
 * block: they run in jobs.
 */
#pragma once

#include "pipeline/cache/store.h"

/* Makes the identity of a cache that of one of its shards. */
void leat_cache_shard_identify(uint32_t shard, uint32_t n_shards,
                               struct leat_cache_identity *identity);

/* Opens the shard if it is there, or begins it. The folder is made if need be. */
int leat_cache_shard_open(const char *folder, const struct leat_cache_identity *identity,
                          const char *description, struct leat_cache_found *ret_found,
                          struct leat_error *err);
/* Completes the file and publishes it. If another attempt was faster, its shard stays. */
int leat_cache_shard_publish(const char *folder, struct leat_cache_file *file,
                             struct leat_error *err);
