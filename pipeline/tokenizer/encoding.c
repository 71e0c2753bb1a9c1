/* encoding.c: see encoding.h. Columns are grown one by one, ids last: `capacity` never says more
 * than every column that is wanted has. */
#include "pipeline/tokenizer/encoding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_MIN 64

void leat_encoding_deinit(struct leat_encoding *encoding) {
    free(encoding->ids);
    free(encoding->type_ids);
    free(encoding->offsets);
    free(encoding->special);
    free(encoding->attention);
    *encoding = (struct leat_encoding){.n = 0};
}

/* Columns that come to be wanted only now have no memory yet. */
static bool has_columns(const struct leat_encoding *encoding, uint32_t columns) {
    return (!(columns & LEAT_ENCODING_TYPE_IDS) || encoding->type_ids) &&
           (!(columns & LEAT_ENCODING_OFFSETS) || encoding->offsets) &&
           (!(columns & LEAT_ENCODING_SPECIAL) || encoding->special) &&
           (!(columns & LEAT_ENCODING_ATTENTION) || encoding->attention);
}

/* Columns that are no longer wanted would fall behind when the others grow. */
static void drop(void **column) {
    free(*column);
    *column = NULL;
}

void leat_encoding_reset(struct leat_encoding *encoding, uint32_t columns) {
    encoding->n = 0;
    if (encoding->columns == columns)
        return;
    if (!(columns & LEAT_ENCODING_TYPE_IDS))
        drop((void **)&encoding->type_ids);
    if (!(columns & LEAT_ENCODING_OFFSETS))
        drop((void **)&encoding->offsets);
    if (!(columns & LEAT_ENCODING_SPECIAL))
        drop((void **)&encoding->special);
    if (!(columns & LEAT_ENCODING_ATTENTION))
        drop((void **)&encoding->attention);
    if (!has_columns(encoding, columns))
        encoding->capacity = 0;
    encoding->columns = columns;
}

static int grow(void **column, bool is_wanted, size_t capacity, size_t size) {
    void *grown;

    if (!is_wanted)
        return 0;
    grown = reallocarray(*column, capacity, size);
    if (!grown)
        return -ENOMEM;
    *column = grown;
    return 0;
}

int leat_encoding_reserve(struct leat_encoding *encoding, size_t n_more) {
    size_t capacity = encoding->capacity + encoding->capacity / 2;
    uint32_t columns = encoding->columns;

    if (n_more <= encoding->capacity - encoding->n)
        return 0;
    if (n_more > SIZE_MAX / 4 - encoding->n)
        return -ENOMEM;
    if (capacity < encoding->n + n_more)
        capacity = encoding->n + n_more;
    if (capacity < TOKENS_MIN)
        capacity = TOKENS_MIN;
    if (grow((void **)&encoding->type_ids, columns & LEAT_ENCODING_TYPE_IDS, capacity,
             sizeof(*encoding->type_ids)) < 0 ||
        grow((void **)&encoding->offsets, columns & LEAT_ENCODING_OFFSETS, capacity,
             sizeof(*encoding->offsets)) < 0 ||
        grow((void **)&encoding->special, columns & LEAT_ENCODING_SPECIAL, capacity,
             sizeof(*encoding->special)) < 0 ||
        grow((void **)&encoding->attention, columns & LEAT_ENCODING_ATTENTION, capacity,
             sizeof(*encoding->attention)) < 0 ||
        grow((void **)&encoding->ids, true, capacity, sizeof(*encoding->ids)) < 0)
        return -ENOMEM;
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
}

int leat_encoding_append(struct leat_encoding *encoding, const struct leat_encoding *other,
                         size_t start, size_t end, uint32_t type_id) {
    size_t n = end - start, at = encoding->n;

    if (leat_encoding_reserve(encoding, n) < 0)
        return -ENOMEM;
    if (n == 0)
        return 0;
    memcpy(encoding->ids + at, other->ids + start, n * sizeof(*encoding->ids));
    for (size_t i = 0; encoding->type_ids && i < n; i++)
        encoding->type_ids[at + i] = type_id;
    if (encoding->offsets)
        memcpy(encoding->offsets + at, other->offsets + start, n * sizeof(*encoding->offsets));
    if (encoding->special)
        memcpy(encoding->special + at, other->special + start, n);
    if (encoding->attention)
        memcpy(encoding->attention + at, other->attention + start, n);
    encoding->n += n;
    return 0;
}
