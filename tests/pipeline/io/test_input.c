/* test_input.c: pipeline/io/input.c, input_ahead.c, codec.c and codecs/: what was compressed comes
 * back, however it is read, and damage shows at the same byte whoever meets it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <lzma.h>
#include <zstd.h>

#include "pipeline/io/input.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_stream.h"
#include "tests/proto/shared_random.h"

#define READ_MAX (300U << 10)

static const struct leat_input_limits standard = {.max_window_bytes = 128 << 20,
                                                  .max_expansion = 1000};
static uint64_t state_ = 1;

static size_t below(size_t n) {
    return (size_t)random_below(&state_, n);
}

/* Of many ranges when compressed, and still quickly read: bytes that do not get fewer. */
static struct blob make_noise(size_t n_bytes) {
    struct blob noise = {.data = malloc(n_bytes), .n_bytes = n_bytes};

    assert_non_null(noise.data);
    for (size_t i = 0; i < n_bytes; i++)
        noise.data[i] = (uint8_t)below(256);
    return noise;
}

/* What an input gives, and how it ends. */
struct result {
    struct blob text;
    struct leat_error err;
    size_t n_adopted;
};

static void result_free(struct result *result) {
    blob_free(&result->text);
}

/* with_ahead: tries to go on with inputs that were decoded ahead, now and then. */
static struct result read_file(const char *path, const struct leat_input_limits *limits,
                               bool with_ahead) {
    struct result result = {.err = LEAT_ERROR_INIT};
    static uint8_t buffer[READ_MAX];
    size_t max = 1 + below(below(2) ? READ_MAX : 3000), n;
    struct leat_input *input, *ahead;
    int r;

    assert_int_equal(leat_input_open(&leat_opener_any, path, limits, &input, &result.err), 0);
    do {
        r = leat_input_read(input, buffer, 1 + below(max), &n, &result.err);
        blob_add(&result.text, buffer, n);
        if (r != LEAT_INPUT_BOUNDARY || !with_ahead || below(4) == 0)
            continue;
        assert_int_equal(leat_input_open_ahead(&leat_opener_any, path, limits,
                                               leat_input_offset(input) / LEAT_INPUT_RANGE,
                                               LEAT_INPUT_RANGE << below(5), &ahead),
                         0);
        if (ahead && leat_input_adopt(ahead, input)) {
            leat_input_close(input);
            input = ahead;
            result.n_adopted++;
        } else {
            leat_input_close(ahead);
        }
    } while (r == LEAT_INPUT_BOUNDARY || (r == 0 && n > 0));
    assert_int_equal(r, result.err.code);
    for (int i = 0; r < 0 && i < 3; i++) { /* an error is final */
        struct leat_error again = LEAT_ERROR_INIT;

        assert_int_equal(leat_input_read(input, buffer, READ_MAX, &n, &again), r);
        assert_int_equal(n, 0);
        assert_string_equal(again.message, result.err.message);
    }
    leat_input_close(input);
    return result;
}

static struct result read_blob(const struct blob *blob, bool with_ahead) {
    folder_write("in", blob->data, blob->n_bytes);
    return read_file(folder_path("in"), &standard, with_ahead);
}

static void check_text(const struct result *result, const struct blob *text) {
    assert_string_equal(result->err.message, "");
    assert_int_equal(result->text.n_bytes, text->n_bytes);
    if (text->n_bytes)
        assert_memory_equal(result->text.data, text->data, text->n_bytes);
}

static void check_blob(const struct blob *blob, const struct blob *text) {
    struct result result = read_blob(blob, true);

    check_text(&result, text);
    result_free(&result);
}

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
            assert_int_equal(leat_input_open_ahead(&leat_opener_any, folder_path("in"), &standard,
                                                   range, 1 << 22, &ahead),
                             0);
            assert_null(ahead);
        }
        check_blob(&blob, &text);
        blob_free(&blob);
    }
    blob_free(&text);
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
    static const char *const texts[] = {"BZh9 is how bzip2 begins", "BZ", "\x1f\x8b", "\3757zXZ",
                                        "P*M\x18"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct blob text = {.data = NULL};
        blob_add(&text, texts[i], strlen(texts[i]));
        check_blob(&text, &text);
        blob_free(&text);
    }
}

