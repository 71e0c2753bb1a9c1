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
                  "has another number of entries than there are sources");
    check_refused(SET("[{\"n_files\": 1, \"record_bytes\": 2, \"head\": \"x0\"}]", FILES,
                      "[" SHARD "," SHARD "]", "6"),
                  "has digits that are not hexadecimal");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
