#include "pipeline/tokenizer/jinja/render.h"

#include <errno.h>
#include <string.h>

int leat_jinja_fail(struct leat_jinja_render *render, const char *format, ...) {
    va_list ap;
    int r;

    va_start(ap, format);
    r = leat_error_setv(render->err, -EINVAL, format, ap);
    va_end(ap);
    return r;
}

int leat_jinja_fail_memory(struct leat_jinja_render *render) {
    return leat_jinja_heap_error(&render->heap, render->err);
}

int leat_jinja_check_defined(struct leat_jinja_render *render,
                             const struct leat_jinja_value *value) {
    if (value->kind != LEAT_JINJA_UNDEFINED)
        return 0;
    return leat_jinja_fail(render, "'%.*s' is undefined",
                           (int)(value->n_bytes < 100 ? value->n_bytes : 100), value->text);
}

int leat_jinja_check_key(struct leat_jinja_render *render, const struct leat_jinja_value *value) {
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    if (r == 0 && (value->kind == LEAT_JINJA_LIST || value->kind == LEAT_JINJA_DICT ||
                   value->kind == LEAT_JINJA_VIEW))
        r = leat_jinja_fail(render, "%s cannot be a key", leat_jinja_kind_name(value));
    for (size_t i = 0; r == 0 && value->kind == LEAT_JINJA_TUPLE && i < value->list->n_items; i++)
        r = leat_jinja_check_key(render, &value->list->items[i]);
    leat_jinja_heap_leave(&render->heap);
    return r;
}

int leat_jinja_copy_string(struct leat_jinja_render *render, const char *text, size_t n_bytes,
                           struct leat_jinja_value *ret) {
    char *copy = leat_jinja_heap_alloc(&render->heap, n_bytes);

    if (!copy)
        return leat_jinja_fail_memory(render);
    if (n_bytes)
        memcpy(copy, text, n_bytes);
    *ret = leat_jinja_string(copy, n_bytes);
    return leat_jinja_heap_spend(&render->heap, n_bytes / 16, render->err);
}

int leat_jinja_take_scratch(struct leat_jinja_render *render, size_t n_before,
                            struct leat_jinja_value *ret) {
    size_t n_bytes = render->scratch.n_bytes - n_before;
    int r;

    if (render->scratch.failed)
        return leat_error_oom(render->err);
    r = leat_jinja_copy_string(render, n_bytes > 0 ? render->scratch.data + n_before : "", n_bytes,
                               ret);
    render->scratch.n_bytes = n_before;
    return r;
}

int leat_jinja_to_string(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                         struct leat_jinja_value *ret) {
    size_t n_before = render->scratch.n_bytes;
    int r;

    if (value->kind == LEAT_JINJA_STRING) {
        *ret = *value;
        return 0;
    }
    r = leat_jinja_add_str(render, &render->scratch, value);
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

void leat_jinja_capture_begin(struct leat_jinja_render *render, size_t *ret_start) {
    *ret_start = render->out.n_bytes;
    if (render->n_captures++ == 0)
        render->n_printed = render->out.n_bytes;
}

int leat_jinja_capture_end(struct leat_jinja_render *render, size_t start,
                           struct leat_jinja_value *ret) {
    int r =
        leat_jinja_copy_string(render, render->out.data + start, render->out.n_bytes - start, ret);

    render->out.n_bytes = start;
    render->n_captures--;
    return r;
}

int leat_jinja_run_captured(struct leat_jinja_render *render, const struct leat_jinja_nodes *nodes,
                            struct leat_jinja_value *ret) {
    size_t start;
    int r, end;

    leat_jinja_capture_begin(render, &start);
    r = leat_jinja_run(render, nodes);
    end = leat_jinja_capture_end(render, start, ret);
    return r != 0 ? r : end;
}

/* ---- scopes */

struct leat_jinja_scope *leat_jinja_scope_push(struct leat_jinja_render *render,
                                               struct leat_jinja_scope *parent) {
    struct leat_jinja_scope *scope = leat_jinja_heap_alloc(&render->heap, sizeof(*scope));

    if (!scope) {
        (void)leat_jinja_fail_memory(render);
        return NULL;
    }
    *scope = (struct leat_jinja_scope){.parent = parent};
    render->scope = scope;
    return scope;
}

int leat_jinja_assign(struct leat_jinja_render *render, uint32_t symbol,
                      struct leat_jinja_value value) {
    struct leat_jinja_scope *scope = render->scope;

    for (size_t i = 0; i < scope->n_bindings; i++)
        if (scope->bindings[i].symbol == symbol) {
            scope->bindings[i].value = value;
            return 0;
        }
    if (!leat_jinja_heap_grow(&render->heap, &scope->bindings, sizeof(*scope->bindings),
                              scope->n_bindings, &scope->capacity))
        return leat_jinja_fail_memory(render);
    scope->bindings[scope->n_bindings++] =
        (struct leat_jinja_binding){.symbol = symbol, .value = value};
    return 0;
}

void leat_jinja_look_up(const struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        struct leat_jinja_value *ret) {
    const struct leat_jinja_builtin *function;

    for (const struct leat_jinja_scope *scope = render->scope; scope; scope = scope->parent)
        for (size_t i = 0; i < scope->n_bindings; i++)
            if (scope->bindings[i].symbol == node->symbol) {
                *ret = scope->bindings[i].value;
                return;
            }
    function = render->template->symbols[node->symbol].function;
    *ret = function ? (struct leat_jinja_value){.kind = LEAT_JINJA_FUNCTION, .function = function}
                    : leat_jinja_undefined(node->value.text, node->value.n_bytes);
}
