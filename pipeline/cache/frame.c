/* cache/frame.c: see cache/frame.h. Checksums are XXH3 (xxHash 0.8, Yann Collet): 128 bits of what
 * is stored, 64 of a head; both run at the speed of memory. */
#include "pipeline/cache/frame.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>

#include "proto/base/xxh3.h"

#define MAGIC       UINT64_C(0x4d4152465441454c) /* "LEATFRAM" */
#define FLAG_LZ4    1U
#define FLAG_MIDWAY 2U
#define FLAG_DAMAGE 4U
#define LZ4_RATIO   255 /* no LZ4 holds more bytes than so many times its own */

struct disk_head {
    uint64_t magic, position;
    uint32_t file, n_records;
    uint32_t n_rows, flags;
    uint64_t record, offset, n_source_bytes, line, n_lines;
    uint64_t n_bytes, n_stored;
    uint8_t checksum[LEAT_CACHE_CHECKSUM_BYTES];
    uint64_t head_checksum;
};

#define CHECKED_BYTES offsetof(struct disk_head, head_checksum)

_Static_assert(sizeof(struct disk_head) == LEAT_CACHE_FRAME_HEAD_BYTES, "no gaps");

uint64_t leat_cache_frame_size(const struct leat_cache_frame *frame) {
    return LEAT_CACHE_FRAME_HEAD_BYTES + (frame->n_stored + 7) / 8 * 8;
}

void leat_cache_frame_pack(const struct leat_cache_frame *frame, uint64_t seed,
                           uint8_t ret_head[LEAT_CACHE_FRAME_HEAD_BYTES]) {
    const struct leat_cache_span *span = &frame->span;
    struct disk_head head = {
        .magic = MAGIC,
        .position = frame->position,
        .file = span->file,
        .n_records = span->n_records,
        .n_rows = frame->n_rows,
        .flags = (frame->is_lz4 ? FLAG_LZ4 : 0) | (span->ends_midline ? FLAG_MIDWAY : 0) |
                 (span->is_damaged ? FLAG_DAMAGE : 0),
        .record = frame->record,
        .offset = span->offset,
        .n_source_bytes = span->n_bytes,
        .line = span->line,
        .n_lines = span->n_lines,
        .n_bytes = frame->n_bytes,
        .n_stored = frame->n_stored,
    };

    memcpy(head.checksum, frame->checksum, sizeof(head.checksum));
    head.head_checksum = XXH3_64bits_withSeed(&head, CHECKED_BYTES, seed);
    memcpy(ret_head, &head, sizeof(head));
}

/* Each record takes a byte of the source, but for what is left of a damaged file. */
static bool may_have_records(const struct disk_head *head) {
    return head->flags & FLAG_DAMAGE
               ? head->n_records == 1
               : head->n_records > 0 && head->n_records <= head->n_source_bytes;
}

/* A head with a right checksum was written by us; the limits are for one that was made to look so.
 */
static bool is_sane(const struct disk_head *head) {
    uint64_t ends;

    return may_have_records(head) && head->n_rows <= head->n_records && head->n_bytes % 8 == 0 &&
           head->n_bytes <= LEAT_CACHE_BLOCK_MAX_BYTES &&
           (head->flags & FLAG_LZ4
                ? head->n_stored < head->n_bytes && head->n_bytes / LZ4_RATIO <= head->n_stored
                : head->n_stored == head->n_bytes) &&
           head->n_source_bytes <= UINT32_MAX &&
           (head->flags & ~(FLAG_LZ4 | FLAG_MIDWAY | FLAG_DAMAGE)) == 0 &&
           !__builtin_add_overflow(head->record, head->n_records, &ends) &&
           !__builtin_add_overflow(head->offset, head->n_source_bytes, &ends) &&
           ends <= INT64_MAX && !__builtin_add_overflow(head->line, head->n_lines, &ends);
}

