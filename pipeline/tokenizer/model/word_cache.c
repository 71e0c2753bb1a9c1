/* word_cache.c: see word_cache.h. */
#include "pipeline/tokenizer/model/word_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/model/word_table.h"

#define SLOTS      (UINT64_C(1) << 16) /* at first, 2 MB */
#define LONG_BYTES (UINT64_C(1) << 17) /* of long words, at first */
#define BATCH      32
#define GROW_AT    32 /* one slot in so many dropped its word */
#define IDS_MAX    15 /* of a short word that is kept */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys are loaded as they lie");

#define BELOW(n) ((UINT64_C(1) << 8 * (n)) - 1) /* the first n of 8 bytes, n < 8 */
#define SHORT(n)                                                                                   \
    { BELOW(n), 0, 0, (uint64_t)(n) << 56 }
#define LONG(n)                                                                                    \
    { UINT64_MAX, BELOW(n - 8), 0, (uint64_t)(n) << 56 }

const uint64_t leat_word_masks[LEAT_WORD_CACHE_SHORT_MAX + 1][4] = {
    SHORT(0), SHORT(1), SHORT(2), SHORT(3), SHORT(4), SHORT(5), SHORT(6), SHORT(7),
    LONG(8),  LONG(9),  LONG(10), LONG(11), LONG(12), LONG(13), LONG(14), LONG(15)};

static size_t slots_bytes(const struct leat_word_cache *cache) {
    return (cache->mask + 1) * sizeof(*cache->slots);
}

int leat_word_cache_init_sized(struct leat_word_cache *cache,
                               const struct leat_word_cache_size *size) {
    *cache = (struct leat_word_cache){.mask = size->slots - 1,
                                      .arena_capacity = 2 * size->slots,
                                      .slots_max = size->slots_max,
                                      .may_grow = size->slots < size->slots_max};
    cache->slots = leat_table_new(slots_bytes(cache));
    cache->arena = malloc(cache->arena_capacity * sizeof(*cache->arena));
    if (cache->slots && cache->arena &&
        leat_long_words_init(&cache->long_words, size->long_bytes, size->long_bytes_max) == 0)
        return 0;
    leat_word_cache_deinit(cache);
    return -ENOMEM;
}

int leat_word_cache_init(struct leat_word_cache *cache) {
    const struct leat_word_cache_size size = {.slots = SLOTS,
                                              .slots_max = LEAT_WORD_CACHE_SLOTS_MAX,
                                              .long_bytes = LONG_BYTES,
                                              .long_bytes_max = LEAT_WORD_CACHE_LONG_BYTES_MAX};

    return leat_word_cache_init_sized(cache, &size);
}

void leat_word_cache_deinit(struct leat_word_cache *cache) {
    leat_table_free(cache->slots, slots_bytes(cache));
    leat_long_words_deinit(&cache->long_words);
    free(cache->arena);
    *cache = (struct leat_word_cache){.slots = NULL};
}

static void clear_short(struct leat_word_cache *cache) {
    memset(cache->slots, 0, slots_bytes(cache));
    cache->n_arena = 0;
}

/* ---- words of 1 to 15 bytes */

/* The slot for a new word of that home. True if another word had to go. */
static bool take_slot(struct leat_word_slot *slots, uint64_t home,
                      struct leat_word_slot **ret_slot) {
    struct leat_word_slot *slot = &slots[home], *other = &slots[home ^ 1];
    bool drops = slot->key[1] && other->key[1];

    if (slot->key[1])
        *other = *slot;
    *ret_slot = slot;
    return drops;
}

static void rehash(const struct leat_word_cache *cache, struct leat_word_slot *slots,
                   uint64_t mask) {
    for (uint64_t i = 0; i <= cache->mask; i++) {
        const struct leat_word_slot *old = &cache->slots[i];
        struct leat_word_slot *slot;

        if (!old->key[1])
            continue;
        (void)take_slot(slots, leat_word_hash(old->key[0], old->key[1]) & mask, &slot);
        *slot = *old;
    }
}

