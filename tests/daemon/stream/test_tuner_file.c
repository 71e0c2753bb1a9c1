/* test_tuner_file.c: daemon/stream/tuner_store.c: what is written is read again, and nothing else
 * is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "daemon/stream/tuner_store.h"

static const struct leat_tuner_key key = {.stream = {1, 2, 3}, .machine = {4, 5, 6}};
static const struct leat_tuner_memory memory = {
    .knobs = {.of = {65536, 12, 300, 7}}, .is_settled = true, .next_move = 5, .n_failed = 3};

static int parse(const char *text, size_t n_bytes, struct leat_tuner_memory *ret_memory) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_tuner_file_parse(text, n_bytes, &key, ret_memory, &err);

    assert_int_equal(r, err.code);
    assert_int_equal(r < 0, err.message[0] != '\0');
    return r;
}

static void test_round_trip(void **state) {
    char text[LEAT_TUNER_FILE_MAX];
    struct leat_tuner_memory again;
    size_t n = leat_tuner_file_print(&key, &memory, text);

    (void)state;
    assert_int_equal(n, strlen(text));
    assert_int_equal(parse(text, n, &again), 0);
    assert_true(leat_knobs_equal(&again.knobs, &memory.knobs));
    assert_true(again.is_settled);
    assert_int_equal(again.next_move, 5);
    assert_int_equal(again.n_failed, 3);
}

/* Each byte, each length. */
static void test_damage(void **state) {
    char text[LEAT_TUNER_FILE_MAX + 1];
    struct leat_tuner_memory again;
    size_t n = leat_tuner_file_print(&key, &memory, text);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(parse(text, i, &again), -EINVAL);
        for (int bit = 0; bit < 8; bit++) {
            text[i] = (char)(text[i] ^ 1 << bit);
            assert_int_equal(parse(text, n, &again), -EINVAL);
            text[i] = (char)(text[i] ^ 1 << bit);
        }
    }
    memset(text + n, '\n', sizeof(text) - n);
    assert_int_equal(parse(text, n + 1, &again), -EINVAL);
    assert_int_equal(parse(text, sizeof(text), &again), -EINVAL);
}

/* With a checksum that is right. */
static void test_hostile(void **state) {
    static const struct leat_tuner_memory hostile[] = {
        {.knobs = {.of = {0, 12, 300, 7}}},       {.knobs = {.of = {UINT64_MAX, 12, 300, 7}}},
        {.knobs = {.of = {65536, 0, 300, 7}}},    {.knobs = {.of = {65536, 12, 5000, 7}}},
        {.knobs = {.of = {65536, 12, 300, 257}}},
    };
    char text[LEAT_TUNER_FILE_MAX];
    struct leat_tuner_memory again;
    struct leat_tuner_key other = key;

    (void)state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
        assert_int_equal(parse(text, leat_tuner_file_print(&key, &hostile[i], text), &again),
                         -EINVAL);
    other.machine[7] = 1;
    assert_int_equal(parse(text, leat_tuner_file_print(&other, &memory, text), &again), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
