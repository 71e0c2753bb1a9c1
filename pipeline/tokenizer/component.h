/* component.h: reading one part of a tokenizer.json: a node of the document, and where it stands.
 *
 * A component is a small value on the reader's stack; it refers to its parent, which must outlive
 * it, and so knows its path. All errors name the path and, where the document is at hand, line and
 * column: "tokenizer.json:1:4096: normalizer.normalizers[2].pattern: ...". Unknown keys are
 * ignored, as Hugging Face `tokenizers` does; a key whose value is null is as good as absent.
 *
 * Owner: the thread that loads.
 */
#pragma once

#include "pipeline/tokenizer/json.h"
#include "proto/base/error.h"

#define LEAT_COMPONENT_DEPTH_MAX 32 /* of components within components */

struct leat_document { /* the bytes that the nodes were parsed from */
    const char *data;
    size_t n_bytes;
    const char *file;
};

struct leat_component {
    struct leat_json_node node;
    const struct leat_component *parent; /* NULL: the root */
    const char *key;                     /* of the parent, if that is an object */
    size_t index;                        /* in the parent, if that is an array */
    const struct leat_document *document;
    uint32_t depth;
};

struct leat_component leat_component_root(const struct leat_document *document,
                                          struct leat_json_node node);

/* The child of that key; false if the component is no object, or has no such key, or null. The key
 * must outlive the child. */
bool leat_component_get(const struct leat_component *component, const char *key,
                        struct leat_component *ret_child);

/* Each returns 0 or a negative errno with err set. A key that is absent gives the fallback; one
 * without a fallback (required: NULL, -1) is an error when absent. */
int leat_component_string(const struct leat_component *component, const char *key,
                          const char *fallback, const char **ret_text, size_t *ret_n_bytes,
                          struct leat_error *err);
/* A required string of just one character. */
int leat_component_character(const struct leat_component *component, const char *key,
                             const char **ret_text, size_t *ret_n_bytes, struct leat_error *err);
int leat_component_bool(const struct leat_component *component, const char *key, int fallback,
                        bool *ret_value, struct leat_error *err);
/* An integer in 0..max. */
int leat_component_uint(const struct leat_component *component, const char *key, int64_t fallback,
                        uint64_t max, uint64_t *ret_value, struct leat_error *err);
/* One of the names, as its index; names ends with NULL; fallback is an index or -1. */
int leat_component_choice(const struct leat_component *component, const char *key,
                          const char *const *names, int fallback, int *ret_choice,
                          struct leat_error *err);
/* The child of that key, which must be there and of that kind. */
int leat_component_child(const struct leat_component *component, const char *key,
                         enum leat_json_kind kind, struct leat_component *ret_child,
                         struct leat_error *err);
/* The `type` of a component: a string, required. */
int leat_component_type(const struct leat_component *component, const char **ret_type,
                        struct leat_error *err);

/* Items of an array:
 *     leat_component_iterate(&array, &it);
 *     while (leat_component_next(&it, &item)) ...
 */
struct leat_component_iterator {
    const struct leat_component *array;
    struct leat_json_iterator json;
    size_t index;
};
void leat_component_iterate(const struct leat_component *array,
                            struct leat_component_iterator *ret_iterator);
bool leat_component_next(struct leat_component_iterator *iterator, struct leat_component *ret_item);

/* Where the component begins in its document; NULL: it is too deep. */
const uint8_t *leat_component_text(const struct leat_component *component);

/* Sets an error at this component; returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int
leat_component_error(const struct leat_component *component, struct leat_error *err,
                     const char *format, ...);

/* Places an error that a callee has set without a path at this component; returns its code. */
int leat_component_place(const struct leat_component *component, struct leat_error *err);
