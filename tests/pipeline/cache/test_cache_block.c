/* test_cache_block.c: pipeline/cache/block.c, cache/numbers.c, cache/frame.c: what is written
 * comes back, in few bytes, and bytes that were not written by it do no harm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/block/fit.h"
#include "pipeline/cache/frame.h"
#include "pipeline/cache/numbers.h"
#include "tests/pipeline/shared_cache.h"
#include "tests/proto/shared_random.h"
#include "tests/proto/shared_simd.h"

static uint64_t seed;

static int set_seed(void **state) {
    (void)state;
    seed = 1;
    return 0;
}

static int decode(struct cached *cached, const void *bytes, size_t n_bytes, uint32_t n_records,
                  struct leat_block **ret_block) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_block *block = leat_block_pool_take(&cached->pool);
    int r = leat_cache_block_decode(&cached->schema, cached_keep(block, bytes, n_bytes), n_bytes,
                                    n_records, LEAT_CACHE_UNPACK, &block->kept, block, &err);

    assert_int_equal(r, err.code);
    *ret_block = block;
    return r;
}

static void test_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct leat_cache_bytes bytes = {.data = NULL}, again = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_block *block;
        struct cached cached;

        cached_init(&cached, &seed);
        assert_int_equal(leat_cache_block_encode(&cached.schema, cached.block, &bytes, &err), 0);
        assert_int_equal(bytes.n_bytes % 8, 0);
        assert_int_equal(
            decode(&cached, bytes.data, bytes.n_bytes, cached.block->n_records, &block), 0);
        assert_same_block(&cached.schema, cached.block, block);
        /* the same rows, lying otherwise in memory, are the same bytes */
        assert_int_equal(leat_cache_block_encode(&cached.schema, block, &again, &err), 0);
        assert_int_equal(bytes.n_bytes, again.n_bytes);
        assert_memory_equal(bytes.data, again.data, bytes.n_bytes);
        leat_block_unref(block, 1);
        cached_deinit(&cached);
        leat_cache_bytes_deinit(&bytes);
        leat_cache_bytes_deinit(&again);
    }
}

/* A row that is copied out of packed values is as it was, also in a block that was moved. */
static void check_packed(const struct cached *cached, const struct leat_block *block) {
    for (uint32_t i = 0; i < cached->schema.n_columns; i++) {
        const struct leat_column *from = &cached->block->columns[i], *to = &block->columns[i];
        size_t size = leat_dtype_size(cached->fields[i].dtype);

        for (uint32_t row = 0; cached->is_kept[i] && row < block->n_rows; row++) {
            size_t n = from->starts ? from->lengths[row] : 1;
            const uint8_t *wanted =
                (const uint8_t *)from->values + (from->starts ? from->starts[row] : row) * size;
            uint8_t *values = malloc(n * size + 1);

            assert_non_null(values);
            leat_cache_copy(to, cached->fields[i].dtype, to->starts ? to->starts[row] : row, n,
                            values);
            assert_memory_equal(values, wanted, n * size);
            free(values);
        }
    }
}

static void test_packed(void **state) {
    enum leat_cache_packed all[] = {LEAT_CACHE_PACK_LISTS, LEAT_CACHE_PACK_ALL};
    uint32_t n_packed[9] = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct leat_cache_bytes bytes = {.data = NULL};
        struct leat_arena scratch, spare;
        struct leat_block *block;
        struct cached cached;

        cached_init(&cached, &seed);
        block = leat_block_pool_take(&cached.pool);
        assert_int_equal(
            leat_cache_block_encode(&cached.schema, cached.block, &bytes, LEAT_ERROR_IGNORED), 0);
        assert_int_equal(leat_cache_block_decode(&cached.schema,
                                                 cached_keep(block, bytes.data, bytes.n_bytes),
                                                 bytes.n_bytes, cached.block->n_records, all[i % 2],
                                                 &block->kept, block, LEAT_ERROR_IGNORED),
                         0);
        for (uint32_t c = 0; c < cached.schema.n_columns; c++) {
            n_packed[block->columns[c].width]++;
            assert_true(i % 2 == 1 || cached.fields[c].is_list || !block->columns[c].width);
        }
        check_packed(&cached, block);

        leat_arena_init(&scratch);
        leat_arena_init(&spare);
        leat_block_fit(block, cached.fields, cached.is_kept, &scratch, &spare);
        check_packed(&cached, block);
        leat_arena_deinit(&scratch);
        leat_arena_deinit(&spare);
        leat_block_unref(block, 1);
        cached_deinit(&cached);
        leat_cache_bytes_deinit(&bytes);
    }
    for (int width = 0; width <= 4; width++)
        assert_true(n_packed[width] > 10);
}