static void grow(struct leat_word_cache *cache) {
    uint64_t n_slots = 2 * (cache->mask + 1);
    struct leat_word_slot *slots = leat_table_new(n_slots * sizeof(*slots));
    int32_t *arena = reallocarray(cache->arena, 2 * n_slots, sizeof(*arena));

    if (arena) {
        cache->arena = arena;
        cache->arena_capacity = 2 * n_slots;
    }
    cache->may_grow = slots && n_slots < cache->slots_max;
    if (!slots)
        return;
    rehash(cache, slots, n_slots - 1);
    leat_table_free(cache->slots, slots_bytes(cache));
    cache->slots = slots;
    cache->mask = n_slots - 1;
    cache->n_dropped = 0;
}

void leat_word_cache_add(struct leat_word_cache *cache, const struct leat_word_key *key,
                         const int32_t *ids, size_t n_ids) {
    struct leat_word_slot *slot;

    if (n_ids > IDS_MAX || !key->high)
        return;
    if (cache->may_grow && cache->n_dropped > cache->mask / GROW_AT)
        grow(cache);
    if (n_ids > 3 && n_ids > cache->arena_capacity - cache->n_arena)
        clear_short(cache);
    cache->n_dropped += take_slot(cache->slots, key->hash & cache->mask, &slot);
    *slot = (struct leat_word_slot){.key = {key->low, key->high}, .n_ids = (uint32_t)n_ids};
    if (n_ids <= 3) {
        memcpy(slot->ids, ids, n_ids * sizeof(*ids));
        return;
    }
    slot->ids[0] = (int32_t)cache->n_arena;
    memcpy(cache->arena + cache->n_arena, ids, n_ids * sizeof(*ids));
    cache->n_arena += n_ids;
}

/* ---- the loop */

struct run {
    struct leat_word_cache *cache;
    leat_word_encode *encode;
    void *context;
    struct leat_error *err;
};

/* Keys of a batch; of a longer word the hash alone. Fetches the slots. */
static void prepare(const struct leat_word_cache *cache, const uint8_t *bytes,
                    const struct leat_range *words, size_t n, struct leat_word_key *keys) {
    const struct leat_word_slot *slots = cache->slots;
    uint64_t mask = cache->mask;

    for (size_t i = 0; i < n; i++) {
        const uint8_t *word = bytes + words[i].start;
        uint32_t n_bytes = words[i].end - words[i].start;

        if (__builtin_expect(n_bytes <= LEAT_WORD_CACHE_SHORT_MAX, 1)) {
            keys[i] = leat_word_key(word, n_bytes);
            __builtin_prefetch(&slots[keys[i].hash & mask]);
        } else if (n_bytes <= LEAT_LONG_WORD_MAX) {
            keys[i].hash = leat_long_word_hash(word, n_bytes);
            leat_long_words_prefetch(&cache->long_words, keys[i].hash);
        }
    }
}

__attribute__((noinline)) static int encode_new(const struct run *run,
                                                const struct leat_word_key *key,
                                                const uint8_t *word, uint32_t n_bytes, int32_t *ids,
                                                size_t *ret_n) {
    int r = run->encode(run->context, word, n_bytes, ids, ret_n, run->err);

    if (r == 0)
        leat_word_cache_add(run->cache, key, ids, *ret_n);
    return r;
}

__attribute__((noinline)) static int encode_long(const struct run *run, uint64_t hash,
                                                 const uint8_t *word, uint32_t n_bytes,
                                                 int32_t *ids, size_t *ret_n) {
    int r, found;

    if (n_bytes > LEAT_LONG_WORD_MAX)
        return run->encode(run->context, word, n_bytes, ids, ret_n, run->err);
    found = leat_long_words_find(&run->cache->long_words, hash, word, n_bytes, ids);
    if (found >= 0) {
        *ret_n = (size_t)found;
        return 0;
    }
    r = run->encode(run->context, word, n_bytes, ids, ret_n, run->err);
    if (r == 0)
        leat_long_words_add(&run->cache->long_words, hash, word, n_bytes, ids, *ret_n);
    return r;
}

