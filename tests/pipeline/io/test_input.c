/* test_input.c: pipeline/io/input.c, codec.c and codecs/: what was compressed comes back, however
 * it is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lzma.h>
#include <zstd.h>

#include "tests/pipeline/shared_input.h"
#include "tests/pipeline/shared_stream.h"

/* ---- what is good ---- */

static void what_was_compressed_comes_back(void **state) {
    static const size_t sizes[] = {0, 1, 15, 1000, 65535, 65536, 65537, 200000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct blob text = make_text(i, sizes[i]);
        check_blob(&text, &text); /* as it is */
        for (unsigned format = 0; format < N_FORMATS; format++)
            for (int k = 0; k < 4; k++) {
                size_t n = k == 0 ? 0 : sizes[i] / 7 + 1 + below(sizes[i] / 2 + 1);
                struct blob blob = compress_text(format, text.data, text.n_bytes, n);
                check_blob(&blob, &text);
                blob_free(&blob);
            }
        blob_free(&text);
    }
}

static void frames_without_data_are_passed_over(void **state) {
    static const uint8_t skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    struct blob text = make_text(3, 5000), nothing = {.data = NULL};

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = {.data = NULL}, one = compress_text(format, text.data, 5000, 0);
        struct blob empty = compress_text(format, "", 0, 0);
        if (format == ZSTD || format == LZ4)
            blob_add(&blob, skippable, sizeof(skippable));
        blob_add(&blob, empty.data, empty.n_bytes);
        blob_add(&blob, one.data, one.n_bytes);
        if (format == ZSTD || format == LZ4)
            blob_add(&blob, skippable, sizeof(skippable));
        blob_add(&blob, empty.data, empty.n_bytes);
        check_blob(&blob, &text);
        check_blob(&empty, &nothing);
        blob_free(&blob);
        blob_free(&one);
        blob_free(&empty);
    }
    blob_free(&text);
}

/* ---- what stands behind the data ---- */

/* As gzip, zstd, lz4, bzip2 and xz do. */
static void garbage_is_as_for_the_tools(void **state) {
    static const bool is_ignored[N_FORMATS] = {[GZIP] = true, [BZIP2] = true};
    static const char zeros[16] = "";
    struct blob text = make_text(4, 3000);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++)
        for (int k = 0; k < 3; k++) {
            struct blob blob = compress_text(format, text.data, text.n_bytes, 1000);
            bool is_good = is_ignored[format] || (format == XZ && k == 1);
            struct result result;
            blob_add(&blob, k == 0 ? "GARBAGE!GARBAGE!" : zeros, k == 2 ? 3 : 16);
            result = read_blob(&blob, false);
            assert_int_equal(result.text.n_bytes, text.n_bytes);
            assert_int_equal(result.err.code, is_good ? 0 : -EBADMSG);
            result_free(&result);
            blob_free(&blob);
        }
    blob_free(&text);
}

static void text_that_looks_compressed_is_text(void **state) {
    static const char *const texts[] = {
        "BZh9 is how bzip2 begins",   "BZ",       "BZh01AY&SY", "BZh:1AY&SY", "BZip",    "\x1f\x8b",
        "\x1f\x8b\x07 is no deflate", "\3757zXZ", "(\xb5/ ",    "\x04\"M ",   "\x02!L ", "P*M\x18"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct blob text = {.data = NULL};
        blob_add(&text, texts[i], strlen(texts[i]));
        check_blob(&text, &text);
        blob_free(&text);
    }
}

/* ---- limits ---- */

