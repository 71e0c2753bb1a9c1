#include "pipeline/sources/parquet/assembly.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/parquet/convert.h"

enum { REPETITION, DEFINITION };

/* ---- the tree ---- */

static void count(const struct leat_arrow_array *array, uint32_t *n_nodes, uint32_t *n_leaves) {
    ++*n_nodes;
    *n_leaves += array->n_children == 0 && array->part == LEAT_ARROW_WHOLE;
    for (uint32_t i = 0; i < array->n_children; i++)
        count(&array->children[i], n_nodes, n_leaves);
}

static void add(struct leat_parquet_column *column, const struct leat_parquet_schema *schema,
                struct leat_arrow_array *array, uint32_t *n_leaves) {
    const struct leat_parquet_field *field = &schema->fields[array->field - schema->arrow.fields];

    column->nodes[column->n_nodes++] = (struct leat_parquet_node){
        .array = array, .field = field, .leaf = *n_leaves, .is_item = field->repetition > 0};
    if (array->n_children == 0 && array->part == LEAT_ARROW_WHOLE)
        column->leaves[(*n_leaves)++].leaf = &field->leaf;
    for (uint32_t i = 0; i < array->n_children; i++)
        add(column, schema, &array->children[i], n_leaves);
}

int leat_parquet_column_init(struct leat_parquet_column *column,
                             const struct leat_arrow_column *arrow,
                             const struct leat_parquet_schema *schema) {
    uint32_t n_nodes = 0, n_leaves = 0, n = 0;

    for (uint32_t i = 0; i < arrow->n_chain; i++)
        count(&arrow->chain[i], &n_nodes, &n_leaves);
    *column = (struct leat_parquet_column){.arrow = arrow,
                                           .leaves = calloc(n_leaves + 1, sizeof(*column->leaves)),
                                           .nodes = calloc(n_nodes + 1, sizeof(*column->nodes))};
    if (!column->leaves || !column->nodes)
        return -ENOMEM;
    column->n_leaves = n_leaves;
    for (uint32_t i = 0; i < arrow->n_chain; i++)
        add(column, schema, &arrow->chain[i], &n);
    return 0;
}

void leat_parquet_column_leave(struct leat_parquet_column *column,
                               struct leat_parquet_source *source) {
    for (uint32_t i = 0; i < column->n_nodes; i++) {
        struct leat_parquet_node *node = &column->nodes[i];

        node->bits = leat_parquet_blocks_free(&source->memory, node->bits);
        node->ends = leat_parquet_blocks_free(&source->memory, node->ends);
        node->converted = leat_parquet_blocks_free(&source->memory, node->converted);
        node->texts = leat_parquet_blocks_free(&source->memory, node->texts);
        node->spaced = leat_parquet_blocks_free(&source->memory, node->spaced);
    }
    column->n_rows = 0;
}

void leat_parquet_column_deinit(struct leat_parquet_column *column,
                                struct leat_parquet_source *source) {
    for (uint32_t i = 0; i < column->n_leaves; i++)
        leat_parquet_leaf_deinit(&column->leaves[i], source);
    leat_parquet_column_leave(column, source);
    free(column->leaves);
    free(column->nodes);
}

/* ---- places ---- */

/* The levels of a leaf, and which of its entries are places of a node. */
struct places {
    const uint8_t *repetitions, *definitions;
    uint32_t n_entries;
    uint8_t repetition, exists;
};

static struct places places_of(const struct leat_parquet_column *column,
                               const struct leat_parquet_node *node) {
    static const uint8_t nothing[1] = {0};
    const struct leat_parquet_leaf_reader *leaf = &column->leaves[node->leaf];

    return (struct places){
        .repetitions = leaf->leaf->max_repetition ? leaf->levels[REPETITION]->data : NULL,
        .definitions = leaf->levels[DEFINITION] ? leaf->levels[DEFINITION]->data : nothing,
        .n_entries = leaf->n_entries,
        .repetition = node->field->repetition,
        .exists = node->field->exists};
}

static inline bool is_place(const struct places *places, uint32_t i) {
    return (!places->repetitions || places->repetitions[i] <= places->repetition) &&
           places->definitions[i] >= places->exists;
}

/* Makes the bits of places at a definition level, and counts the places. */
static int put_bits(struct leat_parquet_node *node, struct leat_parquet_source *source,
                    const struct places *places, struct leat_error *err) {
    struct leat_arrow_array *array = node->array;
    uint8_t definition = node->field->definition;
    uint64_t at = array->from % 8;
    bool has_nulls = false;
    uint8_t *bits;
    int r = leat_parquet_block_reserve(&source->memory, &node->bits,
                                       (at + places->n_entries + 7) / 8 + 1, err);

    if (r < 0)
        return r;
    bits = node->bits->data;
    memset(bits, 0, (size_t)(at + places->n_entries + 7) / 8 + 1);
    array->n_loaded = 0;
    for (uint32_t i = 0; i < places->n_entries; i++) {
        bool is_there = places->definitions[i] >= definition;

        if (!is_place(places, i))
            continue;
        bits[at / 8] |= (uint8_t)(is_there << at % 8);
        has_nulls |= !is_there;
        at++;
        array->n_loaded++;
    }
    array->bits = has_nulls ? bits : NULL;
    return 0;
}

