/* test_arrow.c: pipeline/sources/arrow/arrow.c and pipeline/arrow: files of pyarrow in several
 * forms, and files made here (shared_arrow_file.h), whole, damaged and hostile. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "tests/pipeline/shared_arrow.h"
#include "tests/pipeline/shared_arrow_file.h"

/* ---- files of pyarrow ---- */

struct bytes {
    uint8_t *data;
    size_t n_bytes;
};

static struct bytes read_data(const char *name) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct bytes bytes;
    char path[128], *data;

    (void)snprintf(path, sizeof(path), "pipeline/data/arrow/%s", name);
    if (leat_opener_read(&leat_opener_any, path, 1 << 20, &data, &bytes.n_bytes, &err) < 0)
        fail_msg("%s", err.message);
    bytes.data = (uint8_t *)data;
    return bytes;
}

static void init(struct source *source, const char *args) {
    struct leat_error err = LEAT_ERROR_INIT;
    char text[512];

    (void)snprintf(text, sizeof(text), "{ paths: in%s%s }", args[0] ? ", " : "", args);
    if (source_init(source, "arrow", text, &err) < 0)
        fail_msg("%s", err.message);
}

/* The rows as text, or the error. */
static char *rows_of(struct source *source, const void *data, size_t n_bytes, enum arrow_how how) {
    struct leat_text text = {.data = NULL};
    struct arrow_view view;

    arrow_see(source, data, n_bytes, how, &arrow_limits, 0, &view);
    if (view.n_bytes == 0 || source_probe(source, view.frames, view.n_bytes, true, &view.err) < 0 ||
        arrow_parse(source, &view, 1000, &text, &view.err) < 0 || view.r < 0)
        leat_text_add(&text, "%s\n", view.err.message);
    arrow_view_deinit(&view);
    return text.data ? text.data : strdup("");
}

static void files_of_pyarrow(void **state) {
    static const char *const names[] = {"stream.arrow", "old.arrow", "file.arrow", "lz4.arrow",
                                        "zstd.arrow"};
    struct bytes expected = read_data("rows.txt");

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(*names); i++) {
        struct bytes file = read_data(names[i / 2]);
        struct source source;
        char *rows;

        init(&source, "missing: {f: -1, meta.n.x: -2}");
        rows = rows_of(&source, file.data, file.n_bytes, i % 2 ? ARROW_PIPE : ARROW_FILE);
        assert_string_equal(rows, (char *)expected.data);
        free(rows);
        source_deinit(&source);
        free(file.data);
    }
    free(expected.data);
}

static void check_rows(const char *name, const char *args, const char *expected) {
    struct bytes file = read_data(name);

    for (int how = ARROW_FILE; how <= ARROW_PIPE; how++) {
        struct source source;
        char *rows;

        init(&source, args);
        rows = rows_of(&source, file.data, file.n_bytes, (enum arrow_how)how);
        if (strncmp(rows, expected, strlen(expected)) != 0)
            fail_msg("%s: %s: \"%s\" does not begin with \"%s\"", name, args, rows, expected);
        free(rows);
        source_deinit(&source);
    }
    free(file.data);
}

static void fields_are_declared(void **state) {
    (void)state;
    check_rows("stream.arrow", "fields: {n: \"id int32\", x: \"meta.n.x int64\"}, missing: {x: 7}",
               "n=0|x=7\nn=1000003|x=1\n");
    check_rows("stream.arrow", "fields: {v: \"fix json\", w: \"vec list<float64>\", i8: json}",
               "v=[0,1,0]|w=|i8=-50\nv=[1,2,-1]|w=0.0|i8=-49\n");
    check_rows("stream.arrow", "fields: {m: \"meta json\"}",
               "m=\nm={\"lang\":\"en\",\"n\":{\"x\":1}}\n");
    check_rows("stream.arrow", "fields: {i8: uint8}", "! 1:0 i8: -50 does not fit in uint8\n");
    check_rows("stream.arrow", "fields: {fix: list<uint8>}",
               "fix=0 1 0\n! 2:0 fix: -1 does not fit in uint8\n");
    check_rows("stream.arrow", "fields: {f: float32}", "! 1:0 f: the value is missing or null;");
    check_rows("stream.arrow", "fields: {f: int32}, missing: {f: 3}",
               "f=3\n! 2:0 f: 0.25 does not fit in int32\n");
    check_rows("stream.arrow", "fields: {text: text}, missing: {text: none}", "text=none\n");
    check_rows("stream.arrow", "fields: {nothing: text}",
               "has no column \"nothing\": it has \"id\"");
    check_rows("stream.arrow", "fields: {when: text}",
               "column \"when\" has type timestamp, which leat does not read");
    check_rows(
        "stream.arrow", "fields: {messages: text}",
        "column \"messages\" has type list<struct<role: utf8, content: utf8>>, which leat reads "
        "as json only: declare it as json");
    check_rows("stream.arrow", "fields: {text: int64}",
               "column \"text\" has type utf8, which is text: declare it as text");
    check_rows("stream.arrow", "fields: {id: text}",
               "column \"id\" has type int64, which is a number: declare it as int64, float32, "
               "bool or the like");
    check_rows("stream.arrow", "missing: {vec: 1}",
               "\"vec\" is a list, and a missing list is always empty: remove this key");
    check_rows("stream.arrow", "missing: {f: x}", "\"f\": \"x\" is not a value of type float32");
}

