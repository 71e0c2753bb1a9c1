/* cache/frame.h: a block in the file of a cache: a head that names the piece of the source that it
 * was made from, and its bytes, plain or as LZ4, under a checksum.
 *
 * The head has a checksum of its own, seeded with the cache's identity, so that what an older file
 * left on the disk is never taken for a frame. Any thread.
 */
#pragma once

#include "pipeline/cache/bytes.h"
#include "proto/base/error.h"

#define LEAT_CACHE_FRAME_HEAD_BYTES 112
#define LEAT_CACHE_BLOCK_MAX_BYTES  (UINT32_C(1) << 30)
#define LEAT_CACHE_CHECKSUM_BYTES   16

enum leat_cache_compression {
    LEAT_CACHE_AUTO, /* LZ4 where it saves a quarter: what saves less takes longer to read */
    LEAT_CACHE_RAW,
    LEAT_CACHE_LZ4, /* where it saves anything */
};

/* A piece of the source: whole records of one file. */
struct leat_cache_span {
    uint32_t file;
    uint32_t n_records;
    bool ends_midline; /* the rest of its last line is no record */
    bool is_damaged;   /* one bad record: the rest of a file that fails to decode */
    uint64_t offset, n_bytes;
    uint64_t line, n_lines; /* of its first byte, from 1; line ends in it */
};

struct leat_cache_frame {
    struct leat_cache_span span;
    uint64_t position; /* of the head, in the file of the cache */
    uint64_t record;   /* number of its first record within the pass */
    uint32_t n_rows;
    bool is_lz4;
    uint64_t n_bytes;  /* of the block */
    uint64_t n_stored; /* of what stands behind the head; padded to a multiple of 8 there */
    uint8_t checksum[LEAT_CACHE_CHECKSUM_BYTES]; /* of what is stored */
};

/* Bytes that head and block take in the file. */
uint64_t leat_cache_frame_size(const struct leat_cache_frame *frame);

/* Writes the head as it is in the file. */
void leat_cache_frame_pack(const struct leat_cache_frame *frame, uint64_t seed,
                           uint8_t ret_head[LEAT_CACHE_FRAME_HEAD_BYTES]);
/* False: it is no head of that cache at that position. */
bool leat_cache_frame_unpack(const uint8_t head[LEAT_CACHE_FRAME_HEAD_BYTES], uint64_t seed,
                             uint64_t position, struct leat_cache_frame *ret_frame);

/* Stores the block's bytes (a multiple of 8), or compresses them into `stored`, which is emptied
 * first: *ret_stored is the one that goes to the file. Sets is_lz4, n_bytes, n_stored, checksum. */
int leat_cache_frame_store(struct leat_cache_frame *frame, enum leat_cache_compression compression,
                           const struct leat_cache_bytes *block, struct leat_cache_bytes *stored,
                           const uint8_t **ret_stored, struct leat_error *err);
/* True if these are the n_stored bytes that were written. */
bool leat_cache_frame_is_whole(const struct leat_cache_frame *frame, const uint8_t *stored);
/* Decompresses LZ4 to n_bytes. False: it is no LZ4. */
bool leat_cache_frame_expand(const struct leat_cache_frame *frame, const uint8_t *stored,
                             uint8_t *ret_block);
