/* test_outputs.c: pipeline/run/outputs.c: slots come back in order unless a larger one is needed,
 * and outputs go out in order once they are done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "pipeline/run/outputs.h"

static void give(struct leat_outputs *outputs, size_t size_bytes) {
    struct leat_slot slot = {.size_bytes = size_bytes};

    assert_int_equal(leat_outputs_give_slot(outputs, &slot), 0);
}

static size_t take(struct leat_outputs *outputs) {
    struct leat_slot slot = {.size_bytes = 0};

    (void)leat_outputs_take_slot(outputs, &slot);
    return slot.size_bytes;
}

/* The ring of slots keeps its order when it grows from the middle. */
static void test_slots(void **state) {
    struct leat_outputs outputs;
    size_t next = 1;

    (void)state;
    leat_outputs_init(&outputs);
    for (size_t i = 1; i <= 60; i++)
        give(&outputs, i);
    for (; next <= 40; next++)
        assert_int_equal(take(&outputs), next);
    for (size_t i = 61; i <= 300; i++)
        give(&outputs, i);
    for (; next <= 300; next++)
        assert_int_equal(take(&outputs), next);
    assert_int_equal(take(&outputs), 0);
    leat_outputs_deinit(&outputs);
}

static void test_finds_slot(void **state) {
    struct leat_outputs outputs;

    (void)state;
    leat_outputs_init(&outputs);
    assert_null(leat_outputs_find_slot(&outputs, 1));
    give(&outputs, 10);
    give(&outputs, 20);
    give(&outputs, 30);
    assert_int_equal(leat_outputs_find_slot(&outputs, 15)->size_bytes, 20);
    assert_int_equal(take(&outputs), 20);
    assert_null(leat_outputs_find_slot(&outputs, 31));
    assert_int_equal(outputs.n_slots, 2);
    assert_int_equal(take(&outputs) + take(&outputs), 40);
    leat_outputs_deinit(&outputs);
}

static struct leat_output_entry *add(struct leat_outputs *outputs, uint64_t step, bool is_done) {
    struct leat_output output = {.kind = is_done ? LEAT_OUTPUT_EPOCH_END : LEAT_OUTPUT_BATCH,
                                 .step = step,
                                 .is_last = is_done};
    struct leat_output_entry *entry = leat_outputs_add(outputs, &output, is_done);

    assert_non_null(entry);
    return entry;
}

static void test_order(void **state) {
    struct leat_output_entry *first, *second, taken;
    struct leat_outputs outputs;

    (void)state;
    leat_outputs_init(&outputs);
    assert_false(leat_outputs_take(&outputs, &taken));
    first = add(&outputs, 1, false);
    second = add(&outputs, 2, false);
    (void)add(&outputs, 3, true);
    leat_output_entry_finish(second, 7, 1, 99);
    assert_false(leat_outputs_take(&outputs, &taken)); /* The first is not done. */
    leat_output_entry_finish(first, 5, 0, 98);
    for (uint64_t step = 1; step <= 3; step++) {
        assert_true(leat_outputs_take(&outputs, &taken));
        assert_int_equal(taken.output.step, step);
    }
    assert_int_equal(outputs.n_batches, 0);
    leat_outputs_deinit(&outputs);
}

/* The end of a run that is extended goes, or becomes the end of an epoch. */
static void test_extended(void **state) {
    struct leat_output_entry taken;
    struct leat_outputs outputs;

    (void)state;
    leat_outputs_init(&outputs);
    leat_output_entry_finish(add(&outputs, 1, false), 1, 0, 0);
    (void)add(&outputs, 2, true);
    leat_outputs_drop_last(&outputs);
    (void)add(&outputs, 3, true);
    leat_outputs_reopen_last(&outputs);
    assert_true(leat_outputs_take(&outputs, &taken));
    assert_true(leat_outputs_take(&outputs, &taken));
    assert_int_equal(taken.output.step, 3);
    assert_false(taken.output.is_last);
    assert_false(leat_outputs_take(&outputs, &taken));
    leat_outputs_deinit(&outputs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_finds_slot),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_extended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