static int put_ends(struct leat_parquet_node *node, struct leat_parquet_source *source,
                    const struct places *places, struct leat_error *err) {
    int r = leat_parquet_block_reserve(&source->memory, &node->ends,
                                       (places->n_entries + 1) * sizeof(uint32_t), err);
    uint32_t n_items = 0, n = 0, *ends;

    if (r < 0)
        return r;
    ends = (uint32_t *)(void *)node->ends->data;
    for (uint32_t i = 0; i < places->n_entries; i++) {
        if (is_place(places, i))
            ends[n++] = n_items;
        n_items += places->repetitions[i] <= places->repetition + 1 &&
                   places->definitions[i] >= node->field->items;
    }
    ends[n] = n_items;
    node->array->ends = node->ends->data;
    return 0;
}

/* ---- values ---- */

static int print_values(struct leat_parquet_node *node, struct leat_parquet_source *source,
                        const struct leat_parquet_leaf_reader *reader, struct leat_arrow_view *out,
                        struct leat_error *err) {
    const struct leat_parquet_leaf *leaf = reader->leaf;
    size_t size = leat_parquet_value_size(leaf);
    const uint8_t *value = reader->out->data;
    char *text;
    int r;

    r = leat_parquet_block_reserve(&source->memory, &node->texts,
                                   (uint64_t)reader->n_values * LEAT_PARQUET_TEXT_MAX, err);
    if (r < 0)
        return r;
    text = (char *)node->texts->data;
    for (uint32_t i = 0; i < reader->n_values; i++, value += size) {
        struct leat_arrow_view view = {.bytes = value, .n_bytes = size};

        if (leaf->type == LEAT_PARQUET_BYTES)
            memcpy(&view, value, sizeof(view));
        if (leat_parquet_is_converted(leaf)) {
            if (view.n_bytes > 32)
                return leat_error_set(err, -EBADMSG,
                                      "is damaged: a decimal has more than 32 bytes");
            view.n_bytes = leat_parquet_print(leaf, view.bytes, (size_t)view.n_bytes, text);
            view.bytes = (const uint8_t *)text;
            text += view.n_bytes;
        }
        out[i] = view;
    }
    return 0;
}

static int store_values(struct leat_parquet_node *node,
                        const struct leat_parquet_leaf_reader *reader, uint8_t *out,
                        struct leat_error *err) {
    const struct leat_parquet_leaf *leaf = reader->leaf;
    enum leat_arrow_number number = node->array->field->number;
    size_t size = leat_parquet_value_size(leaf), n_out = leat_arrow_number_size(number);
    const uint8_t *value = reader->out->data;

    for (uint32_t i = 0; i < reader->n_values; i++, value += size, out += n_out) {
        struct leat_arrow_view view = {.bytes = value, .n_bytes = size};

        if (!leat_parquet_is_converted(leaf)) {
            memcpy(out, value, n_out);
            continue;
        }
        if (leaf->type == LEAT_PARQUET_BYTES)
            memcpy(&view, value, sizeof(view));
        if (view.n_bytes > 32)
            return leat_error_set(err, -EBADMSG, "is damaged: a decimal has more than 32 bytes");
        leat_parquet_store(leaf, view.bytes, (size_t)view.n_bytes, number, out);
    }
    return 0;
}

/* Converts the values to what the array has: *ret_values of *ret_size. */
static int convert(struct leat_parquet_node *node, struct leat_parquet_source *source,
                   const struct leat_parquet_leaf_reader *reader, const uint8_t **ret_values,
                   size_t *ret_size, struct leat_error *err) {
    const struct leat_parquet_leaf *leaf = reader->leaf;
    bool is_text = node->array->field->kind == LEAT_ARROW_TEXT;
    size_t size = leat_parquet_value_size(leaf);
    int r;

    *ret_values = reader->out->data;
    *ret_size = is_text ? sizeof(struct leat_arrow_view)
                : node->array->field->kind == LEAT_ARROW_NUMBER
                    ? leat_arrow_number_size(node->array->field->number)
                    : size;
    if (!leat_parquet_is_converted(leaf) &&
        (is_text ? leaf->type == LEAT_PARQUET_BYTES : size == *ret_size))
        return 0;
    r = leat_parquet_block_reserve(&source->memory, &node->converted,
                                   (uint64_t)reader->n_values * *ret_size, err);
    if (r < 0)
        return r;
    *ret_values = node->converted->data;
    return is_text ? print_values(node, source, reader,
                                  (struct leat_arrow_view *)(void *)node->converted->data, err)
                   : store_values(node, reader, node->converted->data, err);
}

