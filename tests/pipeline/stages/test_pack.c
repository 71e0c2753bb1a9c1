/* test_pack.c: pipeline/stages/pack/pack.c, pack/packing.c, pack/fit.c: each document is in one
 * row, whole unless it may be cut, and what is made with the batch agrees with it; little is
 * padding. Which documents come together exactly, tests/reference/ says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/explain.h"
#include "pipeline/stages/pack/fit.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

/* ---- into which row ---- */

#define N_FIT 700

/* By looking at all rows. */
static uint32_t place_slowly(bool is_best, const uint32_t *room, const uint32_t *filled,
                             uint32_t n_rows, uint32_t n) {
    uint32_t found = n_rows;

    for (uint32_t row = 0; row < n_rows; row++) {
        if (room[row] < n)
            continue;
        if (found == n_rows ||
            (is_best && (room[row] < room[found] ||
                         (room[row] == room[found] && filled[row] > filled[found]))))
            found = row;
    }
    return found;
}

static void check_fit(bool is_best, uint32_t length, struct leat_fit *fit) {
    uint32_t room[N_FIT], filled[N_FIT], n_rows = 0;

    for (uint32_t i = 0; i < N_FIT; i++) {
        uint32_t n = (uint32_t)draw(draw(2) ? length : (length + 15) / 16) + 1;
        uint32_t row = place_slowly(is_best, room, filled, n_rows, n);

        assert_int_equal(leat_fit_place(fit, n), row);
        if (row == n_rows)
            room[n_rows++] = length;
        room[row] -= n;
        filled[row] = i;
    }
    assert_int_equal(leat_fit_n_rows(fit), n_rows);
}

static void test_fit(void **state) {
    static const uint32_t lengths[] = {1, 2, 63, 64, 65, 4095, 4096, 300000, LEAT_FIT_LENGTH_MAX};

    (void)state;
    for (int is_best = 0; is_best < 2; is_best++)
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            struct leat_fit *fit = leat_fit_new(is_best, lengths[i], N_FIT);

            assert_non_null(fit);
            check_fit(is_best, lengths[i], fit);
            leat_fit_reset(fit);
            check_fit(is_best, lengths[i], fit);
            leat_fit_free(fit);
        }
}

/* ---- rows ---- */

#define LONGEST 100
#define N_ROWS  900
#define PADDING (-5)
#define IGNORE  (-100)

struct packed {
    uint32_t length;
    bool splits, keeps_order;
    bool copies;             /* labels are a copy of ids; else they are `also` */
    uint32_t n_seen[N_ROWS]; /* elements of each document */
    uint64_t n_rows, n_elements;
    int64_t last;
};

/* One row of each tensor. */
struct row {
    const int64_t *ids, *also, *labels;
    const int32_t *mask, *positions, *segments;
};

/* One document of a row: elements of one record that follow each other. Returns where it ends. */
static uint64_t check_document(struct packed *packed, const struct row *row, uint64_t at,
                               int32_t segment) {
    const int64_t *ids = row->ids + at;
    size_t document = (size_t)(ids[0] / DOCUMENT_STRIDE);
    int64_t start = ids[0] % DOCUMENT_STRIDE;
    uint32_t n = 0;

    assert_int_equal(start, packed->n_seen[document]); /* parts come in their order */
    for (; at + n < packed->length && row->segments[at + n] == segment; n++) {
        int64_t value = (int64_t)document * DOCUMENT_STRIDE + start + n;

        assert_int_equal(ids[n], value);
        assert_int_equal(row->positions[at + n], n);
        assert_int_equal(row->labels[at + n], n == 0 ? IGNORE : packed->copies ? value : -value);
        assert_int_equal(row->also[at + n], packed->copies || n > 0 ? -value : IGNORE);
    }
    packed->n_seen[document] += n;
    if (!packed->splits)
        assert_int_equal(n, document_length(document, LONGEST));
    if (packed->keeps_order)
        assert_true(ids[0] >= packed->last);
    packed->last = ids[0];
    return at + n;
}

