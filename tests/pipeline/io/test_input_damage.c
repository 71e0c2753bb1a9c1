/* test_input_damage.c: pipeline/io/codecs/: damage is told, and shows at the same byte whoever
 * meets it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lzma.h>

#include "tests/pipeline/shared_input.h"
#include "tests/pipeline/shared_stream.h"

/* It says where the file ends, or that these few bytes begin no frame. */
static void check_cut(const struct result *result, enum format format, size_t n) {
    char expected[100];
    unsigned long long at;

    (void)snprintf(expected, sizeof(expected), "%s: the file is truncated: it ends at byte %zu, ",
                   format_names[format], n);
    if (strstr(result->err.message, expected))
        return;
    assert_non_null(strstr(result->err.message, ": unknown data follows the last "));
    assert_int_equal(sscanf(strstr(result->err.message, "byte "), "byte %llu", &at), 1);
    assert_in_range(at, n - 7, n - 1);
}

static void every_cut_is_seen(void **state) {
    struct blob text = make_text(5, 2000);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 700);
        size_t n_whole = 0;
        for (size_t n = 12; n < blob.n_bytes; n++) {
            struct blob cut = {.data = blob.data, .n_bytes = n};
            struct result result = read_blob(&cut, false);
            check_prefix(&result, &text);
            n_whole += result.err.code == 0;
            if (result.err.code)
                check_cut(&result, format, n);
            result_free(&result);
        }
        /* between frames it cannot be told; gzip and bzip2 take what begins no frame for garbage */
        assert_in_range(n_whole, format == XZ ? 0 : 2, format == XZ ? 0 : 20);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* A damaged file gives an error with that message, behind the first bytes of the text. */
static void check_damaged(const struct blob *blob, const struct blob *text, size_t row,
                          const char *message) {
    struct result result = read_blob(blob, false);

    check_prefix(&result, text);
    assert_int_equal(result.err.code, -EBADMSG);
    if (!strstr(result.err.message, message))
        fail_msg("row %zu: %s", row, result.err.message);
    result_free(&result);
}

/* Files that are damaged at one byte, or are none: what is said, and how much comes before. */
static void damaged_heads_are_told(void **state) {
    static const struct {
        enum format format;
        int at; /* from the end, if it is negative */
        uint8_t byte;
        const char *message;
    } rows[] = {
        {GZIP, 3, 0xe0, "gzip: the file is damaged near byte "},
        {GZIP, 10, 0x07, "gzip: the file is damaged near byte "},
        {GZIP, -1, 0x7f, "incorrect length check"},
        {GZIP, -5, 0x7f, "incorrect data check"},
        {ZSTD, 4, 0x28, "zstd: the file is damaged near byte 0: "},
        {ZSTD, 4, 0x23, "zstd: the file is damaged near byte "}, /* a dictionary */
        {LZ4, 4, 0x82, "lz4: the file is damaged near byte "},
        {LZ4, 5, 0xff, "lz4: the file is damaged near byte "},
        {LZ4, 6, 0x01, "lz4: the file is damaged near byte "},
        {BZIP2, 12, 0x01, "bzip2: the file is damaged near byte "},
        {BZIP2, -2, 0x55, "bzip2: the file is damaged near byte "},
        {XZ, 6, 0x01, "xz: the file is damaged near byte "},
        {XZ, 8, 0x01, "xz: the file is damaged near byte "},
        {XZ, 13, 0x3c, "xz: the file is damaged near byte "},
        {XZ, -1, 'X', "the xz header is invalid"},
        {XZ, -6, 0x7f, "xz: the file is damaged near byte "}, /* the size of the index */
    };
    struct blob text = make_text(12, 3000);

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct blob blob = compress_text(rows[k].format, text.data, text.n_bytes, 0);
        blob.data[rows[k].at < 0 ? (int)blob.n_bytes + rows[k].at : rows[k].at] = rows[k].byte;
        check_damaged(&blob, &text, k, rows[k].message);
        blob_free(&blob);
    }
    blob_free(&text);
}

static void set_crc(uint8_t *data, size_t n_bytes) {
    uint32_t crc = lzma_crc32(data, n_bytes, 0);

    for (int i = 0; i < 4; i++)
        data[n_bytes + (size_t)i] = (uint8_t)(crc >> 8 * i);
}

