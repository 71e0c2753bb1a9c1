/* test_places.c: pipeline/inspect/places.c: the bytes, lines and numbers that it tells are those of
 * the records whose values are in the batch, however these came to it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/places.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define STEPS_MAX 600
#define ROWS_MAX  16

struct batches {
    size_t n;
    struct {
        uint64_t epoch, step;
        size_t n_ids;
        int64_t ids[ROWS_MAX];
    } of[STEPS_MAX];
};

static void on_batch(const struct leat_output *output, void *user) {
    struct batches *batches = user;
    uint64_t n;
    const int64_t *ids = batch_tensor(output, "id", LEAT_DTYPE_INT64, &n);

    assert_true(batches->n < STEPS_MAX && n <= ROWS_MAX);
    batches->of[batches->n].epoch = output->epoch;
    batches->of[batches->n].step = output->step;
    batches->of[batches->n].n_ids = (size_t)n;
    memcpy(batches->of[batches->n].ids, ids, n * sizeof(*ids));
    batches->n++;
}

/* Record k is id first + k; some have two lines. */
static void write_file(const char *name, uint64_t first, uint64_t n) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name\n");
    for (uint64_t id = first; id < first + n; id++)
        leat_text_add(&text, "%llu,%s\n%s", (unsigned long long)id,
                      id % 5 == 2 ? "\"two\nlines\"" : "one", id % 11 == 7 ? "\n" : "");
    folder_write(name, text.data, text.n_bytes);
    free(text.data);
}

static uint64_t count_lines(const char *text, uint64_t n_bytes) {
    uint64_t n = 0;

    for (uint64_t i = 0; i < n_bytes; i++)
        n += text[i] == '\n';
    return n;
}

static void check_place(const struct leat_plan *plan, const struct leat_place *place, int64_t id) {
    const char *path = plan->source->files.paths[place->file];
    bool is_first = strcmp(strrchr(path, '/'), "/data.csv") == 0;
    char *text = folder_read(strrchr(path, '/') + 1), wanted[32];

    (void)snprintf(wanted, sizeof(wanted), "%lld,", (long long)id);
    assert_int_equal(strncmp(text + place->offset, wanted, strlen(wanted)), 0);
    assert_int_equal(place->line, 1 + count_lines(text, place->offset));
    assert_int_equal(place->n_lines, 1 + count_lines(text + place->offset, place->n_bytes));
    assert_true(text[place->offset - 1] == '\n' && text[place->offset + place->n_bytes] == '\n');
    if (!plan->mixing)
        assert_int_equal(place->record, id);
    else
        assert_int_equal(place->record, is_first ? id : id - 700);
    free(text);
}

static void check_batch(struct leat_plan *plan, const struct batches *batches, size_t at) {
    struct leat_places_options options = {.epoch = batches->of[at].epoch,
                                          .step = batches->of[at].step};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_places places;

    (void)leat_places_find(plan, &leat_opener_operator, &options, &places, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(places.n_rows, batches->of[at].n_ids);
    assert_int_equal(places.n_places, places.n_rows);
    for (size_t i = 0; i < places.n_places; i++) {
        assert_int_equal(places.places[i].row, i);
        check_place(plan, &places.places[i], batches->of[at].ids[i]);
    }
    leat_places_deinit(&places);
}

static void check_stream(const char *source, const char *options, const char *stages, int n) {
    struct drive how = {.options = {.n_epochs = 2}, .on_batch = on_batch};
    struct batches *batches = calloc(1, sizeof(*batches));
    char text[512];

    how.user = batches;
    assert_string_equal(drive_stream(source, options, stages, &how).error.message, "");
    for (int i = 0; i < n; i++) {
        struct leat_plan *plan;

        (void)snprintf(text, sizeof(text), "%s\n    %s", options, block_option());
        plan = stream_plan(source, text, stages);
        check_batch(plan, batches, draw(batches->n));
        leat_plan_unref(plan);
    }
    free(batches);
}

#define IDS  "- cast: {input: id, dtype: int64}\n"
#define ONLY "- select: {fields: [id]}\n"
#define TEN  "- batch: {batch_size: 10}"

static void test_places(void **state) {
    static const char *const sources[] = {
        "csv: {paths: [data.csv, more.csv]}",
        "mix: {sources: [{csv: {paths: [data.csv]}}, {csv: {paths: [more.csv]}}], weights: [2, 1]}",
    };
    static const char *const tails[] = {
        IDS ONLY TEN,
        IDS ONLY "- shuffle: {buffer_size: 300}\n" TEN,
        IDS ONLY "- shuffle: {global: true}\n" TEN,
        "- filter: {input: name, equals: one}\n" IDS ONLY "- shuffle: {buffer_size: 300}\n" TEN,
        IDS "- shuffle: {buffer_size: 50}\n- filter: {input: id, min: 150}\n" ONLY TEN,
        IDS ONLY "- take: {count: 333}\n- repeat: {count: 2}\n- shuffle: {buffer_size: 100}\n" TEN,
    };

    (void)state;
    write_file("data.csv", 0, 700);
    write_file("more.csv", 700, 300);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof(tails) / sizeof(tails[0]); k++)
            check_stream(sources[i], "", tails[k], 8);
}