/* Returns how many elements of the row are documents. */
static uint64_t check_row(struct packed *packed, const struct row *row, uint64_t base,
                          const int32_t **cu) {
    uint64_t at = 0;
    int32_t segment = 1;

    while (at < packed->length && row->segments[at] > 0) {
        at = check_document(packed, row, at, segment++);
        assert_int_equal(*(*cu)++, base + at);
    }
    if (at < packed->length)
        assert_int_equal(*(*cu)++, base + packed->length);
    for (uint64_t k = 0; k < packed->length; k++) {
        assert_int_equal(row->mask[k], k < at);
        if (k < at)
            continue;
        assert_int_equal(row->ids[k], PADDING);
        assert_int_equal(row->labels[k], IGNORE);
        assert_int_equal(row->also[k], packed->copies ? PADDING : IGNORE);
        assert_int_equal(row->positions[k], 0);
        assert_int_equal(row->segments[k], 0);
    }
    return at;
}

static void check_batch(const struct leat_output *output, void *user) {
    struct packed *packed = user;
    uint64_t n, n_cu;
    struct row first = {
        .ids = batch_tensor(output, "ids", LEAT_DTYPE_INT64, &n),
        .also = batch_tensor(output, "also", LEAT_DTYPE_INT64, &n),
        .labels = batch_tensor(output, packed->copies ? "labels" : "also", LEAT_DTYPE_INT64, &n),
        .mask = batch_tensor(output, "mask", LEAT_DTYPE_INT32, &n),
        .positions = batch_tensor(output, "positions", LEAT_DTYPE_INT32, &n),
        .segments = batch_tensor(output, "segments", LEAT_DTYPE_INT32, &n),
    };
    const int32_t *cu = batch_tensor(output, "cu", LEAT_DTYPE_INT32, &n_cu), *end = cu + n_cu;

    assert_int_equal(n, (uint64_t)output->n_rows * packed->length);
    assert_int_equal(*cu++, 0);
    for (uint64_t i = 0; i < output->n_rows; i++) {
        uint64_t base = i * packed->length;
        struct row row = {first.ids + base,  first.also + base,      first.labels + base,
                          first.mask + base, first.positions + base, first.segments + base};

        packed->n_elements += check_row(packed, &row, base, &cu);
    }
    assert_ptr_equal(cu, end);
    packed->n_rows += output->n_rows;
}

#define MADE "value: -5, mask: mask, position_ids: positions, segment_ids: segments, cu_seqlens: cu"

static void check_packing(const char *args, struct packed packed) {
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = check_batch, .user = &packed};
    uint64_t n_elements = 0;
    struct driven driven;
    char stages[512];

    (void)snprintf(stages, sizeof(stages),
                   "- pack: {fields: [ids, also], length: %u, labels: %s, " MADE
                   ", %s}\n- batch: {batch_size: 7}",
                   packed.length, packed.copies ? "labels" : "also", args);
    driven = drive_stream(DOCUMENTS, "", stages, &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_growths, 0);
    for (size_t i = 0; i < N_ROWS; i++) {
        assert_int_equal(packed.n_seen[i], document_length(i, LONGEST));
        n_elements += packed.n_seen[i];
    }
    assert_int_equal(packed.n_elements, n_elements);
    assert_int_equal(driven.stats.counts.figures.n_elements,
                     n_elements * (packed.copies ? 2 : 1)); /* no labels */
    if (packed.splits && packed.keeps_order)
        assert_int_equal(packed.n_rows, (n_elements + packed.length - 1) / packed.length);
    else if (!packed.keeps_order)
        assert_true((double)packed.n_rows * packed.length * 0.96 < (double)n_elements);
}

static void test_packing(void **state) {
    static const struct {
        const char *args;
        struct packed packed;
    } cases[] = {
        {"how: concat", {.length = 128, .keeps_order = true}},
        {"how: concat, split: true", {.length = 128, .keeps_order = true, .splits = true}},
        {"how: concat, split: true", {.length = 7, .keeps_order = true, .splits = true}},
        {"how: concat, split: true", {.length = 1, .keeps_order = true, .splits = true}},
        {"how: first_fit, window: 300", {.length = 256}},
        {"how: best_fit", {.length = 128, .copies = true}},
        {"window: 400", {.length = 300, .copies = true}},
        {"how: best_fit, split: true", {.length = 64, .splits = true}},
        {"how: first_fit, split: true", {.length = 9, .splits = true, .copies = true}},
    };

    (void)state;
    write_documents(N_ROWS, LONGEST);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_packing(cases[i].args, cases[i].packed);
}

