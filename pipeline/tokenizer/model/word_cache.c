/* word_cache.c: see word_cache.h. Tables come from mmap, aligned for huge pages: a table of 2 MB
 * then costs one entry of the TLB instead of 512, and pages that no word has touched cost nothing.
 */
#include "pipeline/tokenizer/model/word_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SLOTS      (UINT64_C(1) << 16) /* at first, 2 MB */
#define LONG_SLOTS (UINT64_C(1) << 11) /* at first, 256 KB */
#define HUGE_PAGE  (UINT64_C(2) << 20)
#define BATCH      16
#define GROW_AT    32 /* one slot in so many dropped its word */
#define LONG_PART                                                                                  \
    1024           /* words that go by, for each long one that was dropped, at most, to grow       \
                    */
#define IDS_MAX 15 /* of a word that is kept */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "keys are loaded as they lie");

#define BELOW(n) ((UINT64_C(1) << 8 * (n)) - 1) /* the first n of 8 bytes, n < 8 */
#define SHORT(n)                                                                                   \
    { BELOW(n), 0, 0, (uint64_t)(n) << 56 }
#define LONG(n)                                                                                    \
    { UINT64_MAX, BELOW(n - 8), 0, (uint64_t)(n) << 56 }

const uint64_t leat_word_masks[LEAT_WORD_CACHE_SHORT_MAX + 1][4] = {
    SHORT(0), SHORT(1), SHORT(2), SHORT(3), SHORT(4), SHORT(5), SHORT(6), SHORT(7),
    LONG(8),  LONG(9),  LONG(10), LONG(11), LONG(12), LONG(13), LONG(14), LONG(15)};

/* Zeroed memory on a border of huge pages, or NULL. */
static void *table_new(size_t n_bytes) {
    size_t n_mapped = n_bytes + HUGE_PAGE, n_head;
    uint8_t *memory =
        mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    n_head = (size_t)(-(uintptr_t)memory & (HUGE_PAGE - 1));
    if (n_head)
        (void)munmap(memory, n_head);
    memory += n_head;
    (void)munmap(memory + n_bytes, HUGE_PAGE - n_head);
    (void)madvise(memory, n_bytes, MADV_HUGEPAGE);
    return memory;
}

static void table_free(void *table, size_t n_bytes) {
    if (table)
        (void)munmap(table, n_bytes);
}

static size_t slots_bytes(const struct leat_word_cache *cache) {
    return (cache->mask + 1) * sizeof(*cache->slots);
}

static size_t long_slots_bytes(const struct leat_word_cache *cache) {
    return (cache->long_mask + 1) * sizeof(*cache->long_slots);
}

int leat_word_cache_init_sized(struct leat_word_cache *cache,
                               const struct leat_word_cache_size *size) {
    *cache = (struct leat_word_cache){.mask = size->slots - 1,
                                      .long_mask = size->long_slots - 1,
                                      .arena_capacity = 2 * size->slots,
                                      .slots_max = size->slots_max,
                                      .long_slots_max = size->long_slots_max,
                                      .may_grow = size->slots < size->slots_max,
                                      .may_grow_long = size->long_slots < size->long_slots_max};
    cache->slots = table_new(slots_bytes(cache));
    cache->long_slots = table_new(long_slots_bytes(cache));
    cache->arena = malloc(cache->arena_capacity * sizeof(*cache->arena));
    if (cache->slots && cache->long_slots && cache->arena)
        return 0;
    leat_word_cache_deinit(cache);
    return -ENOMEM;
}

int leat_word_cache_init(struct leat_word_cache *cache) {
    const struct leat_word_cache_size size = {.slots = SLOTS,
                                              .slots_max = LEAT_WORD_CACHE_SLOTS_MAX,
                                              .long_slots = LONG_SLOTS,
                                              .long_slots_max = LEAT_WORD_CACHE_LONG_SLOTS_MAX};

    return leat_word_cache_init_sized(cache, &size);
}

