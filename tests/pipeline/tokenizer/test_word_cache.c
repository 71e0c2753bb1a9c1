/* The cache of words against the function that it stands before: any words, lengths, numbers of
 * ids, in any order, while it grows, drops and is cleared. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/tokenizer/model/model.h"
#include "pipeline/tokenizer/model/word_cache.h"
#include "proto/base/rng.h"

#define WORDS_MAX 40000
#define BYTES_MAX 256 /* of a word */

struct words {
    uint8_t *bytes;
    struct leat_range *ranges;
    size_t n;
    uint32_t n_bytes;
};

static void words_init(struct words *words) {
    *words = (struct words){
        .bytes = calloc(1, (size_t)WORDS_MAX * BYTES_MAX + LEAT_TEXT_PADDING),
        .ranges = calloc(WORDS_MAX, sizeof(*words->ranges)),
    };
    assert_non_null(words->bytes);
    assert_non_null(words->ranges);
}

static void words_deinit(struct words *words) {
    free(words->bytes);
    free(words->ranges);
}

/* The word that a number stands for: 1 to n_max bytes, zeros among them. */
static void add_word(struct words *words, uint64_t number, uint32_t n_max) {
    struct leat_rng rng = {.state = number};
    uint32_t n = 1 + (uint32_t)leat_rng_below(&rng, n_max);

    words->ranges[words->n++] = (struct leat_range){words->n_bytes, words->n_bytes + n};
    for (uint32_t i = 0; i < n; i++)
        words->bytes[words->n_bytes++] = (uint8_t)leat_rng_below(&rng, 256);
}

static void random_words(struct words *words, struct leat_rng *rng, size_t n, uint64_t n_different,
                         uint32_t n_max) {
    words->n = words->n_bytes = 0;
    while (words->n < n)
        add_word(words, leat_rng_below(rng, n_different), n_max);
}

/* 0 to n_bytes ids that tell words apart. */
static size_t ids_of(const uint8_t *word, uint32_t n_bytes, int32_t *ids) {
    struct leat_rng rng = {.state = n_bytes};
    size_t n;

    for (uint32_t i = 0; i < n_bytes; i++)
        rng.state = leat_rng_fold(rng.state, word[i]);
    n = leat_rng_below(&rng, n_bytes + 1);
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)leat_rng_below(&rng, INT32_MAX);
    return n;
}

static int encode(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                  size_t *ret_n_ids, struct leat_error *err) {
    size_t *n_calls = context;

    (void)err;
    ++*n_calls;
    *ret_n_ids = ids_of(word, n_bytes, ids);
    return 0;
}

/* Asserts that the cache gives what the function gives; returns how often it was asked. */
static size_t check(struct leat_word_cache *cache, const struct words *words) {
    struct leat_text_view text = {.bytes = words->bytes, .n_bytes = words->n_bytes};
    int32_t *ids = calloc(words->n_bytes + LEAT_MODEL_IDS_SLACK, sizeof(*ids));
    struct leat_error err = LEAT_ERROR_INIT;
    int32_t expected[BYTES_MAX];
    size_t n_ids, n_calls = 0, at = 0;

    assert_non_null(ids);
    assert_int_equal(leat_word_cache_encode(cache, &text, words->ranges, words->n, encode, &n_calls,
                                            ids, &n_ids, &err),
                     0);
    for (size_t i = 0; i < words->n; i++) {
        const struct leat_range *range = &words->ranges[i];
        size_t n = ids_of(words->bytes + range->start, range->end - range->start, expected);

        assert_true(n_ids - at >= n);
        assert_memory_equal(ids + at, expected, n * sizeof(*ids));
        at += n;
    }
    assert_int_equal(at, n_ids);
    free(ids);
    return n_calls;
}

