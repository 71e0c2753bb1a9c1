/* test_frame.c: proto/frame.c: frames come out whole whatever the split of the input; lengths that
 * lie cost nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"
#include "tests/proto/shared_random.h"

#define N_FRAMES 40
#define LIMIT    5000

struct stream {
    uint8_t *data;
    size_t n_bytes;
    uint32_t sizes[N_FRAMES];
};

/* Frames of random sizes; frame i is filled with the byte i. */
static void make(struct stream *stream, uint64_t *random) {
    stream->data = malloc(N_FRAMES * (LIMIT + LEAT_FRAME_HEAD_BYTES));
    stream->n_bytes = 0;
    for (size_t i = 0; i < N_FRAMES; i++) {
        uint32_t size = (uint32_t)random_below(random, i % 3 ? 20 : LIMIT) + 1;

        stream->sizes[i] = size;
        leat_frame_head(stream->data + stream->n_bytes, size);
        memset(stream->data + stream->n_bytes + LEAT_FRAME_HEAD_BYTES, (int)i, size);
        stream->n_bytes += LEAT_FRAME_HEAD_BYTES + size;
    }
}

static void put(struct leat_frame_decoder *decoder, const uint8_t *data, size_t n) {
    uint8_t *space;
    size_t size;

    assert_int_equal(leat_frame_decoder_space(decoder, n, &space, &size), 0);
    assert_true(size >= n);
    memcpy(space, data, n);
    leat_frame_decoder_filled(decoder, n);
}

static size_t take_all(struct leat_frame_decoder *decoder, const struct stream *stream, size_t at) {
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *frame;
    size_t size;
    int r;

    while ((r = leat_frame_decoder_next(decoder, &frame, &size, &err)) == 1) {
        assert_true(at < N_FRAMES);
        assert_int_equal(size, stream->sizes[at]);
        assert_int_equal(frame[0], at);
        assert_int_equal(frame[size - 1], at);
        at++;
    }
    assert_int_equal(r, 0);
    return at;
}

static void test_any_split(void **state) {
    static const size_t maxima[] = {1, 3, 7, 100, 4096, 100000};
    uint64_t random = 7;
    struct stream stream;

    (void)state;
    make(&stream, &random);
    for (size_t k = 0; k < sizeof(maxima) / sizeof(maxima[0]); k++) {
        struct leat_frame_decoder decoder;
        size_t n_taken = 0;

        leat_frame_decoder_init(&decoder, LIMIT);
        for (size_t at = 0; at < stream.n_bytes;) {
            size_t n = (size_t)random_below(&random, maxima[k]) + 1;

            n = n < stream.n_bytes - at ? n : stream.n_bytes - at;
            put(&decoder, stream.data + at, n);
            at += n;
            if (random_below(&random, 3) > 0) /* sometimes more comes before anybody looks */
                n_taken = take_all(&decoder, &stream, n_taken);
        }
        assert_int_equal(take_all(&decoder, &stream, n_taken), N_FRAMES);
        assert_false(leat_frame_decoder_has_bytes(&decoder));
        put(&decoder, stream.data, 1);
        assert_int_equal(take_all(&decoder, &stream, 0), 0);
        assert_true(leat_frame_decoder_has_bytes(&decoder)); /* of half a frame */
        leat_frame_decoder_deinit(&decoder);
    }
    free(stream.data);
}

static int next_of(uint32_t claimed, uint32_t limit, size_t *ret_capacity) {
    struct leat_frame_decoder decoder;
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t head[LEAT_FRAME_HEAD_BYTES];
    const uint8_t *frame;
    size_t size;
    int r;

    leat_frame_decoder_init(&decoder, limit);
    assert_int_equal(leat_frame_decoder_next(&decoder, &frame, &size, &err), 0);
    leat_frame_head(head, claimed);
    put(&decoder, head, sizeof(head));
    r = leat_frame_decoder_next(&decoder, &frame, &size, &err);
    assert_int_equal(err.code, r);
    *ret_capacity = decoder.capacity;
    leat_frame_decoder_deinit(&decoder);
    assert_int_equal(decoder.limit, limit);
    return r;
}

static void test_limits(void **state) {
    size_t capacity;

    (void)state;
    assert_int_equal(next_of(0, 100, &capacity), -EPROTO);
    assert_int_equal(next_of(101, 100, &capacity), -EPROTO);
    assert_int_equal(next_of(UINT32_MAX, 100, &capacity), -EPROTO);
    assert_int_equal(next_of(100, 100, &capacity), 0);
    assert_int_equal(next_of(UINT32_MAX, UINT32_MAX, &capacity), 0);
    assert_true(capacity <= 4096); /* the claim alone allocated nothing */
}

static void test_limit_is_named(void **state) {
    struct leat_frame_decoder decoder;
    struct leat_error err = LEAT_ERROR_INIT;
    static const uint8_t head[] = {0x34, 0x12, 0, 0};
    const uint8_t *frame;
    size_t size;

    (void)state;
    leat_frame_decoder_init(&decoder, 4096);
    put(&decoder, head, sizeof(head));
    assert_int_equal(leat_frame_decoder_next(&decoder, &frame, &size, &err), -EPROTO);
    assert_string_equal(err.message, "a frame has 4660 bytes, but its size must be in 1..4096");
    leat_frame_decoder_deinit(&decoder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_split),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_limit_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
