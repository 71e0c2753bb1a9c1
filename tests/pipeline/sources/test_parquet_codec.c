/* test_parquet_codec.c: pipeline/sources/parquet/codec.c: pages of every codec, whole, and with
 * lengths or bytes that are wrong. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "pipeline/sources/parquet/codec.h"
#include "tests/pipeline/shared_compress.h"

#define PLAIN_BYTES 5000U
#define ROOM        (2 * PLAIN_BYTES)

/* Compresses n bytes by a codec, behind what is in the blob. */
static void add_stored(struct blob *blob, enum leat_parquet_codec codec, const uint8_t *plain,
                       size_t n) {
    static uint8_t stored[ROOM];
    size_t n_stored = sizeof(stored);
    uLongf n_zlib = sizeof(stored);
    uint32_t header;

    switch (codec) {
    case LEAT_PARQUET_SNAPPY:
        assert_int_equal(snappy_compress((const char *)plain, n, (char *)stored, &n_stored), 0);
        break;
    case LEAT_PARQUET_GZIP: /* a zlib stream: members of gzip have their own test */
        assert_int_equal(compress(stored, &n_zlib, plain, n), Z_OK);
        n_stored = n_zlib;
        break;
    case LEAT_PARQUET_BROTLI: /* one block that is not compressed, and an empty last one */
        header = (uint32_t)(n - 1) << 4 | UINT32_C(1) << 20;
        memcpy(stored, &header, 3);
        memcpy(stored + 3, plain, n);
        stored[3 + n] = 3;
        n_stored = n + 4;
        break;
    case LEAT_PARQUET_ZSTD:
        n_stored = ZSTD_compress(stored, sizeof(stored), plain, n, 1);
        break;
    case LEAT_PARQUET_LZ4:
    case LEAT_PARQUET_LZ4_HADOOP: /* without lengths */
        n_stored = (size_t)LZ4_compress_default((const char *)plain, (char *)stored, (int)n,
                                                (int)sizeof(stored));
        break;
    default:
        memcpy(stored, plain, n);
        n_stored = n;
    }
    assert_in_range(n_stored, 1, sizeof(stored));
    blob_add(blob, stored, n_stored);
}

/* Expands to n bytes; they must be those of `plain` if it is 0. */
static void check(enum leat_parquet_codec codec, const struct blob *stored, const uint8_t *plain,
                  size_t n, int expected) {
    static uint8_t out[ROOM];
    uint8_t *exact = malloc(stored->n_bytes + 1); /* so that sanitizers see a read behind it */
    int r;

    assert_non_null(exact);
    if (stored->n_bytes)
        memcpy(exact, stored->data, stored->n_bytes);
    memset(out, 0xee, sizeof(out));
    r = leat_parquet_expand(codec, exact, stored->n_bytes, out, n);
    free(exact);
    if (r != expected)
        fail_msg("%s: %zu to %zu bytes: %d, not %d", leat_parquet_codec_name(codec),
                 stored->n_bytes, n, r, expected);
    if (r == 0)
        assert_memory_equal(out, plain, n);
    assert_int_equal(out[n], 0xee);
}

static void lengths_are_exact(void **state) {
    struct blob plain = make_text(1, PLAIN_BYTES);

    (void)state;
    for (int i = 0; i < LEAT_PARQUET_N_CODECS; i++) {
        enum leat_parquet_codec codec = (enum leat_parquet_codec)i;
        struct blob stored = {.data = NULL};

        if (codec == LEAT_PARQUET_LZO)
            continue;
        add_stored(&stored, codec, plain.data, PLAIN_BYTES);
        check(codec, &stored, plain.data, PLAIN_BYTES, 0);
        check(codec, &stored, plain.data, PLAIN_BYTES - 1, -EBADMSG);
        check(codec, &stored, plain.data, PLAIN_BYTES + 1, -EBADMSG);
        check(codec, &stored, plain.data, 1, -EBADMSG);
        stored.n_bytes--;
        check(codec, &stored, plain.data, PLAIN_BYTES, -EBADMSG);
        for (size_t at = 0; codec != LEAT_PARQUET_PLAIN && at < 3; at++) {
            stored.n_bytes = at; /* not even a header */
            check(codec, &stored, plain.data, PLAIN_BYTES, -EBADMSG);
        }
        blob_free(&stored);
    }
    blob_free(&plain);
}

