/* dictionary.c: see dictionary.h. */
#include "pipeline/arrow/dictionary.h"

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

void leat_arrow_dictionary_clear(struct leat_arrow_dictionary *dictionary) {
    for (uint32_t i = 0; i < dictionary->n_chunks; i++) {
        leat_arrow_array_deinit(&dictionary->chunks[i].values);
        free(dictionary->chunks[i].body);
    }
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

static int add_chunk(struct leat_arrow_dictionary *dictionary, uint8_t *take_body,
                     struct leat_error *err) {
    struct leat_arrow_dictionaries none = {.items = NULL};
    struct leat_arrow_chunk *chunks =
        reallocarray(dictionary->chunks, dictionary->n_chunks + 1, sizeof(*chunks));

    if (!chunks) {
        free(take_body);
        return leat_error_oom(err);
    }
    dictionary->chunks = chunks;
    chunks += dictionary->n_chunks++;
    *chunks = (struct leat_arrow_chunk){.first = dictionary->n_values, .body = take_body};
    return leat_arrow_array_init(&chunks->values, dictionary->field, LEAT_ARROW_VALUES, &none) < 0
               ? leat_error_oom(err)
               : 0;
}

int leat_arrow_dictionary_put(struct leat_arrow_dictionary *dictionary,
                              const struct leat_arrow_batch *batch, uint8_t *take_body,
                              uint64_t n_bytes, uint64_t max_memory, struct leat_error *err) {
    struct leat_arrow_body body = {.whole = take_body,
                                   .n_bytes = n_bytes,
                                   .codec = batch->codec,
                                   .max_memory = max_memory,
                                   .n_memory = dictionary->n_bytes + n_bytes};
    struct leat_arrow_binding binding = {.batch = batch, .body = &body};
    struct leat_arrow_place place = {.node = 0};
    struct leat_arrow_array *values;
    int r;

    if (n_bytes > max_memory || dictionary->n_bytes > max_memory - n_bytes ||
        dictionary->n_chunks == LEAT_ARROW_CHUNKS_MAX) {
        free(take_body);
        return too_large(dictionary, max_memory, err);
    }
    r = add_chunk(dictionary, take_body, err);
    if (r < 0)
        return r;
    values = &dictionary->chunks[dictionary->n_chunks - 1].values;
    r = leat_arrow_array_bind(values, &binding, &place, batch->n_rows, err);
    if (r == 0)
        r = leat_arrow_array_load(values, &body, 0, batch->n_rows, err);
    dictionary->n_values += batch->n_rows;
    dictionary->n_bytes = body.n_memory;
    return r;
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
