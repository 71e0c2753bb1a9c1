/* Texts of the kernel, nonsense among them, and threads that really wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/system/thread_state.h"
#include "tests/skip.h"

#define REST " 1 2 3 0 -1 4194304 100 0 0 0 7 5 0 0 20 0 3 0 100 0 0"

static void test_parse(void **state) {
    static const struct {
        const char *stat, *syscall;
        char letter;
        uint64_t ticks;
        int64_t call;
    } cases[] = {
        {"12 (leatd) S" REST, "202 0x0 0x0", 'S', 12, 202},
        {"12 (a) b) (c) D" REST, "0 0x3", 'D', 12, 0},
        {"12 (leatd) R" REST, "running", 'R', 12, -1},
        {"12 (leatd) t" REST, "-1 0x7f 0x0", 't', 12, -1},
        {NULL, NULL, 0, 0, -1},
        {"", "", 0, 0, -1},
        {"12 (leatd", "x", 0, 0, -1},
        {"12 (leatd)", NULL, 0, 0, -1},
        {"12 (leatd) ", NULL, 0, 0, -1},
        {"12 (leatd) S", NULL, 'S', 0, -1},
        {"12 (leatd) S 1 2 3", "99999999999999999999999", 'S', 0, INT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_thread_state parsed;

        leat_thread_state_parse(cases[i].stat, cases[i].syscall, &parsed);
        assert_int_equal(parsed.letter, cases[i].letter);
        assert_int_equal(parsed.cpu_ticks, cases[i].ticks);
        assert_int_equal(parsed.call, cases[i].call);
    }
}

static void test_judge(void **state) {
    static const struct {
        char letter;
        uint64_t more_ticks;
        int64_t call;
        enum leat_thread_wait wait;
    } cases[] = {
        {'R', 0, -1, LEAT_THREAD_COMPUTES},       {'S', 1, SYS_futex, LEAT_THREAD_COMPUTES},
        {'D', 0, SYS_read, LEAT_THREAD_STORAGE},  {'D', 3, SYS_read, LEAT_THREAD_COMPUTES},
        {'S', 0, SYS_futex, LEAT_THREAD_LOCK},    {'S', 0, SYS_read, LEAT_THREAD_OTHERS},
        {'S', 0, -1, LEAT_THREAD_OTHERS},         {'T', 0, SYS_futex, LEAT_THREAD_STOPPED},
        {'t', 5, SYS_futex, LEAT_THREAD_STOPPED}, {'Z', 0, -1, LEAT_THREAD_DEAD},
        {'X', 0, -1, LEAT_THREAD_DEAD},           {0, 0, -1, LEAT_THREAD_DEAD},
        {'I', 0, -1, LEAT_THREAD_OTHERS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_thread_state before = {.cpu_ticks = 10},
                                 now = {.letter = cases[i].letter,
                                        .cpu_ticks = 10 + cases[i].more_ticks,
                                        .call = cases[i].call};

        assert_int_equal(leat_thread_state_judge(&now, &before), cases[i].wait);
        assert_non_null(leat_thread_wait_name(cases[i].wait));
    }
}

static struct {
    pthread_mutex_t lock;
    int ends[2];
    _Atomic pid_t tid;
} test = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *wait_for_lock(void *nothing) {
    test.tid = gettid();
    (void)pthread_mutex_lock(&test.lock);
    (void)pthread_mutex_unlock(&test.lock);
    return nothing;
}

static void *wait_for_bytes(void *nothing) {
    char byte;

    test.tid = gettid();
    (void)!read(test.ends[0], &byte, 1);
    return nothing;
}

/* Until it sleeps in a call. */
static enum leat_thread_wait look(pid_t tid) {
    struct leat_thread_state before = {.letter = 0}, now;

    do {
        (void)usleep(1000);
        leat_thread_state_read(tid, &now);
        before = now;
    } while (now.letter != 'S' || now.call < 0);
    return leat_thread_state_judge(&now, &before);
}

static void test_real_threads(void **state) {
    struct leat_thread_state none;
    pthread_t thread;

    (void)state;
    if (access("/proc/self/syscall", R_OK) < 0)
        SKIP_CASE("this kernel does not show the system calls of threads");
    SKIP_CASE_IF_EMULATED("/proc has the numbers of qemu's own system calls");
    assert_int_equal(pthread_mutex_lock(&test.lock), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_lock, NULL), 0);
    while (!test.tid)
        (void)sched_yield();
    assert_int_equal(look(test.tid), LEAT_THREAD_LOCK);
    assert_int_equal(pthread_mutex_unlock(&test.lock), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);

    test.tid = 0;
    assert_int_equal(pipe(test.ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_bytes, NULL), 0);
    while (!test.tid)
        (void)sched_yield();
    assert_int_equal(look(test.tid), LEAT_THREAD_OTHERS);
    assert_int_equal(write(test.ends[1], "x", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(test.ends[0]);
    (void)close(test.ends[1]);

    leat_thread_state_read(INT32_MAX, &none);
    assert_int_equal(none.letter, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_real_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