/* A second dictionary in place of the first, and a delta. */
static void dictionaries_change(void **state) {
    (void)state;
    check_rows("dictionaries.arrow", "", "k=a\nk=b\nk=a\nk=b\nk=c\nk=z\n");
}

/* Nulls among the values of a dictionary, which are not those of its indices. */
static void dictionaries_have_nulls(void **state) {
    (void)state;
    check_rows("nulls.arrow", "", "k=\nk=d\nk=c\nk=\nk=a\nk=\n");
    check_rows("nulls.arrow", "fields: {k: json}, missing: {k: none}",
               "k=none\nk=d\nk=c\nk=none\nk=a\nk=none\n");
}

/* ---- places ---- */

static void check_places(const struct source *source, const struct bytes *file, size_t n_tries) {
    struct leat_rng rng = {.state = 1};
    struct arrow_view view;

    arrow_see(source, file->data, file->n_bytes, ARROW_FILE, &arrow_limits, 0, &view);
    assert_int_equal(view.r, 0);
    for (size_t i = 1; i < view.n_frames; i++)
        assert_true(view.places[i] > view.places[i - 1]);
    for (size_t i = 0; i < n_tries; i++) {
        size_t frame = 1 + (size_t)leat_rng_below(&rng, view.n_frames - 1);
        size_t start = view.starts[frame];
        struct arrow_view rest;

        arrow_see(source, file->data, file->n_bytes, ARROW_FILE, &arrow_limits, view.places[frame],
                  &rest);
        assert_int_equal(rest.n_bytes, view.n_bytes - start);
        assert_memory_equal(rest.frames, view.frames + start, rest.n_bytes);
        arrow_view_deinit(&rest);
    }
    arrow_view_deinit(&view);
}

static void a_place_is_entered(void **state) {
    static const char *const names[] = {"stream.arrow", "file.arrow", "zstd.arrow",
                                        "dictionaries.arrow"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct bytes file = read_data(names[i]);
        struct source source;

        init(&source, "");
        check_places(&source, &file, 20);
        source_deinit(&source);
        free(file.data);
    }
}

/* More than what is read at once, more than a group: rows of one batch, and of many. */
static void a_large_batch(void **state) {
    static const uint32_t batches[] = {1, 7, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
        struct arrow_file *file = arrow_file_of_texts(6000, batches[i], 900);
        struct bytes bytes = {file->bytes.data, file->bytes.n_bytes};
        struct source source;

        init(&source, "");
        check_places(&source, &bytes, 4);
        source_deinit(&source);
        arrow_file_free(file);
    }
}

/* ---- damage ---- */

