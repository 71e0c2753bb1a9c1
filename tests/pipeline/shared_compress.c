/* shared_compress.c: see shared_compress.h. */
#include "tests/pipeline/shared_compress.h"

#include <assert.h>
#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/proto/shared_random.h"

const char *const format_names[N_FORMATS] = {"gzip", "zstd", "lz4", "bzip2", "xz"};

void blob_add(struct blob *blob, const void *data, size_t n_bytes) {
    if (blob->n_bytes + n_bytes >= blob->capacity) {
        blob->capacity = 2 * (blob->n_bytes + n_bytes) + 64;
        blob->data = realloc(blob->data, blob->capacity);
        assert(blob->data);
    }
    if (n_bytes)
        memcpy(blob->data + blob->n_bytes, data, n_bytes);
    blob->n_bytes += n_bytes;
}

void blob_free(struct blob *blob) {
    free(blob->data);
    *blob = (struct blob){.data = NULL};
}

static size_t gzip_frame(uint8_t *out, size_t size, const uint8_t *text, size_t n) {
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)text,
                       .avail_in = (uInt)n,
                       .next_out = out,
                       .avail_out = (uInt)size};

    assert(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    (void)deflateEnd(&stream);
    return size - stream.avail_out;
}

static size_t bzip2_frame(uint8_t *out, size_t size, const uint8_t *text, size_t n) {
    unsigned n_out = (unsigned)size;
    int r = BZ2_bzBuffToBuffCompress((char *)out, &n_out, (char *)(uintptr_t)text, (unsigned)n, 1,
                                     0, 0);

    assert(r == BZ_OK);
    return n_out;
}

static size_t frame(enum format format, uint8_t *out, size_t size, const uint8_t *text, size_t n) {
    switch (format) {
    case GZIP:
        return gzip_frame(out, size, text, n);
    case ZSTD:
        return ZSTD_compress(out, size, text, n, 1);
    case LZ4:
        return LZ4F_compressFrame(out, size, text, n, NULL);
    default:
        return bzip2_frame(out, size, text, n);
    }
}

static void run(lzma_stream *stream, lzma_action action, uint8_t *buffer, size_t size,
                struct blob *blob) {
    lzma_ret r;

    do {
        stream->next_out = buffer;
        stream->avail_out = size;
        r = lzma_code(stream, action);
        assert(r == LZMA_OK || r == LZMA_STREAM_END);
        blob_add(blob, buffer, size - stream->avail_out);
    } while (r != LZMA_STREAM_END);
}

static void xz_stream(const uint8_t *text, size_t n_bytes, size_t frame_bytes, struct blob *blob) {
    lzma_stream stream = LZMA_STREAM_INIT;
    uint8_t buffer[4096];

    assert(lzma_easy_encoder(&stream, 0, LZMA_CHECK_CRC32) == LZMA_OK);
    for (size_t at = 0; at < n_bytes; at += frame_bytes) {
        stream.next_in = text + at;
        stream.avail_in = frame_bytes < n_bytes - at ? frame_bytes : n_bytes - at;
        run(&stream, LZMA_FULL_FLUSH, buffer, sizeof(buffer), blob);
    }
    run(&stream, LZMA_FINISH, buffer, sizeof(buffer), blob);
    lzma_end(&stream);
}

struct blob compress_text(enum format format, const void *text, size_t n_bytes,
                          size_t frame_bytes) {
    size_t n_frame = frame_bytes ? frame_bytes : n_bytes ? n_bytes : 1, at = 0;
    size_t size = 2 * n_frame + 65536;
    struct blob blob = {.data = NULL};
    uint8_t *out = malloc(size);

    assert(out);
    if (format == XZ) {
        xz_stream(text, n_bytes, n_frame, &blob);
        at = n_bytes + 1;
    }
    while (at < n_bytes || (at == 0 && n_bytes == 0)) {
        size_t n = n_frame < n_bytes - at ? n_frame : n_bytes - at;
        blob_add(&blob, out, frame(format, out, size, (const uint8_t *)text + at, n));
        at += n ? n : 1;
    }
    free(out);
    return blob;
}

struct blob make_text(uint64_t seed, size_t n_bytes) {
    static const char letters[] = "etaoinsrhldcu";
    struct blob blob = {.data = malloc(n_bytes + 1), .n_bytes = n_bytes};
    uint64_t state = seed;

    assert(blob.data);
    for (size_t i = 0; i < n_bytes; i++) {
        uint64_t drawn = random_below(&state, 90);
        blob.data[i] = drawn == 0   ? '\n'
                       : drawn < 15 ? ' '
                                    : (uint8_t)letters[drawn % (sizeof(letters) - 1)];
        if (i >= 64 && drawn > 83 && i + 16 < n_bytes) { /* something again */
            size_t from = i - 16 - random_below(&state, 48);
            memmove(blob.data + i, blob.data + from, 15);
            i += 14;
        }
    }
    return blob;
}
