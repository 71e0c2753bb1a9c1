#include "pipeline/sources/arrow/array.h"

#include <errno.h>
#include <stdlib.h>

#include "proto/base/array.h"

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

/* Finds the dictionary of the field, or adds it. */
static int add_dictionary(struct leat_arrow_dictionaries *dictionaries,
                          const struct leat_arrow_field *field,
                          struct leat_arrow_dictionary **ret_dictionary) {
    *ret_dictionary = leat_arrow_dictionaries_find(dictionaries, field->dictionary);
    if (*ret_dictionary)
        return are_alike((*ret_dictionary)->field, field) ? 0 : -EINVAL;
    if (!leat_array_reserve(&dictionaries->items, dictionaries->n_items + 1,
                            &dictionaries->capacity))
        return -ENOMEM;
    *ret_dictionary = calloc(1, sizeof(**ret_dictionary));
    if (!*ret_dictionary)
        return -ENOMEM;
    (*ret_dictionary)->field = field;
    dictionaries->items[dictionaries->n_items++] = *ret_dictionary;
    return 0;
}

int leat_arrow_array_init(struct leat_arrow_array *array, const struct leat_arrow_field *field,
                          enum leat_arrow_part part, struct leat_arrow_dictionaries *dictionaries) {
    const struct leat_arrow_field *child = field + 1;
    int r = 0;

    *array = (struct leat_arrow_array){.field = field, .part = part};
    if (part == LEAT_ARROW_WHOLE && field->has_dictionary)
        return add_dictionary(dictionaries, field, &array->dictionary);
    if (part == LEAT_ARROW_VALIDITY || field->n_children == 0)
        return 0;
    array->children = calloc(field->n_children, sizeof(*array->children));
    if (!array->children)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < field->n_children; i++) {
        r = leat_arrow_array_init(&array->children[array->n_children++], child, LEAT_ARROW_WHOLE,
                                  dictionaries);
        child += child->n_fields;
    }
    return r;
}

void leat_arrow_array_deinit(struct leat_arrow_array *array) {
    for (uint32_t i = 0; i < array->n_children; i++)
        leat_arrow_array_deinit(&array->children[i]);
    free(array->children);
    leat_arrow_bytes_deinit(&array->validity);
    leat_arrow_bytes_deinit(&array->offsets);
    leat_arrow_bytes_deinit(&array->values);
    *array = (struct leat_arrow_array){.field = NULL};
}

/* ---- in a batch ---- */

static int fault(const struct leat_arrow_array *array, const char *message,
                 struct leat_error *err) {
    return leat_error_set(err, -EBADMSG, "column \"%.64s\" is damaged: %s", array->field->name,
                          message);
}

bool leat_arrow_place_pass(struct leat_arrow_place *place, const struct leat_arrow_batch *batch,
                           const struct leat_arrow_field *fields, uint32_t n_fields) {
    const struct leat_arrow_field *end = fields + n_fields;

    while (fields < end) {
        uint32_t n_views = 0;

        if (!fields->has_dictionary && fields->has_views &&
            !leat_arrow_batch_views(batch, place->view++, &n_views))
            return false;
        place->node++;
        place->buffer += (fields->has_dictionary ? 2 : fields->n_buffers) + n_views;
        fields += fields->has_dictionary ? fields->n_fields : 1;
    }
    return place->node <= batch->nodes.n_items && place->buffer <= batch->buffers.n_items;
}

/* Takes the next buffer of the batch, which must have n_bytes at least. */
static int set(const struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
               struct leat_arrow_place *place, struct leat_arrow_bytes *bytes, uint64_t n_bytes,
               struct leat_error *err) {
    uint64_t at, n_there;
    int r;

    if (!leat_arrow_batch_buffer(binding->batch, place->buffer++, binding->body->n_bytes, &at,
                                 &n_there))
        return fault(array, "a buffer lies outside its batch", err);
    r = leat_arrow_bytes_set(bytes, binding->body, at, n_there, err);
    if (r == 0 && bytes->n_bytes < n_bytes)
        return fault(array, "a buffer is too short for its rows", err);
    return r;
}

