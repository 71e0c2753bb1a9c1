/* value.h: the values of a template while it is rendered, as Python has them.
 *
 * A value is 16 bytes and is passed by value. All memory behind it belongs to the heap of one
 * rendering (heap.h) or to the compiled template, so nothing is freed on its own. Lists and
 * dictionaries are never changed once they are made; only a namespace is. Texts are valid UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/jinja/heap.h"
#include "proto/base/error.h"

enum leat_jinja_kind {
    LEAT_JINJA_UNDEFINED, /* `text` is the name that has no value */
    LEAT_JINJA_NONE,
    LEAT_JINJA_BOOL,
    LEAT_JINJA_INT,
    LEAT_JINJA_FLOAT,
    LEAT_JINJA_STRING,
    LEAT_JINJA_LIST,
    LEAT_JINJA_TUPLE,
    LEAT_JINJA_DICT,
    LEAT_JINJA_VIEW,     /* keys(), values() or items() of a dictionary */
    LEAT_JINJA_ITERATOR, /* can be read once, such as the result of `map` */
    LEAT_JINJA_RANGE,
    LEAT_JINJA_NAMESPACE,
    LEAT_JINJA_CYCLER,
    LEAT_JINJA_JOINER,
    LEAT_JINJA_LOOP,
    LEAT_JINJA_MACRO,
    LEAT_JINJA_FUNCTION, /* a built-in function */
    LEAT_JINJA_METHOD,   /* a method of a value */
    LEAT_JINJA_ABSENT,   /* an argument that was not given; no expression has this value */
};

struct leat_jinja_value {
    uint8_t kind;
    bool is_safe;     /* of a text: what is added to it with `+` is escaped (Markup in jinja2) */
    bool is_key;      /* of a text of the template: a name that no value has as an attribute */
    uint32_t n_bytes; /* of a text */
    union {
        bool boolean;
        int64_t integer;
        double number;
        const char *text; /* not terminated */
        struct leat_jinja_list *list;
        struct leat_jinja_dict *dict;
        struct leat_jinja_cycle *cycle;
        struct leat_jinja_loop *loop;
        const struct leat_jinja_macro *macro;
        const struct leat_jinja_builtin *function;
        const struct leat_jinja_method *method;
    };
};

/* Items of a list, tuple, view, range or iterator; `at` counts what an iterator has given. */
struct leat_jinja_list {
    struct leat_jinja_value *items;
    size_t n_items, capacity, at;
};

struct leat_jinja_pair {
    struct leat_jinja_value key, value;
};

struct leat_jinja_dict {
    struct leat_jinja_pair *pairs;
    size_t n_pairs, capacity;
};

/* A cycler() or a joiner(). */
struct leat_jinja_cycle {
    struct leat_jinja_list list;
    bool is_used;
};

static inline struct leat_jinja_value leat_jinja_none(void) {
    return (struct leat_jinja_value){.kind = LEAT_JINJA_NONE};
}
static inline struct leat_jinja_value leat_jinja_bool(bool value) {
    return (struct leat_jinja_value){.kind = LEAT_JINJA_BOOL, .boolean = value};
}
static inline struct leat_jinja_value leat_jinja_int(int64_t value) {
    return (struct leat_jinja_value){.kind = LEAT_JINJA_INT, .integer = value};
}
static inline struct leat_jinja_value leat_jinja_float(double value) {
    return (struct leat_jinja_value){.kind = LEAT_JINJA_FLOAT, .number = value};
}
static inline struct leat_jinja_value leat_jinja_string(const char *text, size_t n_bytes) {
    return (struct leat_jinja_value){
        .kind = LEAT_JINJA_STRING, .n_bytes = (uint32_t)n_bytes, .text = text};
}
static inline struct leat_jinja_value leat_jinja_undefined(const char *name, size_t n_bytes) {
    return (struct leat_jinja_value){
        .kind = LEAT_JINJA_UNDEFINED, .n_bytes = (uint32_t)n_bytes, .text = name};
}
/* True for kinds that a `struct leat_jinja_list` is behind. */
static inline bool leat_jinja_has_items(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_LIST || value->kind == LEAT_JINJA_TUPLE ||
           value->kind == LEAT_JINJA_VIEW || value->kind == LEAT_JINJA_ITERATOR ||
           value->kind == LEAT_JINJA_RANGE;
}
/* True for bool, int and float. */
static inline bool leat_jinja_is_number(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_BOOL || value->kind == LEAT_JINJA_INT ||
           value->kind == LEAT_JINJA_FLOAT;
}
static inline bool leat_jinja_is_integral(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_BOOL || value->kind == LEAT_JINJA_INT;
}
/* True for the keys of a dictionary. Others, such as tuples, are not supported. */
static inline bool leat_jinja_can_be_key(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_STRING || value->kind == LEAT_JINJA_NONE ||
           leat_jinja_is_number(value);
}
static inline int64_t leat_jinja_integer(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_BOOL ? value->boolean : value->integer;
}
static inline double leat_jinja_number(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_FLOAT ? value->number : (double)leat_jinja_integer(value);
}
static inline bool leat_jinja_equals_text(const struct leat_jinja_value *value, const char *text,
                                          size_t n_bytes) {
    return value->n_bytes == n_bytes && __builtin_memcmp(value->text, text, n_bytes) == 0;
}

/* As Python names the type: "str", "list". */
const char *leat_jinja_kind_name(const struct leat_jinja_value *value);
bool leat_jinja_is_true(const struct leat_jinja_value *value);
bool leat_jinja_is_ascii(const char *text, size_t n_bytes);
/* Characters of a text. */
size_t leat_jinja_n_characters(const char *text, size_t n_bytes);

/* Each of these returns NULL, or false, if the heap is used up. */
struct leat_jinja_list *leat_jinja_list_new(struct leat_jinja_heap *heap, size_t capacity);
bool leat_jinja_list_add(struct leat_jinja_heap *heap, struct leat_jinja_list *list,
                         struct leat_jinja_value item);
struct leat_jinja_dict *leat_jinja_dict_new(struct leat_jinja_heap *heap, size_t capacity);
/* A key that is there keeps its place and gets the new value. */
bool leat_jinja_dict_put(struct leat_jinja_heap *heap, struct leat_jinja_dict *dict,
                         struct leat_jinja_value key, struct leat_jinja_value value);
const struct leat_jinja_value *leat_jinja_dict_find(const struct leat_jinja_dict *dict,
                                                    const struct leat_jinja_value *key);

/* Python's ==. The heap counts the work; 0 or a negative errno. */
int leat_jinja_equal(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                     const struct leat_jinja_value *b, bool *ret_equal, struct leat_error *err);
/* Python's < and its kin: the sign of a - b. Values without an order are an error. A NaN gives 2.
 */
int leat_jinja_compare(struct leat_jinja_heap *heap, const struct leat_jinja_value *a,
                       const struct leat_jinja_value *b, int *ret_order, struct leat_error *err);
