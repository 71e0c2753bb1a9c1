/* The line that tells how far something has come: what stands in it, and that it always fits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/base/progress.h"

#define SECOND_NS UINT64_C(1000000000)

static char *line(enum leat_progress_unit unit, uint64_t n_done, uint64_t n_total,
                  uint64_t elapsed_ns, const char *about, size_t n_columns) {
    struct leat_text text = {.data = NULL};

    leat_cli_progress_line(&text, unit, n_done, n_total, elapsed_ns, about, n_columns);
    leat_text_add_bytes(&text, "", 1);
    return text.data;
}

static void expect(char *is, const char *expected) {
    assert_string_equal(is, expected);
    free(is);
}

static void test_lines(void **state) {
    (void)state;
    expect(
        line(LEAT_PROGRESS_BYTES, 1 << 20, 4 << 20, SECOND_NS, "7 records", 100),
        "[######------------------]  25 %  1.0 MiB of 4.0 MiB  1.0 MiB/s  3.00 s left  7 records");
    expect(line(LEAT_PROGRESS_RECORDS, 3000, 0, 2 * SECOND_NS, "", 100), "3,000 records  1,500/s");
    expect(line(LEAT_PROGRESS_RUNS, 5, 10, 50 * SECOND_NS, "workers=2", 100),
           "[############------------]  50 %  5 of 10 runs  50.00 s left  workers=2");
    expect(line(LEAT_PROGRESS_RUNS, 0, 10, 0, "", 100),
           "[------------------------]   0 %  0 of 10 runs");
    expect(line(LEAT_PROGRESS_RECORDS, 3000, 0, 2 * SECOND_NS, "", 5), "3,000");
    expect(line(LEAT_PROGRESS_RECORDS, 1, 0, 1, "a\033[2J\n\xc2\x9b", 100),
           "1 records  a\\x1b[2J\\x0a\\xc2\\x9b");
}

/* More than there should be, and nothing for very long. */
static void test_extremes(void **state) {
    static const uint64_t values[] = {0, 1, 7, UINT64_C(1) << 40, UINT64_MAX};
    const size_t n = sizeof(values) / sizeof(*values);

    (void)state;
    for (size_t i = 0; i < n * n * n * 80; i++) {
        char *text = line((enum leat_progress_unit)(i % 3), values[i % n], values[i / n % n],
                          values[i / n / n % n], "x", i % 80);

        assert_true(strlen(text) <= i % 80);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_extremes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
