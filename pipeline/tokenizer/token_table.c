/* token_table.c: a pool of texts, an array by id, and a hash table of texts. See token_table.h.
 *
 * A slot of the hash table is the index of a text with ten more bits of its hash above it, so that
 * a look-up seldom goes to a text that is another.
 */
#include "pipeline/tokenizer/token_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

#define NONE       UINT32_MAX
#define INDEX_BITS 22
#define INDEX_MASK ((UINT32_C(1) << INDEX_BITS) - 1)

_Static_assert(LEAT_TOKEN_TABLE_TOKENS_MAX <= INDEX_MASK + 1, "an index fits its bits");

void leat_token_table_deinit(struct leat_token_table *table) {
    free(table->texts);
    free(table->by_id);
    free(table->pool);
    free(table->slots);
    *table = (struct leat_token_table){0};
}

/* Multiply and fold, 8 bytes at a time; short keys dominate. */
static uint64_t hash(const uint8_t *text, size_t n) {
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), word;

    for (; n >= 8; text += 8, n -= 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
        h ^= h >> 32;
    }
    word = 0;
    if (n)
        memcpy(&word, text, n);
    h = (h ^ word) * UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

/* The bits of a hash that stand in a slot; never all ones, as in NONE. */
static uint32_t tag_of(uint64_t hash) {
    uint32_t tag = (uint32_t)(hash >> 54);

    return (tag == 0x3ff ? 0x3fe : tag) << INDEX_BITS;
}

static uint32_t index_of(uint32_t slot) {
    return slot & INDEX_MASK;
}

static bool is_text(const struct leat_token_table *table, uint32_t index, const void *text,
                    size_t n) {
    const struct leat_token_table_text *entry = &table->texts[index];

    return entry->n_bytes == n && (n == 0 || memcmp(table->pool + entry->start, text, n) == 0);
}

/* The slot that holds that text, or the free one where it would be. */
static uint32_t *find_slot(const struct leat_token_table *table, const void *text, size_t n,
                           uint64_t hash) {
    uint32_t mask = table->n_slots - 1, i = (uint32_t)hash & mask, tag = tag_of(hash);

    for (;; i = (i + 1) & mask) {
        uint32_t slot = table->slots[i];

        if (slot == NONE ||
            ((slot & ~INDEX_MASK) == tag && is_text(table, index_of(slot), text, n)))
            return &table->slots[i];
    }
}

void leat_token_table_prefetch(const struct leat_token_table *table, const void *text,
                               size_t n_bytes) {
    if (table->n_slots)
        __builtin_prefetch(&table->slots[(uint32_t)hash(text, n_bytes) & (table->n_slots - 1)]);
}

/* Puts the text of that index, which is not there yet, into its slot. */
static void put(struct leat_token_table *table, uint32_t index) {
    const struct leat_token_table_text *text = &table->texts[index];
    const uint8_t *bytes = table->pool + text->start;
    uint64_t h = hash(bytes, text->n_bytes);

    *find_slot(table, bytes, text->n_bytes, h) = tag_of(h) | index;
}