/* Headers and footers of xz that are whole, and do not fit together. */
static void parts_of_xz_that_do_not_fit(void **state) {
    static const struct {
        int at; /* from the end, if it is negative */
        uint8_t byte;
        int crc_at;
        size_t n_crc;
        const char *message;
    } rows[] = {
        {7, 0x0f, 6, 2, "a filter or checksum that the installed liblzma does not support"},
        {7, 0x04, 6, 2, "a checksum, size or code is wrong"}, /* of another kind than announced */
        {14, 0x05, 12, 8, "a filter or checksum that the installed liblzma does not support"},
        {-8, 0x7f, -8, 6, "a checksum, size or code is wrong"}, /* the size of the index */
        {-3, 0x04, -8, 6, "a checksum, size or code is wrong"}, /* the flags of the header */
    };
    struct blob text = make_text(13, 3000);

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct blob blob = compress_text(XZ, text.data, text.n_bytes, 0);
        uint8_t *end = blob.data + blob.n_bytes, *crc = rows[k].crc_at < 0 ? end - 12 : NULL;
        (rows[k].at < 0 ? end : blob.data)[rows[k].at] = rows[k].byte;
        if (crc) { /* in front of what it is of */
            uint32_t value = lzma_crc32(end + rows[k].crc_at, rows[k].n_crc, 0);
            for (int i = 0; i < 4; i++)
                crc[i] = (uint8_t)(value >> 8 * i);
        } else {
            set_crc(blob.data + rows[k].crc_at, rows[k].n_crc);
        }
        check_damaged(&blob, &text, k, rows[k].message);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* The same if it was to begin elsewhere, which a compressed file does not do. */
static void check_after_seek(int code, const struct blob *text) {
    static uint8_t buffer[READ_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;
    uint64_t n_left = 7;
    size_t n;
    int r;

    assert_int_equal(
        leat_input_open(&leat_opener_any, folder_path("in"), &standard_limits, &input, &err), 0);
    assert_int_equal(leat_input_seek(input, &n_left, &err), 0);
    assert_int_equal(n_left, 7);
    assert_false(leat_input_jump(input, 7));
    r = leat_input_read(input, buffer, sizeof(buffer), &n, &err);
    while (r == LEAT_INPUT_BOUNDARY)
        r = leat_input_read(input, buffer, sizeof(buffer), &n, &err);
    assert_int_equal(r, code);
    assert_int_equal(n, code ? 0 : text->n_bytes);
    leat_input_close(input);
}

/* Frames without data decide nothing; if they are long, the file is of zstd. */
static void what_follows_frames_without_data(void **state) {
    static const struct {
        uint32_t n_skipped;
        int format; /* N_FORMATS: none of them */
        int code;
    } rows[] = {
        {3, ZSTD, 0},          {3, LZ4, 0},           {3, GZIP, -EBADMSG}, {3, N_FORMATS, -EBADMSG},
        {5000, ZSTD, 0},       {5000, LZ4, -EBADMSG}, {70000, ZSTD, 0},    {1016, ZSTD, 0},
        {1015, LZ4, -EBADMSG}, {1010, LZ4, 0}};
    struct blob text = make_text(14, 3000);

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        uint32_t n = rows[k].n_skipped;
        uint8_t head[8] = {
            0x50, 0x2a, 0x4d, 0x18, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16)};
        struct blob blob = {.data = NULL}, nothing = {.data = calloc(1, n), .n_bytes = n}, one;
        struct result result;
        one = compress_text(rows[k].format == N_FORMATS ? GZIP : (enum format)rows[k].format,
                            text.data, text.n_bytes, 0);
        blob_add(&blob, head, sizeof(head));
        blob_add(&blob, nothing.data, n);
        blob_add(&blob, rows[k].format == N_FORMATS ? text.data : one.data, one.n_bytes);
        result = read_blob(&blob, false);
        if (result.err.code != rows[k].code)
            fail_msg("row %zu: %s", k, result.err.message);
        if (rows[k].code == 0)
            check_text(&result, &text);
        else
            assert_non_null(strstr(result.err.message, ": the file is damaged near byte "));
        check_after_seek(rows[k].code, &text);
        result_free(&result);
        blob_free(&nothing);
        blob_free(&one);
        blob_free(&blob);
    }
    blob_free(&text);
}

static void check_damage(const struct blob *blob) {
    struct result first = read_blob(blob, false);

    for (int i = 0; i < 2; i++) {
        struct result again = read_blob(blob, true);
        assert_int_equal(again.err.code, first.err.code);
        assert_string_equal(again.err.message, first.err.message);
        assert_int_equal(again.text.n_bytes, first.text.n_bytes);
        if (first.text.n_bytes)
            assert_memory_equal(again.text.data, first.text.data, first.text.n_bytes);
        result_free(&again);
    }
    result_free(&first);
}

/* The same bytes come in front of the damage, and the same message, whoever began to read where.
 * They may be wrong, where a format's checksums stand only at the ends of frames. */
static void damage_is_at_the_same_place(void **state) {
    struct blob text = make_noise(3 << 20);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 400000);
        for (int i = 0; i < 6; i++) {
            size_t at = below(blob.n_bytes), n = blob.n_bytes;
            uint8_t before = blob.data[at];
            if (i % 3 == 2)
                blob.n_bytes = at;
            else
                blob.data[at] ^= (uint8_t)(1 + below(255));
            check_damage(&blob);
            blob.n_bytes = n;
            blob.data[at] = before;
        }
        blob_free(&blob);
    }
    blob_free(&text);
}

static void lz4s_legacy_format_is_told_apart(void **state) {
    static const char legacy[] = "\x02\x21\x4c\x18\x08\0\0\0abcdefgh";
    struct blob blob = {.data = (uint8_t *)(uintptr_t)legacy, .n_bytes = sizeof(legacy) - 1};
    struct result result = read_blob(&blob, false);

    (void)state;
    assert_int_equal(result.err.code, -EBADMSG);
    assert_non_null(strstr(result.err.message, "legacy format"));
    result_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut_is_seen),
        cmocka_unit_test(damaged_heads_are_told),
        cmocka_unit_test(parts_of_xz_that_do_not_fit),
        cmocka_unit_test(what_follows_frames_without_data),
        cmocka_unit_test(damage_is_at_the_same_place),
        cmocka_unit_test(lz4s_legacy_format_is_told_apart),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