bool leat_cache_frame_unpack(const uint8_t bytes[LEAT_CACHE_FRAME_HEAD_BYTES], uint64_t seed,
                             uint64_t position, struct leat_cache_frame *ret_frame) {
    struct disk_head head;

    memcpy(&head, bytes, sizeof(head));
    if (head.magic != MAGIC || head.position != position || !is_sane(&head) ||
        head.head_checksum != XXH3_64bits_withSeed(&head, CHECKED_BYTES, seed))
        return false;
    *ret_frame = (struct leat_cache_frame){
        .span = {.file = head.file,
                 .n_records = head.n_records,
                 .ends_midline = head.flags & FLAG_MIDWAY,
                 .is_damaged = head.flags & FLAG_DAMAGE,
                 .offset = head.offset,
                 .n_bytes = head.n_source_bytes,
                 .line = head.line,
                 .n_lines = head.n_lines},
        .position = head.position,
        .record = head.record,
        .n_rows = head.n_rows,
        .is_lz4 = head.flags & FLAG_LZ4,
        .n_bytes = head.n_bytes,
        .n_stored = head.n_stored,
    };
    memcpy(ret_frame->checksum, head.checksum, sizeof(head.checksum));
    return true;
}

static void make_checksum(const uint8_t *stored, size_t n_bytes,
                          uint8_t ret_checksum[LEAT_CACHE_CHECKSUM_BYTES]) {
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(stored, n_bytes));
    memcpy(ret_checksum, canonical.digest, LEAT_CACHE_CHECKSUM_BYTES);
}

/* Bytes of LZ4 in `stored`; 0: it does not pay. */
static size_t compress_block(enum leat_cache_compression compression,
                             const struct leat_cache_bytes *block,
                             struct leat_cache_bytes *stored) {
    size_t n = block->n_bytes;
    size_t limit = compression == LEAT_CACHE_AUTO ? n - n / 4 : n;
    uint8_t *target;
    int n_lz4;

    if (compression == LEAT_CACHE_RAW || n == 0)
        return 0;
    target = leat_cache_bytes_reserve(stored, limit);
    n_lz4 = target ? LZ4_compress_default((const char *)block->data, (char *)target, (int)n,
                                          (int)limit - 1)
                   : 0;
    return n_lz4 > 0 ? (size_t)n_lz4 : 0;
}

int leat_cache_frame_store(struct leat_cache_frame *frame, enum leat_cache_compression compression,
                           const struct leat_cache_bytes *block, struct leat_cache_bytes *stored,
                           const uint8_t **ret_stored, struct leat_error *err) {
    if (block->n_bytes > LEAT_CACHE_BLOCK_MAX_BYTES)
        return leat_error_set(err, -EFBIG, "a block of %zu bytes is too large for a cache",
                              block->n_bytes);
    stored->n_bytes = 0;
    stored->n_bytes = compress_block(compression, block, stored);
    frame->is_lz4 = stored->n_bytes > 0;
    frame->n_bytes = block->n_bytes;
    frame->n_stored = frame->is_lz4 ? stored->n_bytes : block->n_bytes;
    leat_cache_bytes_align(stored);
    if (stored->failed)
        return leat_error_oom(err);
    *ret_stored = frame->is_lz4 ? stored->data : block->data;
    make_checksum(*ret_stored, frame->n_stored, frame->checksum);
    return 0;
}

bool leat_cache_frame_is_whole(const struct leat_cache_frame *frame, const uint8_t *stored) {
    uint8_t checksum[LEAT_CACHE_CHECKSUM_BYTES];

    make_checksum(stored, frame->n_stored, checksum);
    return memcmp(checksum, frame->checksum, sizeof(checksum)) == 0;
}

bool leat_cache_frame_expand(const struct leat_cache_frame *frame, const uint8_t *stored,
                             uint8_t *ret_block) {
    return LZ4_decompress_safe((const char *)stored, (char *)ret_block, (int)frame->n_stored,
                               (int)frame->n_bytes) == (int)frame->n_bytes;
}
