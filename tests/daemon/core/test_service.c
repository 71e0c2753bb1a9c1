/* The line of status in all its states; it is one line, whatever the numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/core/service.h"

#define SECOND UINT64_C(1000000000)

static void test_lines(void **state) {
    static const struct {
        struct leat_service_figures figures;
        const char *line;
    } cases[] = {
        {{.n_streams = 0}, "ready: 0 streams, no trainers"},
        {{.n_streams = 1}, "ready: 1 stream, no trainers"},
        {{.n_streams = 4,
          .n_streams_used = 2,
          .n_trainers = 12,
          .n_batches = 9171,
          .elapsed_ns = 5 * SECOND},
         "4 streams, 2 in use; 12 trainers; 1834.2 batches/s"},
        {{.n_streams = 1, .n_streams_used = 1, .n_trainers = 1, .n_stalled = 1},
         "1 stream, 1 in use; 1 trainer; 0.0 batches/s; 1 task stalled"},
        {{.is_draining = true, .n_trainers = 3, .n_held = 5, .drain_ns = 12 * SECOND},
         "draining: 3 trainers, 5 batches held, 12 s left"},
        {{.is_draining = true, .n_trainers = 1, .n_held = 1},
         "draining: 1 trainer, 1 batch held, 0 s left"},
        {{.is_draining = true, .is_stopping = true, .n_trainers = 2}, "stopping: 2 trainers"},
        {{.is_stuck = true, .is_draining = true, .n_stalled = 3}, "stuck: workers cannot continue"},
    };
    char buffer[LEAT_SERVICE_STATUS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(leat_service_status_print(&cases[i].figures, buffer), cases[i].line);
}

static void test_huge_numbers(void **state) {
    struct leat_service_figures figures;
    char buffer[LEAT_SERVICE_STATUS_MAX];

    (void)state;
    memset(&figures, 0xff, sizeof(figures));
    for (int i = 0; i < 8; i++) {
        figures.is_stuck = i & 1;
        figures.is_stopping = i & 2;
        figures.is_draining = i & 4;
        (void)leat_service_status_print(&figures, buffer);
        assert_true(strlen(buffer) < sizeof(buffer) - 1);
        assert_null(strchr(buffer, '\n'));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_huge_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
