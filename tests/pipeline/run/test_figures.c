/* Figures by the table: sums, differences, and messages, whether a figure has a field or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "pipeline/run/profile/figures.h"

/* Each figure another value, none 0. */
static struct leat_stream_figures some_figures(uint64_t factor) {
    struct leat_stream_figures figures = {.n_rows = 0};
    uint64_t n = 0;

    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        *leat_figure_at(figure, &figures) = ++n * factor;
    assert_int_equal(n, LEAT_N_STREAM_FIGURES);
    return figures;
}

static void test_sums(void **state) {
    struct leat_stream_figures one = some_figures(1), three = some_figures(3), change;

    (void)state;
    leat_figures_subtract(leat_stream_figure_table, &three, &one, &change);
    assert_int_equal(change.n_batches, 2 * one.n_batches);
    assert_int_equal(change.n_slots, three.n_slots); /* a gauge */
    leat_figures_subtract(leat_stream_figure_table, &one, &three, &change);
    assert_int_equal(change.n_batches, one.n_batches); /* it began anew */
    leat_figures_subtract(leat_stream_figure_table, &one, NULL, &change);
    assert_memory_equal(&change, &one, sizeof(one));
    leat_figures_add(leat_stream_figure_table, &one, &one);
    leat_figures_add(leat_stream_figure_table, &one, &change);
    assert_memory_equal(&one, &three, sizeof(one));
    leat_figures_clear_gauges(leat_stream_figure_table, &one);
    assert_int_equal(one.n_slots, 0);
    assert_int_equal(one.n_batches, three.n_batches);
}

/* What is packed and unpacked is the same; an older client finds the fields that it knows. */
static void test_messages(void **state) {
    struct leat_stream_figures figures = some_figures(7), read;
    Leat__StreamStats message = LEAT__STREAM_STATS__INIT, *unpacked;
    struct leat_figure_list list = {.n = 0};
    uint8_t bytes[4096];
    size_t n;

    (void)state;
    leat_figures_to_message(leat_stream_figure_table, &figures, &message.base, &list);
    assert_int_equal(message.n_batches, figures.n_batches);
    assert_int_equal(message.n_slots, figures.n_slots);
    for (size_t i = 0; i < message.n_figures; i++)
        assert_string_not_equal(message.figures[i]->name, "n_batches");
    assert_in_range(leat__stream_stats__get_packed_size(&message), 1, sizeof(bytes));
    n = leat__stream_stats__pack(&message, bytes);
    unpacked = leat__stream_stats__unpack(NULL, n, bytes);
    assert_non_null(unpacked);
    leat_figures_of_message(leat_stream_figure_table, &unpacked->base, &read);
    assert_memory_equal(&read, &figures, sizeof(figures));
    leat__stream_stats__free_unpacked(unpacked, NULL);
}

static void test_spreads(void **state) {
    struct leat_stream_counts counts = {.figures.n_rows = 1}, sum = {.figures.n_rows = 2};

    (void)state;
    leat_stream_counts_spread(&counts, LEAT_SPREAD_BATCH_ROWS, 5);
    leat_stream_counts_add(&sum, &counts);
    leat_stream_counts_add(&sum, &counts);
    assert_int_equal(sum.figures.n_rows, 4);
    assert_int_equal(sum.spreads[LEAT_SPREAD_BATCH_ROWS].total, 10);
    assert_int_equal(sum.spreads[LEAT_SPREAD_WAIT].total, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_spreads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
