/* test_fifo.c: what cannot be done with a source that is a FIFO is refused when it is planned, or
 * when it is run, with the reason. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/inspect/measure.h"
#include "pipeline/work/steps.h"
#include "tests/pipeline/shared_stream.h"

#define FIFO  "csv: {paths: [fifo], header: false, names: [id]}"
#define CASTS "- cast: {input: id, dtype: int64}\n"
#define BATCH "- batch: {batch_size: 5}"

static int open_fifo(void **state) {
    int r = folder_open(state);

    return r == 0 ? mkfifo(folder_path("fifo"), 0600) : r;
}

static void test_refused(void **state) {
    static const struct {
        const char *source, *options, *stages, *expected;
    } cases[] = {
        {FIFO, "", CASTS "- repeat: {count: 2}\n" BATCH,
         "/fifo is a FIFO, which can be read only once: remove `repeat`"},
        {FIFO, "cache: {path: .}", CASTS BATCH,
         "/fifo is a FIFO, which can be read only once: remove `cache`"},
        {FIFO, "", CASTS "- shuffle: {blocks: true, buffer_size: 9}\n" BATCH,
         "stages[1].shuffle.blocks: "},
        {FIFO, "", CASTS "- shuffle: {blocks: true, buffer_size: 9}\n" BATCH,
         "/fifo is a FIFO, so leat cannot read its blocks in another order: shuffle with "
         "`buffer_size` or `global` only"},
        {"concat: {sources: [{" FIFO "}, {csv: {paths: [a.csv], header: false, names: [id]}}]}", "",
         CASTS BATCH,
         "/fifo: a FIFO, which can be read only once, cannot be one of several sources"},
        {FIFO, "skip_records: [\"fifo:3\"]", CASTS BATCH,
         "\"fifo:3\" is a line of a FIFO, which leat cannot count beforehand: give the number of "
         "the record"},
    };

    (void)state;
    folder_print("a.csv", "1\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *error = stream_error(cases[i].source, cases[i].options, cases[i].stages);

        if (!strstr(error, cases[i].expected))
            fail_msg("%s\nhas not: %s", error, cases[i].expected);
    }
}

/* One epoch, from its start. */
static void test_runs(void **state) {
    static const struct {
        struct leat_run_options options;
        const char *expected;
    } cases[] = {
        {{.n_epochs = 1, .first_epoch = 2},
         "a FIFO can be read only once, so the stream cannot resume at epoch 2, step 0"},
        {{.n_epochs = 1, .first_step = 7},
         "a FIFO can be read only once, so the stream cannot resume at epoch 0, step 7"},
        {{.n_epochs = 2}, "a FIFO can be read only once, so it has one epoch, not 2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct drive how = {.options = cases[i].options};
        struct driven driven = drive_stream(FIFO, "", CASTS BATCH, &how);

        assert_int_equal(driven.error.code, -ESPIPE);
        if (!strstr(driven.error.message, cases[i].expected))
            fail_msg("%s\nhas not: %s", driven.error.message, cases[i].expected);
        assert_int_equal(driven.n_batches, 0);
    }
}

static void test_told(void **state) {
    struct leat_measure_options options = {.may_start_programs = true};
    struct leat_plan *plan = stream_plan(FIFO, "", CASTS BATCH);
    char text[128];

    (void)state;
    leat_steps_describe_start(plan, false, text, sizeof(text));
    assert_string_equal(text, "impossible, since a FIFO can be read only once");
    assert_string_equal(leat_measure_refusal(plan, &options),
                        "the source is a FIFO, which can be read only once");
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_told),
    };

    return cmocka_run_group_tests(tests, open_fifo, folder_close);
}