static void refused(void **state) {
    static const struct {
        const char *bytes, *message;
    } cases[] = {
        {"", "is not an Arrow file: it has fewer than 8 bytes"},
        {"PAR1\0\0\0\0", "is a Parquet file"},
        {"FEA1\0\0\0\0", "is a Feather file of version 1"},
        {"{\"a\": 1}", "is not an Arrow file: an Arrow stream begins with ff ff ff ff"},
        {"\xff\xff\xff\xff\0\0\0\0", "is truncated: it has no schema"},
        {"\xff\xff\xff\xff\xff\xff\xff\x7f", "a message has 2147483647 bytes of metadata"},
        {"\xff\xff\xff\xff\x08\0\0\0", "the file is truncated: it ends within a message"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int how = ARROW_FILE; how <= ARROW_PIPE; how++) {
            struct source source;
            char *rows;

            init(&source, "");
            rows = rows_of(&source, cases[i].bytes, i == 0 ? 0 : 8, (enum arrow_how)how);
            assert_non_null(strstr(rows, cases[i].message));
            free(rows);
            source_deinit(&source);
        }
}

/* Whatever is missing of a file: what comes is the beginning of what it holds. */
static void cut_short(void **state) {
    struct bytes file = read_data("stream.arrow");
    struct arrow_view whole;
    struct source source;

    (void)state;
    init(&source, "");
    arrow_see(&source, file.data, file.n_bytes, ARROW_FILE, &arrow_limits, 0, &whole);
    for (size_t n = 0; n < file.n_bytes; n += 13)
        for (int how = ARROW_FILE; how <= ARROW_PIPE; how++) {
            struct arrow_view view;

            arrow_see(&source, file.data, n, (enum arrow_how)how, &arrow_limits, 0, &view);
            assert_true(view.n_bytes <= whole.n_bytes);
            assert_true(view.r == 0 || view.r == -EBADMSG);
            if (view.n_bytes > 0)
                assert_memory_equal(view.frames, whole.frames, view.n_bytes);
            arrow_view_deinit(&view);
        }
    arrow_view_deinit(&whole);
    source_deinit(&source);
    free(file.data);
}

/* Each byte of a file set to what hurts most: it ends in one way or the other. */
static void any_byte(void **state) {
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct arrow_file *file = arrow_file_of_texts(5, 2, 3);
    struct source source;

    (void)state;
    init(&source, "");
    for (size_t i = 0; i < file->bytes.n_bytes * sizeof(values); i++) {
        uint8_t *byte = &file->bytes.data[i / sizeof(values)], before = *byte;
        struct arrow_view view;

        *byte = values[i % sizeof(values)];
        arrow_see(&source, file->bytes.data, file->bytes.n_bytes, ARROW_FILE, &arrow_limits, 0,
                  &view);
        assert_true(view.r == 0 || view.r == -EBADMSG || view.r == -EINVAL);
        arrow_view_deinit(&view);
        *byte = before;
    }
    source_deinit(&source);
    arrow_file_free(file);
}

/* What comes of a file of which some bytes are damaged: so many rows, and an error that is final
 * (arrow_see aborts if not); the same if it is read on behind it. */
static void check_damage(const char *name, size_t at, const void *damage, size_t n_damage,
                         size_t n_rows, const char *message) {
    struct bytes file = read_data(name);
    struct source source;

    assert_true(at + n_damage <= file.n_bytes);
    memcpy(file.data + at, damage, n_damage);
    init(&source, "");
    for (int how = ARROW_FILE; how <= ARROW_PIPE; how++) {
        struct arrow_view view;

        arrow_see(&source, file.data, file.n_bytes, (enum arrow_how)how, &arrow_limits, 0, &view);
        if (view.r != -EBADMSG || !strstr(view.err.message, message))
            fail_msg("%s: \"%s\" is not in \"%s\"", name, message, view.err.message);
        assert_int_equal(view.n_frames, 1 + n_rows);
        arrow_go_on(&source, file.data, file.n_bytes, (enum arrow_how)how, &arrow_limits, &view);
        arrow_view_deinit(&view);
    }
    source_deinit(&source);
    free(file.data);
}

static size_t find_bytes(const char *name, const void *bytes, size_t n_bytes, unsigned n_passed) {
    struct bytes file = read_data(name);
    const uint8_t *found = file.data;
    size_t at;

    for (unsigned i = 0; i <= n_passed; i++) {
        found = memmem(found + 1, file.n_bytes - (size_t)(found + 1 - file.data), bytes, n_bytes);
        assert_non_null(found);
    }
    at = (size_t)(found - file.data);
    free(file.data);
    return at;
}

/* A dictionary that could not be read is gone: no row refers to what is left of it. */
static void damaged_dictionaries(void **state) {
    static const uint32_t down[] = {0, UINT32_MAX, 2}, beyond[] = {0, 2};
    size_t start = find_bytes("dictionaries.arrow", "ab\0\0\0\0\0\0\xff\xff\xff\xff", 12, 0) - 16;
    size_t delta = find_bytes("dictionaries.arrow", "c\0\0\0\0\0\0\0\xff\xff\xff\xff", 12, 0) - 8;
    size_t other = find_bytes("dictionaries.arrow", "z\0\0\0\0\0\0\0\xff\xff\xff\xff", 12, 0) - 8;

    (void)state;
    check_damage("dictionaries.arrow", start, down, sizeof(down), 0, "its offsets decrease");
    check_damage("dictionaries.arrow", delta, beyond, sizeof(beyond), 2,
                 "lie outside their buffer");
    check_damage("dictionaries.arrow", other, beyond, sizeof(beyond), 5,
                 "lie outside their buffer");
}

/* Of a batch with a damaged buffer no row is given, nor of those behind it. */
static void damaged_compression(void **state) {
    static const uint8_t lz4[] = {0x04, 0x22, 0x4d, 0x18}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    static const uint8_t damage[4] = {0};
    static const struct {
        const char *name;
        unsigned frame; /* the first two are of a dictionary */
        size_t n_rows;
    } cases[] = {
        {"zstd.arrow", 0, 0}, {"zstd.arrow", 2, 0},  {"lz4.arrow", 0, 0},
        {"lz4.arrow", 2, 0},  {"lz4.arrow", 40, 40}, {"lz4.arrow", 78, 80},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool is_lz4 = strcmp(cases[i].name, "lz4.arrow") == 0;
        size_t at = find_bytes(cases[i].name, is_lz4 ? lz4 : zstd, 4, cases[i].frame);

        check_damage(cases[i].name, at, damage, 4, cases[i].n_rows,
                     is_lz4 ? "does not contain the expected LZ4 frame"
                            : "does not contain the expected zstd frame");
    }
}

static void a_schema_without_fields(void **state) {
    struct arrow_file *file = arrow_file_new(NULL, 0);
    struct source source;
    char *rows;

    (void)state;
    arrow_file_end(file);
    init(&source, "fields: {a: text}");
    rows = rows_of(&source, file->bytes.data, file->bytes.n_bytes, ARROW_FILE);
    assert_non_null(strstr(rows, "has no column \"a\": it has none"));
    free(rows);
    source_deinit(&source);
    arrow_file_free(file);
}

/* ---- hostile batches ---- */

static const uint8_t truth[8] = {0x05};

/* A batch of one column "c", of which something is wrong. */
struct hostile {
    struct arrow_field field;
    int64_t n_rows, n_node_rows, n_nulls;
    struct arrow_buffer buffers[3];
    size_t n_buffers;
    const char *message;
};

#define OFFSETS(...) ((const int32_t[]){__VA_ARGS__})
#define FIELD(code, bits)                                                                          \
    { .name = "c", .type = code, .width = bits }
#define TEXT FIELD(ARROW_UTF8, 0)

static void hostile_batches(void **state) {
    static const struct arrow_field item = {.name = "item", .type = ARROW_INT, .width = 32};
    const struct hostile cases[] = {
        {TEXT, 2, 2, 0, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "c=a\nc=b\n"},
        {TEXT, 2, 2, 0, {{0}, {OFFSETS(0, 2, 1), 12}, {"ab", 2}}, 3, "its offsets decrease"},
        {TEXT, 2, 2, 0, {{0}, {OFFSETS(0, 1, 3), 12}, {"ab", 2}}, 3, "or lie outside their buffer"},
        {TEXT, 2, 2, 0, {{0}, {OFFSETS(-1, 1, 2), 12}, {"ab", 2}}, 3, "its offsets decrease"},
        {TEXT, 2, 2, 0, {{0}, {OFFSETS(0, 1), 8}, {"ab", 2}}, 3, "too short for its rows"},
        {TEXT, 2, 1, 0, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "fewer rows than its batch"},
        {TEXT, 2, -2, 0, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "its number of rows"},
        {TEXT, 2, 2, 3, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "its number of rows"},
        {TEXT, 2, 2, 1, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "too short for its rows"},
        {TEXT, 3, 3, 1, {{truth, 1}, {OFFSETS(0, 1, 1, 2), 16}, {"ab", 2}}, 3, "c=a\nc=\nc=b\n"},
        {TEXT, -1, 2, 0, {{0}, {OFFSETS(0, 1, 2), 12}, {"ab", 2}}, 3, "a negative number of rows"},
        {TEXT, INT64_MAX, INT64_MAX, 0, {{0}}, 3, "a batch has 9223372036854775807 rows"},
        {TEXT, INT32_MAX, INT32_MAX, 0, {{0}}, 3, "too short for its rows"},
        {TEXT,
         2,
         2,
         0,
         {{0}, {OFFSETS(0, 1, 2), 12}},
         2,
         "fewer than the columns of the schema need"},
        {FIELD(ARROW_NULL, 0), 3, 3, 3, {{0}}, 0, "c=\nc=\nc=\n"},
        {FIELD(ARROW_NULL, 0), INT32_MAX, INT32_MAX, 0, {{0}}, 0, "max_expansion is 1000"},
        {TEXT, 0, 0, 0, {{0}}, 3, ""},
        {FIELD(ARROW_INT, 32), 2, 2, 0, {{0}, {OFFSETS(7, 8), 8}}, 2, "c=7\nc=8\n"},
        {FIELD(ARROW_INT, 64), 2, 2, 0, {{0}, {OFFSETS(7, 8), 8}}, 2, "too short for its rows"},
        {FIELD(ARROW_BOOL, 0), 9, 9, 0, {{0}, {truth, 1}}, 2, "too short for its rows"},
        {FIELD(ARROW_BOOL, 0), 3, 3, 0, {{0}, {truth, 1}}, 2, "c=true\nc=false\nc=true\n"},
        {{"c", ARROW_FIXED_LIST, INT32_MAX, &item, 1},
         2,
         2,
         0,
         {{0}, {0}, {OFFSETS(7), 4}},
         3,
         "fewer rows than its batch"},
        {FIELD(ARROW_UTF8_VIEW, 0),
         2,
         2,
         0,
         {{0}, {truth, 8}},
         2,
         "fewer than the columns of the schema need"},
        {FIELD(99, 0), 2, 2, 0, {{0}}, 2, "has a type (99) that leat does not know"},
        {FIELD(ARROW_INT, 7), 2, 2, 0, {{0}}, 2, "neither 8, 16, 32 nor 64 bits"},
        {{"c", ARROW_FIXED_LIST, -1, &item, 1}, 2, 2, 0, {{0}}, 2, "a negative length"},
        {FIELD(ARROW_LIST, 0), 2, 2, 0, {{0}}, 2, "the wrong number of children"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct arrow_file *file = arrow_file_new(&cases[i].field, 1);
        int64_t nodes[4] = {cases[i].n_node_rows, cases[i].n_nulls, 1, 0};
        struct source source;
        char *rows;

        arrow_file_batch(file, cases[i].n_rows, nodes, 1 + cases[i].field.n_children,
                         cases[i].buffers, cases[i].n_buffers);
        arrow_file_end(file);
        init(&source, "");
        rows = rows_of(&source, file->bytes.data, file->bytes.n_bytes, ARROW_FILE);
        if (!strstr(rows, cases[i].message))
            fail_msg("%zu: \"%s\" is not in \"%s\"", i, cases[i].message, rows);
        free(rows);
        source_deinit(&source);
        arrow_file_free(file);
    }
}

/* ---- limits ---- */

static void long_rows_are_bad(void **state) {
    struct leat_input_limits limits = arrow_limits;
    struct bytes file = read_data("stream.arrow");
    struct leat_text text = {.data = NULL};
    struct arrow_view view;
    struct source source;

    (void)state;
    limits.max_record_bytes = 64;
    init(&source, "fields: {id: int64, messages: json}");
    arrow_see(&source, file.data, file.n_bytes, ARROW_FILE, &limits, 0, &view);
    assert_int_equal(source_probe(&source, view.frames, view.n_bytes, true, &view.err), 0);
    assert_int_equal(arrow_parse(&source, &view, 100, &text, &view.err), 0);
    assert_non_null(strstr(text.data, "id=0|messages=[]\n"));
    assert_non_null(strstr(text.data, "! 3:0 : the record is longer than max_record_bytes (64)\n"));
    free(text.data);
    arrow_view_deinit(&view);
    source_deinit(&source);
    free(file.data);
}

static void what_must_be_in_memory_is_limited(void **state) {
    struct leat_input_limits limits = arrow_limits;
    struct bytes file = read_data("lz4.arrow");

    (void)state;
    limits.max_window_bytes = 1000;
    for (int how = ARROW_FILE; how <= ARROW_PIPE; how++) {
        struct arrow_view view;
        struct source source;

        init(&source, "");
        arrow_see(&source, file.data, file.n_bytes, (enum arrow_how)how, &limits, 0, &view);
        assert_int_equal(view.r, -EBADMSG);
        assert_non_null(strstr(view.err.message, "max_window_bytes"));
        arrow_view_deinit(&view);
        source_deinit(&source);
    }
    free(file.data);
}

/* The bytes of records, which split and dedup hash: another layout would make other batches. */
static void frames_stay_the_same(void **state) {
    static const struct {
        const char *name;
        uint8_t digest[8];
    } files[] = {{"stream.arrow", {0x7a, 0x75, 0x71, 0xdf, 0x62, 0x49, 0x01, 0x99}},
                 {"dictionaries.arrow", {0x6c, 0x5d, 0x16, 0xed, 0x80, 0xa9, 0x04, 0xe5}},
                 {"nulls.arrow", {0x13, 0x65, 0x69, 0x51, 0x9e, 0x28, 0xcc, 0xeb}}};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        struct bytes file = read_data(files[i].name);
        uint8_t digest[LEAT_DIGEST_BYTES];
        struct leat_blake2b hash;
        struct arrow_view view;
        struct source source;

        init(&source, "");
        arrow_see(&source, file.data, file.n_bytes, ARROW_FILE, &arrow_limits, 0, &view);
        leat_blake2b_init(&hash);
        leat_blake2b_update(&hash, view.frames, view.n_bytes);
        leat_blake2b_final(&hash, digest);
        assert_memory_equal(digest, files[i].digest, sizeof(files[i].digest));
        arrow_view_deinit(&view);
        source_deinit(&source);
        free(file.data);
    }
}

/* Stripes of other columns than the header has, as of a file that was written again: all of their
 * records are bad, and so is the rest of a stripe that is cut short. */
static void stripes_of_other_columns_are_bad(void **state) {
    static const char *const args[] = {"fields: {id: int64}", "fields: {id: int64, text: text}",
                                       "fields: {messages: json}"};
    struct bytes file = read_data("stream.arrow");

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_text text = {.data = NULL};
        struct arrow_view view, other;
        struct source source, owner;
        size_t n_header, n_rows = 0;
        uint8_t *mixed;

        init(&source, args[i / 3]);
        init(&owner, args[i % 3]);
        arrow_see(&source, file.data, file.n_bytes, ARROW_FILE, &arrow_limits, 0, &view);
        arrow_see(&owner, file.data, file.n_bytes, ARROW_FILE, &arrow_limits, 0, &other);
        assert_int_equal(source_probe(&source, view.frames, view.n_bytes, true, &err), 0);
        n_header = view.starts[1];
        mixed = malloc(n_header + other.n_bytes);
        assert_non_null(mixed);
        memcpy(mixed, view.frames, n_header);
        memcpy(mixed + n_header, other.stripes + other.starts[1], other.n_bytes - other.starts[1]);
        assert_int_equal(source_parse(&source, mixed,
                                      n_header + other.n_bytes - other.starts[1] - 1, 0, false,
                                      &text, &err),
                         0);
        for (const char *at = text.data; (at = strstr(at, "columns of its file\n")); at++)
            n_rows++;
        assert_non_null(strstr(text.data, "the record is truncated\n"));
        if (i / 3 != i % 3)
            assert_true(n_rows > 0 && !strstr(text.data, "="));
        else
            assert_int_equal(n_rows, 0);
        free(mixed);
        free(text.data);
        arrow_view_deinit(&view);
        arrow_view_deinit(&other);
        source_deinit(&source);
        source_deinit(&owner);
    }
    free(file.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_pyarrow),
        cmocka_unit_test(fields_are_declared),
        cmocka_unit_test(dictionaries_change),
        cmocka_unit_test(dictionaries_have_nulls),
        cmocka_unit_test(a_place_is_entered),
        cmocka_unit_test(a_large_batch),
        cmocka_unit_test(refused),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(any_byte),
        cmocka_unit_test(damaged_dictionaries),
        cmocka_unit_test(damaged_compression),
        cmocka_unit_test(a_schema_without_fields),
        cmocka_unit_test(hostile_batches),
        cmocka_unit_test(long_rows_are_bad),
        cmocka_unit_test(what_must_be_in_memory_is_limited),
        cmocka_unit_test(frames_stay_the_same),
        cmocka_unit_test(stripes_of_other_columns_are_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