static int reserve_slots(struct leat_token_table *table, size_t n_tokens) {
    uint32_t n_slots = 16;
    uint32_t *slots;

    while (n_slots < n_tokens + n_tokens / 2)
        n_slots *= 2;
    if (n_slots <= table->n_slots)
        return 0;
    slots = malloc(n_slots * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    memset(slots, 0xff, n_slots * sizeof(*slots));
    free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    for (uint32_t i = 0; i < table->n_tokens; i++)
        put(table, i);
    return 0;
}

/* Room for so many tokens, bytes and ids. False: memory ran out. */
static bool reserve(struct leat_token_table *table, size_t n_tokens, size_t n_bytes, size_t n_ids) {
    size_t old = table->ids_capacity;

    if (reserve_slots(table, n_tokens) < 0 ||
        !leat_array_reserve(&table->pool, n_bytes, &table->pool_capacity) ||
        !leat_array_reserve(&table->texts, n_tokens, &table->tokens_capacity) ||
        !leat_array_reserve(&table->by_id, n_ids, &table->ids_capacity))
        return false;
    if (table->ids_capacity > old)
        memset(table->by_id + old, 0xff, (table->ids_capacity - old) * sizeof(*table->by_id));
    return true;
}

int leat_token_table_reserve(struct leat_token_table *table, size_t n_tokens, size_t n_bytes) {
    if (n_tokens > LEAT_TOKEN_TABLE_TOKENS_MAX || n_bytes > LEAT_TOKEN_TABLE_BYTES_MAX)
        return 0; /* add will say so */
    return reserve(table, n_tokens, n_bytes, n_tokens) ? 0 : -ENOMEM;
}

static int check(const struct leat_token_table *table, size_t n_bytes, uint32_t id,
                 struct leat_error *err) {
    if (table->n_tokens >= LEAT_TOKEN_TABLE_TOKENS_MAX)
        return leat_error_set(err, -E2BIG, "there are more than %u tokens",
                              LEAT_TOKEN_TABLE_TOKENS_MAX);
    if (id > LEAT_TOKEN_TABLE_ID_MAX)
        return leat_error_set(err, -E2BIG, "the id %u is above %u", id, LEAT_TOKEN_TABLE_ID_MAX);
    if (n_bytes > LEAT_TOKEN_TABLE_BYTES_MAX - table->n_pool)
        return leat_error_set(err, -E2BIG, "all tokens together have more than %u bytes",
                              LEAT_TOKEN_TABLE_BYTES_MAX);
    return 0;
}

static void append(struct leat_token_table *table, const void *text, size_t n_bytes) {
    table->texts[table->n_tokens++] = (struct leat_token_table_text){
        .start = (uint32_t)table->n_pool, .n_bytes = (uint32_t)n_bytes};
    if (n_bytes)
        memcpy(table->pool + table->n_pool, text, n_bytes);
    table->n_pool += n_bytes;
}

int leat_token_table_add(struct leat_token_table *table, const void *text, size_t n_bytes,
                         uint32_t id, struct leat_error *err) {
    uint64_t h = hash(text, n_bytes);
    uint32_t *slot, index;
    int r = check(table, n_bytes, id, err);

    if (r < 0)
        return r;
    if (!reserve(table, (size_t)table->n_tokens + 1, table->n_pool + n_bytes, (size_t)id + 1))
        return leat_error_oom(err);
    slot = find_slot(table, text, n_bytes, h);
    index = *slot == NONE ? table->n_tokens : index_of(*slot);
    if (*slot == NONE) {
        *slot = tag_of(h) | index;
        append(table, text, n_bytes);
    } else if (table->by_id[table->texts[index].id] == index) {
        table->by_id[table->texts[index].id] = NONE;
    }
    table->texts[index].id = id;
    table->by_id[id] = index;
    if (id >= table->n_ids)
        table->n_ids = id + 1;
    return 0;
}

static void *shrink(void *memory, size_t n_bytes) {
    void *smaller = n_bytes ? realloc(memory, n_bytes) : NULL;

    return smaller ? smaller : memory;
}

void leat_token_table_shrink(struct leat_token_table *table) {
    table->pool = shrink(table->pool, table->n_pool);
    if (table->n_pool)
        table->pool_capacity = table->n_pool;
    table->texts = shrink(table->texts, table->n_tokens * sizeof(*table->texts));
    if (table->n_tokens)
        table->tokens_capacity = table->n_tokens;
    table->by_id = shrink(table->by_id, table->n_ids * sizeof(*table->by_id));
    if (table->n_ids)
        table->ids_capacity = table->n_ids;
}

int32_t leat_token_table_find(const struct leat_token_table *table, const void *text,
                              size_t n_bytes) {
    uint32_t slot;

    if (!table->n_slots)
        return -1;
    slot = *find_slot(table, text, n_bytes, hash(text, n_bytes));
    return slot == NONE ? -1 : (int32_t)table->texts[index_of(slot)].id;
}

uint32_t leat_token_table_longest(const struct leat_token_table *table) {
    uint32_t longest = 0;

    for (uint32_t i = 0; i < table->n_tokens; i++)
        if (table->texts[i].n_bytes > longest)
            longest = table->texts[i].n_bytes;
    return longest;
}

size_t leat_token_table_n_bytes(const struct leat_token_table *table) {
    return table->pool_capacity + table->tokens_capacity * sizeof(*table->texts) +
           table->ids_capacity * sizeof(*table->by_id) + table->n_slots * sizeof(*table->slots);
}