static void a_bomb_goes_off_at_its_limit(void **state) {
    struct leat_input_limits limits = {.max_window_bytes = 128 << 20, .max_expansion = 3};
    size_t n = (size_t)LEAT_INPUT_EXPANSION_FREE + (8 << 20);
    struct blob text = {.data = calloc(n, 1), .n_bytes = n};

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, n / 3);
        uint64_t limit = LEAT_INPUT_EXPANSION_FREE + 3 * blob.n_bytes;
        struct result result;
        folder_write("in", blob.data, blob.n_bytes);
        result = read_file(folder_path("in"), &limits, false);
        assert_int_equal(result.err.code, limit < n ? -EBADMSG : 0);
        assert_int_equal(result.text.n_bytes, limit < n ? limit : n);
        if (limit < n)
            assert_non_null(strstr(result.err.message, "max_expansion (3) does not allow"));
        result_free(&result);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* What was decoded ahead counts too, once it is taken up. */
static void a_bomb_in_parts_goes_off_at_its_limit(void **state) {
    struct leat_input_limits limits = {.max_window_bytes = 128 << 20, .max_expansion = 1};
    struct blob zeros = {.data = calloc(1, 60 << 20), .n_bytes = 60 << 20}, noise, file, frame;
    uint64_t limit;

    (void)state;
    assert_non_null(zeros.data);
    noise = make_noise(LEAT_INPUT_RANGE + 5);
    file = compress_text(ZSTD, zeros.data, zeros.n_bytes, 0);
    for (int i = 0; i < 3; i++) {
        frame = i == 0 ? compress_text(ZSTD, noise.data, noise.n_bytes, 0)
                       : compress_text(ZSTD, zeros.data, zeros.n_bytes, 0);
        blob_add(&file, frame.data, frame.n_bytes);
        blob_free(&frame);
    }
    folder_write("in", file.data, file.n_bytes);
    limit = file.n_bytes + LEAT_INPUT_EXPANSION_FREE;
    for (int i = 0; i < 6; i++) {
        struct result result = read_file(folder_path("in"), &limits, i > 0);

        assert_int_equal(result.text.n_bytes, limit);
        assert_int_equal(result.err.code, -EBADMSG);
        result_free(&result);
    }
    blob_free(&zeros);
    blob_free(&noise);
    blob_free(&file);
}

/* Limits that are off, or that no number can hold. */
static void any_expansion_may_be_allowed(void **state) {
    struct blob text = {.data = calloc(1, 70 << 20), .n_bytes = 70 << 20};
    struct blob blob = compress_text(ZSTD, text.data, text.n_bytes, 0);
    uint64_t rows[] = {0, UINT64_MAX, UINT64_MAX / blob.n_bytes};

    (void)state;
    folder_write("in", blob.data, blob.n_bytes);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_input_limits limits = {.max_window_bytes = 128 << 20, .max_expansion = rows[k]};
        struct result result = read_file(folder_path("in"), &limits, false);
        check_text(&result, &text);
        result_free(&result);
    }
    blob_free(&blob);
    blob_free(&text);
}

static struct blob wide(enum format format, const struct blob *text) {
    struct blob blob = {.data = malloc(text->n_bytes + 4096)};
    size_t size = text->n_bytes + 4096;

    assert_non_null(blob.data);
    if (format == ZSTD)
        blob.n_bytes = ZSTD_compress(blob.data, size, text->data, text->n_bytes, 19);
    else
        assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, text->data,
                                                 text->n_bytes, blob.data, &blob.n_bytes, size),
                         LZMA_OK);
    return blob;
}

