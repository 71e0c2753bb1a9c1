/* double_array.c: building the array breadth first, so that the nodes near the root, which every
 * walk touches, lie together.
 *
 * Free places form a doubly linked list through their own base (next) and check (previous). A node
 * tries at most TRIES_MAX free places for its first child and then opens a new block, in which
 * everything fits; so building is linear. Nodes with one child search from the start of the list
 * and fill the gaps; nodes with several search from a cursor, which goes to the new block. Places
 * that are left in any but the last OPEN_BLOCKS blocks are given up: no node fits them.
 */
#include "pipeline/tokenizer/double_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK       256U
#define NONE        LEAT_DOUBLE_ARRAY_NONE
#define TRIES_MAX   64
#define OPEN_BLOCKS 16U

/* Makes room for n items; false when memory is out. */
#define GROW(array, n)                                                                             \
    ({                                                                                             \
        void *memory = reallocarray((array), (n), sizeof(*(array)));                               \
        if (memory)                                                                                \
            (array) = memory;                                                                      \
        memory != NULL;                                                                            \
    })

enum { IS_NODE = 1, IS_BASE = 2 };

struct range {
    uint32_t first, end; /* of the keys below a node */
    uint32_t depth;
};

struct builder {
    struct leat_double_array_node *nodes;
    uint8_t *uses; /* of each place */
    uint32_t n_nodes, capacity;
    uint32_t first_free, last_free; /* NONE: none */
    uint32_t cursor;                /* a free place, or NONE */

    const struct leat_double_array_key *keys;
    uint32_t *order, *parents; /* the queue, and the result */
    struct range *ranges;
    uint32_t n_order, order_capacity;
};

