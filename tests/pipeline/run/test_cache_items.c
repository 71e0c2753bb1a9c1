/* test_cache_items.c: pipeline/run/intake/cache_items.c: blocks get their places in
 * the file in order, their memory is used again, and shards divide the bytes of a source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "pipeline/run/intake/cache_items.h"

static struct leat_cache_item *add(struct leat_cache_items *items, uint32_t n_records) {
    struct leat_cache_item *item = leat_cache_items_take(items);

    assert_non_null(item);
    item->frame = (struct leat_cache_frame){.n_stored = 100, .span.n_records = n_records};
    leat_cache_items_add(items, item);
    return item;
}

static void test_places(void **state) {
    struct leat_cache_items items;
    struct leat_cache_item *a, *b, *first;
    uint64_t size;

    (void)state;
    leat_cache_items_init(&items);
    a = add(&items, 10);
    b = add(&items, 5);
    size = leat_cache_frame_size(&a->frame);
    assert_int_equal(items.n_bytes, 2 * size);
    first = leat_cache_items_start_write(&items, 1000, 7);
    assert_ptr_equal(first, a);
    assert_ptr_equal(first->next, b);
    assert_null(items.first);
    assert_int_equal(a->frame.position, 1000);
    assert_int_equal(b->frame.position, 1000 + size);
    assert_int_equal(b->frame.record, 17);
    assert_int_equal(items.n_bytes, 2 * size); /* until they are written */
    leat_cache_items_end_write(&items, a);
    leat_cache_items_end_write(&items, b);
    assert_int_equal(items.n_bytes, 0);
    assert_ptr_equal(leat_cache_items_take(&items), b);
    leat_cache_items_give(&items, b);
    (void)add(&items, 1);
    leat_cache_items_drop(&items);
    assert_int_equal(items.n_bytes, 0);
    leat_cache_items_deinit(&items);
}

/* Each record of two files is of just one of three shards, and is numbered within it. */
static void test_shards(void **state) {
    struct leat_file_state states[2] = {{.n_bytes = 1000}, {.n_bytes = 500}};
    struct leat_data data = {.n_files = 2, .states = states, .n_bytes = 1500};
    uint64_t n_bytes = 0, n_taken = 0;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct leat_cache_shard shard = {.index = i, .n_shards = 3};
        uint64_t n_here = 0;
        size_t file;

        leat_cache_shard_set(&shard, &data);
        n_bytes += leat_cache_shard_n_bytes(&shard, &data);
        file = leat_cache_shard_start(&shard, &data);
        for (; file < 2; file++)
            for (uint64_t offset = 0; offset < states[file].n_bytes; offset += 100) {
                struct leat_piece piece = {
                    .span = {.file = (uint32_t)file, .offset = offset, .n_records = 1}};

                piece.record = shard.n_skipped + n_here;
                if (leat_cache_shard_sift(&shard, &data, &piece) != LEAT_CACHE_SIFT_TAKE)
                    continue;
                assert_int_equal(piece.record, n_here);
                n_here++;
            }
        n_taken += n_here;
    }
    assert_int_equal(n_bytes, 1500);
    assert_int_equal(n_taken, 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_shards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
