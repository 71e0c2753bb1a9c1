/* component.c: paths are made when an error needs one, from the chain of parents. See component.h.
 */
#include "pipeline/tokenizer/component.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/tokenizer/json_path.h"
#include "proto/base/utf8.h"

#define STEPS_MAX (LEAT_COMPONENT_DEPTH_MAX + 8)

struct leat_component leat_component_root(const struct leat_document *document,
                                          struct leat_json_node node) {
    return (struct leat_component){.node = node, .document = document};
}

static struct leat_component child_of(const struct leat_component *parent,
                                      struct leat_json_node node) {
    return (struct leat_component){
        .node = node, .parent = parent, .document = parent->document, .depth = parent->depth + 1};
}

bool leat_component_get(const struct leat_component *component, const char *key,
                        struct leat_component *ret_child) {
    struct leat_json_node node;

    if (!leat_json_find(component->node, key, strlen(key), &node) ||
        leat_json_kind(node) == LEAT_JSON_NULL)
        return false;
    *ret_child = child_of(component, node);
    ret_child->key = key;
    return true;
}

/* The part of the path that names this component in its parent: "a.b[2]" is a, .b, [2]. */
static void prefix_part(const struct leat_component *component, struct leat_error *err) {
    if (component->key)
        leat_error_prefix(err, "%s", component->key);
    else
        leat_error_prefix(err, "[%zu]", component->index);
}

/* The way from the root to a component: the last *ret_n of the steps. */
static const struct leat_json_step *way_to(const struct leat_component *component,
                                           struct leat_json_step steps[STEPS_MAX], size_t *ret_n) {
    size_t first = STEPS_MAX;

    for (const struct leat_component *at = component; at->parent && first > 0; at = at->parent)
        steps[--first] = (struct leat_json_step){
            .key = at->key, .n_key = at->key ? strlen(at->key) : 0, .index = at->index};
    *ret_n = STEPS_MAX - first;
    return steps + first;
}

const uint8_t *leat_component_text(const struct leat_component *component) {
    struct leat_json_step memory[STEPS_MAX];
    size_t n;
    const struct leat_json_step *steps = way_to(component, memory, &n);

    return leat_json_find_value((const uint8_t *)component->document->data,
                                component->document->n_bytes, steps, n);
}

/* A key that was made up for the path alone, as "foo" in quotes, leads nowhere; then it is the
 * parent that is shown. */
static void locate(const struct leat_component *component, struct leat_error *err) {
    const struct leat_document *document = component->document;
    struct leat_json_step memory[STEPS_MAX];
    uint32_t line = 0, column = 0;
    size_t n;
    const struct leat_json_step *steps = way_to(component, memory, &n);

    while (!leat_json_locate_value((const uint8_t *)document->data, document->n_bytes, steps, n,
                                   &line, &column) &&
           n > 0)
        n--;
    leat_error_locate(err, document->file, line, column);
}

int leat_component_place(const struct leat_component *component, struct leat_error *err) {
    for (const struct leat_component *at = component; at->parent; at = at->parent)
        prefix_part(at, err);
    if (component->document)
        locate(component, err);
    return err->code;
}

int leat_component_error(const struct leat_component *component, struct leat_error *err,
                         const char *format, ...) {
    va_list args;

    va_start(args, format);
    leat_error_setv(err, -EINVAL, format, args);
    va_end(args);
    leat_component_place(component, err);
    return -EINVAL;
}

static int wrong_kind(const struct leat_component *component, struct leat_error *err,
                      const char *expected) {
    return leat_component_error(component, err, "is %s, but must be %s",
                                leat_json_kind_name(leat_json_kind(component->node)), expected);
}

static int missing(const struct leat_component *component, const char *key,
                   struct leat_error *err) {
    if (leat_json_kind(component->node) != LEAT_JSON_OBJECT)
        return wrong_kind(component, err, "an object");
    return leat_component_error(component, err, "`%s` is missing", key);
}

int leat_component_string(const struct leat_component *component, const char *key,
                          const char *fallback, const char **ret_text, size_t *ret_n_bytes,
                          struct leat_error *err) {
    struct leat_component child;

    if (!leat_component_get(component, key, &child)) {
        if (!fallback)
            return missing(component, key, err);
        *ret_text = fallback;
        *ret_n_bytes = strlen(fallback);
        return 0;
    }
    if (leat_json_kind(child.node) != LEAT_JSON_STRING)
        return wrong_kind(&child, err, "a string");
    *ret_text = leat_json_string(child.node, ret_n_bytes);
    return 0;
}

