/* Parts of long words of a byte-level model, which are cached: a part may read like a word that is
 * a token as a whole only (ignore_merges). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/byte_level.h"
#include "tests/pipeline/shared_model.h"

#define JSON_MAX 16384

enum { AA = 256, CA, CAB, AAB };

/* All bytes, three merges, and "aab", which no merge makes. */
static void make_model(char *json) {
    size_t n = (size_t)sprintf(json, "{\"type\": \"BPE\", \"ignore_merges\": true, \"vocab\": {");

    for (int byte = 0; byte < 256; byte++) {
        uint8_t character[3] = {0};
        uint32_t size = leat_byte_level_map((uint8_t)byte, character);

        n += (size_t)sprintf(json + n, "\"%s%.*s\": %d, ",
                             *character == '"' || *character == '\\' ? "\\" : "", (int)size,
                             (char *)character, byte);
    }
    (void)sprintf(json + n,
                  "\"aa\": %d, \"ca\": %d, \"cab\": %d, \"aab\": %d}, \"merges\": [\"a a\", "
                  "\"c a\", \"ca b\"]}",
                  AA, CA, CAB, AAB);
}

static void test_parts_and_words(void **state) {
    static char json[JSON_MAX];
    struct leat_error err = LEAT_ERROR_INIT;
    struct test_model test;

    (void)state;
    make_model(json);
    if (test_model_init(&test, &leat_model_bpe, json, true, &err) < 0)
        fail_msg("%s", err.message);
    for (int pass = 0; pass < 2; pass++) { /* the other of the two is known already */
        TEST_MODEL_EXPECT(&test, "aab", {AAB, {0, 3}});
        TEST_MODEL_EXPECT(&test, "aab-aab-aab-cabaab", {AA, {0, 2}}, {'b', {2, 3}}, {'-', {3, 4}},
                          {AA, {4, 6}}, {'b', {6, 7}}, {'-', {7, 8}}, {AA, {8, 10}},
                          {'b', {10, 11}}, {'-', {11, 12}}, {CAB, {12, 15}}, {AA, {15, 17}},
                          {'b', {17, 18}});
        TEST_MODEL_EXPECT(&test, "aab", {AAB, {0, 3}});
    }
    test_model_deinit(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_and_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
