/* test_usage.c: what became of a thread's time, and what the machine says of its processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <time.h>
#include <unistd.h>

#include "daemon/system/machine.h"
#include "daemon/system/process.h"

static void expect_split(uint64_t n_blocked, uint64_t n_displaced, uint64_t cpu_ns,
                         uint64_t expected_delay_ns) {
    struct leat_usage before = {.cpu_ns = 5, .n_blocked = 7, .n_displaced = 9};
    struct leat_usage after = {
        .cpu_ns = 5 + cpu_ns, .n_blocked = 7 + n_blocked, .n_displaced = 9 + n_displaced};
    uint64_t cpu, delay;

    leat_usage_split(&before, &after, 1000, &cpu, &delay);
    assert_int_equal(cpu, cpu_ns < 1000 ? cpu_ns : 1000);
    assert_int_equal(delay, expected_delay_ns);
}

static void test_split(void **state) {
    (void)state;
    expect_split(0, 0, 1000, 0);
    expect_split(0, 0, 1200, 0);  /* clocks differ */
    expect_split(0, 0, 900, 100); /* it never slept: it was ready all the time */
    expect_split(0, 5, 900, 100);
    expect_split(3, 0, 900, 0); /* it was never displaced: it slept */
    expect_split(1, 3, 600, 300);
}

static void test_read(void **state) {
    struct leat_usage before, after;
    volatile unsigned n = 0;

    (void)state;
    leat_usage_read(&before);
    do {
        for (unsigned i = 0; i < 10000; i++)
            n += i;
        leat_usage_read(&after);
    } while (after.cpu_ns == before.cpu_ns);
    assert_true(n > 0 || after.cpu_ns > before.cpu_ns);
    (void)usleep(1000);
    leat_usage_read(&after);
    assert_true(after.n_blocked > before.n_blocked);
}

static void test_machine(void **state) {
    double n_cpus = leat_machine_n_cpus();
    uint64_t busy_ns = leat_machine_busy_ns();

    (void)state;
    assert_true(n_cpus > 0 && n_cpus <= (double)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(busy_ns == LEAT_MACHINE_UNKNOWN || leat_machine_busy_ns() >= busy_ns);
}

/* One that others kept from running says so; who is not there says nothing. */
static void test_delay(void **state) {
    uint64_t before = leat_process_delay_ns(getpid());

    (void)state;
    assert_int_equal(leat_process_delay_ns(0), 0);
    assert_int_equal(leat_process_delay_ns(-1), 0);
    assert_int_equal(leat_process_delay_ns(INT32_MAX), 0);
    assert_in_range(leat_process_delay_ns(getpid()), before, UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_delay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