static int set_validity(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                        struct leat_arrow_place *place, struct leat_error *err) {
    return set(array, binding, place, &array->validity,
               array->has_nulls ? (array->n_rows + 7) / 8 : 0, err);
}

static int set_offsets(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                       struct leat_arrow_place *place, struct leat_error *err) {
    return set(array, binding, place, &array->offsets,
               array->n_rows ? (array->n_rows + 1) * array->field->offset_bytes : 0, err);
}

static int bind_children(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                         struct leat_arrow_place *place, struct leat_error *err) {
    uint64_t n_rows = array->field->kind == LEAT_ARROW_STRUCT ? array->n_rows : 0;
    int r = 0;

    if (array->field->kind == LEAT_ARROW_FIXED_LIST &&
        __builtin_mul_overflow(array->n_rows, array->field->n_items, &n_rows))
        return fault(array, "its lists claim 2^64 items or more", err);
    for (uint32_t i = 0; r == 0 && i < array->n_children; i++)
        r = leat_arrow_array_bind(&array->children[i], binding, place, n_rows, err);
    return r;
}

static int bind_indices(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                        struct leat_arrow_place *place, struct leat_error *err) {
    int r = set_validity(array, binding, place, err);

    return r < 0 ? r
                 : set(array, binding, place, &array->values,
                       array->n_rows * leat_arrow_number_size(array->field->index), err);
}

static int bind_own(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                    struct leat_arrow_place *place, struct leat_error *err) {
    const struct leat_arrow_field *field = array->field;
    int r = field->kind == LEAT_ARROW_NULL ? 0 : set_validity(array, binding, place, err);

    if (r == 0 && (field->kind == LEAT_ARROW_TEXT || field->kind == LEAT_ARROW_LIST))
        r = set_offsets(array, binding, place, err);
    if (r < 0)
        return r;
    switch (field->kind) {
    case LEAT_ARROW_TEXT:
        return set(array, binding, place, &array->values, 0, err);
    case LEAT_ARROW_BOOL:
        return set(array, binding, place, &array->values, (array->n_rows + 7) / 8, err);
    case LEAT_ARROW_NUMBER:
        return set(array, binding, place, &array->values,
                   array->n_rows * leat_arrow_number_size(field->number), err);
    default:
        return bind_children(array, binding, place, err);
    }
}

int leat_arrow_array_bind(struct leat_arrow_array *array, const struct leat_arrow_binding *binding,
                          struct leat_arrow_place *place, uint64_t n_rows, struct leat_error *err) {
    uint64_t n_nulls;
    int r;

    if (!leat_arrow_batch_node(binding->batch, place->node++, &array->n_rows, &n_nulls))
        return fault(array, "its number of rows is missing or invalid", err);
    if (array->n_rows < n_rows)
        return fault(array, "it has fewer rows than its batch", err);
    array->has_nulls = n_nulls > 0 && array->field->kind != LEAT_ARROW_NULL;
    array->n_loaded = 0;
    if (array->dictionary)
        return bind_indices(array, binding, place, err);
    r = bind_own(array, binding, place, err);
    if (r == 0 && array->part == LEAT_ARROW_VALIDITY &&
        !leat_arrow_place_pass(place, binding->batch, array->field + 1, array->field->n_fields - 1))
        r = fault(array, "its batch has too few buffers", err);
    return r;
}

/* ---- rows ---- */

static uint64_t offset_at(const struct leat_arrow_array *array, const uint8_t *data) {
    uint64_t offset = 0;

    memcpy(&offset, data, array->field->offset_bytes);
    return offset;
}

/* Reads one offset, which need not be loaded. */
static int get_offset(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                      uint64_t row, uint64_t *ret_offset, struct leat_error *err) {
    uint8_t size = array->field->offset_bytes;
    const uint8_t *data = NULL;
    int r = leat_arrow_bytes_get(&array->offsets, body, row * size, size, &data, err);

    *ret_offset = r == 0 ? offset_at(array, data) : 0;
    return r;
}