/* A word that is not among the short ones; returns the end of its ids, or NULL: *ret_error says
 * why. */
__attribute__((noinline)) static int32_t *encode_other(const struct run *run,
                                                       const struct leat_word_key *key,
                                                       const uint8_t *word, uint32_t n_bytes,
                                                       int32_t *ids, int *ret_error) {
    size_t n_ids;

    if (n_bytes <= LEAT_WORD_CACHE_SHORT_MAX)
        *ret_error = encode_new(run, key, word, n_bytes, ids, &n_ids);
    else
        *ret_error = encode_long(run, key->hash, word, n_bytes, ids, &n_ids);
    return *ret_error < 0 ? NULL : ids + n_ids;
}

/* keys: those of the words, by prepare(). Returns the end of the ids, or NULL: *ret_error says
 * why. */
static int32_t *encode_batch(const struct run *run, const uint8_t *bytes,
                             const struct leat_range *words, size_t n,
                             const struct leat_word_key *keys, int32_t *ids, int *ret_error) {
    const struct leat_word_slot *slots = run->cache->slots;
    const int32_t *arena = run->cache->arena;
    uint64_t mask = run->cache->mask;

    for (size_t i = 0; i < n; i++) {
        uint32_t n_bytes = words[i].end - words[i].start;
        int found = -1;

        if (__builtin_expect(n_bytes <= LEAT_WORD_CACHE_SHORT_MAX, 1))
            found = leat_word_slots_find(slots, mask, arena, &keys[i], ids);
        if (__builtin_expect(found >= 0, 1)) {
            ids += found;
            continue;
        }
        ids = encode_other(run, &keys[i], bytes + words[i].start, n_bytes, ids, ret_error);
        if (!ids)
            return NULL;
        slots = run->cache->slots; /* it may have grown */
        arena = run->cache->arena;
        mask = run->cache->mask;
    }
    return ids;
}

static size_t batch_size(size_t n_left) {
    return n_left < BATCH ? n_left : BATCH;
}

/* A batch is prepared while the one before is looked up, so that its slots have time to arrive. */
int leat_word_cache_encode(struct leat_word_cache *cache, const struct leat_text_view *text,
                           const struct leat_range *words, size_t n_words, leat_word_encode *encode,
                           void *context, int32_t *ids, size_t *ret_n_ids, struct leat_error *err) {
    struct run run = {.cache = cache, .encode = encode, .context = context, .err = err};
    struct leat_word_key keys[2][BATCH];
    int32_t *end = ids;
    size_t n = batch_size(n_words), n_next;
    int r = 0;

    *ret_n_ids = 0;
    cache->long_words.n_seen += n_words;
    prepare(cache, text->bytes, words, n, keys[0]);
    for (size_t at = 0, turn = 0; n > 0; at += n, n = n_next, turn ^= 1) {
        n_next = batch_size(n_words - at - n);
        prepare(cache, text->bytes, words + at + n, n_next, keys[turn ^ 1]);
        end = encode_batch(&run, text->bytes, words + at, n, keys[turn], end, &r);
        if (!end)
            return r;
    }
    *ret_n_ids = (size_t)(end - ids);
    return 0;
}

int leat_word_cache_encode_other(struct leat_word_cache *cache, const struct leat_word_key *key,
                                 const uint8_t *word, uint32_t n_bytes, leat_word_encode *encode,
                                 void *context, int32_t *ids, size_t *ret_n_ids,
                                 struct leat_error *err) {
    const struct run run = {.cache = cache, .encode = encode, .context = context, .err = err};

    cache->long_words.n_seen++;
    if (n_bytes <= LEAT_WORD_CACHE_SHORT_MAX)
        return encode_new(&run, key, word, n_bytes, ids, ret_n_ids);
    return encode_long(&run, n_bytes <= LEAT_LONG_WORD_MAX ? leat_long_word_hash(word, n_bytes) : 0,
                       word, n_bytes, ids, ret_n_ids);
}
