/* test_set.c: set.json: what is written is read again; what does not agree with itself is refused
 * with its name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/plan/set.h"
#include "proto/base/text.h"

#define DIGEST   "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define CHECKSUM "0123456789abcdef0123456789abcdef"

#define SOURCES "[{\"n_files\": 1, \"record_bytes\": 2, \"head\": \"610a\"}]"
#define FILES   "[{\"name\": \"a.csv\", \"n_bytes\": 9, \"digest\": \"" CHECKSUM "\"}]"
#define SHARD   "{\"n_records\": 3, \"n_rows\": 2, \"blocks\": \"" CHECKSUM "\"}"
#define SET(sources, files, shards, n_records)                                                     \
    "{\"leat_set\": 2, \"spec\": \"" DIGEST "\", \"data\": \"" DIGEST                              \
    "\", \"verify\": \"sample\", \"n_records\": " n_records                                        \
    ", \"n_rows\": 4, \"sources\": " sources ", \"files\": " files ", \"shards\": " shards "}"
#define HEAD(n_files, n_bytes)                                                                     \
    "[{\"n_files\": " n_files ", \"record_bytes\": " n_bytes ", \"head\": \"610a\"}]"
#define NAMED(name) "[{\"name\": \"" name "\", \"n_bytes\": 9, \"digest\": \"" CHECKSUM "\"}]"
#define ROWS(n_records, n_rows)                                                                    \
    "{\"n_records\": " n_records ", \"n_rows\": " n_rows ", \"blocks\": \"" CHECKSUM "\"}"
#define MOST "9223372036854775807"
#define GOOD SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "6")

static void test_round_trip(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL}, again = {.data = NULL};
    struct leat_set *set = NULL, *second = NULL;

    (void)state;
    assert_int_equal(leat_set_parse("d", GOOD, strlen(GOOD), &set, &err), 0);
    assert_string_equal(set->files[0].name, "a.csv");
    assert_int_equal(set->n_shards, 2);
    assert_int_equal(set->shards[1].n_blocks, 1);
    assert_int_equal(set->shards[1].checksums[1], 0x23);
    assert_memory_equal(set->heads[0].bytes, "a\n", 2);
    assert_int_equal(set->n_rows, 4);
    assert_true(leat_set_write(set, &text));
    assert_int_equal(leat_set_parse("d", text.data, text.n_bytes, &second, &err), 0);
    assert_true(leat_set_write(second, &again));
    assert_string_equal(text.data, again.data);
    free(text.data);
    free(again.data);
    leat_set_free(set);
    leat_set_free(second);
}

static void check_refused(const char *text, const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_set *set = NULL;

    assert_int_equal(leat_set_parse("d", text, strlen(text), &set, &err), -EBADMSG);
    assert_null(set);
    if (!strstr(err.message, message) || !strstr(err.message, "d/set.json"))
        fail_msg("%s\nhas not: %s", err.message, message);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("", "d/set.json");
    check_refused("[]", "\"leat_set\" is missing");
    check_refused("{\"leat_set\": 1}", "must be 2");
    check_refused("{\"leat_set\": 2, \"spec\": \"00\"}",
                  "has the wrong number of digits for a digest");
    check_refused(SET(SOURCES, FILES, "[" SHARD "]", "3"), "\"shards\" has too few");
    check_refused(SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "7"), "is not the sum");
    check_refused(SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "-6"), "is negative");
    check_refused(SET(SOURCES, "[]", "[" SHARD "," SHARD "]", "6"), "\"files\" has too few");
    check_refused(SET(SOURCES, FILES, "[" SHARD ", 3]", "6"), "\"n_records\" is missing");
    check_refused(SET("[{\"n_files\": 2, \"record_bytes\": 2, \"head\": \"\"}]", FILES,
                      "[" SHARD "," SHARD "]", "6"),
                  "must have one entry for each file of the sources");
    check_refused(SET("[{\"n_files\": 1, \"record_bytes\": 2, \"head\": \"x0\"}]", FILES,
                      "[" SHARD "," SHARD "]", "6"),
                  "has digits that are not hexadecimal");
    check_refused(SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "\"6\""),
                  "\"n_records\" is missing or has another type");
    check_refused(SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "5"), "is not the sum");
    check_refused(SET(SOURCES, FILES, "[" ROWS("3", "3") "," SHARD "]", "6"), "is not the sum");
    check_refused(SET(SOURCES, FILES, "[" ROWS("1", "2") "," SHARD "]", "4"),
                  "\"shards\" has impossible counts");
    check_refused(
        SET(SOURCES, FILES, "[" ROWS(MOST, "4") "," ROWS(MOST, "0") "," ROWS("4", "0") "]", "2"),
        "\"shards\" has impossible counts");
    check_refused(SET(HEAD("0", "2"), FILES, "[" SHARD "," SHARD "]", "6"),
                  "\"sources\" is out of range");
    check_refused(SET(HEAD("4000000000", "2"), FILES, "[" SHARD "," SHARD "]", "6"),
                  "\"sources\" is out of range");
    check_refused(SET(HEAD("1", MOST), FILES, "[" SHARD "," SHARD "]", "6"),
                  "\"sources\" is out of range");
    check_refused(SET(SOURCES, NAMED(""), "[" SHARD "," SHARD "]", "6"),
                  "\"name\" is not the name of a file");
    check_refused(SET(SOURCES, NAMED("a\\u0000b"), "[" SHARD "," SHARD "]", "6"),
                  "\"name\" is not the name of a file");
    check_refused(SET(SOURCES, FILES, "[" SHARD "," SHARD "]", "6") "x", "d/set.json: ");
    check_refused(SET(SOURCES, FILES,
                      "[" SHARD ",{\"n_records\": 3, \"n_rows\": 2, \"blocks\": \"0123\"}]", "6"),
                  "\"blocks\" has a truncated checksum");
}

/* The head of a source that is longer than any that leat writes. */
static void test_large_head(void **state) {
    size_t n = 2 * ((size_t)LEAT_SET_HEAD_MAX + 1);
    struct leat_text text = {.data = NULL};
    char *digits = malloc(n + 1);

    (void)state;
    assert_non_null(digits);
    memset(digits, 'a', n);
    digits[n] = '\0';
    leat_text_add(&text,
                  SET("[{\"n_files\": 1, \"record_bytes\": 2, \"head\": \"%s\"}]", FILES,
                      "[" SHARD "," SHARD "]", "6"),
                  digits);
    check_refused(text.data, "\"sources\" is out of range");
    free(text.data);
    free(digits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_large_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
