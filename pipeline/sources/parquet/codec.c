#include "pipeline/sources/parquet/codec.h"

#include <brotli/decode.h>
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

const char *leat_parquet_codec_name(enum leat_parquet_codec codec) {
    static const char *const names[LEAT_PARQUET_N_CODECS] = {
        "no compression", "snappy", "gzip", "LZO", "brotli", "LZ4 (Hadoop)", "zstd", "LZ4_RAW"};

    return names[codec];
}

static int expand_snappy(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    size_t n = 0;

    if (snappy_uncompressed_length((const char *)from, n_from, &n) != SNAPPY_OK || n != n_to)
        return -EBADMSG;
    return snappy_uncompress((const char *)from, n_from, (char *)to, &n) == SNAPPY_OK ? 0
                                                                                      : -EBADMSG;
}

/* Also a zlib stream, and several members of gzip. */
static int expand_gzip(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)from,
                       .avail_in = (uInt)n_from,
                       .next_out = to,
                       .avail_out = (uInt)n_to};
    int r = inflateInit2(&stream, MAX_WBITS + 32);

    if (r != Z_OK)
        return -ENOMEM;
    while ((r = inflate(&stream, Z_FINISH)) == Z_STREAM_END && stream.avail_out > 0 &&
           stream.avail_in > 0)
        (void)inflateReset(&stream);
    (void)inflateEnd(&stream);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    return r == Z_STREAM_END && stream.avail_out == 0 ? 0 : -EBADMSG;
}

static int expand_brotli(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    size_t n = n_to;

    return BrotliDecoderDecompress(n_from, from, &n, to) == BROTLI_DECODER_RESULT_SUCCESS &&
                   n == n_to
               ? 0
               : -EBADMSG;
}

static int expand_zstd(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    size_t n = ZSTD_decompress(to, n_to, from, n_from);

    if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        return -ENOMEM;
    return !ZSTD_isError(n) && n == n_to ? 0 : -EBADMSG;
}

static int expand_lz4(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    int n = LZ4_decompress_safe((const char *)from, (char *)to, (int)n_from, (int)n_to);

    return n >= 0 && (size_t)n == n_to ? 0 : -EBADMSG;
}

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Hadoop's frames: both lengths (uint32, big-endian), and a block of LZ4. Some writers leave the
 * lengths out. */
static int expand_hadoop(const uint8_t *from, size_t n_from, uint8_t *to, size_t n_to) {
    const uint8_t *at = from, *end = from + n_from;
    size_t n_done = 0;

    while ((size_t)(end - at) >= 8) {
        uint32_t n_plain = big_endian(at), n_block = big_endian(at + 4);

        at += 8;
        if (n_block > (size_t)(end - at) || n_plain > n_to - n_done ||
            expand_lz4(at, n_block, to + n_done, n_plain) < 0)
            break;
        at += n_block;
        n_done += n_plain;
    }
    return at == end && n_done == n_to ? 0 : expand_lz4(from, n_from, to, n_to);
}

int leat_parquet_expand(enum leat_parquet_codec codec, const uint8_t *from, size_t n_from,
                        uint8_t *to, size_t n_to) {
    if (n_from > INT_MAX || n_to > INT_MAX)
        return -EBADMSG;
    switch (codec) {
    case LEAT_PARQUET_PLAIN:
        if (n_from != n_to)
            return -EBADMSG;
        memcpy(to, from, n_to);
        return 0;
    case LEAT_PARQUET_SNAPPY:
        return expand_snappy(from, n_from, to, n_to);
    case LEAT_PARQUET_GZIP:
        return expand_gzip(from, n_from, to, n_to);
    case LEAT_PARQUET_BROTLI:
        return expand_brotli(from, n_from, to, n_to);
    case LEAT_PARQUET_LZ4_HADOOP:
        return expand_hadoop(from, n_from, to, n_to);
    case LEAT_PARQUET_ZSTD:
        return expand_zstd(from, n_from, to, n_to);
    case LEAT_PARQUET_LZ4:
        return expand_lz4(from, n_from, to, n_to);
    default:
        return -ENOTSUP;
    }
}