static void test_one_sequence(void **state) {
    static const char *const stages[] = {
        "- shuffle: {buffer_size: 100}\n- filter: {input: id, min: 30}\n"
        "- pack: {fields: [ids, also], length: 200, window: 90, labels: labels, " MADE
        "}\n- shuffle: {buffer_size: 20}\n- batch: {batch_size: 3}",
        "- pack: {fields: ids, length: 120, how: concat, value: 0}\n- repeat: {count: 2}\n"
        "- skip: {count: 3}\n- take: {count: 100}\n- batch: {max_tokens: 500}",
        "- chunk: {fields: [ids, also], length: 16, stride: 11}\n"
        "- pack: {fields: [also, ids], length: 16, how: first_fit, split: true, " MADE
        "}\n- batch: {batch_size: 9}",
        "- pack: {fields: ids, length: 128, value: 0, cu_seqlens: cu}",
    };

    (void)state;
    write_documents(500, LONGEST);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++)
        check_one_sequence(DOCUMENTS, stages[i]);
}

/* Rows of a fixed length make slots of a fixed size; max_tokens knows how many rows those are. */
static void test_plan(void **state) {
    struct leat_plan *plan;
    char *text;

    (void)state;
    write_documents(10, LONGEST);
    plan = stream_plan(DOCUMENTS, "",
                       "- pack: {fields: ids, length: 128, " MADE "}\n- batch: {max_tokens: 1000}");
    assert_true(plan->is_bounded);
    assert_int_equal(plan->batch_size, 7);
    assert_int_equal(plan->n_tensors, 5);
    assert_true(plan->slot_bytes <= 64 + 5 * 128 + 1001 * (8 + 4 * 4) + 5 * 64);
    text = stream_explain(plan, 2, false);
    assert_non_null(strstr(text, "order stages:          pack > batch"));
    assert_non_null(strstr(
        text, "ids int64[128], mask int32[mask of ids], positions "
              "int32[positions in documents of ids], segments int32[document numbers of ids], "
              "cu int32[starts of documents of ids]"));
    free(text);
    leat_plan_unref(plan);
}

static void test_other_names(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven named, renamed;

    (void)state;
    write_documents(200, LONGEST);
    named = drive_stream(
        DOCUMENTS, "", "- pack: {fields: [ids, also], length: 128, value: 0, labels: also}", &how);
    renamed = drive_stream(DOCUMENTS, "",
                           "- rename: {fields: {ids: a, also: ids}}\n"
                           "- pack: {fields: [a, ids], length: 128, value: 0, labels: ids}\n"
                           "- rename: {fields: {ids: also}}\n- rename: {fields: {a: ids}}",
                           &how);
    assert_string_equal(named.error.message, "");
    assert_string_equal(renamed.error.message, "");
    assert_string_equal(named.digest, renamed.digest);
}

static void test_bad_records(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [1, 2, 3], \"also\": [1, 2, 3]}\n"
                               "{\"ids\": [1, 2, 3, 4, 5], \"also\": [1, 2, 3, 4, 5]}\n"
                               "{\"ids\": [1, 2], \"also\": [1]}\n");
    driven =
        drive_stream(DOCUMENTS, "", "- pack: {fields: [ids, also], length: 4, value: 0}", &how);
    assert_string_equal(
        driven.error.message,
        "has 5 elements, more than pack.length 4: cut it with max_length, chunk or `split`");
    assert_int_equal(driven.error.line, 2);
    driven = drive_stream(DOCUMENTS, "",
                          "- pack: {fields: [ids, also], length: 4, value: 0, split: true}", &how);
    assert_string_equal(driven.error.message, "has 1 elements, but \"ids\" has 2: lists that leat "
                                              "cuts together must have the same length");
}

