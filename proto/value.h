/* value.h: arguments as they were written, before anybody knows their types.
 *
 * A value is a scalar (its text, and whether it was quoted), a list, or a map with its keys in
 * order. Each knows its line and column. YAML, the builder API and the wire all make this tree; the
 * binder (pipeline/spec/bind.h) reads it against a table. Heap-owned by its parent. Limits keep a
 * hostile tree small: LEAT_VALUE_MAX_DEPTH, LEAT_VALUE_MAX_NODES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_VALUE_MAX_DEPTH 16
#define LEAT_VALUE_MAX_NODES 65536

enum leat_value_kind {
    LEAT_VALUE_NULL = 0,
    LEAT_VALUE_SCALAR = 1,
    LEAT_VALUE_LIST = 2,
    LEAT_VALUE_MAP = 3,
};

struct leat_value {
    enum leat_value_kind kind;
    bool is_quoted;  /* SCALAR: a string by its form, whatever it looks like */
    uint32_t line;   /* from 1; 0: built in code */
    uint32_t column; /* from 1 */
    char *text;      /* SCALAR: terminated */
    size_t n_items;  /* LIST and MAP */
    struct leat_value *items;
    struct leat_value_key *keys; /* MAP: keys[i] names items[i] */
    uint32_t *sorted;            /* MAP: indices of the keys in the order of their names */
};

struct leat_value_key {
    char *name;
    uint32_t line;
    uint32_t column;
};

/* Frees what the value holds and makes it NULL-kind. Accepts half-built values. */
void leat_value_deinit(struct leat_value *value);

/* Makes *value (NULL-kind or uninitialised) a scalar; text is copied. 0 or -ENOMEM. */
int leat_value_set_text(struct leat_value *value, const char *text, bool is_quoted);

/* Appends to a list; *ret_item is a NULL-kind value to fill. The value must be NULL-kind or a list.
 * 0 or -ENOMEM. */
int leat_value_append(struct leat_value *list, struct leat_value **ret_item);

/* Adds a key to a map (NULL-kind or a map); 0, -EEXIST if it is there, -ENOMEM. */
int leat_value_insert(struct leat_value *map, const char *name, struct leat_value **ret_item);
/* As leat_value_insert; line and column are the place of the key. */
int leat_value_insert_at(struct leat_value *map, const char *name, uint32_t line, uint32_t column,
                         struct leat_value **ret_item);

/* The item of that key, or NULL (also if `map` is no map). */
struct leat_value *leat_value_get(const struct leat_value *map, const char *name);

/* A stage or source as it is written in a list: NAME, or {NAME: {args}}. */
struct leat_named_args {
    const char *name;
    const struct leat_value *args; /* a NULL-kind value: none */
    uint32_t line, column;
};
/* with_stages: the map of a source may also have the key `stages`. False: the item is neither form;
 * *ret_named then has no name. */
bool leat_value_named_args(const struct leat_value *item, bool with_stages,
                           struct leat_named_args *ret_named);

/* True if the same was written, wherever it stands and in whatever order the keys of maps are. */
bool leat_value_equal(const struct leat_value *a, const struct leat_value *b);

/* Deep copy. 0 or -ENOMEM. */
int leat_value_copy(struct leat_value *target, const struct leat_value *source);
