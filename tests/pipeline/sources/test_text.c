/* test_text.c: pipeline/sources/text.c, source.c: documents of plain text, and what becomes of
 * bytes that are no UTF-8, here and in the other sources. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/pipeline/shared_source_cases.h"
#include "tests/pipeline/shared_stream.h"

#define BAD "\xef\xbf\xbd"

static void documents(void **state) {
    static const struct source_case cases[] = {
        {"", "one\ntwo\r\n\n\r\nthree", "text:text", "text=one\ntext=two\ntext=three\n"},
        {"",
         "\xef\xbb\xbf"
         "a\n",
         "text:text", "text=a\n"},
        {"field: line, file_field: file", "a\nb", "line:text file:text",
         "line=a|file=in\nline=b|file=in\n"},
        {"document: file", "a\nb\n", "text:text", "text=a\nb\n\n"},
        {"document: file", "\r\n\n", "text:text", ""},
        {"document: file", "", "text:text", ""},
        {"document: separator, separator: '--'", "a\n--b-- --\n----c-", "text:text",
         "text=a\n\ntext=b\ntext= \ntext=c-\n"},
        {"document: separator, separator: aa", "xaaayaaaa", "text:text", "text=x\ntext=ay\n"},
        {"document: separator, separator: \"\\n\\n\"", "a\nb\n\nc\n\n\n\n\nd\n", "text:text",
         "text=a\nb\ntext=c\ntext=\nd\n\n"},
        {"document: separator", "", NULL, "`document: separator` needs a `separator`"},
        {"document: separator, separator: ''", "", NULL,
         "`document: separator` needs a `separator`"},
        {"separator: x", "", NULL, "works only with `document: separator`"},
        {"file_field: text", "", NULL, "has the same name as `field`, \"text\": choose another"},
        {"document: page", "", NULL, "\"page\""},
    };

    (void)state;
    check_source_cases("text", cases, sizeof(cases) / sizeof(*cases));
}

/* As Python's decode(errors="replace") has it. */
static void what_is_not_utf8_is_replaced(void **state) {
    static const struct source_case cases[] = {
        {"",
         "a\xff"
         "b\n",
         "text:text", "text=a" BAD "b\n"},
        {"", "\xc3\n", "text:text", "text=" BAD "\n"},
        {"", "\xe2\x82\n", "text:text", "text=" BAD "\n"},
        {"", "\xe2\x82x\n", "text:text", "text=" BAD "x\n"},
        {"", "\xf0\x9f\x98\n", "text:text", "text=" BAD "\n"},
        {"", "\xe0\x80\xaf\n", "text:text", "text=" BAD BAD BAD "\n"},
        {"", "\xed\xa0\x80\n", "text:text", "text=" BAD BAD BAD "\n"},
        {"", "\xf4\x90\x80\x80\n", "text:text", "text=" BAD BAD BAD BAD "\n"},
        {"", "\xf0\x9f\x98\x80\xf0\x9f\n", "text:text", "text=\xf0\x9f\x98\x80" BAD "\n"},
        {"", "good\n\x80\x80\ngood\n", "text:text", "text=good\ntext=" BAD BAD "\ntext=good\n"},
        {"invalid_utf8: fail", "good\nab\xff\ngood", "text:text",
         "text=good\n! 2:3 : the record is not valid UTF-8: it has byte 0xff here\ntext=good\n"},
        {"document: file, invalid_utf8: fail", "a\nbc\xe2\x82", "text:text",
         "! 2:3 : the record is not valid UTF-8: it has byte 0xe2 here\n"},
    };
    static const struct source_case csv[] = {
        {"", "a,b\n\xff,\"x\xc3\"\n1,2\n", "a:text b:text", "a=" BAD "|b=x" BAD "\na=1|b=2\n"},
        {"quote: ''", "a,b\n\xff,\xe2\x82", "a:text b:text", "a=" BAD "|b=" BAD "\n"},
        {"invalid_utf8: fail", "a,b\n1,\"\n\xff\"\n1,2\n", "a:text b:text",
         "! 3:1 : the record is not valid UTF-8: it has byte 0xff here\na=1|b=2\n"},
        {"", "a,\xff\n", NULL, "the header is not valid UTF-8"},
    };
    static const struct source_case jsonl[] = {
        {"invalid_utf8: replace, fields: {a: text, b: json}",
         "{\"a\": \"x\xff\", \"b\": [\"\xe2\x82\"]}\n{\"a\": \"y\", \"b\": 1}\n", "a:text b:text",
         "a=x" BAD "|b=[\"" BAD "\"]\na=y|b=1\n"},
        {"invalid_utf8: replace, fields: {a: text}", "{\"a\": \xff}\n{\"a\": \"b\"}\n", "a:text",
         "! 1:7 : the record is not valid JSON: unexpected character\na=b\n"},
    };

    (void)state;
    check_source_cases("text", cases, sizeof(cases) / sizeof(*cases));
    check_source_cases("csv", csv, sizeof(csv) / sizeof(*csv));
    check_source_cases("jsonl", jsonl, 1);
}

