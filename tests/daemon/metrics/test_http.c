/* test_http.c: what the daemon hands to the thread of the HTTP listener. Answers are tested by
 * tests/e2e/test_http.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/metrics/http.h"
#include "tests/skip.h"

/* The thread ends at the stop, so a reading that comes later would stay in the pipe. */
static void test_no_reading_after_the_stop(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_reading *reading = leat_reading_new(0);
    char folder[] = "/tmp/leat-http-XXXXXX", text[64];
    struct leat_http http;
    int r;

    (void)state;
    assert_non_null(reading);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(text, sizeof(text), "unix:%s/http.sock", folder);
    leat_http_init(&http);
    leat_http_set_rights(&http, &(struct leat_rights){.readers.n_gids = 0});
    r = leat_http_bind(&http, text, NULL, &err);
    if (r == 0)
        r = leat_http_start(&http, 1 << 20, &err);
    leat_http_stop(&http);
    leat_http_publish(&http, reading);
    assert_int_equal(atomic_load(&http.shared.n_pending), 0);
    leat_http_deinit(&http);
    free(reading);
    assert_int_equal(rmdir(folder), 0);
    if (r < 0)
        SKIP_CASE(err.message);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_reading_after_the_stop)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
