/* test_simd.c: proto/base/simd.h: vectors say what a loop over the bytes says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "proto/base/simd.h"
#include "tests/proto/shared_random.h"
#include "tests/skip.h"

#define ROUNDS 20000

/* Few values, so that bytes are equal to each other often; all of them every other round. */
static void fill(uint64_t *random, uint8_t *bytes, size_t n) {
    static const uint8_t some[] = {0, 1, 0x1f, 0x20, 'a', 'z', 0x7f, 0x80, 0x81, 0xe1, 0xfe, 0xff};
    bool is_any = random_below(random, 2);

    for (size_t i = 0; i < n; i++)
        bytes[i] =
            is_any ? (uint8_t)random_below(random, 256) : some[random_below(random, sizeof(some))];
}

static void sixteen(void **state) {
    uint8_t bytes[17];
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t equal = 0, least = 0;

        fill(&random, bytes, sizeof(bytes));
        for (unsigned i = 0; i < 16; i++) {
            equal |= (uint32_t)(bytes[1 + i] == bytes[0]) << i;
            least |= (uint32_t)(bytes[1 + i] >= bytes[0]) << i;
        }
        leat_bytes16 loaded = leat_bytes16_load(bytes + 1);
        assert_int_equal(leat_bytes16_mask((leat_bytes16)(loaded == bytes[0])), equal);
        assert_int_equal(leat_bytes16_mask((leat_bytes16)(loaded >= bytes[0])), least);
    }
}

/* What vectors say of 64 bytes. */
struct said {
    uint64_t equal, in, folded, high, both, found, prefix;
    uint32_t half;
};

LEAT_SIMD static struct said ask(const uint8_t *bytes, uint8_t first, uint8_t span,
                                 const uint8_t nibbles[2][16]) {
    leat_bytes32 low = leat_bytes32_load(bytes), high = leat_bytes32_load(bytes + 32);
    leat_bytes32 low_in = leat_bytes32_in(low, first, span);
    leat_bytes32 high_in = leat_bytes32_in(high, first, span);
    struct said said = {
        .equal = leat_bytes64_mask(leat_bytes32_equal(low, first), leat_bytes32_equal(high, first)),
        .in = leat_bytes64_mask(low_in, high_in),
        .folded = leat_bytes64_mask(leat_bytes32_equal(leat_bytes32_or(low, 0x20), first),
                                    leat_bytes32_equal(leat_bytes32_or(high, 0x20), first)),
        .high = leat_bytes64_mask(leat_bytes32_beyond_ascii(low), leat_bytes32_beyond_ascii(high)),
        .both = leat_bytes64_mask(leat_bytes32_both(low_in, leat_bytes32_equal(low, first)),
                                  leat_bytes32_both(high_in, leat_bytes32_equal(high, first))),
        .found = leat_bytes64_mask(leat_bytes32_equal(leat_bytes32_look_up(nibbles, low), 0),
                                   leat_bytes32_equal(leat_bytes32_look_up(nibbles, high), 0)),
        .half = leat_bytes32_mask(high_in),
    };

    said.prefix = leat_simd_prefix_xor(said.in);
    return said;
}

static struct said count(const uint8_t *bytes, uint8_t first, uint8_t span,
                         const uint8_t nibbles[2][16]) {
    struct said said = {0};
    uint64_t parity = 0;

    for (unsigned i = 0; i < 64; i++) {
        uint64_t is_equal = bytes[i] == first, is_in = (uint8_t)(bytes[i] - first) <= span;

        parity ^= is_in;
        said.equal |= is_equal << i;
        said.in |= is_in << i;
        said.folded |= (uint64_t)((bytes[i] | 0x20) == first) << i;
        said.high |= (uint64_t)(bytes[i] >= 0x80) << i;
        said.both |= (is_equal & is_in) << i;
        said.found |= (uint64_t) !(nibbles[0][bytes[i] & 15] & nibbles[1][bytes[i] >> 4]) << i;
        said.prefix |= parity << i;
    }
    said.half = (uint32_t)(said.in >> 32);
    return said;
}

static void sixty_four(void **state) {
    uint8_t bytes[65], nibbles[2][16];
    uint64_t random = 2;

    (void)state;
    if (!leat_simd_is_here())
        SKIP_CASE("this machine has no vectors of 32 bytes");
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t first, span = (uint8_t)random_below(&random, 256);

        fill(&random, bytes, sizeof(bytes));
        fill(&random, nibbles[0], sizeof(nibbles));
        first = bytes[random_below(&random, 65)];
        struct said said = ask(bytes + 1, first, span, nibbles);
        struct said counted = count(bytes + 1, first, span, nibbles);
        assert_int_equal(said.equal, counted.equal);
        assert_int_equal(said.in, counted.in);
        assert_int_equal(said.folded, counted.folded);
        assert_int_equal(said.high, counted.high);
        assert_int_equal(said.both, counted.both);
        assert_int_equal(said.found, counted.found);
        assert_int_equal(said.prefix, counted.prefix);
        assert_int_equal(said.half, counted.half);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen),
        cmocka_unit_test(sixty_four),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
