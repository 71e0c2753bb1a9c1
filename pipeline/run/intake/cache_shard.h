/* cache_shard.h: the part of a source that one of several builders of its cache reads: an equal
 * part of the bytes of all files, from the first piece that begins in it to the last. Owner: the
 * run's thread. */
#pragma once

#include "pipeline/work/job.h"

struct leat_cache_shard {
    uint32_t index, n_shards; /* n_shards 0: all of the source */
    uint64_t from, to;        /* of the bytes of all files, one behind the other */
    size_t file;              /* being read, */
    uint64_t base;            /* which begins there */
    uint64_t n_skipped; /* records before the shard, of files that are read from their start */
};

/* What becomes of a piece that was read. */
enum leat_cache_sifted {
    LEAT_CACHE_SIFT_TAKE, /* It is to be mapped. */
    LEAT_CACHE_SIFT_SKIP, /* It is of no interest, */
    LEAT_CACHE_SIFT_END,  /* nor is what follows. */
};

/* The data is known. */
void leat_cache_shard_set(struct leat_cache_shard *shard, const struct leat_cache_data *data);
/* Begins at the start of the shard; the file in which that is. */
size_t leat_cache_shard_start(struct leat_cache_shard *shard, const struct leat_cache_data *data);
/* Tells what becomes of the piece, and numbers its records within the shard. */
enum leat_cache_sifted leat_cache_shard_sift(struct leat_cache_shard *shard,
                                             const struct leat_cache_data *data,
                                             struct leat_piece *piece);
/* Bytes of the shard, and those of it up to the end of the file's last frame; file NULL: none. */
uint64_t leat_cache_shard_n_bytes(const struct leat_cache_shard *shard,
                                  const struct leat_cache_data *data);
uint64_t leat_cache_shard_n_done(const struct leat_cache_shard *shard,
                                 const struct leat_cache_data *data,
                                 const struct leat_cache_file *file);
