/* test_index.c: pipeline/cache/index.c: what is kept of a block comes back, is told
 * from that of another, and bytes that were not written by it do no harm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/cache/index.h"
#include "tests/pipeline/shared_cache.h"
#include "tests/proto/shared_random.h"

static uint64_t seed = 1;

struct kept {
    struct cached cached;
    struct leat_plan plan;
    struct leat_index_schema schema;
    struct leat_cache_bytes bytes;
};

static void kept_init(struct kept *kept, bool has_columns) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_arena scratch;

    cached_init(&kept->cached, &seed);
    kept->plan = (struct leat_plan){.fields = kept->cached.fields,
                                    .is_kept = kept->cached.is_kept,
                                    .n_columns = kept->cached.schema.n_columns};
    kept->bytes = (struct leat_cache_bytes){.data = NULL};
    assert_int_equal(leat_index_schema_init(&kept->schema, &kept->plan, has_columns), 0);
    leat_arena_init(&scratch);
    assert_int_equal(
        leat_index_block_encode(&kept->schema, kept->cached.block, &scratch, &kept->bytes, &err),
        0);
    leat_arena_deinit(&scratch);
}

static void kept_deinit(struct kept *kept) {
    leat_index_schema_deinit(&kept->schema);
    leat_cache_bytes_deinit(&kept->bytes);
    cached_deinit(&kept->cached);
}

static int decode(struct kept *kept, const void *bytes, size_t n_bytes,
                  struct leat_block **ret_block) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_block *block = leat_block_pool_take(&kept->cached.pool);
    int r = leat_index_block_decode(&kept->schema, cached_keep(block, bytes, n_bytes), n_bytes,
                                    kept->cached.block->n_records, block, &err);

    assert_int_equal(r, err.code);
    *ret_block = block;
    return r;
}

static bool fits(const struct kept *kept) {
    const struct leat_block *block = kept->cached.block;

    for (uint32_t i = 0; i < block->n_columns; i++)
        for (uint32_t row = 0; kept->schema.is_kept[i] && kept->cached.fields[i].is_list &&
                               kept->cached.fields[i].max_length > 0 && row < block->n_rows;
             row++)
            if (block->columns[i].lengths[row] > kept->cached.fields[i].max_length)
                return false;
    return true;
}

static void test_round_trip(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct leat_block *bare;
        struct kept kept;

        kept_init(&kept, i % 2);
        if (fits(&kept)) {
            assert_int_equal(decode(&kept, kept.bytes.data, kept.bytes.n_bytes, &bare), 0);
            assert_true(leat_index_block_is_of(&kept.schema, bare, kept.cached.block));
            assert_int_equal(bare->n_rows, kept.cached.block->n_rows);
            for (uint32_t row = 0; row < bare->n_rows; row++)
                assert_int_equal(leat_block_record(bare, row) - bare->first_record,
                                 leat_block_record(kept.cached.block, row) -
                                     kept.cached.block->first_record);
            if (i % 2)
                for (uint32_t k = 0; k < bare->n_columns; k++)
                    assert_true(!bare->columns[k].starts);
            leat_block_unref(bare, 1);
        }
        kept_deinit(&kept);
    }
}

/* One length that is another is seen. */
static void test_other(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        struct leat_block *bare;
        struct kept kept;

        kept_init(&kept, true);
        if (fits(&kept)) {
            assert_int_equal(decode(&kept, kept.bytes.data, kept.bytes.n_bytes, &bare), 0);
            for (uint32_t k = 0; bare->n_rows > 0 && k < bare->n_columns; k++) {
                uint32_t row = (uint32_t)random_below(&seed, bare->n_rows);

                if (!kept.schema.is_kept[k] || !kept.cached.fields[k].is_list)
                    continue;
                bare->columns[k].lengths[row] ^= 1;
                assert_false(leat_index_block_is_of(&kept.schema, bare, kept.cached.block));
                bare->columns[k].lengths[row] ^= 1;
            }
            leat_block_unref(bare, 1);
        }
        kept_deinit(&kept);
    }
}

static void test_damage(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        struct leat_block *bare;
        struct kept kept;
        uint8_t *bytes;

        kept_init(&kept, true);
        bytes = kept.bytes.data;
        for (int k = 0; k < 20; k++) {
            bytes[random_below(&seed, kept.bytes.n_bytes)] ^=
                (uint8_t)(1U << random_below(&seed, 8));
            (void)decode(&kept, bytes, random_below(&seed, kept.bytes.n_bytes + 1), &bare);
            leat_block_unref(bare, 1);
        }
        kept_deinit(&kept);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_other),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
