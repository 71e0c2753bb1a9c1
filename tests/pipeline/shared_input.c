/* shared_input.c: see shared_input.h. */
#include "tests/pipeline/shared_input.h"

#include <stdlib.h>

#include "tests/pipeline/shared_stream.h"
#include "tests/proto/shared_random.h"

const struct leat_input_limits standard_limits = {.max_window_bytes = 128 << 20,
                                                  .max_expansion = 1000};
static uint64_t state_ = 1;

size_t below(size_t n) {
    return (size_t)random_below(&state_, n);
}

struct blob make_noise(size_t n_bytes) {
    struct blob noise = {.data = malloc(n_bytes), .n_bytes = n_bytes};

    assert_non_null(noise.data);
    for (size_t i = 0; i < n_bytes; i++)
        noise.data[i] = (uint8_t)below(256);
    return noise;
}

void result_free(struct result *result) {
    blob_free(&result->text);
}

struct result read_file(const char *path, const struct leat_input_limits *limits, bool with_ahead) {
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

struct result read_blob(const struct blob *blob, bool with_ahead) {
    folder_write("in", blob->data, blob->n_bytes);
    return read_file(folder_path("in"), &standard_limits, with_ahead);
}

void check_text(const struct result *result, const struct blob *text) {
    assert_string_equal(result->err.message, "");
    assert_int_equal(result->text.n_bytes, text->n_bytes);
    if (text->n_bytes)
        assert_memory_equal(result->text.data, text->data, text->n_bytes);
}

void check_prefix(const struct result *result, const struct blob *text) {
    assert_true(result->text.n_bytes <= text->n_bytes);
    if (result->text.n_bytes)
        assert_memory_equal(result->text.data, text->data, result->text.n_bytes);
}

void check_blob(const struct blob *blob, const struct blob *text) {
    struct result result = read_blob(blob, true);

    check_text(&result, text);
    result_free(&result);
}

size_t count_adopted(const struct blob *blob, const struct blob *text, int n_readings) {
    size_t n_adopted = 0;

    for (int i = 0; i < n_readings; i++) {
        struct result result = read_blob(blob, true);
        check_text(&result, text);
        n_adopted += result.n_adopted;
        result_free(&result);
    }
    return n_adopted;
}