static int check_items(const struct leat_arrow_array *array, uint64_t first, uint64_t end,
                       struct leat_error *err) {
    uint64_t n_there =
        array->field->kind == LEAT_ARROW_TEXT ? array->values.n_bytes : array->children[0].n_rows;

    return first <= end && end <= n_there
               ? 0
               : fault(array, "its offsets decrease, or lie outside their buffer", err);
}

/* Finds which bytes of the text, or items of the child, the rows have. */
static int find_items(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                      uint64_t from, uint64_t n, uint64_t *ret_first, uint64_t *ret_n,
                      struct leat_error *err) {
    uint64_t end = 0;
    int r;

    if (array->field->kind == LEAT_ARROW_FIXED_LIST) {
        *ret_first = from * array->field->n_items;
        *ret_n = n * array->field->n_items;
        return 0;
    }
    r = get_offset(array, body, from, ret_first, err);
    if (r == 0)
        r = get_offset(array, body, from + n, &end, err);
    if (r == 0)
        r = check_items(array, *ret_first, end, err);
    *ret_n = r == 0 ? end - *ret_first : 0;
    return r;
}

int leat_arrow_array_extent(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                            uint64_t from, uint64_t n, uint64_t *n_bytes, struct leat_error *err) {
    const struct leat_arrow_field *field = array->field;
    uint64_t first = 0, n_items = 0;
    int r = 0;

    if (n == 0)
        return 0;
    *n_bytes += array->has_nulls ? n / 8 : 0;
    if (array->dictionary) {
        *n_bytes += n * leat_arrow_number_size(field->index);
    } else if (field->kind == LEAT_ARROW_NUMBER) {
        *n_bytes += n * leat_arrow_number_size(field->number);
    } else if (field->kind == LEAT_ARROW_BOOL) {
        *n_bytes += n / 8;
    } else if (field->kind == LEAT_ARROW_STRUCT) {
        for (uint32_t i = 0; r == 0 && i < array->n_children; i++)
            r = leat_arrow_array_extent(&array->children[i], body, from, n, n_bytes, err);
    } else if (field->kind != LEAT_ARROW_NULL) {
        r = find_items(array, body, from, n, &first, &n_items, err);
        *n_bytes += n * field->offset_bytes;
        if (r == 0 && field->kind == LEAT_ARROW_TEXT)
            *n_bytes += n_items;
        else if (r == 0)
            r = leat_arrow_array_extent(&array->children[0], body, first, n_items, n_bytes, err);
    }
    return r;
}

/* Checks all offsets: the file may have changed since find_items() read two of them. */
static int load_offsets(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                        uint64_t from, uint64_t n, uint64_t *ret_first, uint64_t *ret_n,
                        struct leat_error *err) {
    uint8_t size = array->field->offset_bytes;
    int r =
        leat_arrow_bytes_get(&array->offsets, body, from * size, (n + 1) * size, &array->ends, err);
    uint64_t last, next;

    if (r < 0)
        return r;
    *ret_first = last = offset_at(array, array->ends);
    for (uint64_t i = 1; i <= n; i++) {
        next = offset_at(array, array->ends + i * size);
        if (next < last)
            return fault(array, "its offsets decrease", err);
        last = next;
    }
    *ret_n = last - *ret_first;
    return check_items(array, *ret_first, last, err);
}

/* The number of values that an index of that type can reach; negative indices are damage. */
static uint64_t reach(enum leat_arrow_number index) {
    switch (index) {
    case LEAT_ARROW_INT8:
        return UINT64_C(1) << 7;
    case LEAT_ARROW_INT16:
        return UINT64_C(1) << 15;
    case LEAT_ARROW_INT32:
        return UINT64_C(1) << 31;
    default:
        return UINT64_C(1) << 63;
    }
}