static void too_large_or_unknown(void **state) {
    uint8_t byte = 0;

    (void)state;
    assert_int_equal(leat_parquet_expand(LEAT_PARQUET_LZO, &byte, 1, &byte, 1), -ENOTSUP);
    assert_int_equal(leat_parquet_expand(LEAT_PARQUET_ZSTD, &byte, (size_t)INT_MAX + 1, &byte, 1),
                     -EBADMSG);
    assert_int_equal(leat_parquet_expand(LEAT_PARQUET_ZSTD, &byte, 1, &byte, (size_t)INT_MAX + 1),
                     -EBADMSG);
    assert_string_equal(leat_parquet_codec_name(LEAT_PARQUET_LZ4_HADOOP), "LZ4 (Hadoop)");
}

/* Several members of gzip are one page; what is behind the last one is a fault. */
static void members_of_gzip(void **state) {
    struct blob plain = make_text(2, PLAIN_BYTES);
    struct blob stored = compress_text(GZIP, plain.data, PLAIN_BYTES, 1000);

    (void)state;
    check(LEAT_PARQUET_GZIP, &stored, plain.data, PLAIN_BYTES, 0);
    check(LEAT_PARQUET_GZIP, &stored, plain.data, PLAIN_BYTES - 1, -EBADMSG);
    check(LEAT_PARQUET_GZIP, &stored, plain.data, PLAIN_BYTES + 1, -EBADMSG);
    stored.n_bytes -= 9;
    check(LEAT_PARQUET_GZIP, &stored, plain.data, PLAIN_BYTES, -EBADMSG);
    blob_free(&stored);
    blob_free(&plain);
}

static void add_length(struct blob *blob, size_t n) {
    uint8_t bytes[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

    blob_add(blob, bytes, sizeof(bytes));
}

/* Frames of Hadoop, whose lengths are changed by so much in the frame `lie`. */
static struct blob make_frames(const uint8_t *plain, size_t n, size_t frame_bytes, size_t lie,
                               int plain_lie, int stored_lie) {
    struct blob frames = {.data = NULL};

    for (size_t at = 0, i = 0; at < n; at += frame_bytes, i++) {
        size_t n_here = n - at < frame_bytes ? n - at : frame_bytes;
        struct blob block = {.data = NULL};

        add_stored(&block, LEAT_PARQUET_LZ4, plain + at, n_here);
        add_length(&frames, n_here + (size_t)(i == lie ? plain_lie : 0));
        add_length(&frames, block.n_bytes + (size_t)(i == lie ? stored_lie : 0));
        blob_add(&frames, block.data, block.n_bytes);
        blob_free(&block);
    }
    return frames;
}

static void frames_of_hadoop(void **state) {
    static const struct {
        size_t frame_bytes, lie;
        int plain_lie, stored_lie;
        int expected;
    } rows[] = {
        {PLAIN_BYTES, 9, 0, 0, 0},
        {1000, 9, 0, 0, 0},
        {999, 9, 0, 0, 0},
        {1000, 0, 1, 0, -EBADMSG},
        {1000, 0, -1, 0, -EBADMSG},
        {1000, 4, 1, 0, -EBADMSG},
        {1000, 4, 0, 1, -EBADMSG},
        {1000, 4, 0, -1, -EBADMSG},
        {1000, 2, INT_MAX, 0, -EBADMSG},
        {1000, 2, 0, INT_MAX, -EBADMSG},
        {PLAIN_BYTES, 0, -2, 0, -EBADMSG},
        {PLAIN_BYTES, 0, 0, 1, -EBADMSG},
    };
    struct blob plain = make_text(3, PLAIN_BYTES);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct blob frames = make_frames(plain.data, PLAIN_BYTES, rows[i].frame_bytes, rows[i].lie,
                                         rows[i].plain_lie, rows[i].stored_lie);

        check(LEAT_PARQUET_LZ4_HADOOP, &frames, plain.data, PLAIN_BYTES, rows[i].expected);
        if (rows[i].expected == 0) {
            check(LEAT_PARQUET_LZ4_HADOOP, &frames, plain.data, PLAIN_BYTES - 1, -EBADMSG);
            check(LEAT_PARQUET_LZ4_HADOOP, &frames, plain.data, PLAIN_BYTES + 1, -EBADMSG);
            blob_add(&frames, "end", 3); /* more than frames */
            check(LEAT_PARQUET_LZ4_HADOOP, &frames, plain.data, PLAIN_BYTES, -EBADMSG);
        }
        blob_free(&frames);
    }
    blob_free(&plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_exact),
        cmocka_unit_test(too_large_or_unknown),
        cmocka_unit_test(members_of_gzip),
        cmocka_unit_test(frames_of_hadoop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
