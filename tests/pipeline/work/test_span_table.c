/* test_span_table.c: pipeline/work/span_table.c: spans have just the records that the definition of
 * the cutter (shared_cut.h) finds, so many of each file, and the bytes of a span alone are those
 * records again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_cut.h"
#include "tests/pipeline/shared_stream.h"
#include "tests/proto/shared_random.h"

#define N_FILES      3
#define HEADER       "a,b\n"
#define HEADER_BYTES 4
#define LINE         "{\"a\": 17, \"b\": 10000000}\n"
#define LINE_BYTES   (sizeof(LINE) - 1)

struct file {
    struct blob text; /* behind the header */
    struct cut_list list;
};

static uint64_t state_ = 7;

static size_t below(size_t n) {
    return (size_t)random_below(&state_, n);
}

/* Lines, blank ones, quotes that stay open, records too long, now and then no line end. */
static struct blob make_nasty(size_t n_bytes) {
    static const char letters[] = "aaaaaaaaaaaaaaab,,,\"\"\n\n\n\n\n\r";
    struct blob text = {.data = NULL};

    while (text.n_bytes < n_bytes) {
        char run[200];
        size_t n = 1;

        memset(run, letters[below(sizeof(letters) - 1)], sizeof(run));
        if (run[0] == 'a' && below(40) == 0)
            n = below(sizeof(run));
        blob_add(&text, run, n);
    }
    return text;
}

static void write_file(size_t index, const struct blob *text) {
    struct blob whole = {.data = NULL};
    char name[16];

    (void)snprintf(name, sizeof(name), "%zu.csv", index);
    blob_add(&whole, HEADER, HEADER_BYTES);
    blob_add(&whole, text->data, text->n_bytes);
    folder_write(name, whole.data, whole.n_bytes);
    blob_free(&whole);
}

static uint64_t lines_before(const struct blob *text, uint64_t offset) {
    uint64_t n = 0;

    for (uint64_t i = 0; i < offset; i++)
        n += text->data[i] == '\n';
    return n;
}

/* Its bytes alone, as if they were a file. A record that was cut off within its line may be as long
 * as it may be, and then ends the span for who does not know what comes behind it. */
static void check_alone(const struct leat_cutter *cutter, const struct leat_cache_span *place,
                        const struct file *file, uint64_t first) {
    const uint8_t *data = file->text.data + place->offset - HEADER_BYTES;
    struct cut_list list;

    cut_list_init(&list, (size_t)place->n_bytes);
    cut_in_pieces(cutter, data, (size_t)place->n_bytes, NULL, 0, &list);
    assert_int_equal(list.n_records, place->n_records);
    for (size_t i = 0; i < list.n_records; i++)
        assert_int_equal(list.starts[i] + place->offset - HEADER_BYTES,
                         file->list.starts[first + i]);
    cut_list_deinit(&list);
}

static void check_span(const struct leat_cutter *cutter, const struct leat_cache_span *place,
                       const struct file *file, uint64_t first) {
    uint64_t start = place->offset - HEADER_BYTES;

    assert_true(place->n_records > 0);
    assert_in_range(file->list.starts[first], start, start + place->n_bytes - 1);
    assert_true(first == 0 || start >= file->list.ends[first - 1]);
    assert_int_equal(place->line, 2 + lines_before(&file->text, start));
    assert_int_equal(place->line + place->n_lines,
                     2 + lines_before(&file->text, start + place->n_bytes));
    check_alone(cutter, place, file, first);
}

static void check_table(const struct leat_plan *plan, const struct file *files,
                        uint64_t block_size) {
    struct leat_span_table table;
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t n_bytes, record = 0;
    size_t at = 0;

    leat_span_table_init(&table, block_size);
    assert_int_equal(
        leat_scan_count_files(plan, &leat_opener_any, 0, N_FILES, &table, &n_bytes, &err), 0);
    for (size_t f = 0; f < N_FILES; f++)
        for (uint64_t first = 0; first < files[f].list.n_records; at++) {
            const struct leat_cache_span *place = &table.spans[at].place;

            assert_true(at < table.n_spans);
            assert_int_equal(place->file, f);
            assert_int_equal(table.spans[at].record, record);
            check_span(&plan->sources[0].cutter, place, &files[f], first);
            first += place->n_records;
            record += place->n_records;
            assert_true(block_size == 0 || place->n_records == block_size ||
                        first == files[f].list.n_records);
        }
    assert_int_equal(at, table.n_spans);
    assert_int_equal(record, table.n_records);
    leat_span_table_deinit(&table);
}