static void test_cached(void **state) {
    static const char stages[] = "- filter: {input: name, equals: one}\n" IDS ONLY
                                 "- shuffle: {global: true, max_bytes: 1MiB}\n" TEN;

    (void)state;
    write_file("data.csv", 0, 2900);
    check_stream(CSV, "cache: {path: .}\n    skip_steps: [\"3-4\"]\n    skip_records: [\"9-20\"]",
                 stages, 20);
    remove_caches();
}

static void test_packed(void **state) {
    const char *source = "jsonl: {paths: [lists.jsonl], fields: {ids: \"list<int64>\"}}";
    const char *stages = "- pack: {fields: ids, length: 12, how: best_fit, value: 0}\n"
                         "- batch: {batch_size: 4}";
    struct leat_places_options options = {.step = 3};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    struct leat_places places;
    struct leat_plan *plan;
    uint32_t n_parts = 0;

    (void)state;
    for (int id = 0; id < 200; id++)
        leat_text_add(&text, "{\"ids\": [%d%s]}\n", id, id % 2 ? ", 7, 7" : "");
    folder_write("lists.jsonl", text.data, text.n_bytes);
    free(text.data);
    plan = stream_plan(source, "", stages);
    assert_int_equal(leat_places_find(plan, &leat_opener_operator, &options, &places, &err), 0);
    assert_int_equal(places.n_rows, 4);
    for (size_t i = 0; i < places.n_places; i++) {
        const struct leat_place *place = &places.places[i];

        n_parts = i > 0 && place->row == places.places[i - 1].row ? n_parts + 1 : 0;
        assert_int_equal(place->part, n_parts);
        assert_int_equal(place->line, place->record + 1);
        assert_int_equal(place->length, place->record % 2 ? 3 : 1);
    }
    leat_places_deinit(&places);
    leat_plan_unref(plan);
}

static void expect_none(const char *options, uint64_t step, int code, const char *message) {
    struct leat_plan *plan = stream_plan(CSV, options, IDS ONLY TEN);
    struct leat_places_options asked = {.step = step};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_places places;

    assert_int_equal(leat_places_find(plan, &leat_opener_operator, &asked, &places, &err), code);
    assert_non_null(strstr(err.message, message));
    leat_places_deinit(&places);
    leat_plan_unref(plan);
}

static void test_no_such_step(void **state) {
    (void)state;
    write_file("data.csv", 0, 100);
    expect_none("", 10, -ERANGE, "step 10 does not exist: epoch 0 has 10 steps, numbered from 0");
    expect_none("", 99, -EINVAL,
                "step 99 does not exist: epoch 0 has only 10 steps, numbered from 0");
    expect_none("skip_steps: [4]", 4, -ENODATA, "epoch 0, step 4 has no batch");
    expect_none("skip_steps: [9]", 9, -ERANGE, "step 9 does not exist");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_cached),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_no_such_step),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
