/* test_position.c: proto/position.c: what is printed is read back, and nothing else is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/position.h"
#include "tests/proto/shared_random.h"

static uint64_t random_state = 1;

static uint64_t draw(uint64_t n) {
    return random_below(&random_state, n);
}

#define GOOD                                                                                       \
    "leat1:spec=00112233445566778899aabbccddeeff:data=ffeeddccbbaa99887766554433221100:seed=42:"   \
    "epoch=3:step=50000:world=8"

static void test_round_trip(void **state) {
    char text[LEAT_POSITION_TEXT_SIZE], with_end[LEAT_POSITION_TEXT_SIZE + 1];
    struct leat_position position, again;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        size_t n;

        for (size_t k = 0; k < sizeof(position.spec); k++) {
            position.spec[k] = (uint8_t)draw(256);
            position.data[k] = (uint8_t)draw(256);
        }
        position.seed = draw(3) ? draw(1000) : UINT64_MAX - draw(3);
        position.epoch = draw(3) ? draw(10) : UINT64_MAX - draw(3);
        position.step = draw(3) ? draw(100000) : UINT64_MAX - draw(3);
        position.world_size = draw(3) ? (uint32_t)draw(64) + 1 : UINT32_MAX - (uint32_t)draw(3);
        n = leat_position_print(&position, text);
        assert_int_equal(n, strlen(text));
        assert_null(strpbrk(text, " \n\t"));
        assert_int_equal(leat_position_read(text, &again, &err), 0);
        assert_memory_equal(position.spec, again.spec, sizeof(again.spec));
        assert_memory_equal(position.data, again.data, sizeof(again.data));
        assert_int_equal(position.seed, again.seed);
        assert_int_equal(position.epoch, again.epoch);
        assert_int_equal(position.step, again.step);
        assert_int_equal(position.world_size, again.world_size);
        (void)snprintf(with_end, sizeof(with_end), "%s\n", text);
        assert_int_equal(leat_position_read(with_end, &again, &err), 0);
    }
}

static void expect_refused(const char *text, const char *why) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_position position;

    assert_int_equal(leat_position_read(text, &position, &err), -EINVAL);
    if (!strstr(err.message, why))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.message, why);
}

/* No byte of a position may be missing, or be another one that is no digit. */
static void test_damage(void **state) {
    char text[sizeof(GOOD)];
    struct leat_position position;

    (void)state;
    for (size_t n = 0; n < sizeof(GOOD) - 1; n++) {
        struct leat_error err = LEAT_ERROR_INIT;

        memcpy(text, GOOD, n);
        text[n] = '\0';
        assert_int_equal(leat_position_read(text, &position, &err), -EINVAL);
        for (const char *c = "xF -+\n\x80"; *c; c++) {
            memcpy(text, GOOD, sizeof(GOOD));
            text[n] = *c;
            err = LEAT_ERROR_INIT;
            if (text[n] != GOOD[n])
                assert_int_equal(leat_position_read(text, &position, &err), -EINVAL);
        }
    }
}

static void test_refused(void **state) {
    char longest[2 * LEAT_POSITION_TEXT_SIZE];

    (void)state;
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    expect_refused(longest, "at most 255 bytes");
    expect_refused("", "is not a position");
    expect_refused("leat2:spec=", "is not a position");
    expect_refused(GOOD "0000000000", "world=80000000000 is outside 1..4294967295");
    expect_refused(GOOD "\n\n", "comes after the end of the position");
    expect_refused(GOOD ":more=1", "comes after the end of the position");
    expect_refused("leat1:spec=0011", "has 4 digits");
    expect_refused("leat1:spec=00112233445566778899aabbccddeeff:data=ffeeddccbbaa998877665544332211"
                   "00:seed=18446744073709551616:epoch=3:step=5:world=8",
                   "is outside 0..18446744073709551615");
    expect_refused("leat1:spec=00112233445566778899aabbccddeeff:data=ffeeddccbbaa998877665544332211"
                   "00:seed=01:epoch=3:step=5:world=8",
                   "is not a number");
    expect_refused("leat1:spec=00112233445566778899aabbccddeeff:data=ffeeddccbbaa998877665544332211"
                   "00:seed=1:epoch=3:step=5:world=0",
                   "world=0 is outside 1..");
}

/* All ranks that have seen the same number of batches are in the same round. */
static void test_rounds(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        uint32_t world_size = (uint32_t)draw(9) + 1;
        uint64_t first = draw(50), n_seen = draw(20);

        for (uint64_t k = 0; k < world_size; k++)
            assert_int_equal(
                leat_position_round(first + k + n_seen * world_size, first, world_size),
                first + n_seen * world_size);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