static void test_spans(void **state) {
    static const uint64_t sizes[] = {0, 1, 2, 7, 100, 5000};

    (void)state;
    for (int round = 0; round < 12; round++) {
        struct file files[N_FILES];
        struct leat_plan *plan;
        char options[80];

        for (size_t i = 0; i < N_FILES; i++) {
            files[i].text = make_nasty(below(i == 1 ? 3 : 30000));
            write_file(i, &files[i].text);
        }
        (void)snprintf(options, sizeof(options), "block_bytes: %zu\n    max_record_bytes: %zu",
                       4096 + below(9000), 64 + below(500));
        plan = stream_plan("csv: {paths: [0.csv, 1.csv, 2.csv]}", options,
                           "- cast: {input: a, dtype: int64, default: 0}\n"
                           "- select: {fields: [a]}\n- batch: {batch_size: 2}");
        for (size_t i = 0; i < N_FILES; i++) {
            cut_list_init(&files[i].list, files[i].text.n_bytes);
            cut_by_definition(&plan->sources[0].cutter, files[i].text.data, files[i].text.n_bytes,
                              &files[i].list);
        }
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            check_table(plan, files, sizes[i]);
        leat_plan_unref(plan);
        for (size_t i = 0; i < N_FILES; i++) {
            cut_list_deinit(&files[i].list);
            blob_free(&files[i].text);
        }
    }
}

static int count(const char *source, const char *options, uint64_t block_size, size_t n_files,
                 struct leat_span_table *table, struct leat_error *err) {
    struct leat_plan *plan =
        stream_plan(source, options, "- batch: {batch_size: 2, drop_last: false}");
    uint64_t n_bytes;
    int r;

    leat_span_table_init(table, block_size);
    *err = LEAT_ERROR_INIT;
    r = leat_scan_count_files(plan, &leat_opener_any, 0, n_files, table, &n_bytes, err);
    leat_plan_unref(plan);
    return r;
}

/* Places are those of the text; what is left of a damaged file is a record. */
static void test_compressed(void **state) {
    struct blob text = {.data = NULL}, packed;
    struct leat_span_table table;
    struct leat_error err;

    (void)state;
    for (int i = 0; i < 5000; i++)
        blob_add(&text, LINE, LINE_BYTES);
    packed = compress_text(ZSTD, text.data, text.n_bytes, 10000);
    folder_write("z.jsonl", packed.data, packed.n_bytes);
    assert_int_equal(count("jsonl: {paths: [z.jsonl]}", "", 700, 1, &table, &err), 0);
    assert_int_equal(table.n_records, 5000);
    assert_int_equal(table.n_spans, 8);
    assert_int_equal(table.spans[7].place.offset, 7 * 700 * LINE_BYTES);
    leat_span_table_deinit(&table);

    folder_write("z.jsonl", packed.data, packed.n_bytes / 2);
    assert_int_equal(count("jsonl: {paths: [z.jsonl]}", "", 700, 1, &table, &err), -EBADMSG);
    leat_span_table_deinit(&table);
    assert_int_equal(count("jsonl: {paths: [z.jsonl]}", "on_error: skip", 0, 1, &table, &err), 0);
    assert_in_range(table.n_records, 2000, 3000);
    assert_true(table.spans[table.n_spans - 1].place.is_damaged);
    leat_span_table_deinit(&table);
    blob_free(&packed);
    blob_free(&text);
}

static void test_too_many(void **state) {
    struct leat_span_table table = {
        .block_size = 1, .n_spans = LEAT_SPANS_MAX, .capacity = LEAT_SPANS_MAX};
    struct leat_cache_span piece = {.n_records = 1, .n_bytes = 2};
    struct leat_cutter cutter = {.kind = LEAT_CUTTER_LINES, .max_record_bytes = 64};
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    table.spans = calloc(LEAT_SPANS_MAX, sizeof(*table.spans));
    assert_non_null(table.spans);
    table.spans[LEAT_SPANS_MAX - 1].place.n_records = 1;
    assert_int_equal(leat_span_table_add(&table, &cutter, &piece, (const uint8_t *)"a\n", &err),
                     -E2BIG);
    assert_string_equal(err.message, "the data has more than 4194304 blocks of "
                                     "block_size (1) records: raise block_size");
    leat_span_table_deinit(&table);
}

static void test_fifo(void **state) {
    struct leat_span_table table;
    struct leat_error err;

    (void)state;
    folder_print("a.jsonl", "{\"a\": 1}\n");
    assert_int_equal(mkfifo(folder_path("b.jsonl"), 0600), 0);
    assert_int_equal(count("jsonl: {paths: [a.jsonl, b.jsonl]}", "", 5, 2, &table, &err), -ESPIPE);
    leat_span_table_deinit(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_fifo),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