static int load_indices(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                        uint64_t from, uint64_t n, struct leat_error *err) {
    size_t size = leat_arrow_number_size(array->field->index);
    uint64_t n_values = array->dictionary->n_values, n_reached = reach(array->field->index);
    uint64_t limit = n_values < n_reached ? n_values : n_reached;
    int r = leat_arrow_bytes_get(&array->values, body, from * size, n * size, &array->data, err);

    for (uint64_t row = from; r == 0 && row < from + n; row++)
        if (!leat_arrow_is_null(array, row) && leat_arrow_index(array, row) >= limit)
            return leat_error_set(err, -EBADMSG,
                                  "column \"%.64s\" is damaged: a row has the index %llu, but the "
                                  "dictionary has %llu values",
                                  array->field->name,
                                  (unsigned long long)leat_arrow_index(array, row),
                                  (unsigned long long)n_values);
    return r;
}

static int load_items(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                      uint64_t from, uint64_t n, struct leat_error *err) {
    uint64_t first = 0, n_items = 0;
    int r = array->field->offset_bytes > 0
                ? load_offsets(array, body, from, n, &first, &n_items, err)
                : find_items(array, body, from, n, &first, &n_items, err);

    if (r < 0)
        return r;
    if (array->field->kind != LEAT_ARROW_TEXT)
        return leat_arrow_array_load(&array->children[0], body, first, n_items, err);
    array->data_from = first;
    return leat_arrow_bytes_get(&array->values, body, first, n_items, &array->data, err);
}

static int load_rows(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                     uint64_t from, uint64_t n, struct leat_error *err) {
    const struct leat_arrow_field *field = array->field;
    uint64_t first_byte = from / 8, end_byte = (from + n + 7) / 8;
    size_t size = leat_arrow_number_size(field->number);
    int r = 0;

    if (array->has_nulls)
        r = leat_arrow_bytes_get(&array->validity, body, first_byte, end_byte - first_byte,
                                 &array->bits, err);
    if (r < 0 || field->kind == LEAT_ARROW_NULL)
        return r;
    if (array->dictionary)
        return load_indices(array, body, from, n, err);
    if (field->kind == LEAT_ARROW_NUMBER)
        return leat_arrow_bytes_get(&array->values, body, from * size, n * size, &array->data, err);
    if (field->kind == LEAT_ARROW_BOOL)
        return leat_arrow_bytes_get(&array->values, body, first_byte, end_byte - first_byte,
                                    &array->data, err);
    if (field->kind != LEAT_ARROW_STRUCT)
        return load_items(array, body, from, n, err);
    for (uint32_t i = 0; r == 0 && i < array->n_children; i++)
        r = leat_arrow_array_load(&array->children[i], body, from, n, err);
    return r;
}

int leat_arrow_array_load(struct leat_arrow_array *array, const struct leat_arrow_body *body,
                          uint64_t from, uint64_t n, struct leat_error *err) {
    int r = 0;

    array->from = from;
    array->n_loaded = n;
    array->bits = NULL;
    if (from > array->n_rows || n > array->n_rows - from)
        r = fault(array, "it has fewer rows than its batch says", err);
    else if (n > 0)
        r = load_rows(array, body, from, n, err);
    if (r < 0)
        array->n_loaded = 0;
    return r;
}

/* ---- dictionaries ---- */

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
    return leat_error_set(
        err, -EBADMSG,
        "the dictionary of column \"%.64s\" needs more memory than max_window_bytes (%llu), or has "
        "more than %d parts: raise max_window_bytes, or write the file again with fewer parts",
        dictionary->field->name, (unsigned long long)max_memory, LEAT_ARROW_CHUNKS_MAX);
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
    if (r == 0 &&
        !leat_array_reserve(&dictionary->chunks, dictionary->n_chunks + 1, &dictionary->capacity))
        r = leat_error_oom(err);
    if (r < 0) {
        free_chunk(&chunk);
        return r;
    }
    dictionary->chunks[dictionary->n_chunks++] = chunk;
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