static void test_any_words(void **state) {
    struct leat_rng rng = {.state = 1};
    struct leat_word_cache cache;
    struct words words;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    for (int i = 0; i < 200; i++) {
        random_words(&words, &rng, leat_rng_below(&rng, 300), 1 + leat_rng_below(&rng, 1000),
                     1 + (uint32_t)leat_rng_below(&rng, BYTES_MAX - 1));
        (void)check(&cache, &words);
        if (leat_rng_below(&rng, 20) == 0) {
            leat_word_cache_deinit(&cache);
            assert_int_equal(leat_word_cache_init(&cache), 0);
        }
    }
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

/* A few thousand words are kept; short ones of many ids are not. */
static void test_it_remembers(void **state) {
    struct leat_rng rng = {.state = 2};
    struct leat_word_cache cache;
    struct words words;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    random_words(&words, &rng, 20000, 2000, 15);
    assert_true(check(&cache, &words) <= 2000);
    assert_int_equal(check(&cache, &words), 0);
    leat_word_cache_deinit(&cache);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    assert_true(check(&cache, &words) > 1000);
    random_words(&words, &rng, 20000, 1000, 63);
    (void)check(&cache, &words);
    assert_true(check(&cache, &words) < 20000 * 3 / 4);
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

static size_t n_bytes_of(const struct leat_word_cache *cache) {
    return (cache->mask + 1) * sizeof(*cache->slots) + cache->long_words.young.n_bytes +
           cache->long_words.old.n_bytes + cache->arena_capacity * sizeof(*cache->arena);
}

/* More words than it may ever hold, then a few. */
static void test_it_grows(void **state) {
    struct leat_rng rng = {.state = 3};
    struct leat_word_cache cache;
    struct words words;
    size_t n_bytes;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    n_bytes = n_bytes_of(&cache);
    for (int i = 0; i < 30; i++) {
        random_words(&words, &rng, WORDS_MAX, UINT64_MAX, i % 2 ? 15 : 40);
        (void)check(&cache, &words);
    }
    assert_true(n_bytes_of(&cache) > n_bytes);
    assert_true(n_bytes_of(&cache) < 32u << 20);
    random_words(&words, &rng, 10000, 500, 15);
    (void)check(&cache, &words);
    assert_int_equal(check(&cache, &words), 0);
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

/* Adds words that there were not, of n_bytes each. */
static void add_words(struct leat_word_cache *cache, struct words *words, struct leat_rng *rng,
                      uint32_t n_bytes, size_t n_words) {
    for (size_t n = 0; n < n_words; n += words->n) {
        words->n = words->n_bytes = 0;
        for (int i = 0; i < 16; i++) {
            words->ranges[words->n++] =
                (struct leat_range){words->n_bytes, words->n_bytes + n_bytes};
            for (uint32_t k = 0; k < n_bytes; k++)
                words->bytes[words->n_bytes++] = (uint8_t)leat_rng_below(rng, 256);
        }
        (void)check(cache, words);
    }
}

/* The table of short words doubles when a word in 32 of its slots had to go, up to its limit. */
static void test_when_it_grows(void **state) {
    struct leat_rng rng = {.state = 4};
    struct leat_word_cache cache;
    struct words words;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    while (cache.may_grow) {
        uint64_t n_slots = cache.mask + 1;
        size_t n_dropped = 0;

        assert_int_equal(cache.n_dropped, 0);
        while (cache.mask + 1 == n_slots) {
            n_dropped = cache.n_dropped;
            add_words(&cache, &words, &rng, 8, 16);
        }
        assert_int_equal(cache.mask + 1, 2 * n_slots);
        assert_true(n_dropped + 16 > n_slots / 32 && n_dropped <= n_slots / 32 + 16);
    }
    assert_int_equal(cache.mask + 1, LEAT_WORD_CACHE_SLOTS_MAX);
    add_words(&cache, &words, &rng, 8, 50000);
    assert_int_equal(cache.mask + 1, LEAT_WORD_CACHE_SLOTS_MAX);
    assert_true(n_bytes_of(&cache) <= LEAT_WORD_CACHE_BYTES_MAX);
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

/* Words of 16 to 255 bytes are kept, with all their ids. */
static void test_long_words(void **state) {
    struct leat_rng rng = {.state = 5};
    struct leat_word_cache cache;
    struct words words;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    for (uint32_t n_bytes = LEAT_LONG_WORD_MIN; n_bytes <= LEAT_LONG_WORD_MAX; n_bytes++) {
        add_words(&cache, &words, &rng, n_bytes, 16);
        assert_int_equal(check(&cache, &words), 0);
    }
    add_words(&cache, &words, &rng, LEAT_LONG_WORD_MAX + 1, 16);
    assert_int_equal(check(&cache, &words), 16);
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

/* Words that come again are kept, while others come and go. */
static void test_long_words_that_come_again(void **state) {
    struct leat_rng rng = {.state = 6};
    struct leat_word_cache cache;
    struct words often, words;
    size_t n_bytes;

    (void)state;
    words_init(&often);
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    cache.long_words.bytes_max = n_bytes = cache.long_words.young.n_bytes;
    add_words(&cache, &often, &rng, 30, 16);
    for (int i = 0; i < 200; i++) {
        add_words(&cache, &words, &rng, 30, 160);
        assert_int_equal(check(&cache, &often), 0);
    }
    assert_int_equal(cache.long_words.old.n_bytes, n_bytes);
    add_words(&cache, &words, &rng, 30, 2 * n_bytes / 30);
    assert_int_equal(check(&cache, &often), 16); /* forgotten */
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
    words_deinit(&often);
}

/* Generations double only if long words are many of all words. */
static void test_when_that_of_long_words_grows(void **state) {
    struct leat_rng rng = {.state = 7};
    struct leat_word_cache cache;
    struct words words;
    size_t n_bytes;

    (void)state;
    words_init(&words);
    assert_int_equal(leat_word_cache_init(&cache), 0);
    n_bytes = cache.long_words.young.n_bytes;
    for (size_t i = 0; i < 4 * n_bytes / 20; i += 16) {
        cache.long_words.n_seen = UINT64_C(1) << 40;
        add_words(&cache, &words, &rng, 20, 16);
    }
    assert_int_equal(cache.long_words.young.n_bytes, n_bytes);
    assert_int_equal(cache.long_words.old.n_bytes, n_bytes);
    cache.long_words.n_seen = 0;
    for (size_t i = 0; i < n_bytes && cache.long_words.young.n_bytes == n_bytes; i += 16)
        add_words(&cache, &words, &rng, 20, 16);
    assert_int_equal(cache.long_words.young.n_bytes, 2 * n_bytes);
    add_words(&cache, &words, &rng, 20, 8 * LEAT_WORD_CACHE_LONG_BYTES_MAX / 20);
    assert_int_equal(cache.long_words.young.n_bytes, LEAT_WORD_CACHE_LONG_BYTES_MAX);
    assert_int_equal(cache.long_words.old.n_bytes, LEAT_WORD_CACHE_LONG_BYTES_MAX);
    assert_int_equal(cache.mask + 1, 1 << 16); /* the other has not seen a word */
    assert_true(n_bytes_of(&cache) <= LEAT_WORD_CACHE_BYTES_MAX);
    leat_word_cache_deinit(&cache);
    words_deinit(&words);
}

static int refuse(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                  size_t *ret_n_ids, struct leat_error *err) {
    (void)context;
    ids[0] = word[0];
    *ret_n_ids = n_bytes > 0;
    return word[0] == '!' ? leat_error_set(err, -EINVAL, "no") : 0;
}

static void test_errors_are_not_kept(void **state) {
    static const uint8_t bytes[64 + LEAT_TEXT_PADDING] = "ab!!!!!!!!!!!!!!!!!!!!";
    struct leat_text_view text = {.bytes = bytes, .n_bytes = 64};
    struct leat_word_cache cache;
    int32_t ids[64 + LEAT_MODEL_IDS_SLACK];
    size_t n_ids;

    (void)state;
    assert_int_equal(leat_word_cache_init(&cache), 0);
    for (uint32_t n = 1; n <= 20; n += 19)
        for (int i = 0; i < 2; i++) {
            struct leat_range words[] = {{0, 1}, {1, 2}, {2, 2 + n}};
            struct leat_error err = LEAT_ERROR_INIT;

            assert_int_equal(
                leat_word_cache_encode(&cache, &text, words, 3, refuse, NULL, ids, &n_ids, &err),
                -EINVAL);
            assert_string_equal(err.message, "no");
        }
    leat_word_cache_deinit(&cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_words),
        cmocka_unit_test(test_it_remembers),
        cmocka_unit_test(test_it_grows),
        cmocka_unit_test(test_when_it_grows),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_long_words_that_come_again),
        cmocka_unit_test(test_when_that_of_long_words_grows),
        cmocka_unit_test(test_errors_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