/* ---- what is bad ---- */

static void check_prefix(const struct result *result, const struct blob *text) {
    assert_true(result->text.n_bytes <= text->n_bytes);
    if (result->text.n_bytes)
        assert_memory_equal(result->text.data, text->data, result->text.n_bytes);
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
                assert_non_null(strstr(result.err.message, format_names[format]));
            result_free(&result);
        }
        /* between frames it cannot be told; gzip and bzip2 take what begins no frame for garbage */
        assert_in_range(n_whole, format == XZ ? 0 : 2, format == XZ ? 0 : 20);
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
            assert_non_null(strstr(result.err.message, "more than max_expansion (3)"));
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

static void lz4s_legacy_format_is_told_apart(void **state) {
    static const char legacy[] = "\x02\x21\x4c\x18\x08\0\0\0abcdefgh";
    struct blob blob = {.data = (uint8_t *)(uintptr_t)legacy, .n_bytes = sizeof(legacy) - 1};
    struct result result = read_blob(&blob, false);

    (void)state;
    assert_int_equal(result.err.code, -EBADMSG);
    assert_non_null(strstr(result.err.message, "legacy format"));
    result_free(&result);
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
    assert_int_equal(leat_input_open(&leat_opener_any, path, &standard, &input, &err), 0);
    assert_true(leat_input_is_one_pass(input));
    assert_int_equal(leat_input_open(&leat_opener_any, path, &standard, &other, &err), -EBUSY);
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

static void what_comes_compressed_through_a_fifo(void **state) {
    struct blob text = make_text(10, 3000);
    int fds[2];

    (void)state;
    for (unsigned format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text.data, text.n_bytes, 1000),
                    got = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_input *input;
        char path[64], buffer[500];
        size_t n_written = 0, n;
        int r;
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
        assert_int_equal(leat_input_open(&leat_opener_any, path, &standard, &input, &err), 0);
        do {
            size_t more = blob.n_bytes - n_written < 333 ? blob.n_bytes - n_written : 333;
            assert_int_equal(write(fds[1], blob.data + n_written, more), more);
            n_written += more;
            if (n_written == blob.n_bytes && more > 0)
                (void)close(fds[1]);
            while ((n = read_now(input, buffer, sizeof(buffer), &r)) > 0)
                blob_add(&got, buffer, n);
        } while (r == LEAT_INPUT_WAITING);
        assert_int_equal(r, 0);
        assert_int_equal(got.n_bytes, text.n_bytes);
        assert_memory_equal(got.data, text.data, text.n_bytes);
        leat_input_close(input);
        (void)close(fds[0]);
        blob_free(&got);
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
            leat_input_open(&leat_opener_any, folder_path("in"), &standard, &input, &err), 0);
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
        cmocka_unit_test(what_is_ahead_is_taken_up),
        cmocka_unit_test(nothing_is_ahead_in_one_long_frame),
        cmocka_unit_test(frames_without_data_are_passed_over),
        cmocka_unit_test(garbage_is_as_for_the_tools),
        cmocka_unit_test(text_that_looks_compressed_is_text),
        cmocka_unit_test(every_cut_is_seen),
        cmocka_unit_test(damage_is_at_the_same_place),
        cmocka_unit_test(a_bomb_goes_off_at_its_limit),
        cmocka_unit_test(a_bomb_in_parts_goes_off_at_its_limit),
        cmocka_unit_test(a_wide_window_is_refused),
        cmocka_unit_test(lz4s_legacy_format_is_told_apart),
        cmocka_unit_test(a_fifo_is_waited_for),
        cmocka_unit_test(what_comes_compressed_through_a_fifo),
        cmocka_unit_test(a_head_is_read_again),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
