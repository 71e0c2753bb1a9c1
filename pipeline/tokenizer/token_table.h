/* token_table.h: the tokens of a model: text to id and back.
 *
 * Tokens are byte strings as the file spells them (UTF-8; in GPT-2's alphabet or with U+2581 where
 * the model uses those). Ids need not be dense. Of equal texts the last one added counts, as in
 * `serde_json`'s maps; of equal ids, id to text gives the last one added. An empty text is a token.
 *
 * Filled by one thread, then immutable: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_TOKEN_TABLE_TOKENS_MAX (UINT32_C(4) << 20)
#define LEAT_TOKEN_TABLE_ID_MAX     ((UINT32_C(16) << 20) - 1)
#define LEAT_TOKEN_TABLE_BYTES_MAX  (UINT32_C(256) << 20)

struct leat_token_table_text {
    uint32_t start, n_bytes; /* in the pool */
    uint32_t id;
};

struct leat_token_table {
    struct leat_token_table_text *texts; /* [n_tokens], in the order in which they came */
    uint32_t n_tokens;
    size_t tokens_capacity, ids_capacity, pool_capacity;
    uint32_t *by_id; /* [n_ids]: index into texts, UINT32_MAX: no such id */
    uint32_t n_ids;  /* the highest id + 1 */
    uint8_t *pool;
    size_t n_pool;
    uint32_t *slots; /* hash table of indices into texts, open addressing */
    uint32_t n_slots;
};

void leat_token_table_deinit(struct leat_token_table *table); /* of a zeroed one too */

/* Room for so many tokens of so many bytes, so that add does not grow. 0 or -ENOMEM. */
int leat_token_table_reserve(struct leat_token_table *table, size_t n_tokens, size_t n_bytes);

/* 0, -ENOMEM, or -E2BIG above the limits. */
int leat_token_table_add(struct leat_token_table *table, const void *text, size_t n_bytes,
                         uint32_t id, struct leat_error *err);

/* Prefetches the slot of a text that will be added or looked for soon. */
void leat_token_table_prefetch(const struct leat_token_table *table, const void *text,
                               size_t n_bytes);

/* Frees memory that the table does not need. */
void leat_token_table_shrink(struct leat_token_table *table);

/* The id of a text, or -1. */
int32_t leat_token_table_find(const struct leat_token_table *table, const void *text,
                              size_t n_bytes);

/* The text of an id, or NULL. Not terminated. */
static inline const uint8_t *leat_token_table_text(const struct leat_token_table *table, int64_t id,
                                                   uint32_t *ret_n_bytes) {
    const struct leat_token_table_text *text;

    if (id < 0 || id >= table->n_ids || table->by_id[id] == UINT32_MAX)
        return NULL;
    text = &table->texts[table->by_id[id]];
    *ret_n_bytes = text->n_bytes;
    return table->pool + text->start;
}

/* Bytes of the longest text. */
uint32_t leat_token_table_longest(const struct leat_token_table *table);

size_t leat_token_table_n_bytes(const struct leat_token_table *table); /* of memory */