static void a_wide_window_is_refused(void **state) {
    struct leat_input_limits limits = {.max_window_bytes = 1 << 20};
    struct blob text = make_text(9, 1300000);

    (void)state;
    for (unsigned format = ZSTD; format <= XZ; format += XZ - ZSTD) {
        struct blob blob = wide(format, &text);
        struct result result;
        check_blob(&blob, &text);
        result = read_file(folder_path("in"), &limits, false);
        assert_int_equal(result.err.code, -EBADMSG);
        assert_non_null(
            strstr(result.err.message, "needs more memory than max_window_bytes (1048576)"));
        result_free(&result);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* ---- places ---- */

static void places_of_a_plain_file(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;
    uint64_t n_left = 8;
    char buffer[16];
    size_t n;

    (void)state;
    folder_write("in", "0123456789", 10);
    assert_int_equal(
        leat_input_open(&leat_opener_any, folder_path("in"), &standard_limits, &input, &err), 0);
    assert_false(leat_input_jump(input, 3)); /* it is not known yet what it is */
    assert_int_equal(leat_input_seek(input, &n_left, &err), 0);
    assert_int_equal(n_left, 0);
    assert_int_equal(leat_input_read(input, buffer, sizeof(buffer), &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(leat_input_read(input, buffer, sizeof(buffer), &n, &err), 0);
    assert_int_equal(n, 0);
    assert_true(leat_input_jump(input, 3)); /* also behind its end */
    assert_int_equal(leat_input_read(input, buffer, sizeof(buffer), &n, &err), 0);
    assert_int_equal(n, 7);
    assert_memory_equal(buffer, "3456789", 7);
    assert_int_equal(leat_input_read_at(input, 8, buffer, 2, &err), 0);
    assert_memory_equal(buffer, "89", 2);
    assert_int_equal(leat_input_read_at(input, 8, buffer, 3, &err), -EBADMSG);
    assert_string_equal(err.message, "the file is truncated: it ends at byte 10");
    leat_input_close(input);
}

static void an_object_that_nobody_fetches(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;

    (void)state;
    (void)setenv("LEAT_FETCH_SOCKET", folder_path("none"), 1);
    assert_int_equal(
        leat_input_open(&leat_opener_any, "https://example.org/a", &standard_limits, &input, &err),
        -ENOENT);
    assert_non_null(strstr(err.message, "cannot connect to leat-fetch"));
    (void)unsetenv("LEAT_FETCH_SOCKET");
}

/* ---- FIFOs ---- */

static size_t read_now(struct leat_input *input, char *buffer, size_t size, int *ret_r) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n;

    *ret_r = leat_input_read(input, buffer, size, &n, &err);
    return n;
}

static void a_fifo_is_waited_for(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input, *other;
    char path[256], buffer[64];
    int writer, r;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s", folder_path("fifo"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(leat_input_open(&leat_opener_any, path, &standard_limits, &input, &err), 0);
    assert_true(leat_input_is_one_pass(input));
    assert_int_equal(leat_input_open(&leat_opener_any, path, &standard_limits, &other, &err),
                     -EBUSY);
    assert_int_equal(read_now(input, buffer, sizeof(buffer), &r), 0); /* no writer yet */
    assert_int_equal(r, LEAT_INPUT_WAITING);
    writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(writer, "some text, and more", 19), 19);
    assert_int_equal(read_now(input, buffer, sizeof(buffer), &r), 19);
    assert_memory_equal(buffer, "some text, and more", 19);
    assert_int_equal(read_now(input, buffer, sizeof(buffer), &r), 0);
    assert_int_equal(r, LEAT_INPUT_WAITING);
    (void)close(writer);
    assert_int_equal(read_now(input, buffer, sizeof(buffer), &r), 0);
    assert_int_equal(r, 0);
    leat_input_close(input);
    (void)unlink(path);
}

/* Reads a pipe into which the blob is written in pieces, and waits behind each. */
static void check_pieces(const struct blob *blob, const size_t *pieces, size_t n_pieces,
                         const struct blob *text) {
    struct blob got = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_input *input;
    char path[64], buffer[500];
    size_t n_written = 0, n;
    int fds[2], r;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    assert_int_equal(leat_input_open(&leat_opener_any, path, &standard_limits, &input, &err), 0);
    for (size_t i = 0; i <= n_pieces; i++) {
        size_t left = blob->n_bytes - n_written, more = i < n_pieces ? pieces[i] : left;
        more = more < left ? more : left;
        assert_int_equal(write(fds[1], blob->data + n_written, more), more);
        n_written += more;
        if (i == n_pieces)
            (void)close(fds[1]);
        while ((n = read_now(input, buffer, sizeof(buffer), &r)) > 0 || r == LEAT_INPUT_BOUNDARY)
            blob_add(&got, buffer, n);
        assert_int_equal(r, i < n_pieces ? LEAT_INPUT_WAITING : 0);
    }
    assert_int_equal(got.n_bytes, text->n_bytes);
    assert_memory_equal(got.data, text->data, text->n_bytes);
    leat_input_close(input);
    (void)close(fds[0]);
    blob_free(&got);
}

static void what_comes_compressed_through_a_fifo(void **state) {
    struct blob text = make_text(10, 3000);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 1000);
        static const size_t even[] = {333, 333};
        check_pieces(&blob, even, 2, &text);
        blob_free(&blob);
    }
    blob_free(&text);
}

