/* test_csv.c: pipeline/sources/csv.c. */
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
#include "tests/pipeline/shared_source.h"
#include "tests/pipeline/shared_source_cases.h"

static void parses(void **state) {
    static const struct source_case cases[] = {
        {"", "a,b\n1,2\n", "a:text b:text", "a=1|b=2\n"},
        {"",
         "\xef\xbb\xbf"
         "a,b\r\n1,2\r\n\r\n\n3,4",
         "a:text b:text", "a=1|b=2\na=3|b=4\n"},
        {"", "a,b,c\n1,2,\n,,\n", "a:text b:text c:text", "a=1|b=2|c=\na=|b=|c=\n"},
        {"", "a,b\n\" x \",\"\"\n x , y\n", "a:text b:text", "a= x |b=\na= x |b= y\n"},
        {"", "a,b\n\"x \"\"y\"\"\",\"1\n2\"\n3,4\n", "a:text b:text",
         "a=x \"y\"|b=1\n2\na=3|b=4\n"},
        {"", "a,b\n\"1\r\n2\",3\r\n", "a:text b:text", "a=1\r\n2|b=3\n"},
        {"", "a\n\"\"\n \n", "a:text", "a=\na= \n"},
        {"", "\n\n\"a,1\",b\n1,2\n", "a,1:text b:text", "a,1=1|b=2\n"},
        {"", "a,b\n", "a:text b:text", ""},
        {"delimiter: \";\"", "a;b\n1,5;\"x;y\"\n", "a:text b:text", "a=1,5|b=x;y\n"},
        {"delimiter: \"\\t\", quote: \"\"", "a\tb\n\"x\t5\" pipe\n", "a:text b:text",
         "a=\"x|b=5\" pipe\n"},
        {"quote: \"'\"", "a,b\n'x''y',\"\n", "a:text b:text", "a=x'y|b=\"\n"},
        {"header: false, names: [x, y]", "1,2\n3,4\n", "x:text y:text", "x=1|y=2\nx=3|y=4\n"},
        {"names: [x, y]", "a,b\n1,2\n", "x:text y:text", "x=1|y=2\n"},
    };

    (void)state;
    check_source_cases("csv", cases, sizeof(cases) / sizeof(*cases));
}

static void tells_what_is_wrong(void **state) {
    static const struct source_case cases[] = {
        {"", "a,b\n1\n2,3\n\n4,5,6\n", "a:text b:text",
         "! 2:0 : the record has 1 fields, but 2 were expected\na=2|b=3\n! 5:0 : the record has 3 "
         "fields, but 2 were expected\n"},
        {"", "a,b\n1,5\" pipe\n2,3\n", "a:text b:text",
         "! 2:4 : the record has a quote within an unquoted field: quote the whole field, and "
         "double the quote\na=2|b=3\n"},
        {"", "a,b\n1,\"x\ny\"z\n2,3\n", "a:text b:text",
         "! 3:3 : the record has text after a closing quote: double each quote within a quoted "
         "field\na=2|b=3\n"},
        {"", "a,b\n1,\"x\n2,3\n", "a:text b:text",
         "! 2:3 : the record opens a quote here, but no closing quote follows within "
         "max_record_bytes\na=2|b=3\n"},
        {"", "a,b\n1\r,2\n3,4\n", "a:text b:text",
         "! 2:2 : the record has a carriage return outside quotes without a line feed: end lines "
         "with LF or CR LF\na=3|b=4\n"},
        {"", "", NULL, "in: the file is empty"},
        {"", "\n\r\n", NULL, "in: the file is empty"},
        {"", "a,b,a\n", NULL, "fields 1 and 3 have the same name \"a\""},
        {"", "a,,b\n", NULL, "field 2 has no name"},
        {"", "a,b\"\n", NULL, "in:1:4: the header has a quote within an unquoted field"},
        {"", "a\rb,c\n1,2\n", NULL, "in:1:2: the header has a carriage return"},
        {"names: [x]", "a,b\n", NULL, "`names` has 1 names, but in has 2 fields"},
        {"header: false", "1,2\n", NULL, "a file without a header needs `names` for its fields"},
        {"delimiter: \",,\"", "a\n", NULL, "\",,\" cannot separate fields"},
        {"quote: \",\"", "a\n", NULL, "`quote` and `delimiter` are the same: change one"},
        {"names: [x, x], header: false", "1,2\n", NULL, "the same name \"x\""},
    };

    (void)state;
    check_source_cases("csv", cases, sizeof(cases) / sizeof(*cases));
}