/* Puts values where they belong, between the nulls. */
static int space(struct leat_parquet_node *node, struct leat_parquet_source *source,
                 const struct places *places, const uint8_t *values, size_t size,
                 struct leat_error *err) {
    uint8_t definition = node->field->definition, *out;
    int r = leat_parquet_block_reserve(&source->memory, &node->spaced,
                                       (uint64_t)places->n_entries * size, err);

    if (r < 0)
        return r;
    out = node->spaced->data;
    for (uint32_t i = 0; i < places->n_entries; i++) {
        if (!is_place(places, i))
            continue;
        if (places->definitions[i] == definition) {
            memcpy(out, values, size);
            values += size;
        } else {
            memset(out, 0, size);
        }
        out += size;
    }
    return 0;
}

/* Makes bits of booleans that have a byte each. */
static int pack(struct leat_parquet_node *node, struct leat_parquet_source *source,
                const uint8_t *bytes, struct leat_error *err) {
    struct leat_arrow_array *array = node->array;
    uint64_t at = array->from % 8;
    int r = leat_parquet_block_reserve(&source->memory, &node->ends,
                                       (at + array->n_loaded + 7) / 8 + 1, err);

    if (r < 0)
        return r;
    memset(node->ends->data, 0, (size_t)(at + array->n_loaded + 7) / 8 + 1);
    for (uint64_t i = 0; i < array->n_loaded; i++, at++)
        node->ends->data[at / 8] |= (uint8_t)(bytes[i] << at % 8);
    array->data = node->ends->data;
    return 0;
}

static int put_values(struct leat_parquet_column *column, struct leat_parquet_node *node,
                      struct leat_parquet_source *source, const struct places *places,
                      struct leat_error *err) {
    const struct leat_parquet_leaf_reader *reader = &column->leaves[node->leaf];
    struct leat_arrow_array *array = node->array;
    const uint8_t *values;
    size_t size;
    int r;

    if (array->field->kind == LEAT_ARROW_NULL)
        return 0;
    r = convert(node, source, reader, &values, &size, err);
    if (r == 0 && reader->n_values < array->n_loaded) {
        r = space(node, source, places, values, size, err);
        values = r == 0 ? node->spaced->data : NULL;
    }
    if (r == 0 && array->field->kind == LEAT_ARROW_BOOL)
        return pack(node, source, values, err);
    array->data = values;
    array->views = array->field->kind == LEAT_ARROW_TEXT
                       ? (const struct leat_arrow_view *)(const void *)values
                       : NULL;
    return r;
}

/* ---- */

/* Sets the places of a node without nulls and lists, as most columns are. */
static bool is_full(const struct leat_parquet_column *column,
                    const struct leat_parquet_node *node) {
    const struct leat_parquet_leaf_reader *reader = &column->leaves[node->leaf];

    return reader->leaf->max_repetition == 0 && reader->n_values == reader->n_entries;
}

static int fill(struct leat_parquet_column *column, struct leat_parquet_node *node,
                struct leat_parquet_source *source, struct leat_error *err) {
    struct places places = places_of(column, node);
    struct leat_arrow_array *array = node->array;
    int r = 0;

    array->from = node->is_item ? 0 : column->first_row;
    array->bits = NULL;
    if (is_full(column, node))
        array->n_loaded = places.n_entries;
    else
        r = put_bits(node, source, &places, err);
    if (r == 0 && array->part == LEAT_ARROW_WHOLE && array->field->kind == LEAT_ARROW_LIST)
        r = put_ends(node, source, &places, err);
    else if (r == 0 && array->part == LEAT_ARROW_WHOLE && array->n_children == 0)
        r = put_values(column, node, source, &places, err);
    array->n_rows = array->from + array->n_loaded;
    return r;
}

/* Checks that the leaves of the column agree on how many items the lists have. */
static int check(const struct leat_arrow_array *array, struct leat_error *err) {
    uint64_t n = array->n_loaded;
    int r = 0;

    if (array->n_children > 0 && array->field->kind == LEAT_ARROW_LIST)
        n = ((const uint32_t *)(const void *)array->ends)[n];
    for (uint32_t i = 0; r == 0 && i < array->n_children; i++)
        r = array->children[i].n_loaded == n
                ? check(&array->children[i], err)
                : leat_error_set(err, -EBADMSG,
                                 "is damaged: its parts have different numbers of items");
    return r;
}

int leat_parquet_column_load(struct leat_parquet_column *column, struct leat_parquet_source *source,
                             uint64_t row, uint32_t n_rows, struct leat_error *err) {
    int r = 0;

    column->n_rows = 0;
    for (uint32_t i = 0; r == 0 && i < column->n_leaves; i++) {
        r = leat_parquet_leaf_load(&column->leaves[i], source, n_rows, i > 0, err);
        n_rows = column->leaves[0].n_rows;
    }
    column->first_row = row;
    for (uint32_t i = 0; r == 0 && i < column->n_nodes; i++)
        r = fill(column, &column->nodes[i], source, err);
    if (r == 0)
        r = check(leat_arrow_leaf(column->arrow), err);
    column->n_rows = r == 0 ? n_rows : 0;
    return r;
}
