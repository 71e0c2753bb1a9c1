/* test_report.c: the digest of batches is what its description says, and depends on all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/cli/run/report.h"
#include "tests/client/shared_fake_daemon.h"

/* What leat_cli_report prints on stdout. */
static void capture(const uint8_t *slot, size_t n_bytes, int n_times, enum leat_cli_format format,
                    char *ret_text, size_t size) {
    struct leat_cli_arguments arguments = {.digest = true, .format = format};
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cli_report report;
    FILE *file = tmpfile();
    int saved = dup(STDOUT_FILENO);
    size_t n;

    assert_non_null(file);
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    (void)fflush(stdout);
    (void)dup2(fileno(file), STDOUT_FILENO);
    leat_cli_report_init(&report, &arguments, "s", "test");
    for (int i = 0; i < n_times; i++)
        leat_cli_report_batch(&report, &view);
    leat_cli_report_stop(&report);
    leat_cli_report_finish(&report);
    (void)fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    rewind(file);
    n = fread(ret_text, 1, size - 1, file);
    ret_text[n] = '\0';
    (void)fclose(file);
    leat_view_deinit(&view);
}

static void expected_digest(char ret_hex[LEAT_DIGEST_HEX_SIZE]) {
    int32_t values[6] = {5, 6, 7, 8, 9, 10};
    struct leat_blake2b state;
    uint8_t digest[LEAT_DIGEST_BYTES];

    leat_blake2b_init(&state);
    leat_blake2b_u64(&state, 2); /* epoch */
    leat_blake2b_u64(&state, 5); /* step */
    leat_blake2b_u64(&state, 1); /* tensors */
    leat_blake2b_text(&state, "x");
    leat_blake2b_text(&state, "int32");
    leat_blake2b_u64(&state, 2);
    leat_blake2b_u64(&state, 2);
    leat_blake2b_u64(&state, 3);
    leat_blake2b_u64(&state, 24);
    leat_blake2b_update(&state, values, sizeof(values));
    leat_blake2b_final(&state, digest);
    leat_digest_hex(digest, ret_hex);
}

static void test_digest(void **state) {
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES);
    size_t n_bytes = fake_fill_slot(slot, 2, 5);
    char hex[LEAT_DIGEST_HEX_SIZE], once[2048], twice[2048], other[2048];

    (void)state;
    expected_digest(hex);
    capture(slot, n_bytes, 1, LEAT_CLI_TEXT, once, sizeof(once));
    assert_non_null(strstr(once, hex));
    assert_non_null(strstr(once, "[2, 3]"));
    assert_non_null(strstr(once, "1 batch, 2 rows"));
    capture(slot, n_bytes, 1, LEAT_CLI_JSON, other, sizeof(other));
    assert_non_null(strstr(other, hex));
    capture(slot, n_bytes, 2, LEAT_CLI_JSONL, twice, sizeof(twice));
    assert_non_null(strstr(twice, hex)); /* of each batch */
    assert_null(strstr(strstr(twice, "summary"), hex));
    (void)fake_fill_slot(slot, 2, 6);
    capture(slot, n_bytes, 1, LEAT_CLI_TEXT, other, sizeof(other));
    assert_null(strstr(other, hex));
    free(slot);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_digest)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