static void other_files_have_the_same_header(void **state) {
    static const struct {
        const char *head, *error;
    } cases[] = {
        {"a,b\n1,2\n", NULL},
        {"\xef\xbb\xbf\"a\",\"b\"\n", NULL},
        {"", NULL},
        {"a,c\n", "field 2 is \"c\" here, but \"b\""},
        {"a\n", "the header has 1 fields"},
        {"b,a\n", "field 1 is \"b\" here, but \"a\""},
    };
    struct leat_error err = LEAT_ERROR_INIT;
    struct source source;
    char *path = strdup("in");

    (void)state;
    assert_int_equal(source_init(&source, "csv", "{ paths: in }", &err), 0);
    assert_int_equal(source_probe(&source, "a,b\n", 4, true, &err), 0);
    ((struct leat_source_config *)source.config)->files.paths = malloc(sizeof(char *));
    ((struct leat_source_config *)source.config)->files.paths[0] = path;
    ((struct leat_source_config *)source.config)->files.n_paths = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t n_skipped;
        uint64_t n_lines;
        int r = source.ops->begin_file(source.config, (const uint8_t *)cases[i].head,
                                       strlen(cases[i].head), true, "other", &n_skipped, &n_lines,
                                       &err);
        if (!cases[i].error) {
            assert_int_equal(r, 0);
            continue;
        }
        assert_int_equal(r, -EBADMSG);
        assert_non_null(strstr(err.message, cases[i].error));
        assert_string_equal(err.file, "other");
        err = LEAT_ERROR_INIT;
    }
    source_deinit(&source);
}

static void a_head_that_is_cut_asks_for_more(void **state) {
    static const char text[] = "\xef\xbb\xbf\n\"a\n1\",b\r\n1,2\n";
    struct leat_error err = LEAT_ERROR_INIT;
    struct source source;

    (void)state;
    assert_int_equal(source_init(&source, "csv", "{ paths: in }", &err), 0);
    assert_int_equal(source_probe(&source, text, strlen(text), true, &err), 0);
    for (size_t n = 0; n < sizeof(text); n++) {
        size_t n_skipped;
        uint64_t n_lines;
        int r = source.ops->begin_file(source.config, (const uint8_t *)text, n, false, "in",
                                       &n_skipped, &n_lines, &err);
        assert_int_equal(r, n < 13 ? -EAGAIN : 0);
        if (r == 0) {
            assert_int_equal(n_skipped, 13);
            assert_int_equal(n_lines, 3);
        }
    }
    source_deinit(&source);
}

/* A field as any writer of RFC 4180 puts it, and as it must come out. */
static void add_field(struct leat_rng *rng, struct leat_text *csv, struct leat_text *plain) {
    static const char letters[] = "ab \",\n\r\t;\xc3\x01";
    size_t n = leat_rng_below(rng, leat_rng_below(rng, 50) ? 6 : 300);
    bool is_quoted = leat_rng_below(rng, 3) == 0;
    char field[300];

    for (size_t i = 0; i < n; i++) {
        field[i] = letters[leat_rng_below(rng, sizeof(letters) - 1)];
        is_quoted |= strchr("\",\n\r", field[i]) != NULL;
        if (field[i] == '\xc3' && i + 1 == n)
            field[i] = 'e';
        else if (field[i] == '\xc3') /* and so an e with an accent */
            field[++i] = '\xa9';
    }
    if (is_quoted)
        leat_text_add(csv, "\"");
    for (size_t i = 0; i < n; i++)
        leat_text_add(csv, field[i] == '"' ? "\"\"" : "%c", field[i]);
    if (is_quoted)
        leat_text_add(csv, "\"");
    leat_text_add_bytes(plain, field, n);
}

static void what_is_written_comes_back(void **state) {
    struct leat_rng rng = {.state = 6};

    (void)state;
    for (int i = 0; i < 400; i++) {
        struct leat_text csv = {.data = NULL}, want = {.data = NULL}, got = {.data = NULL};
        struct leat_error err = LEAT_ERROR_INIT;
        struct source source;
        bool skips_odd = i % 2 == 1;
        leat_text_add(&csv, "x,y,z\n");
        for (uint64_t row = leat_rng_below(&rng, 40) + 1; row > 0; row--) {
            struct leat_text unwanted = {.data = NULL};
            leat_text_add(&want, "x=");
            add_field(&rng, &csv, &want);
            leat_text_add(&csv, ",");
            leat_text_add(skips_odd ? &unwanted : &want, "|y=");
            add_field(&rng, &csv, skips_odd ? &unwanted : &want);
            leat_text_add(&csv, ",");
            leat_text_add(&want, "|z=");
            add_field(&rng, &csv, &want);
            leat_text_add(&want, "\n");
            leat_text_add(&csv, row == 1 ? "" : leat_rng_below(&rng, 2) ? "\r\n" : "\n");
            free(unwanted.data);
        }
        assert_int_equal(source_init(&source, "csv", "{ paths: in }", &err), 0);
        assert_int_equal(source_probe(&source, csv.data, csv.n_bytes, true, &err), 0);
        assert_int_equal(source_parse(&source, csv.data, csv.n_bytes, leat_rng_below(&rng, 500),
                                      skips_odd, &got, &err),
                         0);
        assert_int_equal(got.n_bytes, want.n_bytes);
        assert_memory_equal(got.data, want.data, want.n_bytes);
        source_deinit(&source);
        free(csv.data);
        free(want.data);
        free(got.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(tells_what_is_wrong),
        cmocka_unit_test(other_files_have_the_same_header),
        cmocka_unit_test(a_head_that_is_cut_asks_for_more),
        cmocka_unit_test(what_is_written_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
