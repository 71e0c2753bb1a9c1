/* test_encoding.c: pipeline/tokenizer/encoding.c: columns grow together and stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/tokenizer/encoding_columns.h"
#include "proto/base/rng.h"

static void push(struct leat_encoding *encoding, uint32_t n) {
    assert_int_equal(leat_encoding_reserve(encoding, 1), 0);
    leat_encoding_push(encoding, (int32_t)n, n + 1, (struct leat_range){n + 2, n + 3}, n % 3 == 0);
}

static void check(const struct leat_encoding *encoding, size_t at, uint32_t n, uint32_t type_id) {
    assert_int_equal(encoding->ids[at], n);
    if (encoding->type_ids)
        assert_int_equal(encoding->type_ids[at], type_id);
    if (encoding->offsets) {
        assert_int_equal(encoding->offsets[at].start, n + 2);
        assert_int_equal(encoding->offsets[at].end, n + 3);
    }
    if (encoding->special)
        assert_int_equal(encoding->special[at], n % 3 == 0);
    if (encoding->attention)
        assert_int_equal(encoding->attention[at], 1);
}

/* The same two encodings are used for all sets of columns, in any order. */
static void any_columns(void **state) {
    struct leat_encoding first = {.n = 0}, second = {.n = 0};
    struct leat_rng rng = {.state = 1};

    (void)state;
    for (int round = 0; round < 500; round++) {
        uint32_t wanted = (uint32_t)leat_rng_below(&rng, 16);
        uint32_t n = (uint32_t)leat_rng_below(&rng, 300);
        uint32_t start = (uint32_t)leat_rng_below(&rng, n + 1);
        leat_encoding_reset(&first, wanted);
        leat_encoding_reset(&second, wanted);
        for (uint32_t i = 0; i < n; i++)
            push(&first, i);
        push(&second, 7);
        assert_int_equal(leat_encoding_append(&second, &first, start, n, 5), 0);
        assert_int_equal(second.n, 1 + n - start);
        if (n)
            assert_int_equal(first.type_ids != NULL, (wanted & LEAT_ENCODING_TYPE_IDS) != 0);
        check(&second, 0, 7, 8);
        for (uint32_t i = start; i < n; i++) {
            check(&first, i, i, i + 1);
            check(&second, 1 + i - start, i, 5);
        }
    }
    leat_encoding_deinit(&first);
    leat_encoding_deinit(&second);
}

static void sizes_that_cannot_be(void **state) {
    struct leat_encoding encoding = {.n = 0};

    (void)state;
    leat_encoding_reset(&encoding, 15);
    push(&encoding, 1);
    assert_true(leat_encoding_reserve(&encoding, SIZE_MAX) < 0);
    assert_true(leat_encoding_reserve(&encoding, (size_t)1 << 31) < 0);
    check(&encoding, 0, 1, 2);
    leat_encoding_deinit(&encoding);
    leat_encoding_deinit(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_columns),
        cmocka_unit_test(sizes_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
