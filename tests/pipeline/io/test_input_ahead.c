/* test_input_ahead.c: pipeline/io/input_ahead.c: what is decoded ahead is taken up where it is what
 * follows, and nowhere else. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>
#include <zstd.h>

#include "tests/pipeline/shared_input.h"
#include "tests/pipeline/shared_stream.h"

/* Frames that begin all over a file of many ranges. */
static void what_is_ahead_is_taken_up(void **state) {
    struct blob text = make_noise(4 << 20);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 300000);
        size_t n_adopted = 0;
        assert_true(blob.n_bytes > 3 * LEAT_INPUT_RANGE);
        for (int i = 0; i < 3; i++) {
            struct result result = read_blob(&blob, true);
            check_text(&result, &text);
            n_adopted += result.n_adopted;
            result_free(&result);
        }
        if (n_adopted == 0)
            fail_msg("%s: nothing was taken up", format_names[format]);
        blob_free(&blob);
    }
    blob_free(&text);
}

static void nothing_is_ahead_in_one_long_frame(void **state) {
    struct blob text = make_noise(5 << 20);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 0);
        folder_write("in", blob.data, blob.n_bytes);
        for (uint64_t range = 1; range < 4; range++) {
            struct leat_input *ahead;
            assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path("in"),
                                                   &standard_limits, range, 1 << 22, &ahead),
                             0);
            assert_null(ahead);
        }
        check_blob(&blob, &text);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* The last frames of a file end within their range: what is ahead of them meets the file's end. */
static void the_end_of_the_file_is_ahead_too(void **state) {
    struct blob text = make_noise((3 << 20) / 2);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 100000);
        assert_in_range(blob.n_bytes, LEAT_INPUT_RANGE + 300000, 2 * LEAT_INPUT_RANGE);
        assert_true(count_adopted(&blob, &text, 12) > 0);
        blob_free(&blob);
    }
    blob_free(&text);
}

static void add_xz(struct blob *file, const uint8_t *data, size_t n_bytes, size_t n_block,
                   lzma_check kind) {
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t size = n_bytes + n_bytes / 4 + 65536;
    uint8_t *out = malloc(size);

    assert_non_null(out);
    assert_int_equal(lzma_easy_encoder(&stream, 0, kind), LZMA_OK);
    stream.next_out = out;
    stream.avail_out = size;
    for (size_t at = 0; at < n_bytes; at += n_block) {
        bool is_last = at + n_block >= n_bytes;
        stream.next_in = data + at;
        stream.avail_in = is_last ? n_bytes - at : n_block;
        assert_int_equal(lzma_code(&stream, is_last ? LZMA_FINISH : LZMA_FULL_FLUSH),
                         LZMA_STREAM_END);
    }
    blob_add(file, out, size - stream.avail_out);
    lzma_end(&stream);
    free(out);
}

/* As `cat a.xz b.xz` makes it, with other checksums in each: what is ahead knows only the first
 * header of the file. */
static void streams_of_xz_with_other_checksums(void **state) {
    static const struct {
        lzma_check first, second;
        size_t n_block;
        bool is_adopted;
    } rows[] = {
        {LZMA_CHECK_CRC32, LZMA_CHECK_CRC32, 100000, true},
        {LZMA_CHECK_CRC64, LZMA_CHECK_NONE, 100000, false},
        {LZMA_CHECK_CRC32, LZMA_CHECK_SHA256, 100000, false},
        {LZMA_CHECK_NONE, LZMA_CHECK_CRC64, 1500000, false}, /* as a block alone it is good */
    };
    struct blob text = make_noise(3 << 20);

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct blob blob = {.data = NULL};
        add_xz(&blob, text.data, 300000, 300000, rows[k].first);
        add_xz(&blob, text.data + 300000, text.n_bytes - 300000, rows[k].n_block, rows[k].second);
        assert_int_equal(count_adopted(&blob, &text, 6) > 0, rows[k].is_adopted);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* The first place of a range where a frame begins may be the header of another stream. */
static void another_stream_of_xz_is_taken_up(void **state) {
    struct blob text = make_noise(2 << 20), blob = {.data = NULL};
    size_t n = LEAT_INPUT_RANGE - 200;

    (void)state;
    while (blob.n_bytes <= LEAT_INPUT_RANGE) { /* its last block ends in the range before */
        blob.n_bytes = 0;
        n++;
        add_xz(&blob, text.data, n, n, LZMA_CHECK_CRC32);
    }
    assert_in_range(blob.n_bytes, LEAT_INPUT_RANGE + 4, LEAT_INPUT_RANGE + 16);
    add_xz(&blob, text.data + n, text.n_bytes - n, 300000, LZMA_CHECK_CRC64);
    assert_true(count_adopted(&blob, &text, 12) > 0);
    blob_free(&blob);
    blob_free(&text);
}

/* Noise does not get fewer, so that all of a compressed file stands within another one as it is.
 * Its frames decode, and are none of the outer file. */
static void files_within_files(void **state) {
    struct blob noise = make_noise(3 << 20);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob inner = compress_text(format, noise.data, noise.n_bytes, 50000);
        struct blob outer = compress_text(format, inner.data, inner.n_bytes, 2500000);
        for (int i = 0; i < 3; i++)
            check_blob(&outer, &inner);
        blob_free(&outer);
        blob_free(&inner);
    }
    blob_free(&noise);
}

