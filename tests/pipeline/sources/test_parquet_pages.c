/* test_parquet_pages.c: pipeline/sources/parquet/leaf.c: files made here of one column, whose pages
 * are right, contradict the footer, or are of kinds that leat does not read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/sources/parquet/thrift.h"
#include "tests/pipeline/shared_arrow.h"
#include "tests/pipeline/shared_compress.h"

enum { DATA = 0, INDEX = 1, DICTIONARY = 2 };
enum { PLAIN = 0, RLE = 3, BIT_PACKED = 4, RLE_DICTIONARY = 8 };
enum { NONE = 0, LZO = 3, ZSTD_CODEC = 6 };

struct page {
    int kind;
    long n_values, encoding;
    long levels; /* the encoding of definition levels; 0: RLE */
    const char *body;
    long n_body;
    long n_plain, n_stored; /* 0: as many as the body has */
    size_t n_statistics;    /* bytes of them, in the header */
    size_t n_lacking;       /* of these */
};

struct file {
    bool is_optional;
    int codec;
    long n_values, n_rows;
    struct page pages[4];
};

static void add_byte(struct blob *blob, int byte) {
    uint8_t bytes[1] = {(uint8_t)byte};

    blob_add(blob, bytes, 1);
}

static void add_int(struct blob *blob, int *last, int id, long value) {
    unsigned long zigzag = value < 0 ? ~((unsigned long)value << 1) : (unsigned long)value << 1;

    add_byte(blob, (id - *last) << 4 | LEAT_THRIFT_I64);
    for (*last = id; zigzag > 127; zigzag >>= 7)
        add_byte(blob, (int)(zigzag & 127) | 128);
    add_byte(blob, (int)zigzag);
}

static void open_field(struct blob *blob, int *last, int id, int type) {
    add_byte(blob, (id - *last) << 4 | type);
    *last = id;
}

/* A greatest value of n bytes, of which some lack. */
static void add_statistics(struct blob *blob, int *last, size_t n, size_t n_lacking) {
    int inner = 0;

    if (n == 0)
        return;
    open_field(blob, last, 5, LEAT_THRIFT_STRUCT);
    open_field(blob, &inner, 1, LEAT_THRIFT_BINARY);
    for (size_t rest = n; rest; rest >>= 7)
        add_byte(blob, (int)(rest & 127) | (rest > 127 ? 128 : 0));
    for (size_t i = n_lacking; i < n; i++)
        add_byte(blob, 'x');
    add_byte(blob, 0);
}

static void add_page(struct blob *blob, const struct page *page) {
    int last = 0, inner = 0;

    add_int(blob, &last, 1, page->kind);
    add_int(blob, &last, 2, page->n_plain ? page->n_plain : page->n_body);
    add_int(blob, &last, 3, page->n_stored ? page->n_stored : page->n_body);
    open_field(blob, &last,
               page->kind == DICTIONARY ? 7
               : page->kind == INDEX    ? 6
                                        : 5,
               LEAT_THRIFT_STRUCT);
    if (page->kind != INDEX) {
        add_int(blob, &inner, 1, page->n_values);
        add_int(blob, &inner, 2, page->encoding);
    }
    if (page->kind == DATA) {
        add_int(blob, &inner, 3, page->levels ? page->levels : RLE);
        add_int(blob, &inner, 4, RLE);
        add_statistics(blob, &inner, page->n_statistics, page->n_lacking);
    }
    add_byte(blob, 0);
    add_byte(blob, 0);
    blob_add(blob, page->body, (size_t)page->n_body);
}

static void add_element(struct blob *blob, const char *name, int type, int repetition,
                        int n_children) {
    int last = 0;

    if (type)
        add_int(blob, &last, 1, type);
    add_int(blob, &last, 3, repetition);
    open_field(blob, &last, 4, LEAT_THRIFT_BINARY);
    add_byte(blob, (int)strlen(name));
    blob_add(blob, name, strlen(name));
    if (n_children)
        add_int(blob, &last, 5, n_children);
    add_byte(blob, 0);
}

