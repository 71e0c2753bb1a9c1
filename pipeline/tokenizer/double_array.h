/* double_array.h: a static trie over bytes as a double array (Aoe 1989), 8 bytes a node.
 *
 * The node reached from a node of base b by byte c is t = b ^ c, if check[t] == b. Bases are
 * unique, so a base alone says where a walk stands. The exclusive or keeps all children of a node
 * within one aligned block of 256, so that t is always inside the array. The root is a base,
 * LEAT_DOUBLE_ARRAY_ROOT, without a node; its children are nodes ROOT + c, a direct table: those
 * places are not shared. A node without children has base 0, which no node uses; place 0 is no
 * node. The value of the key that ends at a node stands in an array of its own. No key is empty.
 * Immutable once built: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_DOUBLE_ARRAY_ROOT      UINT32_C(256)
#define LEAT_DOUBLE_ARRAY_NONE      UINT32_C(0xffffffff) /* check: a free place; value: none */
#define LEAT_DOUBLE_ARRAY_NODES_MAX UINT32_C(0x40000000)

struct leat_double_array_node {
    uint32_t base;
    uint32_t check; /* base of the parent */
};

struct leat_double_array {
    struct leat_double_array_node *nodes;
    uint32_t *values;  /* [n_nodes] or NONE */
    uint32_t n_nodes;  /* places, free ones included; a multiple of 256 */
    uint32_t *order;   /* [n_order]: the nodes, breadth first */
    uint32_t *parents; /* [n_order]: index into order, NONE below the root */
    uint32_t n_order;
};

struct leat_double_array_key {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 1.. */
    uint32_t value;   /* below NONE */
};

/* Builds the array. Keys must be sorted by bytes and differ. 0, -ENOMEM, -E2BIG. */
int leat_double_array_build(struct leat_double_array *array,
                            const struct leat_double_array_key *keys, size_t n_keys,
                            struct leat_error *err);
void leat_double_array_deinit(struct leat_double_array *array);

/* The order in which keys must come: by bytes, a prefix first. Below, equal to or above 0. */
int leat_double_array_compare(const struct leat_double_array_key *a,
                              const struct leat_double_array_key *b);