/* Bytes that look like the start of a frame, all over the data of real frames. */
static void what_looks_like_a_frame(void **state) {
    static const struct {
        enum format format;
        const char *head;
        size_t n_bytes;
    } rows[] = {
        {GZIP, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10},
        {GZIP, "\x1f\x8b\x08\0\0\0\0\0\x02\x03", 10},
        {GZIP, "\x1f\x8b\x08\0\0\0\0\0\x04\x0e", 10},
        {GZIP, "\x1f\x8b\x08\0\0\0\0\0\x03\x03", 10},
        {GZIP, "\x1f\x8b\x08\xe0\0\0\0\0\0\x03", 10},
        {GZIP, "\x1f\x8b\x07\0\0\0\0\0\0\x03", 10},
        {ZSTD, "\x28\xb5\x2f\xfd\x28\x10", 6},
        {ZSTD, "\x28\xb5\x2f\xfe\x20\x10", 6},
        {ZSTD, "\x28\xb5\x2f\xfd\x20\x10\xff\xff", 8},
        {LZ4, "\x04\x22\x4d\x18\x40\x40\xc0", 7},
        {LZ4, "\x04\x22\x4d\x18\x80\x40\xc0", 7},
        {LZ4, "\x04\x22\x4d\x18\x42\x40\xc0", 7},
        {LZ4, "\x04\x22\x4d\x18\x40\xc1\xc0", 7},
        {LZ4, "\x04\x22\x4d\x18\x40\x30\xc0", 7},
        {BZIP2, "BZh91AY&SY", 10},
        {BZIP2, "BZh01AY&SY", 10},
        {BZIP2, "BZh:1AY&SY", 10},
        {BZIP2, "BZh9\x17rE8P\x90", 10},
        {XZ,
         "\xfd"
         "7zXZ\0\0\x04",
         8},
        {XZ, "\0\x02\0\x21\x01\x16\0\0\0", 9},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct blob text = make_noise(5 << 19), blob;
        for (size_t at = 4096; at + 4096 < text.n_bytes; at += 100000)
            memcpy(text.data + at, rows[k].head, rows[k].n_bytes);
        blob = compress_text(rows[k].format, text.data, text.n_bytes, 400000);
        for (int i = 0; i < 2; i++)
            check_blob(&blob, &text);
        blob_free(&blob);
        blob_free(&text);
    }
}

/* The last two bytes of a member's header tell who wrote it. */
static void members_of_gzip_by_any_compressor(void **state) {
    static const struct {
        uint8_t level, system;
        bool is_adopted;
    } rows[] = {{0, 255, true}, {2, 3, true},  {4, 0, true},
                {0, 13, true},  {1, 3, false}, {0, 14, false}};
    struct blob text = make_noise(5 << 18);

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct blob blob = {.data = NULL};
        for (size_t at = 0; at < text.n_bytes; at += 65536) {
            struct blob one = compress_text(GZIP, text.data + at, 65536, 0);
            one.data[8] = rows[k].level;
            one.data[9] = rows[k].system;
            blob_add(&blob, one.data, one.n_bytes);
            blob_free(&one);
        }
        assert_int_equal(count_adopted(&blob, &text, 12) > 0, rows[k].is_adopted);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* A frame that asks for much memory is not decoded ahead. */
static void wide_frames_are_not_ahead(void **state) {
    struct blob text = make_noise(5 << 18), blob = {.data = NULL};
    ZSTD_CCtx *context = ZSTD_createCCtx();
    struct leat_input *ahead;
    uint8_t *out = malloc(1 << 18);

    (void)state;
    assert_true(context && out);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 25);
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    for (size_t at = 0; at < text.n_bytes; at += 1 << 17) {
        ZSTD_inBuffer in = {.src = text.data + at, .size = 1 << 17};
        ZSTD_outBuffer to = {.dst = out, .size = 1 << 18};
        assert_int_equal(ZSTD_compressStream2(context, &to, &in, ZSTD_e_flush), 0);
        assert_int_equal(ZSTD_compressStream2(context, &to, &in, ZSTD_e_end), 0);
        blob_add(&blob, out, to.pos);
    }
    check_blob(&blob, &text);
    assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path("in"), &standard_limits, 1,
                                           1 << 24, &ahead),
                     0);
    assert_null(ahead);
    (void)ZSTD_freeCCtx(context);
    free(out);
    blob_free(&blob);
    blob_free(&text);
}