/* Wherever they begin and however many they are, and nothing else is written. */
static void test_unpack_past(void **state) {
    enum { N = 70 };
    uint8_t packed[3 * N + 1];
    int32_t memory[N + 16], wanted[N + 16];

    (void)state;
    for (size_t i = 0; i < sizeof(packed); i++)
        packed[i] = (uint8_t)random_next(&seed);
    for (unsigned width = 1; width <= 3; width++)
        for (size_t first = 0; first < 8; first++)
            for (size_t n = 0; n <= N; n++) {
                memset(memory, 0x55, sizeof(memory));
                memset(wanted, 0x55, sizeof(wanted));
                for (size_t i = 0; i < n; i++) {
                    uint32_t value = 0;

                    memcpy(&value, packed + width * i, width);
                    wanted[first + i] = (int32_t)(value + 0xfffffff0U);
                }
                leat_cache_unpack_past(memory + first, packed, n, LEAT_DTYPE_INT32, width, -16);
                assert_memory_equal(memory, wanted, sizeof(memory));
                memset(memory, 0x55, sizeof(memory));
                leat_cache_unpack(memory + first, packed, n, LEAT_DTYPE_INT32, width, -16);
                assert_memory_equal(memory, wanted, sizeof(memory));
            }
}

/* Every cut, and many a changed byte: an error or another block, never a crash. */
static void test_damage(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct leat_cache_bytes bytes = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_block *block;
        struct cached cached;

        cached_init(&cached, &seed);
        assert_int_equal(leat_cache_block_encode(&cached.schema, cached.block, &bytes, &err), 0);
        for (int k = 0; k < 40; k++) {
            size_t n = random_below(&seed, bytes.n_bytes);

            assert_int_equal(decode(&cached, bytes.data, n, cached.block->n_records, &block),
                             -EBADMSG);
            leat_block_unref(block, 1);
        }
        assert_int_equal(
            decode(&cached, bytes.data, bytes.n_bytes, cached.block->n_records + 1, &block),
            -EBADMSG);
        leat_block_unref(block, 1);
        for (int k = 0; k < 100; k++) {
            uint8_t *at = &bytes.data[random_below(&seed, bytes.n_bytes)], before = *at;

            *at = (uint8_t)random_next(&seed);
            (void)decode(&cached, bytes.data, bytes.n_bytes, cached.block->n_records, &block);
            leat_block_unref(block, 1);
            *at = before;
        }
        cached_deinit(&cached);
        leat_cache_bytes_deinit(&bytes);
    }
}