void leat_word_cache_deinit(struct leat_word_cache *cache) {
    table_free(cache->slots, slots_bytes(cache));
    table_free(cache->long_slots, long_slots_bytes(cache));
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
    struct leat_word_slot *slots = table_new(n_slots * sizeof(*slots));
    int32_t *arena = reallocarray(cache->arena, 2 * n_slots, sizeof(*arena));

    if (arena) {
        cache->arena = arena;
        cache->arena_capacity = 2 * n_slots;
    }
    cache->may_grow = slots && n_slots < cache->slots_max;
    if (!slots)
        return;
    rehash(cache, slots, n_slots - 1);
    table_free(cache->slots, slots_bytes(cache));
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

/* ---- words of 16 to 63 bytes */

static uint64_t load(const void *bytes) {
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return value;
}

static uint64_t hash_long(const uint8_t *word, uint32_t n_bytes) {
    uint64_t hash = n_bytes;

    for (uint32_t i = 0; i + 16 < n_bytes; i += 16)
        hash = leat_word_hash(load(word + i) ^ hash, load(word + i + 8));
    return leat_word_hash(load(word + n_bytes - 16) ^ hash, load(word + n_bytes - 8));
}

static uint32_t long_slot_length(const struct leat_long_word_slot *slot) {
    return (uint32_t)(slot->key[7] >> 56);
}

static bool is_word(const struct leat_long_word_slot *slot, const uint8_t *word, uint32_t n_bytes) {
    return long_slot_length(slot) == n_bytes && memcmp(slot->key, word, n_bytes) == 0;
}

static const struct leat_long_word_slot *find_long(const struct leat_word_cache *cache,
                                                   uint64_t hash, const uint8_t *word,
                                                   uint32_t n_bytes) {
    uint64_t home = hash & cache->long_mask;

    if (is_word(&cache->long_slots[home], word, n_bytes))
        return &cache->long_slots[home];
    if (is_word(&cache->long_slots[home ^ 1], word, n_bytes))
        return &cache->long_slots[home ^ 1];
    return NULL;
}

static bool take_long_slot(struct leat_long_word_slot *slots, uint64_t home,
                           struct leat_long_word_slot **ret_slot) {
    struct leat_long_word_slot *slot = &slots[home], *other = &slots[home ^ 1];
    bool drops = slot->key[7] && other->key[7];

    if (slot->key[7])
        *other = *slot;
    *ret_slot = slot;
    return drops;
}

static void grow_long(struct leat_word_cache *cache) {
    uint64_t n_slots = 2 * (cache->long_mask + 1);
    struct leat_long_word_slot *slots = table_new(n_slots * sizeof(*slots)), *slot;

    cache->may_grow_long = slots && n_slots < cache->long_slots_max;
    if (!slots)
        return;
    for (uint64_t i = 0; i <= cache->long_mask; i++) {
        const struct leat_long_word_slot *old = &cache->long_slots[i];
        uint64_t hash;

        if (!old->key[7])
            continue;
        hash = hash_long((const uint8_t *)old->key, long_slot_length(old));
        (void)take_long_slot(slots, hash & (n_slots - 1), &slot);
        *slot = *old;
    }
    table_free(cache->long_slots, long_slots_bytes(cache));
    cache->long_slots = slots;
    cache->long_mask = n_slots - 1;
    cache->n_long_dropped = 0;
    cache->n_words = 0;
}

static void add_long(struct leat_word_cache *cache, uint64_t hash, const uint8_t *word,
                     uint32_t n_bytes, const int32_t *ids, size_t n_ids) {
    struct leat_long_word_slot *slot;

    if (n_ids > IDS_MAX)
        return;
    if (cache->may_grow_long && cache->n_long_dropped > cache->long_mask / GROW_AT &&
        cache->n_long_dropped > cache->n_words / LONG_PART)
        grow_long(cache);
    cache->n_long_dropped += take_long_slot(cache->long_slots, hash & cache->long_mask, &slot);
    memset(slot->key, 0, sizeof(slot->key));
    memcpy(slot->key, word, n_bytes);
    slot->key[7] |= (uint64_t)n_bytes << 56;
    slot->n_ids = (uint32_t)n_ids;
    memcpy(slot->ids, ids, n_ids * sizeof(*ids));
}

/* ---- the loop */

struct run {
    struct leat_word_cache *cache;
    leat_word_encode *encode;
    void *context;
    struct leat_error *err;
};

static void prepare_long(const struct leat_word_cache *cache, const uint8_t *word, uint32_t n_bytes,
                         struct leat_word_key *key) {
    const struct leat_long_word_slot *slot;

    if (n_bytes > LEAT_WORD_CACHE_LONG_MAX)
        return;
    key->hash = hash_long(word, n_bytes);
    slot = &cache->long_slots[key->hash & cache->long_mask];
    __builtin_prefetch(slot);
    __builtin_prefetch(&slot->n_ids);
}

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
        } else {
            prepare_long(cache, word, n_bytes, &keys[i]);
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
    const struct leat_long_word_slot *slot;
    int r;

    if (n_bytes > LEAT_WORD_CACHE_LONG_MAX)
        return run->encode(run->context, word, n_bytes, ids, ret_n, run->err);
    slot = find_long(run->cache, hash, word, n_bytes);
    if (slot) {
        memcpy(ids, slot->ids, sizeof(slot->ids));
        *ret_n = slot->n_ids;
        return 0;
    }
    r = run->encode(run->context, word, n_bytes, ids, ret_n, run->err);
    if (r == 0)
        add_long(run->cache, hash, word, n_bytes, ids, *ret_n);
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

/* Returns the end of the ids, or NULL: *ret_error says why. */
static int32_t *encode_batch(const struct run *run, const uint8_t *bytes,
                             const struct leat_range *words, size_t n, int32_t *ids,
                             int *ret_error) {
    const struct leat_word_slot *slots = run->cache->slots;
    const int32_t *arena = run->cache->arena;
    uint64_t mask = run->cache->mask;
    struct leat_word_key keys[BATCH];

    prepare(run->cache, bytes, words, n, keys);
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

int leat_word_cache_encode(struct leat_word_cache *cache, const struct leat_text_view *text,
                           const struct leat_range *words, size_t n_words, leat_word_encode *encode,
                           void *context, int32_t *ids, size_t *ret_n_ids, struct leat_error *err) {
    struct run run = {.cache = cache, .encode = encode, .context = context, .err = err};
    int32_t *end = ids;
    int r = 0;

    *ret_n_ids = 0;
    cache->n_words += n_words;
    for (size_t at = 0; at < n_words; at += BATCH) {
        end = encode_batch(&run, text->bytes, words + at,
                           n_words - at < BATCH ? n_words - at : BATCH, end, &r);
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

    cache->n_words++;
    if (n_bytes <= LEAT_WORD_CACHE_SHORT_MAX)
        return encode_new(&run, key, word, n_bytes, ids, ret_n_ids);
    return encode_long(&run, n_bytes <= LEAT_WORD_CACHE_LONG_MAX ? hash_long(word, n_bytes) : 0,
                       word, n_bytes, ids, ret_n_ids);
}