/* JSON is UTF-8, or it is none: unless it is asked for, nothing is mended. */
static void json_stays_strict(void **state) {
    char *rows;

    (void)state;
    folder_print("in", "{\"a\": \"x\"}\n{\"a\": \"\xff\"}\n");
    rows = stream_head("jsonl: {paths: [in], fields: {a: text}}", "", "", -1, 5);
    assert_non_null(strstr(rows, "in:2:8: the record is not valid JSON: "));
    free(rows);
    rows = stream_head("jsonl: {paths: [in], fields: {a: text}, invalid_utf8: replace}", "", "", -1,
                       5);
    assert_string_equal(rows, "{\"a\": \"x\"}\n{\"a\": \"" BAD "\"}\n");
    free(rows);
}

/* ---- limits of a record ---- */

static void check_head(const char *source, const char *options, const char *stages,
                       const char *expected) {
    char *rows = stream_head(source, options, stages, stages[0] ? 0 : -1, 10);

    assert_string_equal(rows, expected);
    free(rows);
}

static void long_records_are_bad(void **state) {
    char text[400];

    (void)state;
    memset(text, 'a', sizeof(text));
    memcpy(text + 10, "\n", 1);
    memcpy(text + 300, "--", 2);
    folder_write("in", text, sizeof(text));
    check_head("text: {paths: [in]}", "max_record_bytes: 64", "",
               "{\"text\": \"aaaaaaaaaa\"}\nin:2:1: the record is longer than max_record_bytes\n");
    check_head(
        "text: {paths: [in], document: separator, separator: '--'}",
        "on_error: skip\n    max_record_bytes: 150", "",
        "{\"text\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaa\"}\n");
    check_head("text: {paths: [in], document: file}", "on_error: skip\n    max_record_bytes: 300",
               "", "");
}

static void records_of_many_fields_are_bad(void **state) {
    (void)state;
    folder_print("in", "a,b\n1,2\n1,2,3\n1,2,3,4\n");
    check_head("csv: {paths: [in]}", "max_fields: 3\n    on_error: skip", "",
               "{\"a\": \"1\", \"b\": \"2\"}\n");
    check_head("csv: {paths: [in]}", "max_fields: 1", "",
               "in:2: the record has 2 fields, more than max_fields (1)\n");
    folder_print("in", "{\"a\": 1, \"b\": {\"c\": [{\"d\": 1}]}}\n{\"a\": 2, \"b\": {}}\n");
    check_head("jsonl: {paths: [in], fields: {a: int64}}", "max_fields: 3\n    on_error: skip", "",
               "{\"a\": 2}\n");
    check_head("jsonl: {paths: [in], fields: {a: int64}}", "max_fields: 4", "",
               "{\"a\": 1}\n{\"a\": 2}\n");
}

static void records_of_many_tokens_are_bad(void **state) {
    (void)state;
    folder_print("in", "ab\nabc\na\n");
    folder_print("vocab", "a\nb\nc\n");
    check_head("text: {paths: [in]}", "max_tokens: 2\n    on_error: skip",
               "- tokenize: {input: text, output: ids, vocab: vocab}",
               "{\"text\": \"ab\", \"ids\": [0, 1]}\n{\"text\": \"a\", \"ids\": [0]}\n");
    check_head("text: {paths: [in]}", "max_tokens: 1",
               "- tokenize: {input: text, output: ids, vocab: vocab}",
               "in:1: tokenize.text: the text has 2 tokens, more than max_tokens (1): raise "
               "max_tokens, or cut it with max_length\n");
}

/* The names are part of what the stream is, if they are a field of it. */
static void names_of_files_count(void **state) {
    static const char *const sources[] = {
        "text: {paths: ['f-*'], file_field: f}", "text: {paths: ['f-*']}",
        "concat: {sources: [{text: {paths: ['f-*'], file_field: f}}]}"};
    uint8_t digests[2][LEAT_DIGEST_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            struct leat_plan *plan;
            folder_print(k ? "f-b" : "f-a", "x\n");
            plan = stream_plan(sources[i], "",
                               "- hash_bucket: {input: text, output: h, buckets: 9}\n"
                               "- select: {fields: [h]}\n- batch: {batch_size: 1}");
            memcpy(digests[k], plan->record_digest, LEAT_DIGEST_BYTES);
            leat_plan_unref(plan);
            (void)remove(folder_path(k ? "f-b" : "f-a"));
        }
        assert_int_equal(memcmp(digests[0], digests[1], LEAT_DIGEST_BYTES) == 0, i == 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(json_stays_strict),
        cmocka_unit_test(long_records_are_bad),
        cmocka_unit_test(records_of_many_fields_are_bad),
        cmocka_unit_test(records_of_many_tokens_are_bad),
        cmocka_unit_test(names_of_files_count),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