/* A writer that stops between two frames, or behind a few bytes of the next. */
static void a_fifo_that_stops_between_frames(void **state) {
    struct blob text = make_text(15, 3000);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = {.data = NULL};
        size_t sizes[3], pieces[9];
        for (size_t i = 0; i < 3; i++) {
            struct blob one = compress_text(format, text.data + 1000 * i, 1000, 0);
            blob_add(&blob, one.data, one.n_bytes);
            sizes[i] = one.n_bytes;
            blob_free(&one);
        }
        pieces[0] = 1;
        pieces[1] = 4;
        pieces[2] = sizes[0] - 5; /* all of the first */
        pieces[3] = 3;
        pieces[4] = 10;
        pieces[5] = sizes[1] - 13 - 1;
        pieces[6] = 1 + 7; /* all of the second, and the start of the third */
        pieces[7] = sizes[2] - 7 - 2;
        pieces[8] = 1;
        check_pieces(&blob, pieces, 9, &text);
        blob_free(&blob);
    }
    blob_free(&text);
}

static void a_head_is_read_again(void **state) {
    struct blob text = make_text(11, 100000);

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 30000);
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_input *input;
        static uint8_t all[100001];
        const uint8_t *head;
        size_t n, n_read = 0;
        folder_write("in", blob.data, blob.n_bytes);
        assert_int_equal(
            leat_input_open(&leat_opener_any, folder_path("in"), &standard_limits, &input, &err),
            0);
        for (size_t size = 10; size <= 1000000; size *= 10) {
            assert_int_equal(leat_input_peek(input, size, &head, &n, &err), 0);
            assert_int_equal(n, size < text.n_bytes ? size : text.n_bytes);
            assert_memory_equal(head, text.data, n);
        }
        do {
            assert_int_equal(leat_input_read(input, all + n_read, sizeof(all) - n_read, &n, &err),
                             0);
            n_read += n;
        } while (n > 0);
        assert_int_equal(n_read, text.n_bytes);
        assert_memory_equal(all, text.data, n_read);
        leat_input_close(input);
        blob_free(&blob);
    }
    blob_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_compressed_comes_back),
        cmocka_unit_test(frames_without_data_are_passed_over),
        cmocka_unit_test(garbage_is_as_for_the_tools),
        cmocka_unit_test(text_that_looks_compressed_is_text),
        cmocka_unit_test(a_bomb_goes_off_at_its_limit),
        cmocka_unit_test(a_bomb_in_parts_goes_off_at_its_limit),
        cmocka_unit_test(any_expansion_may_be_allowed),
        cmocka_unit_test(a_wide_window_is_refused),
        cmocka_unit_test(places_of_a_plain_file),
        cmocka_unit_test(an_object_that_nobody_fetches),
        cmocka_unit_test(a_fifo_is_waited_for),
        cmocka_unit_test(what_comes_compressed_through_a_fifo),
        cmocka_unit_test(a_fifo_that_stops_between_frames),
        cmocka_unit_test(a_head_is_read_again),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
