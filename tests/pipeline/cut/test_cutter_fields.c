/* test_cutter_fields.c: pipeline/cut/fields.c against libcsv. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/base/rng.h"
#include "tests/pipeline/shared_libcsv.h"
#include "tests/proto/shared_simd.h"

static const struct leat_cutter dialects[] = {
    {.kind = LEAT_CUTTER_CSV, .delimiter = ',', .quote = '"', .max_record_bytes = 1 << 20},
    {.kind = LEAT_CUTTER_CSV, .delimiter = ',', .quote = 0, .max_record_bytes = 1 << 20},
    {.kind = LEAT_CUTTER_CSV, .delimiter = '\t', .quote = '\'', .max_record_bytes = 1 << 20},
    {.kind = LEAT_CUTTER_CSV, .delimiter = '"', .quote = ',', .max_record_bytes = 1 << 20},
};

/* A copy of just n_readable bytes, so that the sanitizers see a read beyond them. */
static void check_record(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                         size_t n_readable) {
    uint8_t *copy = malloc(n_readable);

    assert_non_null(copy);
    memset(copy, cutter->quote, n_readable);
    memcpy(copy, record, n_bytes);
    if (!libcsv_agrees(cutter, copy, n_bytes, n_readable))
        fail_msg("libcsv does not agree, delimiter %02x, quote %02x, %zu of %zu bytes: %.*s",
                 cutter->delimiter, cutter->quote, n_bytes, n_readable, (int)n_bytes, record);
    free(copy);
}

static void cases(void **state) {
    static const char *const records[] = {
        "a",       ",",       "a,b",       "\"",       "\"\"",       "\"\"\"",    "\"\"\"\"",
        "\"a\"",   "\"a\",",  ",\"a\"",    "\"a,b\"",  "\"a\"\"b\"", "a\"b",      "a\"",
        "\"a\"b",  "\"a\" ",  " \"a\"",    "\"a\"\"",  "\"\"a",      "\"\"a\"",   ",\"\",",
        "\"\"\"a", "a,\"b",   "\"a\nb\"",  "\"a\rb\"", "\"a\r\n\"",  "\"\"\"\",", ",,,,",
        "\"\",\"", "x,\"\"y", "x\ny,\"z\""};

    (void)state;
    for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++)
        for (size_t pad = 0; pad < 140; pad++) {
            uint8_t record[200];
            size_t n = strlen(records[i]);

            /* at each place of a block, and behind each end of one */
            memset(record, 'x', pad);
            if (pad > 0)
                record[pad - 1] = ',';
            memcpy(record + pad, records[i], n);
            check_record(&dialects[0], record, pad + n, pad + n);
            check_record(&dialects[0], record, pad + n, pad + n + 100);
        }
}

static size_t fill(struct leat_rng *rng, uint8_t *data, size_t capacity) {
    static const char *const alphabets[] = {
        "\",a",
        "\"\"\",a",
        "\"\"\"\",,,aaaa\n",
        "\",\r\n\0a'\t",
        "\",aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "'\t'\t'a",
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    static const size_t n_letters[] = {3, 5, 12, 8, 39, 6, 64};
    size_t n = 1 + leat_rng_below(rng, capacity), which = leat_rng_below(rng, 7);

    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)alphabets[which][leat_rng_below(rng, n_letters[which])];
    return n;
}

static void random_records(void **state) {
    struct leat_rng rng = {.state = 1};
    uint8_t data[300];

    (void)state;
    for (int i = 0; i < 300000; i++) {
        size_t n = fill(&rng, data, i % 8 ? 24 : sizeof(data));

        check_record(&dialects[leat_rng_below(&rng, 8) % 4], data, n, n + leat_rng_below(&rng, 80));
    }
}

/* Good ones, with one byte changed in every other. */
static size_t fill_fields(struct leat_rng *rng, uint8_t *data) {
    static const char *const fields[] = {"",           "12",       "\"a, \"\"b\"\"\"",
                                         "\"x\ny\"",   "\"\"",     "\"\"\"\"",
                                         "plain text", "\"\r\n\"", "7.25"};
    size_t n = 0;

    for (uint64_t i = leat_rng_below(rng, 30) + 1; i > 0; i--)
        n += (size_t)sprintf((char *)data + n, i > 1 ? "%s," : "%s",
                             fields[leat_rng_below(rng, sizeof(fields) / sizeof(*fields))]);
    if (n > 0 && leat_rng_below(rng, 2))
        data[leat_rng_below(rng, n)] = (uint8_t) "\",x\n"[leat_rng_below(rng, 4)];
    return n;
}

static void records_of_fields(void **state) {
    struct leat_rng rng = {.state = 2};
    uint8_t data[600];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t n = fill_fields(&rng, data);

        if (n > 0)
            check_record(&dialects[0], data, n, n + leat_rng_below(&rng, 80));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases),
        cmocka_unit_test(random_records),
        cmocka_unit_test(records_of_fields),
    };
    return shared_simd_run_twice(tests, NULL, NULL);
}
