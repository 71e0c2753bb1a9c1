/* long_words.h: the ids of words of 16 to 255 bytes that have been seen.
 *
 * Words lie in two generations. A new word goes to the younger one; a word that is found in the
 * older one is copied to the younger. A full younger generation becomes the older one, whose words
 * are forgotten. So a word stays as long as it comes again before a generation is full.
 *
 * A generation is one piece of memory: buckets of eight tags and eight places, a cache line each,
 * then records of a length, the ids and the bytes. Generations double, up to a limit, while more
 * than one word in 1,024 is a new long one.
 *
 * Owner: the word cache. Thread: that of its job.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_LONG_WORD_MIN 16
#define LEAT_LONG_WORD_MAX 255

struct leat_long_word_bucket {
    uint32_t tags[8]; /* 0: free */
    uint32_t places[8];
};

struct leat_long_word_generation {
    struct leat_long_word_bucket *buckets;
    uint32_t *records;
    uint64_t mask;        /* buckets - 1 */
    uint32_t n, capacity; /* of records, in units of 4 bytes */
    size_t n_bytes;       /* of all; 0: there is none */
    size_t n_words;
};

struct leat_long_words {
    struct leat_long_word_generation young, old;
    size_t bytes_max; /* of a generation */
    size_t n_seen;    /* words of any length since the younger generation began */
};

/* n_bytes, bytes_max: of a generation, powers of two, at least 4,096. 0 or -ENOMEM. */
int leat_long_words_init(struct leat_long_words *words, size_t n_bytes, size_t bytes_max);
void leat_long_words_deinit(struct leat_long_words *words); /* of a zeroed one too */

/* word: n_bytes in 16..255. */
uint64_t leat_long_word_hash(const uint8_t *word, uint32_t n_bytes);

/* Fetches the buckets of a word. */
static inline void leat_long_words_prefetch(const struct leat_long_words *words, uint64_t hash) {
    __builtin_prefetch(&words->young.buckets[hash & words->young.mask]);
    if (words->old.n_bytes)
        __builtin_prefetch(&words->old.buckets[hash & words->old.mask]);
}

/* Writes the ids of the word and returns their number, or -1 if the word is not known. */
int leat_long_words_find(struct leat_long_words *words, uint64_t hash, const uint8_t *word,
                         uint32_t n_bytes, int32_t *ids);

/* Keeps the ids of a word that is not there. Forgets other words if there is no room. */
void leat_long_words_add(struct leat_long_words *words, uint64_t hash, const uint8_t *word,
                         uint32_t n_bytes, const int32_t *ids, size_t n_ids);