int leat_double_array_compare(const struct leat_double_array_key *a,
                              const struct leat_double_array_key *b) {
    uint32_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    int r = memcmp(a->bytes, b->bytes, n);

    return r ? r : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

static void free_list_append(struct builder *builder, uint32_t place) {
    builder->nodes[place].base = NONE;
    builder->nodes[place].check = builder->last_free;
    if (builder->last_free == NONE)
        builder->first_free = place;
    else
        builder->nodes[builder->last_free].base = place;
    builder->last_free = place;
}

static void free_list_remove(struct builder *builder, uint32_t place) {
    uint32_t next = builder->nodes[place].base, previous = builder->nodes[place].check;

    if (builder->cursor == place)
        builder->cursor = next;
    if (previous == NONE)
        builder->first_free = next;
    else
        builder->nodes[previous].base = next;
    if (next == NONE)
        builder->last_free = previous;
    else
        builder->nodes[next].check = previous;
}

static int add_block(struct builder *builder) {
    uint32_t n_nodes = builder->n_nodes + BLOCK;

    if (n_nodes > LEAT_DOUBLE_ARRAY_NODES_MAX)
        return -E2BIG;
    if (n_nodes > builder->capacity) {
        uint32_t capacity = builder->capacity ? builder->capacity * 2 : BLOCK * 16;

        if (!GROW(builder->nodes, capacity) || !GROW(builder->uses, capacity))
            return -ENOMEM;
        builder->capacity = capacity;
    }
    memset(builder->uses + builder->n_nodes, 0, BLOCK);
    for (uint32_t place = builder->n_nodes; place < n_nodes; place++)
        free_list_append(builder, place);
    builder->n_nodes = n_nodes;
    return 0;
}

static bool fits(const struct builder *builder, uint32_t base, const uint8_t *labels, size_t n) {
    if (builder->uses[base] & IS_BASE)
        return false;
    for (size_t i = 1; i < n; i++)
        if (builder->uses[base ^ labels[i]] & IS_NODE)
            return false;
    return true;
}

/* Searches from that free place on for an unused base at which all labels fall on free places. */
static bool search(const struct builder *builder, uint32_t place, const uint8_t *labels,
                   size_t n_labels, uint32_t *ret_base) {
    for (int i = 0; place != NONE && i < TRIES_MAX; i++) {
        *ret_base = place ^ labels[0];
        if (fits(builder, *ret_base, labels, n_labels))
            return true;
        place = builder->nodes[place].base;
    }
    return false;
}

static int find_base(struct builder *builder, const uint8_t *labels, size_t n_labels,
                     uint32_t *ret_base) {
    int r;

    if (n_labels == 1 && search(builder, builder->first_free, labels, n_labels, ret_base))
        return 0;
    if (search(builder, builder->cursor, labels, n_labels, ret_base))
        return 0;
    *ret_base = builder->n_nodes;
    r = add_block(builder);
    if (r < 0)
        return r;
    builder->cursor = *ret_base;
    while (builder->first_free + OPEN_BLOCKS * BLOCK < builder->n_nodes)
        free_list_remove(builder, builder->first_free);
    return 0;
}

static int enqueue(struct builder *builder, uint32_t node, uint32_t parent, struct range range) {
    if (builder->n_order == builder->order_capacity) {
        uint32_t capacity = builder->order_capacity ? builder->order_capacity * 2 : 4096;

        if (!GROW(builder->order, capacity) || !GROW(builder->parents, capacity) ||
            !GROW(builder->ranges, capacity))
            return -ENOMEM;
        builder->order_capacity = capacity;
    }
    builder->order[builder->n_order] = node;
    builder->parents[builder->n_order] = parent;
    builder->ranges[builder->n_order++] = range;
    return 0;
}

/* Splits the keys below a node by their next byte; returns the number of labels. */
static size_t split(const struct builder *builder, struct range range, uint8_t *labels,
                    uint32_t *starts) {
    size_t n = 0;

    for (uint32_t i = range.first; i < range.end; i++) {
        uint8_t label = builder->keys[i].bytes[range.depth];

        if (n && labels[n - 1] == label)
            continue;
        labels[n] = label;
        starts[n++] = i;
    }
    starts[n] = range.end;
    return n;
}

static int add_children(struct builder *builder, uint32_t parent, uint32_t base,
                        const uint8_t *labels, const uint32_t *starts, size_t n_labels,
                        uint32_t depth) {
    int r = 0;

    builder->uses[base] |= IS_BASE;
    for (size_t i = 0; i < n_labels && r == 0; i++) {
        uint32_t node = base ^ labels[i];

        if (base != LEAT_DOUBLE_ARRAY_ROOT)
            free_list_remove(builder, node);
        builder->uses[node] |= IS_NODE;
        builder->nodes[node] = (struct leat_double_array_node){.base = 0, .check = base};
        r = enqueue(builder, node, parent, (struct range){starts[i], starts[i + 1], depth});
    }
    return r;
}

/* Places the children of order[parent]; parent NONE: of the root. */
static int expand(struct builder *builder, uint32_t parent, struct range range) {
    uint8_t labels[256];
    uint32_t starts[257], base = LEAT_DOUBLE_ARRAY_ROOT;
    size_t n_labels;
    int r = 0;

    if (range.first < range.end && builder->keys[range.first].n_bytes == range.depth)
        range.first++;
    if (range.first == range.end)
        return 0;
    n_labels = split(builder, range, labels, starts);
    if (parent != NONE) {
        r = find_base(builder, labels, n_labels, &base);
        if (r < 0)
            return r;
        builder->nodes[builder->order[parent]].base = base;
    }
    return add_children(builder, parent, base, labels, starts, n_labels, range.depth + 1);
}

static int expand_all(struct builder *builder, size_t n_keys) {
    int r;

    r = add_block(builder);
    if (r == 0)
        r = add_block(builder);
    if (r < 0)
        return r;
    free_list_remove(builder, 0);
    for (uint32_t c = 0; c < BLOCK; c++) /* the root's block is not shared */
        free_list_remove(builder, LEAT_DOUBLE_ARRAY_ROOT + c);
    builder->uses[0] |= IS_BASE;
    builder->uses[LEAT_DOUBLE_ARRAY_ROOT] |= IS_BASE;
    r = expand(builder, NONE, (struct range){0, (uint32_t)n_keys, 0});
    for (uint32_t i = 0; r == 0 && i < builder->n_order; i++)
        r = expand(builder, i, builder->ranges[i]);
    return r;
}

static int set_values(struct builder *builder, struct leat_double_array *array) {
    array->values = malloc(builder->n_nodes * sizeof(*array->values));
    if (!array->values)
        return -ENOMEM;
    memset(array->values, 0xff, builder->n_nodes * sizeof(*array->values));
    for (uint32_t i = 0; i < builder->n_order; i++) {
        const struct leat_double_array_key *key = &builder->keys[builder->ranges[i].first];

        if (key->n_bytes == builder->ranges[i].depth)
            array->values[builder->order[i]] = key->value;
    }
    for (uint32_t place = 0; place < builder->n_nodes; place++)
        if (!(builder->uses[place] & IS_NODE))
            builder->nodes[place] = (struct leat_double_array_node){.base = 0, .check = NONE};
    return 0;
}

static void give(struct builder *builder, struct leat_double_array *array) {
    array->nodes = builder->nodes;
    array->n_nodes = builder->n_nodes;
    array->order = builder->order;
    array->parents = builder->parents;
    array->n_order = builder->n_order;
    builder->nodes = NULL;
    builder->order = builder->parents = NULL;
}

int leat_double_array_build(struct leat_double_array *array,
                            const struct leat_double_array_key *keys, size_t n_keys,
                            struct leat_error *err) {
    struct builder builder = {.keys = keys, .first_free = NONE, .last_free = NONE, .cursor = NONE};
    int r;

    *array = (struct leat_double_array){.nodes = NULL};
    r = n_keys < NONE ? expand_all(&builder, n_keys) : -E2BIG;
    if (r == 0)
        r = set_values(&builder, array);
    if (r == 0)
        give(&builder, array);
    free(builder.nodes);
    free(builder.uses);
    free(builder.order);
    free(builder.parents);
    free(builder.ranges);
    if (r == -E2BIG)
        return leat_error_set(err, r,
                              "the vocabulary is too large: its trie would need more than %u nodes",
                              LEAT_DOUBLE_ARRAY_NODES_MAX);
    return r < 0 ? leat_error_oom(err) : 0;
}

void leat_double_array_deinit(struct leat_double_array *array) {
    free(array->nodes);
    free(array->values);
    free(array->order);
    free(array->parents);
    *array = (struct leat_double_array){.nodes = NULL};
}