/* A column n of INT32 (type 1) in one row group. */
static struct blob make_file(const struct file *file) {
    struct blob blob = {.data = NULL};
    int last = 0, group = 0, chunk = 0, meta = 0;
    uint32_t n_footer;
    size_t n_pages;

    blob_add(&blob, "PAR1", 4);
    for (size_t i = 0; i < 4 && file->pages[i].body; i++)
        add_page(&blob, &file->pages[i]);
    n_pages = blob.n_bytes - 4;
    open_field(&blob, &last, 2, LEAT_THRIFT_LIST);
    add_byte(&blob, 2 << 4 | LEAT_THRIFT_STRUCT);
    add_element(&blob, "root", 0, 0, 1);
    add_element(&blob, "n", 1, file->is_optional, 0);
    open_field(&blob, &last, 4, LEAT_THRIFT_LIST);
    add_byte(&blob, 1 << 4 | LEAT_THRIFT_STRUCT);
    open_field(&blob, &group, 1, LEAT_THRIFT_LIST);
    add_byte(&blob, 1 << 4 | LEAT_THRIFT_STRUCT);
    open_field(&blob, &chunk, 3, LEAT_THRIFT_STRUCT);
    add_int(&blob, &meta, 1, 1);
    add_int(&blob, &meta, 4, file->codec);
    add_int(&blob, &meta, 5, file->n_values);
    add_int(&blob, &meta, 7, (long)n_pages);
    add_int(&blob, &meta, 9, 4);
    add_byte(&blob, 0); /* the metadata, the chunk */
    add_byte(&blob, 0);
    add_int(&blob, &group, 3, file->n_rows);
    add_byte(&blob, 0); /* the row group, the footer */
    add_byte(&blob, 0);
    n_footer = (uint32_t)(blob.n_bytes - 4 - n_pages);
    blob_add(&blob, &n_footer, sizeof(n_footer));
    blob_add(&blob, "PAR1", 4);
    return blob;
}

/* The rows as text, or the error behind them. */
static char *rows_of(const struct blob *file) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    struct arrow_view view;
    struct source source;

    if (source_init(&source, "parquet", "{ paths: in, missing: {n: -1} }", &err) < 0)
        fail_msg("%s", err.message);
    arrow_see(&source, file->data, file->n_bytes, ARROW_FILE, &arrow_limits, 0, &view);
    if (view.n_bytes == 0 ||
        source_probe(&source, view.frames, view.n_bytes, true, &view.err) < 0 ||
        arrow_parse(&source, &view, 100, &text, &view.err) < 0 || view.r < 0)
        leat_text_add(&text, "%s\n", view.err.message);
    arrow_view_deinit(&view);
    source_deinit(&source);
    return text.data ? text.data : strdup("");
}

#define BODY(bytes) .body = (bytes), .n_body = sizeof(bytes) - 1
#define ONE_TWO     "\1\0\0\0\2\0\0\0"
#define SEVEN       "\7\0\0\0"

