/* Every event is in every form, once, and the catalog has the shape that journalctl reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/core/reference.h"
#include "daemon/log/log.h"

static char text[60000];

static void print(enum leat_reference_form form) {
    FILE *file = fmemopen(text, sizeof(text), "w");

    assert_non_null(file);
    leat_log_reference_print(form, file);
    assert_int_equal(fclose(file), 0);
    assert_true(strlen(text) < sizeof(text) - 1);
}

static void test_all_are_there(void **state) {
    (void)state;
    for (int form = 0; form < LEAT_N_REFERENCE_FORMS; form++) {
        print((enum leat_reference_form)form);
        for (int i = 0; i < LEAT_N_EVENTS; i++) {
            const char *at = strstr(text, leat_log_events[i].id);

            assert_non_null(at);
            assert_null(strstr(at + 1, leat_log_events[i].id));
            assert_non_null(strstr(text, leat_log_events[i].message));
        }
    }
}

static void test_catalog(void **state) {
    unsigned n_entries = 0, n_subjects = 0;
    char *rest = NULL;

    (void)state;
    print(LEAT_REFERENCE_CATALOG);
    assert_int_equal(strncmp(text, "-- ", 3), 0);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        n_entries += strncmp(line, "-- ", 3) == 0;
        n_subjects += strncmp(line, "Subject: ", 9) == 0;
        assert_true(strlen(line) < 110);
    }
    assert_int_equal(n_entries, LEAT_N_EVENTS);
    assert_int_equal(n_subjects, LEAT_N_EVENTS);
}

static void test_names(void **state) {
    (void)state;
    assert_int_equal(leat_reference_form("catalog"), LEAT_REFERENCE_CATALOG);
    assert_true(leat_reference_form("") < 0);
    assert_true(leat_reference_form("catalogue") < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_are_there),
        cmocka_unit_test(test_catalog),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