int leat_component_character(const struct leat_component *component, const char *key,
                             const char **ret_text, size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_component child;
    int r = leat_component_string(component, key, NULL, ret_text, ret_n_bytes, err);

    if (r < 0 || (*ret_n_bytes &&
                  leat_utf8_length((const uint8_t *)*ret_text, *ret_n_bytes) == *ret_n_bytes))
        return r;
    (void)leat_component_get(component, key, &child);
    return leat_component_error(&child, err, "is \"%.64s\", but must be a single character",
                                *ret_text);
}

int leat_component_bool(const struct leat_component *component, const char *key, int fallback,
                        bool *ret_value, struct leat_error *err) {
    struct leat_component child;

    if (!leat_component_get(component, key, &child)) {
        if (fallback < 0)
            return missing(component, key, err);
        *ret_value = fallback;
        return 0;
    }
    if (leat_json_kind(child.node) != LEAT_JSON_BOOL)
        return wrong_kind(&child, err, "true or false");
    *ret_value = leat_json_bool(child.node);
    return 0;
}

int leat_component_uint(const struct leat_component *component, const char *key, int64_t fallback,
                        uint64_t max, uint64_t *ret_value, struct leat_error *err) {
    struct leat_component child;
    enum leat_json_kind kind;

    if (!leat_component_get(component, key, &child)) {
        if (fallback < 0)
            return missing(component, key, err);
        *ret_value = (uint64_t)fallback;
        return 0;
    }
    kind = leat_json_kind(child.node);
    if (kind != LEAT_JSON_INT && kind != LEAT_JSON_UINT)
        return wrong_kind(&child, err, "an integer");
    if (kind == LEAT_JSON_INT && leat_json_int(child.node) < 0)
        return leat_component_error(&child, err, "is %lld, which is outside 0..%llu",
                                    (long long)leat_json_int(child.node), (unsigned long long)max);
    *ret_value = leat_json_uint(child.node);
    if (*ret_value > max)
        return leat_component_error(&child, err, "is %llu, which is outside 0..%llu",
                                    (unsigned long long)*ret_value, (unsigned long long)max);
    return 0;
}

static int bad_choice(const struct leat_component *child, const char *text, size_t n,
                      const char *const *names, struct leat_error *err) {
    char known[256];
    size_t used = 0;

    known[0] = '\0';
    for (size_t i = 0; names[i] && used < sizeof(known); i++)
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", names[i]);
    return leat_component_error(child, err, "is \"%.*s\", but must be one of %s",
                                (int)(n > 64 ? 64 : n), text, known);
}

int leat_component_choice(const struct leat_component *component, const char *key,
                          const char *const *names, int fallback, int *ret_choice,
                          struct leat_error *err) {
    struct leat_component child;
    const char *text = "";
    size_t n = 0;
    int r;

    if (!leat_component_get(component, key, &child)) {
        if (fallback < 0)
            return missing(component, key, err);
        *ret_choice = fallback;
        return 0;
    }
    r = leat_component_string(component, key, NULL, &text, &n, err);
    if (r < 0)
        return r;
    for (int i = 0; names[i]; i++) {
        if (strlen(names[i]) == n && memcmp(names[i], text, n) == 0) {
            *ret_choice = i;
            return 0;
        }
    }
    return bad_choice(&child, text, n, names, err);
}

int leat_component_child(const struct leat_component *component, const char *key,
                         enum leat_json_kind kind, struct leat_component *ret_child,
                         struct leat_error *err) {
    if (!leat_component_get(component, key, ret_child))
        return missing(component, key, err);
    if (leat_json_kind(ret_child->node) != kind)
        return wrong_kind(ret_child, err, leat_json_kind_name(kind));
    return 0;
}

int leat_component_type(const struct leat_component *component, const char **ret_type,
                        struct leat_error *err) {
    size_t n;

    if (component->depth > LEAT_COMPONENT_DEPTH_MAX)
        return leat_component_error(component, err, "nests more than %d levels",
                                    LEAT_COMPONENT_DEPTH_MAX);
    return leat_component_string(component, "type", NULL, ret_type, &n, err);
}

void leat_component_iterate(const struct leat_component *array,
                            struct leat_component_iterator *ret_iterator) {
    *ret_iterator = (struct leat_component_iterator){.array = array};
    leat_json_iterate(array->node, &ret_iterator->json);
}

bool leat_component_next(struct leat_component_iterator *iterator,
                         struct leat_component *ret_item) {
    struct leat_json_node node;

    if (!leat_json_next(&iterator->json, &node))
        return false;
    *ret_item = child_of(iterator->array, node);
    ret_item->index = iterator->index++;
    return true;
}
