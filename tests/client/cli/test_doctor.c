/* Findings of leatctl doctor: no more than there is room for, each with its own mend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "client/cli/doctor/doctor.h"

static void test_too_many(void **state) {
    struct leat_doctor *doctor = calloc(1, sizeof(*doctor));
    char expected[32];

    (void)state;
    assert_non_null(doctor);
    leat_doctor_mend(doctor, "of nothing");
    for (int i = 0; i < LEAT_DOCTOR_FINDINGS_MAX + 3; i++) {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "area", "name", "text %d", i);
        leat_doctor_mend(doctor, "mend %d", i);
    }
    assert_int_equal(leat_doctor_count(doctor, LEAT_DOCTOR_FAIL), LEAT_DOCTOR_FINDINGS_MAX);
    for (int i = 0; i < LEAT_DOCTOR_FINDINGS_MAX; i++) {
        (void)snprintf(expected, sizeof(expected), "mend %d", i);
        assert_string_equal(doctor->findings[i].mend, expected);
    }
    free(doctor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
