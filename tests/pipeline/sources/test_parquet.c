/* test_parquet.c: pipeline/sources/parquet: small files of pyarrow (data/make_parquet.py), whole,
 * with each byte changed, cut short at each byte, and lying. What all types and encodings become is
 * compared with pyarrow by tests/python/test_parquet.py. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/sources/parquet/memory.h"
#include "tests/pipeline/shared_arrow.h"

struct bytes {
    uint8_t *data;
    size_t n_bytes;
};

static const char *const names[] = {"flat",   "plain",     "delta", "lengths",
                                    "nested", "nested_v2", "times"};
#define N_NAMES (sizeof(names) / sizeof(*names))

static struct bytes read_data(const char *name) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct bytes bytes;
    char path[128], *data;

    (void)snprintf(path, sizeof(path), "pipeline/data/parquet/%s.parquet", name);
    if (leat_opener_read(&leat_opener_any, path, 1 << 20, &data, &bytes.n_bytes, &err) < 0)
        fail_msg("%s", err.message);
    bytes.data = (uint8_t *)data;
    return bytes;
}

static void init(struct source *source, const char *args) {
    struct leat_error err = LEAT_ERROR_INIT;
    char text[512];

    (void)snprintf(text, sizeof(text), "{ paths: in%s%s }", args[0] ? ", " : "", args);
    if (source_init(source, "parquet", text, &err) < 0)
        fail_msg("%s", err.message);
}

/* The rows as text, or the error behind them. */
static char *rows_of(const char *args, const struct bytes *file, enum arrow_how how,
                     const struct leat_input_limits *limits) {
    struct leat_text text = {.data = NULL};
    struct arrow_view view;
    struct source source;

    init(&source, args);
    arrow_see(&source, file->data, file->n_bytes, how, limits, 0, &view);
    if (view.n_bytes == 0 ||
        source_probe(&source, view.frames, view.n_bytes, true, &view.err) < 0 ||
        arrow_parse(&source, &view, 100, &text, &view.err) < 0 || view.r < 0)
        leat_text_add(&text, "%s\n", view.err.message);
    arrow_view_deinit(&view);
    source_deinit(&source);
    return text.data ? text.data : strdup("");
}

static void check_rows(const char *name, const char *args, const char *expected) {
    struct bytes file = read_data(name);
    char *rows = rows_of(args, &file, ARROW_FILE, &arrow_limits);

    if (strncmp(rows, expected, strlen(expected)) != 0)
        fail_msg("%s: %s: \"%s\" does not begin with \"%s\"", name, args, rows, expected);
    free(rows);
    free(file.data);
}

static void flat_columns(void **state) {
    static const char *const forms[] = {"flat", "plain", "delta"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        check_rows(forms[i], "",
                   "id=0|text=prefix-0|f=0.0|b=true\nid=1|text=prefix-0|f=0.25|b=false\n"
                   "id=2|text=prefix-1|f=0.5|b=false\nid=3|text=|f=0.75|b=true\n");
        check_rows(forms[i], "fields: {t: \"text text\", n: \"id int32\"}, missing: {t: none}",
                   "t=prefix-0|n=0\nt=prefix-0|n=1\nt=prefix-1|n=2\nt=none|n=3\n");
    }
    check_rows("lengths", "", "text=prefix-0\ntext=prefix-0\ntext=prefix-1\ntext=\n");
}

static void nested_columns(void **state) {
    static const char *const forms[] = {"nested", "nested_v2"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_rows(forms[i], "missing: {meta.n: -1}",
                   "vec=|meta.lang=|meta.n=-1|messages=[]\n"
                   "vec=0|meta.lang=en|meta.n=1|messages=[{\"role\":\"user\",\"content\":\"q1\"}]\n"
                   "vec=0 1|meta.lang=en|meta.n=2|messages=[{\"role\":");
        check_rows(forms[i], "fields: {m: \"meta json\", v: \"vec json\"}",
                   "m=|v=[]\nm={\"lang\":\"en\",\"n\":1}|v=[0]\n");
    }
}

static void dates_and_decimals(void **state) {
    (void)state;
    check_rows("times", "",
               "day=2024-02-28|when=1969-12-31 23:59:59.000000000|price=-0.75\n"
               "day=2024-02-29|when=1969-12-31 23:59:59.000005000|price=-0.5\n");
    check_rows("times", "fields: {day: int32, when: int64, price: text, raw: text}",
               "day=19781|when=-1000000|price=-0.75|raw=\xef\xbf\xbd"
               "0\nday=19782|when=-999995|price=-0.50|");
    check_rows("times", "fields: {raw: json}",
               "column \"raw\" has type binary, which leat does not read");
    check_rows("times", "fields: {nothing: text}", "has no column \"nothing\": it has \"day\"");
}

/* ---- damage ---- */

