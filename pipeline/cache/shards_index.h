/* cache/shards_index.h: the index of a stream (cache/index.h), made of shards in place of the
 * source. It is the file that a run would have made. Blocks: it reads all shards. One thread. */
#pragma once

#include "pipeline/cache/shards.h"

/* plan: of the stream without a cache, with its data; folder: leat_index_folder(). ret_name: of the
 * file. 0 or -errno; an index that is there stays. */
int leat_cache_shards_index(const struct leat_cache_shards *shards, const struct leat_plan *plan,
                            const struct leat_opener *opener, const char *folder,
                            char ret_name[LEAT_CACHE_NAME_MAX], struct leat_error *err);