/* Batches are laid out by what fields say of themselves: a longer row must never get there. */
static void test_row_too_long(void **state) {
    struct leat_field field = {.name = "ids", .dtype = LEAT_DTYPE_INT32, .is_list = true};
    bool is_kept = true;
    struct cached cached = {.schema = {&field, &is_kept, 1}};
    uint32_t starts[] = {0, 4}, lengths[] = {4, 3};
    int32_t values[] = {1, 2, 3, 4, 5, 6, 7};
    struct leat_column column = {.values = values, .starts = starts, .lengths = lengths};
    struct leat_block given = {.n_rows = 2, .n_records = 2, .n_columns = 1, .columns = &column};
    struct leat_cache_bytes bytes = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    static const struct {
        uint64_t max_length, pad_length;
        int expected;
    } cases[] = {{0, 0, 0}, {4, 0, 0}, {3, 0, -EBADMSG}, {0, 4, 0}, {9, 3, -EBADMSG}};

    (void)state;
    assert_int_equal(leat_cache_block_encode(&cached.schema, &given, &bytes, &err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_block *block;

        field.max_length = cases[i].max_length;
        field.is_padded = cases[i].pad_length > 0;
        field.pad_length = cases[i].pad_length;
        assert_int_equal(decode(&cached, bytes.data, bytes.n_bytes, 2, &block), cases[i].expected);
        leat_block_unref(block, 1);
    }
    leat_block_pool_deinit(&cached.pool);
    leat_cache_bytes_deinit(&bytes);
}

static void test_narrowest(void **state) {
    static const struct {
        enum leat_dtype dtype;
        int64_t min, max;
        unsigned width;
        int64_t base;
    } cases[] = {
        {LEAT_DTYPE_INT32, 0, 255, 1, 0},
        {LEAT_DTYPE_INT32, 0, 256, 2, 0},
        {LEAT_DTYPE_INT32, 0, 65535, 2, 0},
        {LEAT_DTYPE_INT32, 0, 65536, 3, 0},
        {LEAT_DTYPE_INT32, 0, (1 << 24) - 1, 3, 0},
        {LEAT_DTYPE_INT32, 0, 1 << 24, 4, 0},
        {LEAT_DTYPE_INT32, -100, 50000, 2, -100},
        {LEAT_DTYPE_INT32, 100000, 100200, 1, 100000},
        {LEAT_DTYPE_INT32, INT32_MIN, INT32_MAX, 4, 0},
        {LEAT_DTYPE_INT64, 0, 255, 1, 0},
        {LEAT_DTYPE_INT64, 0, UINT32_MAX, 4, 0},
        {LEAT_DTYPE_INT64, 0, INT64_C(1) << 32, 8, 0},
        {LEAT_DTYPE_INT64, INT64_MIN, INT64_MIN + 7, 1, INT64_MIN},
        {LEAT_DTYPE_INT64, INT64_MIN, INT64_MAX, 8, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_cache_range range = {cases[i].min, cases[i].max};
        int64_t base;

        assert_int_equal(leat_cache_range_width(&range, cases[i].dtype, &base), cases[i].width);
        assert_int_equal(base, cases[i].base);
    }
}

static void check_frame(struct leat_cache_bytes *block, enum leat_cache_compression compression,
                        bool is_lz4) {
    struct leat_cache_bytes stored = {.data = NULL};
    struct leat_cache_frame frame = {.span = {.n_records = 1, .n_bytes = 1}}, read;
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t head[LEAT_CACHE_FRAME_HEAD_BYTES], again[sizeof(head)], *copy = malloc(block->n_bytes);
    const uint8_t *bytes;

    assert_int_equal(leat_cache_frame_store(&frame, compression, block, &stored, &bytes, &err), 0);
    assert_int_equal(frame.is_lz4, is_lz4);
    leat_cache_frame_pack(&frame, 7, head);
    assert_true(leat_cache_frame_unpack(head, 7, 0, &read));
    leat_cache_frame_pack(&read, 7, again);
    assert_memory_equal(head, again, sizeof(head));
    assert_false(leat_cache_frame_unpack(head, 8, 0, &read));
    assert_false(leat_cache_frame_unpack(head, 7, 8, &read));
    assert_true(leat_cache_frame_is_whole(&read, bytes));
    if (is_lz4) {
        assert_true(leat_cache_frame_expand(&read, bytes, copy));
        assert_memory_equal(copy, block->data, block->n_bytes);
    }
    for (int i = 0; i < 200; i++) {
        uint8_t *at = &head[random_below(&seed, sizeof(head))], bit = (uint8_t)(1 << i % 8);

        *at ^= bit;
        assert_false(leat_cache_frame_unpack(head, 7, 0, &read));
        *at ^= bit;
        at = (uint8_t *)(uintptr_t)&bytes[random_below(&seed, frame.n_stored)];
        *at ^= bit;
        assert_false(leat_cache_frame_is_whole(&frame, bytes));
        if (is_lz4)
            (void)leat_cache_frame_expand(&frame, bytes, copy);
        *at ^= bit;
    }
    free(copy);
    leat_cache_bytes_deinit(&stored);
}

static void test_frame(void **state) {
    struct leat_cache_bytes noise = {.data = NULL}, zeros = {.data = NULL}, both = {.data = NULL};

    (void)state;
    for (int i = 0; i < 4096; i++) {
        uint64_t number = random_next(&seed), none = 0;

        leat_cache_bytes_add(&noise, &number, 8);
        leat_cache_bytes_add(&zeros, &none, 8);
        leat_cache_bytes_add(&both, i % 8 == 0 ? &none : &number, 8);
    }
    memset(both.data, 0, both.n_bytes / 10); /* a tenth: less than a quarter */
    check_frame(&noise, LEAT_CACHE_AUTO, false);
    check_frame(&noise, LEAT_CACHE_LZ4, false);
    check_frame(&zeros, LEAT_CACHE_AUTO, true);
    check_frame(&zeros, LEAT_CACHE_RAW, false);
    check_frame(&both, LEAT_CACHE_AUTO, false);
    check_frame(&both, LEAT_CACHE_LZ4, true);
    leat_cache_bytes_deinit(&noise);
    leat_cache_bytes_deinit(&zeros);
    leat_cache_bytes_deinit(&both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_packed),
        cmocka_unit_test(test_unpack_past),  cmocka_unit_test(test_damage),
        cmocka_unit_test(test_row_too_long), cmocka_unit_test(test_narrowest),
        cmocka_unit_test(test_frame),
    };

    return shared_simd_run_twice(tests, set_seed, NULL);
}