/* Reads it all; it must end well, or in one error that says where. */
static void check_end(const struct bytes *file, const char *what, size_t at) {
    struct leat_input_limits limits = {
        .max_window_bytes = 1 << 20, .max_expansion = 100, .max_record_bytes = 1 << 16};
    struct arrow_view view;
    struct source source;
    bool has_place;

    init(&source, "");
    arrow_see(&source, file->data, file->n_bytes, ARROW_FILE, &limits, 0, &view);
    has_place = strstr(view.err.message, "row group") || strstr(view.err.message, "footer") ||
                strstr(view.err.message, "schema") || strstr(view.err.message, "Parquet") ||
                strstr(view.err.message, "columns");
    if (view.r < 0 && (!has_place || (view.r != -EBADMSG && view.r != -EINVAL)))
        fail_msg("%s at byte %zu: %d %s", what, at, view.r, view.err.message);
    arrow_view_deinit(&view);
    source_deinit(&source);
}

static void each_byte_is_changed(void **state) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};

    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        struct bytes file = read_data(names[i]);

        for (size_t at = 0; at < file.n_bytes; at++)
            for (size_t k = 0; k < sizeof(changes); k++) {
                file.data[at] ^= changes[k];
                check_end(&file, names[i], at);
                file.data[at] ^= changes[k];
            }
        free(file.data);
    }
}

static void it_is_cut_short(void **state) {
    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        struct bytes file = read_data(names[i]), part = file;

        for (part.n_bytes = 1; part.n_bytes < file.n_bytes; part.n_bytes++) {
            char *rows = rows_of("", &part, ARROW_FILE, &arrow_limits);

            assert_non_null(strstr(rows, "Parquet file"));
            free(rows);
        }
        free(file.data);
    }
}

/* Changes the first of those bytes behind the last `behind`, and reads it. */
static void check_lie(const char *name, const char *behind, const char *old, const char *new,
                      const char *expected) {
    struct bytes file = read_data(name);
    uint8_t *at = file.data, *next;
    char *rows;

    while ((next = memmem(at, file.n_bytes - (size_t)(at - file.data), behind, strlen(behind))))
        at = next + strlen(behind);
    at = memmem(at, file.n_bytes - (size_t)(at - file.data), old, strlen(old));
    assert_non_null(at);
    memcpy(at, new, strlen(new));
    rows = rows_of("", &file, ARROW_FILE, &arrow_limits);
    if (!strstr(rows, expected))
        fail_msg("%s: \"%s\" has no \"%s\"", name, rows, expected);
    free(rows);
    free(file.data);
}

static void it_is_refused(void **state) {
    struct bytes file = read_data("plain");
    char *rows = rows_of("", &file, ARROW_PIPE, &arrow_limits);

    (void)state;
    assert_non_null(strstr(rows, "comes through a FIFO"));
    free(rows);
    free(file.data);
    check_lie("plain", "text", "PAR1", "PARE", "is an encrypted Parquet file");
    check_lie("plain", "text", "PAR1", "PAR2", "is a truncated Parquet file");
}

static void memory_is_limited(void **state) {
    struct leat_input_limits limits = {.max_expansion = 1, .max_record_bytes = 1000};
    struct bytes file = read_data("flat");

    (void)state;
    for (limits.max_window_bytes = 0; limits.max_window_bytes < 8192;
         limits.max_window_bytes += 256) {
        char *rows = rows_of("", &file, ARROW_FILE, &limits);

        assert_true(strstr(rows, "max_window_bytes") || strstr(rows, "id=11|"));
        if (limits.max_window_bytes < file.n_bytes / 4)
            assert_non_null(strstr(rows, "max_window_bytes"));
        free(rows);
    }
    free(file.data);
}

/* A freed block serves the next one of about its size, and does not count against the limit. */
static void a_block_serves_again(void **state) {
    struct leat_parquet_memory memory = {.max_bytes = 200000};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_parquet_block *block = leat_parquet_block_new(&memory, 150000, &err);
    const struct leat_parquet_block *first = block;

    (void)state;
    assert_non_null(block);
    memset(block->data, 1, 150000);
    assert_null(leat_parquet_blocks_free(&memory, block));
    assert_int_equal(memory.n_bytes, 0);
    assert_int_equal(leat_parquet_memory_held(&memory), 150000);

    block = leat_parquet_block_new(&memory, 10, &err); /* too small for it */
    assert_ptr_not_equal(block, first);
    assert_null(leat_parquet_blocks_free(&memory, block));

    block = leat_parquet_block_new(&memory, 120000, &err);
    assert_ptr_equal(block, first);
    assert_int_equal(block->n_bytes, 120000);
    for (int i = 0; i < LEAT_PARQUET_SLACK; i++)
        assert_int_equal(block->data[120000 + i], 0);
    assert_null(leat_parquet_blocks_free(&memory, block));

    block = leat_parquet_block_new(&memory, 200000, &err);
    assert_non_null(block);
    assert_null(leat_parquet_block_new(&memory, 1, &err));
    assert_int_equal(err.code, -EBADMSG);
    assert_null(leat_parquet_blocks_free(&memory, block));
    leat_parquet_memory_deinit(&memory);
    assert_int_equal(leat_parquet_memory_held(&memory), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_columns),       cmocka_unit_test(nested_columns),
        cmocka_unit_test(dates_and_decimals), cmocka_unit_test(each_byte_is_changed),
        cmocka_unit_test(it_is_cut_short),    cmocka_unit_test(it_is_refused),
        cmocka_unit_test(memory_is_limited),  cmocka_unit_test(a_block_serves_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
