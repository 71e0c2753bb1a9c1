/* test_block_queue.c: pipeline/run/intake/block_queue.c: entries leave in the order in which they
 * came, and rows and bad records are those in the range of an entry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "pipeline/run/intake/block_queue.h"

static struct leat_queue_entry *add(struct leat_block_queue *queue, enum leat_entry_state state,
                                    uint64_t epoch, uint32_t n_records) {
    struct leat_queue_entry entry = {
        .state = state, .epoch = epoch, .piece.span.n_records = n_records, .to_record = UINT32_MAX};
    struct leat_queue_entry *added = leat_block_queue_add(queue, &entry);

    assert_non_null(added);
    return added;
}

static void test_order(void **state) {
    struct leat_block_queue queue;
    struct leat_queue_entry *entries[4];

    (void)state;
    leat_block_queue_init(&queue);
    assert_null(leat_block_queue_next_unmapped(&queue));
    entries[0] = add(&queue, LEAT_ENTRY_SCANNED, 0, 10);
    entries[1] = add(&queue, LEAT_ENTRY_PASS_END, 0, 0);
    entries[2] = add(&queue, LEAT_ENTRY_CACHED, 1, 0);
    entries[3] = add(&queue, LEAT_ENTRY_SCANNED, 1, 5);
    assert_int_equal(queue.n_blocks, 3);
    assert_int_equal(queue.n_ends, 1);
    assert_int_equal(leat_block_queue_n_unmapped(&queue), 3);
    assert_int_equal(leat_block_queue_n_records(&queue, 1, true), 6); /* unknown counts 1 */
    assert_int_equal(leat_block_queue_n_records(&queue, 1, false), 0);
    assert_ptr_equal(leat_block_queue_next_unmapped(&queue), entries[0]);
    leat_queue_entry_start_map(entries[0], NULL);
    assert_ptr_equal(leat_block_queue_next_unmapped(&queue), entries[2]);
    leat_queue_entry_end_map(entries[0], &LEAT_ERROR_INIT);
    assert_int_equal(leat_block_queue_n_unmapped(&queue), 2);
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(leat_block_queue_take(&queue), entries[i]);
        free(entries[i]);
    }
    assert_null(queue.first);
    assert_int_equal(queue.n_blocks + queue.n_ends, 0);
    entries[0] = add(&queue, LEAT_ENTRY_SCANNED, 2, 1);
    assert_ptr_equal(leat_block_queue_take(&queue), entries[0]);
    free(entries[0]);
}

/* A parked job stays in its entry, which is mapped on. */
static void test_parked(void **state) {
    struct leat_block_queue queue;
    struct leat_queue_entry *entry;
    struct leat_job *job = (struct leat_job *)(uintptr_t)&queue;

    (void)state;
    leat_block_queue_init(&queue);
    entry = add(&queue, LEAT_ENTRY_SCANNED, 0, 1);
    leat_queue_entry_start_map(entry, NULL);
    assert_null(leat_block_queue_next_unmapped(&queue));
    leat_queue_entry_park(entry, job);
    assert_ptr_equal(leat_block_queue_next_unmapped(&queue), entry);
    assert_ptr_equal(leat_queue_entry_unpark(entry), job);
    assert_null(leat_block_queue_next_unmapped(&queue));
    free(leat_block_queue_take(&queue));
}

/* Of a block of records 0..9, of which 3 and 6 are bad and 4 was dropped, the range 2..6. */
static void test_range(void **state) {
    uint32_t records[] = {0, 1, 2, 5, 7, 8, 9};
    struct leat_bad_record bad[] = {{.record = 3}, {.record = 6}};
    struct leat_block block = {
        .n_rows = 7, .n_records = 10, .records = records, .bad = bad, .n_bad = 2};
    struct leat_queue_entry entry = {
        .state = LEAT_ENTRY_MAPPED, .block = &block, .from_record = 2, .to_record = 7};

    (void)state;
    leat_queue_entry_skip_rows(&entry);
    assert_true(leat_queue_entry_has_row(&entry));
    assert_int_equal(leat_queue_entry_next_record(&entry), 2);
    assert_null(leat_queue_entry_take_bad(&entry, entry.next_row));
    assert_int_equal(entry.next_row++, 2);
    assert_ptr_equal(leat_queue_entry_take_bad(&entry, entry.next_row), &bad[0]);
    assert_int_equal(entry.next_row++, 3);
    assert_false(leat_queue_entry_has_row(&entry)); /* The next one is of record 7. */
    assert_ptr_equal(leat_queue_entry_take_bad(&entry, UINT32_MAX), &bad[1]);
    assert_null(leat_queue_entry_take_bad(&entry, UINT32_MAX));
    assert_int_equal(leat_queue_entry_n_read(&entry), 5);
}

static void test_stale(void **state) {
    struct leat_queue_entry entry = {.epoch = 3, .pass = 1};

    (void)state;
    assert_false(leat_queue_entry_is_stale(&entry, 3, 1));
    assert_true(leat_queue_entry_is_stale(&entry, 3, 2));
    assert_true(leat_queue_entry_is_stale(&entry, 4, 0));
    assert_false(leat_queue_entry_is_stale(&entry, 2, 9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_parked),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
