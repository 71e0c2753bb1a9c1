/* dictionary.c: see dictionary.h. */
#include "pipeline/sources/arrow/dictionary.h"

#include <errno.h>
#include <stdlib.h>

struct leat_arrow_dictionary *
leat_arrow_dictionaries_find(const struct leat_arrow_dictionaries *dictionaries, int64_t id) {
    for (uint32_t i = 0; i < dictionaries->n_items; i++)
        if (dictionaries->items[i]->field->dictionary == id)
            return dictionaries->items[i];
    return NULL;
}

static bool are_alike(const struct leat_arrow_field *a, const struct leat_arrow_field *b) {
    for (uint32_t i = 0; i < a->n_fields; i++)
        if (a[i].n_fields != b[i].n_fields || a[i].kind != b[i].kind ||
            a[i].number != b[i].number || a[i].offset_bytes != b[i].offset_bytes ||
            a[i].n_items != b[i].n_items || a[i].has_dictionary != b[i].has_dictionary ||
            a[i].n_children != b[i].n_children)
            return false;
    return true;
}

int leat_arrow_dictionaries_add(struct leat_arrow_dictionaries *dictionaries,
                                const struct leat_arrow_field *field,
                                struct leat_arrow_dictionary **ret_dictionary) {
    struct leat_arrow_dictionary **items;

    *ret_dictionary = leat_arrow_dictionaries_find(dictionaries, field->dictionary);
    if (*ret_dictionary)
        return are_alike((*ret_dictionary)->field, field) ? 0 : -EINVAL;
    items = reallocarray(dictionaries->items, dictionaries->n_items + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    dictionaries->items = items;
    *ret_dictionary = calloc(1, sizeof(**ret_dictionary));
    if (!*ret_dictionary)
        return -ENOMEM;
    (*ret_dictionary)->field = field;
    items[dictionaries->n_items++] = *ret_dictionary;
    return 0;
}

static void free_chunk(struct leat_arrow_chunk *chunk) {
    leat_arrow_array_deinit(&chunk->values);
    free(chunk->body);
}

void leat_arrow_dictionary_clear(struct leat_arrow_dictionary *dictionary) {
    for (uint32_t i = 0; i < dictionary->n_chunks; i++)
        free_chunk(&dictionary->chunks[i]);
    free(dictionary->chunks);
    *dictionary = (struct leat_arrow_dictionary){.field = dictionary->field};
}

void leat_arrow_dictionaries_deinit(struct leat_arrow_dictionaries *dictionaries) {
    for (uint32_t i = 0; i < dictionaries->n_items; i++) {
        leat_arrow_dictionary_clear(dictionaries->items[i]);
        free(dictionaries->items[i]);
    }
    free(dictionaries->items);
    *dictionaries = (struct leat_arrow_dictionaries){.items = NULL};
}

static int too_large(const struct leat_arrow_dictionary *dictionary, uint64_t max_memory,
                     struct leat_error *err) {
    return leat_error_set(err, -EBADMSG,
                          "the dictionary of column \"%.64s\" wants more memory than "
                          "max_window_bytes (%llu), or has more than %d parts",
                          dictionary->field->name, (unsigned long long)max_memory,
                          LEAT_ARROW_CHUNKS_MAX);
}

static int add_chunk(struct leat_arrow_dictionary *dictionary, const struct leat_arrow_chunk *chunk,
                     struct leat_error *err) {
    struct leat_arrow_chunk *chunks =
        reallocarray(dictionary->chunks, dictionary->n_chunks + 1, sizeof(*chunks));

    if (!chunks)
        return leat_error_oom(err);
    dictionary->chunks = chunks;
    chunks[dictionary->n_chunks++] = *chunk;
    return 0;
}

static int load_chunk(struct leat_arrow_chunk *chunk, const struct leat_arrow_field *field,
                      const struct leat_arrow_batch *batch, struct leat_arrow_body *body,
                      struct leat_error *err) {
    struct leat_arrow_binding binding = {.batch = batch, .body = body};
    struct leat_arrow_dictionaries none = {.items = NULL};
    struct leat_arrow_place place = {.node = 0};
    int r = leat_arrow_array_init(&chunk->values, field, LEAT_ARROW_VALUES, &none);

    if (r < 0)
        return leat_error_oom(err);
    r = leat_arrow_array_bind(&chunk->values, &binding, &place, batch->n_rows, err);
    return r < 0 ? r : leat_arrow_array_load(&chunk->values, body, 0, batch->n_rows, err);
}

int leat_arrow_dictionary_put(struct leat_arrow_dictionary *dictionary,
                              const struct leat_arrow_batch *batch, uint8_t *take_body,
                              uint64_t n_bytes, uint64_t max_memory, struct leat_error *err) {
    struct leat_arrow_chunk chunk = {.first = dictionary->n_values, .body = take_body};
    struct leat_arrow_body body = {.whole = take_body,
                                   .n_bytes = n_bytes,
                                   .codec = batch->codec,
                                   .max_memory = max_memory,
                                   .n_memory = dictionary->n_bytes + n_bytes};
    int r;

    if (n_bytes > max_memory || dictionary->n_bytes > max_memory - n_bytes ||
        dictionary->n_chunks == LEAT_ARROW_CHUNKS_MAX)
        r = too_large(dictionary, max_memory, err);
    else
        r = load_chunk(&chunk, dictionary->field, batch, &body, err);
    if (r == 0)
        r = add_chunk(dictionary, &chunk, err);
    if (r < 0) {
        free_chunk(&chunk);
        return r;
    }
    dictionary->n_values += batch->n_rows;
    dictionary->n_bytes = body.n_memory;
    return 0;
}

const struct leat_arrow_array *leat_arrow_look_up(const struct leat_arrow_dictionary *dictionary,
                                                  uint64_t index, uint64_t *ret_row) {
    uint32_t low = 0, high = dictionary->n_chunks;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (dictionary->chunks[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    *ret_row = index - dictionary->chunks[low].first;
    return &dictionary->chunks[low].values;
}