static void pages(void **state) {
    static const struct {
        struct file file;
        const char *expected; /* a part of it */
    } rows[] = {
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "n=1\nn=2\n"},
        {{.n_values = 3,
          .n_rows = 3,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)},
                    {.kind = INDEX, BODY("x")},
                    {.kind = DATA, .n_values = 1, .encoding = PLAIN, BODY(SEVEN)}}},
         "n=1\nn=2\nn=7\n"},
        {{.is_optional = true,
          .n_values = 3,
          .n_rows = 3,
          .pages =
              {{.kind = DATA, .n_values = 3, .encoding = PLAIN, BODY("\2\0\0\0\3\5" ONE_TWO)}}},
         "n=1\nn=-1\nn=2\n"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DICTIONARY, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)},
                    {.kind = DATA, .n_values = 2, .encoding = RLE_DICTIONARY, BODY("\1\3\1")}}},
         "n=2\nn=1\n"},
        /* headers with long statistics */
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, BODY(ONE_TWO), .n_statistics = 1000}}},
         "n=1\nn=2\n"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, BODY(ONE_TWO), .n_statistics = 1024}}},
         "n=1\nn=2\n"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, BODY(ONE_TWO), .n_statistics = 8100}}},
         "n=1\nn=2\n"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, BODY(ONE_TWO), .n_statistics = 70000}}},
         "n=1\nn=2\n"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA,
                     .n_values = 2,
                     BODY(ONE_TWO),
                     .n_statistics = 5000,
                     .n_lacking = 100}}},
         "a page has no valid header"},
        /* the footer says something else */
        {{.n_values = 3,
          .n_rows = 3,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "it has fewer values than the footer says"},
        {{.n_values = 2,
          .n_rows = 3,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "it has fewer rows than its row group"},
        {{.n_values = 1,
          .n_rows = 1,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "its pages have more values than the footer says"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages =
              {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO), .n_stored = 9}}},
         "a page is longer than its column"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO), .n_plain = 9}}},
         "the lengths in a page contradict each other"},
        {{.n_values = 3,
          .n_rows = 3,
          .pages = {{.kind = DATA, .n_values = 3, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "is damaged: "},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = -3, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "a page has no valid header"},
        /* compression */
        {{.codec = LZO,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "is compressed with LZO, which leat does not read: write the file with zstd or snappy"},
        {{.codec = ZSTD_CODEC,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)}}},
         "a page (zstd) does not have 8 bytes after decompression"},
        {{.codec = ZSTD_CODEC,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA,
                     .n_values = 2,
                     .encoding = PLAIN,
                     BODY(ONE_TWO),
                     .n_plain = 2000000000}}},
         "has a page of 8 bytes that expands to 2000000000, more than max_expansion ("},
        /* dictionaries */
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DICTIONARY, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)},
                    {.kind = DICTIONARY, .n_values = 2, .encoding = PLAIN, BODY(ONE_TWO)},
                    {.kind = DATA, .n_values = 2, .encoding = RLE_DICTIONARY, BODY("\1\3\1")}}},
         "it has more than one dictionary"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DICTIONARY, .n_values = 2, .encoding = RLE, BODY(ONE_TWO)}}},
         "its dictionary has an encoding that only data pages may have"},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = RLE_DICTIONARY, BODY("\1\3\1")}}},
         "is damaged: "},
        {{.n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DICTIONARY, .n_values = 1, .encoding = PLAIN, BODY(SEVEN)},
                    {.kind = DATA, .n_values = 2, .encoding = RLE_DICTIONARY, BODY("\1\3\1")}}},
         "is damaged: "},
        /* levels */
        {{.is_optional = true,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA,
                     .n_values = 2,
                     .encoding = PLAIN,
                     .levels = BIT_PACKED,
                     BODY(ONE_TWO)}}},
         "uses the outdated encoding BIT_PACKED"},
        {{.is_optional = true,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY("\1\0\0")}}},
         "levels are longer than their page"},
        {{.is_optional = true,
          .n_values = 2,
          .n_rows = 2,
          .pages = {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY("\3\0\0\0\4\1")}}},
         "levels are longer than their page"},
        {{.is_optional = true,
          .n_values = 3,
          .n_rows = 3,
          .pages =
              {{.kind = DATA, .n_values = 3, .encoding = PLAIN, BODY("\2\0\0\0\4\1" ONE_TWO)}}},
         "a page has fewer definition levels than values"},
        {{.is_optional = true,
          .n_values = 2,
          .n_rows = 2,
          .pages =
              {{.kind = DATA, .n_values = 2, .encoding = PLAIN, BODY("\2\0\0\0\4\3" ONE_TWO)}}},
         "is damaged: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct blob file = make_file(&rows[i].file);
        char *text = rows_of(&file);

        if (!strstr(text, rows[i].expected))
            fail_msg("%zu: \"%s\" has no \"%s\"", i, text, rows[i].expected);
        free(text);
        blob_free(&file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
