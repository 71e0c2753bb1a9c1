/* test_blake2b.c: proto/base/blake2b.c against RFC 7693 and against values of Python's
 * hashlib.blake2b(digest_size=32), for every length around block ends and in every split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "proto/base/blake2b.h"

#define N_BYTES 1000

static uint8_t bytes[N_BYTES]; /* (7 i + 3) mod 256 */

static const char *hex(const uint8_t digest[LEAT_DIGEST_BYTES]) {
    static char text[LEAT_DIGEST_HEX_SIZE];

    leat_digest_hex(digest, text);
    return text;
}

static void digest_of(const void *data, size_t n, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_blake2b blake;

    leat_blake2b_init(&blake);
    leat_blake2b_update(&blake, data, n);
    leat_blake2b_final(&blake, ret_digest);
}

static void test_known_values(void **state) {
    static const struct {
        size_t n;
        const char *hex;
    } known[] = {
        {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {1, "e88bd757ad5b9bedf372d8d3f0cf6c962a469db61a265f6418e1ffed86da29ec"},
        {127, "c9ae3859964b35f04c54b36d33cf299d7290ee621005d28e51598a943560aaaa"},
        {128, "f0501d06597880592bc49234eef100ec1ff349058d0e9d9b753504e24af86dd6"},
        {129, "a34a4e1e03c541dfbf3099c4b6c143c022ced65c28bd7e8a10e0a098461aecf0"},
        {256, "d93ebb9c802f5630ab22516fd82b6c21bc8bd551d531349b715f046ed11ed871"},
        {257, "4ce481b24d387422d2bc2baa03d1afd55a1327939ff537c71eb9b38709268649"},
        {1000, "d62b6c768ce1afc8367e0498ab2f8e3f7c178c35b1429f14c4604b545d200f52"},
    };
    uint8_t digest[LEAT_DIGEST_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        digest_of(bytes, known[i].n, digest);
        assert_string_equal(hex(digest), known[i].hex);
    }
    digest_of("abc", 3, digest);
    assert_string_equal(hex(digest),
                        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

/* The digest of the digests of all lengths 0..599. */
static void test_all_lengths(void **state) {
    struct leat_blake2b all;
    uint8_t digest[LEAT_DIGEST_BYTES];

    (void)state;
    leat_blake2b_init(&all);
    for (size_t n = 0; n < 600; n++) {
        digest_of(bytes, n, digest);
        leat_blake2b_update(&all, digest, sizeof(digest));
    }
    leat_blake2b_final(&all, digest);
    assert_string_equal(hex(digest),
                        "3b9cf91d57e73e95f6ed867c20a7f20f53b85677fd92fdf831915e18cfaa98fe");
}

static void test_splits_do_not_matter(void **state) {
    uint8_t whole[LEAT_DIGEST_BYTES], split[LEAT_DIGEST_BYTES];

    (void)state;
    digest_of(bytes, 400, whole);
    for (size_t first = 0; first <= 400; first++) {
        for (size_t step = 1; step < 400; step += 63) {
            struct leat_blake2b blake;

            leat_blake2b_init(&blake);
            leat_blake2b_update(&blake, bytes, first);
            for (size_t at = first; at < 400; at += step)
                leat_blake2b_update(&blake, bytes + at, at + step < 400 ? step : 400 - at);
            leat_blake2b_final(&blake, split);
            assert_memory_equal(whole, split, sizeof(whole));
        }
    }
}

static void test_numbers_and_texts(void **state) {
    static const uint8_t by_hand[] = {3,   0, 0, 0, 0, 0, 0, 0, 'a', 'b',
                                      'c', 2, 1, 0, 0, 0, 0, 0, 0};
    struct leat_blake2b blake;
    uint8_t digest[LEAT_DIGEST_BYTES], expected[LEAT_DIGEST_BYTES];

    (void)state;
    digest_of(by_hand, sizeof(by_hand), expected);
    leat_blake2b_init(&blake);
    leat_blake2b_text(&blake, "abc");
    leat_blake2b_u64(&blake, 258);
    leat_blake2b_final(&blake, digest);
    assert_memory_equal(digest, expected, sizeof(digest));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_splits_do_not_matter),
        cmocka_unit_test(test_numbers_and_texts),
    };

    for (size_t i = 0; i < N_BYTES; i++)
        bytes[i] = (uint8_t)(7 * i + 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