/* Returns what is ahead of an input of `in` that has just reported a boundary. */
static struct leat_input *at_boundary(struct leat_input **ret_ahead) {
    static uint8_t buffer[READ_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;
    size_t n;
    int r;

    assert_int_equal(
        leat_input_open(&leat_opener_any, folder_path("in"), &standard_limits, &input, &err), 0);
    do
        r = leat_input_read(input, buffer, sizeof(buffer), &n, &err);
    while (r == 0 && n > 0);
    assert_int_equal(r, LEAT_INPUT_BOUNDARY);
    assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path("in"), &standard_limits,
                                           leat_input_offset(input) / LEAT_INPUT_RANGE, 1 << 24,
                                           ret_ahead),
                     0);
    assert_non_null(*ret_ahead);
    return input;
}

/* An input goes on only with what is ahead in the same file, and only from the byte that it has
 * reached. */
static void only_what_follows_is_taken_up(void **state) {
    static uint8_t buffer[READ_MAX];
    struct blob text = make_noise(5 << 19);
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 100000);
        struct leat_input *input, *ahead, *other;
        size_t n;
        folder_write("in", blob.data, blob.n_bytes);
        input = at_boundary(&ahead);
        assert_int_equal(rename(folder_path("in"), folder_path("old")), 0);
        folder_write("in", blob.data, blob.n_bytes);
        leat_input_close(at_boundary(&other));
        assert_false(leat_input_adopt(other, input)); /* the file was replaced */
        leat_input_close(other);
        assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path("old"),
                                               &standard_limits, 2, 1 << 24, &other),
                         0);
        assert_non_null(other);
        assert_false(leat_input_adopt(other, input)); /* another place */
        leat_input_close(other);
        assert_int_equal(leat_input_read(input, buffer, 100, &n, &err), 0);
        assert_false(leat_input_adopt(ahead, input)); /* it has gone on */
        leat_input_close(ahead);
        leat_input_close(input);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* What cannot be decoded ahead is no failure. */
static void nothing_is_ahead(void **state) {
    struct blob text = make_noise(5 << 18);
    struct blob blob = compress_text(XZ, text.data, text.n_bytes, 100000);
    struct leat_input *ahead;

    (void)state;
    folder_write("plain", text.data, text.n_bytes);
    blob.data[9] ^= 1; /* the checksum of the file's header */
    folder_write("in", blob.data, blob.n_bytes);
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    for (unsigned k = 0; k < 5; k++) {
        const char *name = ((const char *[]){"none", "pipe", "in", "plain", "in"})[k];
        assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path(name),
                                               &standard_limits, k < 4 ? 1 : 0, 1 << 24, &ahead),
                         0);
        assert_null(ahead);
    }
    (void)unlink(folder_path("pipe"));
    blob_free(&blob);
    blob_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_ahead_is_taken_up),
        cmocka_unit_test(nothing_is_ahead_in_one_long_frame),
        cmocka_unit_test(the_end_of_the_file_is_ahead_too),
        cmocka_unit_test(streams_of_xz_with_other_checksums),
        cmocka_unit_test(another_stream_of_xz_is_taken_up),
        cmocka_unit_test(files_within_files),
        cmocka_unit_test(what_looks_like_a_frame),
        cmocka_unit_test(members_of_gzip_by_any_compressor),
        cmocka_unit_test(wide_frames_are_not_ahead),
        cmocka_unit_test(only_what_follows_is_taken_up),
        cmocka_unit_test(nothing_is_ahead),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