/* A repeat without end does not turn for ever if documents have no elements. */
static void test_nothing_left(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("docs.jsonl", "{\"ids\": [], \"n\": [1]}\n{\"ids\": []}\n");
    driven = drive_stream(DOCUMENTS, "",
                          "- repeat: {count: 0}\n- pack: {fields: [ids], length: 9, value: 0}\n"
                          "- take: {count: 3}",
                          &how);
    assert_int_equal(driven.error.code, -ENODATA);
    driven = drive_stream(DOCUMENTS, "",
                          "- repeat: {count: 0}\n- pack: {fields: [n], length: 9, value: 0, "
                          "window: 2000}\n- take: {count: 300}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_rows, 300);
}

static void test_refused(void **state) {
    static const struct {
        const char *stages, *error;
    } cases[] = {
        {"- pack: {fields: [x], length: 5}",
         "x.yaml:5:9: streams.x.stages[0].pack: leat does not know the padding of \"x\": set "
         "`value` to a number, or to a token such as \"[PAD]\" (0 is rarely right)"},
        {"- pack: {fields: [x], length: 5, value: '<pad>'}",
         "x.yaml:5:47: streams.x.stages[0].pack.value: \"<pad>\" is a token, but \"x\" does not "
         "come from a `tokenizer`: give a number"},
        {"- pack: {fields: [x], length: 5, value: 0.5}",
         "x.yaml:5:47: streams.x.stages[0].pack.value: 0.5 is not a value of type int64, the type "
         "of \"x\""},
        {"- pack: {fields: [x], length: 5, value: 0, how: concat, window: 5}",
         "x.yaml:5:71: streams.x.stages[0].pack.window: works only with `how: first_fit` and `how: "
         "best_fit`"},
        {"- pack: {fields: [x], length: 5, value: 0, ignore_index: 1}",
         "x.yaml:5:64: streams.x.stages[0].pack.ignore_index: works only with `labels`"},
        {"- pack: {fields: [x], length: 5, value: 0, labels: x}",
         "x.yaml:5:58: streams.x.stages[0].pack.labels: \"x\" is the first of `fields`: name "
         "another field of `fields`, or choose a new name for a copy of \"x\""},
        {"- pack: {fields: [x], length: 5, value: 0, mask: x}",
         "x.yaml:5:56: streams.x.stages[0].pack.mask: \"x\" is one of `fields`: choose another "
         "name"},
        {"- pack: {fields: [x], length: 5, value: 0, mask: m, segment_ids: m}",
         "x.yaml:5:9: streams.x.stages[0].pack: \"m\" occurs twice"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- select: {fields: [a]}",
         "x.yaml:6:26: streams.x.stages[1].select.fields: there is no field \"a\" here; did you "
         "mean \"x\"?"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- sample: {fraction: 0.5}",
         "x.yaml:6:9: streams.x.stages[1].sample: works on single records, but a row of `pack` "
         "contains several: put this stage before `pack`"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- dedup",
         "x.yaml:6:9: streams.x.stages[1].dedup: compares whole records: put it before `pack`"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- pack: {fields: [x], length: 5, value: 0}",
         "x.yaml:6:9: streams.x.stages[1].pack: a stream can have only one `pack`"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- pad: {input: x, length: 9, value: 0}",
         "x.yaml:6:22: streams.x.stages[1].pad.input: \"x\" is already padded"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- bucket: {input: x, window: 9}",
         "x.yaml:6:25: streams.x.stages[1].bucket.input: all rows of \"x\" have the same length: "
         "remove `bucket`"},
        {"- chunk: {fields: [x], length: 5}\n- pack: {fields: [x, y], length: 5, value: 0}",
         "x.yaml:6:24: streams.x.stages[1].pack.fields: `chunk` cuts other lists, but not \"y\": "
         "add it to the `fields` of `chunk`"},
        {"- chunk: {fields: [x], length: 9}\n- pack: {fields: [x], length: 5, value: 0}",
         "x.yaml:6:37: streams.x.stages[1].pack.length: 5 is less than the 9 elements of a window "
         "of `chunk`: make both lengths equal, or set `split: true`"},
        {"- pack: {fields: [x], length: 5, value: 0}\n- chunk: {fields: [x], length: 9}",
         "x.yaml:6:25: streams.x.stages[1].chunk.fields: \"x\" is already padded: put `chunk` "
         "before `pad` or `pack`"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused("{\"a\": 1, \"x\": [1], \"y\": [1]}\n", cases[i].stages, cases[i].error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),          cmocka_unit_test(test_packing),
        cmocka_unit_test(test_one_sequence), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_other_names),  cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_nothing_left), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
