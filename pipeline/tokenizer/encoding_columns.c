/* encoding_columns.c: see encoding_columns.h. The columns are described once, in a table, and
 * handled alike; `ids` is the one that is always wanted. `capacity` never says more than every
 * wanted column has. */
#include "pipeline/tokenizer/encoding_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MIN 64
#define TOKENS_MAX ((size_t)1 << 31) /* more than a text has bytes */
#define ALWAYS     (UINT32_C(1) << 31)
#define N_COLUMNS  9

static const struct {
    uint32_t bit;
    size_t field, item_bytes;
} columns[N_COLUMNS] = {
    {ALWAYS, offsetof(struct leat_encoding, ids), sizeof(int32_t)},
    {LEAT_ENCODING_TYPE_IDS, offsetof(struct leat_encoding, type_ids), sizeof(uint32_t)},
    {LEAT_ENCODING_OFFSETS, offsetof(struct leat_encoding, offsets), sizeof(struct leat_range)},
    {LEAT_ENCODING_SPECIAL, offsetof(struct leat_encoding, special), 1},
    {LEAT_ENCODING_ATTENTION, offsetof(struct leat_encoding, attention), 1},
    {LEAT_ENCODING_MARKS, offsetof(struct leat_encoding, marks), sizeof(uint32_t)},
    {LEAT_ENCODING_SURFACES, offsetof(struct leat_encoding, surfaces), sizeof(uint32_t)},
    {LEAT_ENCODING_WORDS, offsetof(struct leat_encoding, words), sizeof(uint32_t)},
    {LEAT_ENCODING_TEXTS, offsetof(struct leat_encoding, texts), 1},
};

static void *get(const struct leat_encoding *encoding, size_t column) {
    void *items;

    memcpy(&items, (const char *)encoding + columns[column].field, sizeof(items));
    return items;
}

static void set(struct leat_encoding *encoding, size_t column, void *items) {
    memcpy((char *)encoding + columns[column].field, &items, sizeof(items));
}

void leat_encoding_deinit(struct leat_encoding *encoding) {
    for (size_t i = 0; i < N_COLUMNS; i++)
        free(get(encoding, i));
    *encoding = (struct leat_encoding){.n = 0};
}

void leat_encoding_reset(struct leat_encoding *encoding, uint32_t wanted) {
    encoding->n = 0;
    encoding->columns = wanted;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        void *items = get(encoding, i);
        if ((wanted | ALWAYS) & columns[i].bit) {
            if (!items)
                encoding->capacity = 0;
        } else if (items) {
            free(items); /* it would fall behind when the others grow */
            set(encoding, i, NULL);
        }
    }
}

int leat_encoding_reserve(struct leat_encoding *encoding, size_t n_more) {
    size_t capacity = encoding->capacity + encoding->capacity / 2;

    if (n_more <= encoding->capacity - encoding->n)
        return 0;
    if (n_more > TOKENS_MAX - encoding->n)
        return -ENOMEM;
    if (capacity < encoding->n + n_more)
        capacity = encoding->n + n_more;
    if (capacity < TOKENS_MIN)
        capacity = TOKENS_MIN;
    for (size_t i = 0; i < N_COLUMNS; i++) {
        void *grown;
        if (!((encoding->columns | ALWAYS) & columns[i].bit))
            continue;
        grown = reallocarray(get(encoding, i), capacity, columns[i].item_bytes);
        if (!grown)
            return -ENOMEM;
        set(encoding, i, grown);
    }
    encoding->capacity = capacity;
    return 0;
}

void leat_encoding_push(struct leat_encoding *encoding, int32_t id, uint32_t type_id,
                        struct leat_range offsets, bool is_special) {
    size_t at = encoding->n++;

    encoding->ids[at] = id;
    if (encoding->type_ids)
        encoding->type_ids[at] = type_id;
    if (encoding->offsets)
        encoding->offsets[at] = offsets;
    if (encoding->special)
        encoding->special[at] = is_special;
    if (encoding->attention)
        encoding->attention[at] = 1;
    if (encoding->marks)
        encoding->marks[at] = at > 0 ? encoding->marks[at - 1] : 0;
    if (encoding->surfaces)
        encoding->surfaces[at] = 0;
    if (encoding->words)
        encoding->words[at] = LEAT_ENCODING_NO_WORD;
    if (encoding->texts)
        encoding->texts[at] = 0;
}

void leat_encoding_shift(struct leat_encoding *encoding, size_t n) {
    for (size_t i = 0; i < N_COLUMNS; i++) {
        size_t size = columns[i].item_bytes;
        char *items = get(encoding, i);

        if ((encoding->columns | ALWAYS) & columns[i].bit)
            memmove(items + n * size, items, encoding->n * size);
    }
}

int leat_encoding_append(struct leat_encoding *encoding, const struct leat_encoding *other,
                         size_t start, size_t end, uint32_t type_id) {
    size_t n = end - start, at = encoding->n;

    if (leat_encoding_reserve(encoding, n) < 0)
        return -ENOMEM;
    for (size_t i = 0; n > 0 && i < N_COLUMNS; i++) {
        size_t size = columns[i].item_bytes;
        if ((encoding->columns | ALWAYS) & columns[i].bit)
            memcpy((char *)get(encoding, i) + at * size, (const char *)get(other, i) + start * size,
                   n * size);
    }
    for (size_t i = 0; encoding->type_ids && i < n; i++)
        encoding->type_ids[at + i] = type_id;
    encoding->n += n;
    return 0;
}
