/* long_words.c: see long_words.h. A record is its word's n_bytes and n_ids (16 bits each), the ids,
 * and the bytes of the word, filled up to 4.
 */
#include "pipeline/tokenizer/model/long_words.h"

#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/model/word_table.h"

#define WAYS      8
#define GROW_PART 1024 /* of all words, for each new long one, at most, to grow */

static int generation_init(struct leat_long_word_generation *generation, size_t n_bytes) {
    size_t n_buckets = n_bytes / (4 * sizeof(*generation->buckets));

    *generation = (struct leat_long_word_generation){.buckets = leat_table_new(n_bytes)};
    if (!generation->buckets)
        return -ENOMEM;
    generation->n_bytes = n_bytes;
    generation->mask = n_buckets - 1;
    generation->records = (uint32_t *)(generation->buckets + n_buckets);
    generation->capacity =
        (uint32_t)((n_bytes - n_buckets * sizeof(*generation->buckets)) / sizeof(uint32_t));
    return 0;
}

static void generation_deinit(struct leat_long_word_generation *generation) {
    leat_table_free(generation->buckets, generation->n_bytes);
    *generation = (struct leat_long_word_generation){.buckets = NULL};
}

static void generation_clear(struct leat_long_word_generation *generation) {
    memset(generation->buckets, 0, (generation->mask + 1) * sizeof(*generation->buckets));
    generation->n = 0;
    generation->n_words = 0;
}

int leat_long_words_init(struct leat_long_words *words, size_t n_bytes, size_t bytes_max) {
    *words = (struct leat_long_words){.bytes_max = bytes_max};
    return generation_init(&words->young, n_bytes);
}

void leat_long_words_deinit(struct leat_long_words *words) {
    generation_deinit(&words->young);
    generation_deinit(&words->old);
}

static uint64_t load(const void *bytes) {
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return value;
}

uint64_t leat_long_word_hash(const uint8_t *word, uint32_t n_bytes) {
    uint64_t hash = n_bytes;

    for (uint32_t i = 0; i + 16 < n_bytes; i += 16)
        hash = leat_word_hash(load(word + i) ^ hash, load(word + i + 8));
    return leat_word_hash(load(word + n_bytes - 16) ^ hash, load(word + n_bytes - 8));
}

static uint32_t tag_of(uint64_t hash) {
    return (uint32_t)(hash >> 32) | 1;
}

static uint32_t head_of(uint32_t n_bytes, size_t n_ids) {
    return n_bytes | (uint32_t)n_ids << 16;
}

static const uint32_t *generation_find(const struct leat_long_word_generation *generation,
                                       uint64_t hash, const uint8_t *word, uint32_t n_bytes) {
    const struct leat_long_word_bucket *bucket = &generation->buckets[hash & generation->mask];
    uint32_t tag = tag_of(hash), matches = 0;

    for (uint32_t i = 0; i < WAYS; i++)
        matches |= (uint32_t)(bucket->tags[i] == tag) << i;
    for (; matches; matches &= matches - 1) {
        const uint32_t *record = generation->records + bucket->places[__builtin_ctz(matches)];

        if ((record[0] & 0xffff) == n_bytes &&
            memcmp(record + 1 + (record[0] >> 16), word, n_bytes) == 0)
            return record;
    }
    return NULL;
}

/* Makes room for words: the younger generation becomes the older one. */
static void turn_over(struct leat_long_words *words) {
    size_t n_bytes = words->young.n_bytes;
    struct leat_long_word_generation next = words->old;

    if (n_bytes < words->bytes_max && words->young.n_words > words->n_seen / GROW_PART)
        n_bytes *= 2;
    if (next.n_bytes != n_bytes) {
        struct leat_long_word_generation larger;

        if (generation_init(&larger, n_bytes) == 0) {
            generation_deinit(&next);
            next = larger;
        }
    }
    words->n_seen = 0;
    if (!next.n_bytes) { /* there is no memory for a second one */
        generation_clear(&words->young);
        return;
    }
    generation_clear(&next);
    words->old = words->young;
    words->young = next;
}

void leat_long_words_add(struct leat_long_words *words, uint64_t hash, const uint8_t *word,
                         uint32_t n_bytes, const int32_t *ids, size_t n_ids) {
    struct leat_long_word_generation *young = &words->young;
    size_t n = 1 + n_ids + (n_bytes + 3) / 4;
    struct leat_long_word_bucket *bucket;
    uint32_t *record, way = 0;

    if (n > young->capacity - young->n)
        turn_over(words);
    bucket = &young->buckets[hash & young->mask];
    record = young->records + young->n;
    while (way < WAYS && bucket->tags[way])
        way++;
    if (way == WAYS)
        way = (uint32_t)young->n_words % WAYS; /* that one is forgotten */
    bucket->tags[way] = tag_of(hash);
    bucket->places[way] = young->n;
    record[0] = head_of(n_bytes, n_ids);
    memcpy(record + 1, ids, n_ids * sizeof(*ids));
    memcpy(record + 1 + n_ids, word, n_bytes);
    young->n += (uint32_t)n;
    young->n_words++;
}

int leat_long_words_find(struct leat_long_words *words, uint64_t hash, const uint8_t *word,
                         uint32_t n_bytes, int32_t *ids) {
    const uint32_t *record = generation_find(&words->young, hash, word, n_bytes);
    bool is_old = !record && words->old.n_bytes;
    uint32_t n_ids;

    if (is_old)
        record = generation_find(&words->old, hash, word, n_bytes);
    if (!record)
        return -1;
    n_ids = record[0] >> 16;
    memcpy(ids, record + 1, n_ids * sizeof(*ids));
    if (is_old)
        leat_long_words_add(words, hash, word, n_bytes, ids, n_ids);
    return (int)n_ids;
}
