/* test_scan_read.c: leat_scan_read(), leat_piece_index_read(): a piece that is read again has its
 * bytes, or an error says how the file has changed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/work/scan.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_stream.h"

#define N_LINES    4000
#define N_MANY     300000 /* more than the plan looks at */
#define LINE_BYTES 8

static struct blob lines(size_t n) {
    struct blob text = {.data = NULL};
    char line[32];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf(line, sizeof(line), "%07zu\n", i);
        blob_add(&text, line, LINE_BYTES);
    }
    return text;
}

static void write_text(const struct blob *text) {
    folder_write("in.txt", text->data, text->n_bytes);
}

/* The file of lines, plain or compressed (format < N_FORMATS), of which the last bytes are cut. */
static void write_lines(int format, size_t n, size_t n_cut) {
    struct blob text = lines(n), packed;

    if (format == N_FORMATS) {
        write_text(&text);
    } else {
        packed = compress_text((enum format)format, text.data, text.n_bytes, 100000);
        packed.n_bytes -= n_cut;
        write_text(&packed);
        blob_free(&packed);
    }
    blob_free(&text);
}

static struct leat_plan *plan_lines(void) {
    return stream_plan("text: {paths: [in.txt]}", "on_error: skip\n    block_bytes: 4096",
                       "- template: {output: end, parts: ['1']}\n"
                       "- cast: {input: end, dtype: int32}\n- select: {fields: [end]}\n"
                       "- batch: {batch_size: 2}");
}

static struct leat_cache_span span_of(uint64_t first, uint32_t n) {
    return (struct leat_cache_span){.n_records = n,
                                    .offset = first * LINE_BYTES,
                                    .n_bytes = (uint64_t)n * LINE_BYTES,
                                    .line = first + 1,
                                    .n_lines = n};
}

/* Reads the piece; checks the printed error behind the folder, or that the bytes are its lines. */
static void check_read(const struct leat_plan *plan, struct leat_cache_span span,
                       const char *expected) {
    struct leat_buffer buffer = {.data = NULL};
    struct leat_piece piece = {.buffer = &buffer, .span = span};
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_scan_read(plan, &leat_opener_operator, 0, NULL, &piece, &err);

    if (expected) {
        assert_int_equal(r, -ESTALE);
        assert_non_null(strstr(err.message, expected));
    } else {
        struct blob text = lines(N_LINES);

        assert_string_equal(err.message, "");
        assert_int_equal(r, 0);
        assert_memory_equal(buffer.data, text.data + span.offset, span.n_bytes);
        blob_free(&text);
    }
    free(buffer.data);
}

static void test_shorter(void **state) {
    static const struct {
        size_t n_now; /* lines */
        uint64_t first;
        uint32_t n;
        const char *expected;
    } cases[] = {
        {N_LINES, 0, 100, NULL},
        {N_LINES, N_LINES - 100, 100, NULL},
        {N_LINES - 1, N_LINES - 100, 100, "the file was shortened"},
        {N_LINES - 100, N_LINES - 100, 100, "the file was shortened"},
        {100, N_LINES - 100, 100, "the file was shortened"},
        {100, 0, 100, NULL},
        {1, 0, 100, "the file was shortened"},
    };

    (void)state;
    for (int format = 0; format <= N_FORMATS; format++)
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct leat_plan *plan;

            write_lines(format, N_LINES, 0);
            plan = plan_lines();
            write_lines(format, cases[i].n_now, 0);
            check_read(plan, span_of(cases[i].first, cases[i].n), cases[i].expected);
            leat_plan_unref(plan);
        }
}

/* The last piece of a scan; its buffer is the caller's. */
static struct leat_piece scan_last(struct leat_plan *plan) {
    struct leat_scan scan;
    struct leat_piece last = {.buffer = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t n_bytes = 0;
    bool has_ended = false;

    leat_scan_start(&scan, plan, &leat_opener_operator, true);
    while (!has_ended) {
        struct leat_scan_job job = {.scan = &scan, .max_bytes = SIZE_MAX, .n_pieces = 1};

        job.buffers[0] = calloc(1, sizeof(*job.buffers[0]));
        assert_int_equal(leat_scan_execute(&job, &n_bytes, &err), 0);
        has_ended = job.has_ended;
        if (job.buffers[0]) {
            free(job.buffers[0]->data);
            free(job.buffers[0]);
            continue;
        }
        if (last.buffer) {
            free(last.buffer->data);
            free(last.buffer);
        }
        last = job.pieces[0];
    }
    leat_scan_stop(&scan);
    return last;
}

/* The end of a damaged file is a bad record, for the same reason when it is read again; it is none
 * in a file that was mended. */
static void test_damaged(void **state) {
    (void)state;
    for (int format = 0; format < N_FORMATS; format++) {
        struct leat_buffer buffer = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_piece first, again;
        struct leat_plan *plan;

        write_lines(format, N_MANY, 1000);
        plan = plan_lines();
        first = scan_last(plan);
        assert_true(first.span.is_damaged);
        again = (struct leat_piece){.buffer = &buffer, .span = first.span};
        assert_int_equal(leat_scan_read(plan, &leat_opener_operator, 0, NULL, &again, &err), 0);
        assert_string_equal(again.damage, first.damage);
        assert_memory_equal(buffer.data, first.buffer->data, first.span.n_bytes);
        write_lines(format, N_MANY, 0);
        check_read(plan, first.span, "in.txt: the file changed: its damaged bytes are now intact");
        free(buffer.data);
        free(first.buffer->data);
        free(first.buffer);
        leat_plan_unref(plan);
    }
}

/* A block of a cache may name any file. */
static void test_no_such_file(void **state) {
    struct leat_cache_span span = span_of(0, 1);
    struct leat_plan *plan;

    (void)state;
    write_lines(N_FORMATS, N_LINES, 0);
    plan = plan_lines();
    span.file = 1;
    check_read(plan, span, "file 1 does not exist");
    leat_plan_unref(plan);
}

/* Places of records are those that were counted, or the file has changed. */
static void test_index(void **state) {
    struct leat_cache_span span = span_of(7, 100);
    struct leat_error err = LEAT_ERROR_INIT;
    struct blob text = lines(N_LINES);
    struct leat_piece_index index;
    struct leat_plan *plan;

    (void)state;
    write_text(&text);
    plan = plan_lines();
    assert_int_equal(leat_piece_index_read(&index, plan, &leat_opener_operator, &span, &err), 0);
    for (uint32_t i = 0; i < span.n_records; i++) {
        assert_int_equal(index.starts[i], i * LINE_BYTES);
        assert_memory_equal(index.buffer.data + index.starts[i], text.data + (7 + i) * LINE_BYTES,
                            LINE_BYTES - 1);
    }
    leat_piece_index_deinit(&index);
    text.data[50 * LINE_BYTES - 1] = 'x';
    write_text(&text);
    assert_int_equal(leat_piece_index_read(&index, plan, &leat_opener_operator, &span, &err),
                     -ESTALE);
    assert_non_null(strstr(err.message, "in.txt: the file has changed since it was opened"));
    leat_piece_index_deinit(&index);
    leat_plan_unref(plan);
    blob_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shorter),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_no_such_file),
        cmocka_unit_test(test_index),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
