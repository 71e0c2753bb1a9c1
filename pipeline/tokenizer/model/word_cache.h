/* word_cache.h: the ids of words that have been seen, so that most words cost a load and a compare.
 *
 * Two tables without locks or chains. Words of up to 15 bytes lie in slots of 32 bytes: key (the
 * bytes, zeros after them, the length in byte 15), number of ids, and up to three ids or the place
 * of more in an arena. Two slots are a bucket, in one cache line: a word is at home in one of them
 * and may have been moved to the other by a newer word; the next one to come drops it. Words of 16
 * to 255 bytes lie in a table of their own (long_words.h). Longer ones are not kept.
 *
 * When many words drop out, the table doubles, up to a limit. A full arena empties it.
 * Nothing here changes ids: a cache may forget at any time.
 *
 * Owner: the job.
 */
#pragma once

#include "pipeline/tokenizer/model/long_words.h"
#include "pipeline/tokenizer/model/word_table.h"
#include "pipeline/tokenizer/text.h"

#define LEAT_WORD_CACHE_SHORT_MAX 15

#define LEAT_WORD_CACHE_SLOTS_MAX      (UINT64_C(1) << 18)
#define LEAT_WORD_CACHE_LONG_BYTES_MAX (UINT64_C(1) << 21)

struct leat_word_slot {
    uint64_t key[2]; /* 0, 0: free */
    int32_t ids[3];  /* n_ids > 3: ids[0] is their place in the arena */
    uint32_t n_ids;
};

/* The memory counts slots, two ids in the arena for each, and two generations of long words. */
#define LEAT_WORD_CACHE_BYTES(slots, long_bytes)                                                   \
    ((slots) * (sizeof(struct leat_word_slot) + 2 * sizeof(int32_t)) + 2 * (long_bytes))
#define LEAT_WORD_CACHE_BYTES_MAX                                                                  \
    LEAT_WORD_CACHE_BYTES(LEAT_WORD_CACHE_SLOTS_MAX, LEAT_WORD_CACHE_LONG_BYTES_MAX)

/* Powers of two: slots, and bytes of a generation of long words, at first and at most. */
struct leat_word_cache_size {
    uint64_t slots, slots_max;
    uint64_t long_bytes, long_bytes_max;
};

struct leat_word_cache {
    struct leat_word_slot *slots;
    uint64_t mask; /* slots - 1 */
    int32_t *arena;
    size_t n_arena, arena_capacity;
    size_t n_dropped; /* since the table last changed its size */
    uint64_t slots_max;
    bool may_grow;
    struct leat_long_words long_words;
};

/* The ids of one word: the model's own work, on a miss. Writes at most n_bytes ids and
 * LEAT_MODEL_IDS_SLACK more. 0 or a negative errno with err set. */
typedef int leat_word_encode(void *context, const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                             size_t *ret_n_ids, struct leat_error *err);

/* 0 or -ENOMEM. */
int leat_word_cache_init(struct leat_word_cache *cache);
int leat_word_cache_init_sized(struct leat_word_cache *cache,
                               const struct leat_word_cache_size *size);
void leat_word_cache_deinit(struct leat_word_cache *cache); /* of a zeroed one too */

/* Writes the ids of all words, one after the other. `encode` gives the ids of unknown words. The
 * slots of a batch of words are prefetched. */
int leat_word_cache_encode(struct leat_word_cache *cache, const struct leat_text_view *text,
                           const struct leat_range *words, size_t n_words, leat_word_encode *encode,
                           void *context, int32_t *ids, size_t *ret_n_ids, struct leat_error *err);

/* ---- for callers with a loop of their own over words of 1 to 15 bytes */

struct leat_word_key {
    uint64_t low, high;
    uint64_t hash;
};

/* By length: the bytes of a word among 16, and the length where its last byte is never. */
extern const uint64_t leat_word_masks[LEAT_WORD_CACHE_SHORT_MAX + 1][4];

/* word: n_bytes in 1..15, padded (text.h). */
static inline struct leat_word_key leat_word_key(const uint8_t *word, uint32_t n_bytes) {
    const uint64_t *masks = leat_word_masks[n_bytes];
    struct leat_word_key key;
    uint64_t bytes[2];

    memcpy(bytes, word, 16);
    key.low = bytes[0] & masks[0];
    key.high = (bytes[1] & masks[1]) | masks[3];
    key.hash = leat_word_hash(key.low, key.high);
    return key;
}

/* The key of what reads like a word but has ids of its own, such as a part of one. */
static inline struct leat_word_key leat_word_part_key(const uint8_t *part, uint32_t n_bytes) {
    struct leat_word_key key = leat_word_key(part, n_bytes);

    key.high |= UINT64_C(1) << 63;
    key.hash = leat_word_hash(key.low, key.high);
    return key;
}

static inline bool leat_word_slot_is(const struct leat_word_slot *slot,
                                     const struct leat_word_key *key) {
    return ((slot->key[0] ^ key->low) | (slot->key[1] ^ key->high)) == 0;
}

/* Writes the ids of the word, and up to 4 more than there are; returns their number, or -1 if the
 * word is not known. slots, mask, arena: the cache's. */
static inline int leat_word_slots_find(const struct leat_word_slot *slots, uint64_t mask,
                                       const int32_t *arena, const struct leat_word_key *key,
                                       int32_t *ids) {
    uint64_t home = key->hash & mask;
    const struct leat_word_slot *slot = &slots[home];

    /* which of the two it is cannot be foreseen: no branch */
    slot = &slots[home ^ (uint64_t)!leat_word_slot_is(slot, key)];
    if (__builtin_expect(!leat_word_slot_is(slot, key), 0))
        return -1;
    memcpy(ids, slot->ids, 4 * sizeof(*ids));
    if (__builtin_expect(slot->n_ids > 3, 0))
        memcpy(ids, arena + slot->ids[0], slot->n_ids * sizeof(*ids));
    return (int)slot->n_ids;
}

static inline int leat_word_cache_find(const struct leat_word_cache *cache,
                                       const struct leat_word_key *key, int32_t *ids) {
    return leat_word_slots_find(cache->slots, cache->mask, cache->arena, key, ids);
}

/* The ids of a word that leat_word_cache_find() does not know, or of one of 16 bytes or more, whose
 * key does not matter; they are kept. */
int leat_word_cache_encode_other(struct leat_word_cache *cache, const struct leat_word_key *key,
                                 const uint8_t *word, uint32_t n_bytes, leat_word_encode *encode,
                                 void *context, int32_t *ids, size_t *ret_n_ids,
                                 struct leat_error *err);

/* Keeps the ids of a word that is not there. */
void leat_word_cache_add(struct leat_word_cache *cache, const struct leat_word_key *key,
                         const int32_t *ids, size_t n_ids);
