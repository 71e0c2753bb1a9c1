/* evaluate.c: evaluates expressions. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"

static int eval_items(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                      struct leat_jinja_value *ret) {
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, node->list.n_items);
    int r = list ? 0 : leat_jinja_fail_memory(render);

    for (size_t i = 0; r == 0 && i < node->list.n_items; i++) {
        r = leat_jinja_eval(render, node->list.items[i], &list->items[i]);
        list->n_items++;
    }
    *ret = (struct leat_jinja_value){.kind = node->kind == LEAT_JINJA_LIST_OF ? LEAT_JINJA_LIST
                                                                              : LEAT_JINJA_TUPLE,
                                     .list = list};
    return r;
}

static int eval_dict(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                     struct leat_jinja_value *ret) {
    struct leat_jinja_dict *dict = leat_jinja_dict_new(&render->heap, node->list.n_items / 2);
    int r = dict ? 0 : leat_jinja_fail_memory(render);

    for (size_t i = 0; r == 0 && i < node->list.n_items; i += 2) {
        struct leat_jinja_value key, value;

        r = leat_jinja_eval(render, node->list.items[i], &key);
        if (r == 0)
            r = leat_jinja_eval(render, node->list.items[i + 1], &value);
        if (r == 0 && !leat_jinja_can_be_key(&key))
            r = leat_jinja_fail(render, "%s as a key is not supported", leat_jinja_kind_name(&key));
        if (r == 0 && !leat_jinja_dict_put(&render->heap, dict, key, value))
            r = leat_jinja_fail_memory(render);
    }
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_DICT, .dict = dict};
    return r;
}

static int eval_comparison(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                           struct leat_jinja_value *ret) {
    struct leat_jinja_value left, right;
    bool is_true = true;
    int r = leat_jinja_eval(render, node->a, &left);

    for (size_t i = 0; r == 0 && is_true && i < node->list.n_items; i++) {
        r = leat_jinja_eval(render, node->list.items[i]->a, &right);
        if (r == 0) {
            r = leat_jinja_test_operator(render, node->list.items[i]->op, &left, &right, &is_true);
            left = right;
        }
    }
    *ret = leat_jinja_bool(is_true);
    return r;
}

static int eval_concat(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                       struct leat_jinja_value *ret) {
    size_t n_before = render->scratch.n_bytes;
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->list.n_items; i++) {
        struct leat_jinja_value value;

        r = leat_jinja_eval(render, node->list.items[i], &value);
        if (r == 0)
            r = leat_jinja_add_str(render, &render->scratch, &value);
    }
    return r < 0 ? r : leat_jinja_take_scratch(render, n_before, ret);
}

static int eval_sign(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                     struct leat_jinja_value *ret) {
    static const struct leat_jinja_value zero = {.kind = LEAT_JINJA_INT};
    struct leat_jinja_value value;
    int r = leat_jinja_eval(render, node->a, &value);

    if (r < 0)
        return r;
    if (value.kind == LEAT_JINJA_FLOAT) {
        *ret = leat_jinja_float(node->kind == LEAT_JINJA_NEGATIVE ? -value.number : value.number);
        return 0;
    }
    return leat_jinja_arithmetic(
        render, node->kind == LEAT_JINJA_NEGATIVE ? LEAT_JINJA_SUB : LEAT_JINJA_ADD, &zero, &value,
        ret);
}

static int eval_bound(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                      struct leat_jinja_value *ret) {
    if (node)
        return leat_jinja_eval(render, node, ret);
    *ret = leat_jinja_none();
    return 0;
}

static int eval_slice(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                      struct leat_jinja_value *ret) {
    struct leat_jinja_value object, start, stop, step;
    int r = leat_jinja_eval(render, node->a, &object);

    if (r == 0)
        r = eval_bound(render, node->b, &start);
    if (r == 0)
        r = eval_bound(render, node->c, &stop);
    if (r == 0)
        r = eval_bound(render, node->d, &step);
    return r < 0 ? r : leat_jinja_slice(render, &object, &start, &stop, &step, ret);
}

int leat_jinja_eval_call(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                         const struct leat_jinja_value *caller, struct leat_jinja_value *ret) {
    struct leat_jinja_arguments arguments;
    struct leat_jinja_value callee;
    int r = leat_jinja_eval(render, node->a, &callee);

    if (r == 0)
        r = leat_jinja_eval_arguments(render, node->call, caller, &arguments);
    return r < 0 ? r : leat_jinja_call_value(render, &callee, &arguments, ret);
}

/* A filter or a test of `input`. */
static int eval_builtin(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        const struct leat_jinja_value *input, struct leat_jinja_value *ret) {
    struct leat_jinja_arguments arguments;
    int r;

    if (node->kind == LEAT_JINJA_FILTER) {
        r = leat_jinja_check_filter(render, node->function, input);
        if (r < 0)
            return r;
    }
    r = leat_jinja_eval_arguments(render, node->call, NULL, &arguments);
    return r < 0 ? r : leat_jinja_builtin_call(render, node->function, input, &arguments, ret);
}

int leat_jinja_eval_filters(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                            const struct leat_jinja_value *input, struct leat_jinja_value *ret) {
    struct leat_jinja_value value = *input;
    int r = node->a ? leat_jinja_eval_filters(render, node->a, input, &value) : 0;

    return r < 0 ? r : eval_builtin(render, node, &value, ret);
}

static int eval_condition(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                          struct leat_jinja_value *ret) {
    struct leat_jinja_value value;
    int r = leat_jinja_eval(render, node->b, &value);

    if (r < 0)
        return r;
    if (leat_jinja_is_true(&value))
        return leat_jinja_eval(render, node->a, ret);
    if (node->c)
        return leat_jinja_eval(render, node->c, ret);
    *ret = leat_jinja_undefined("an if expression without an else", 32);
    return 0;
}

static int eval_attribute(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                          struct leat_jinja_value *ret) {
    struct leat_jinja_value object;
    int r = leat_jinja_eval(render, node->a, &object);

    return r < 0 ? r : leat_jinja_attribute(render, &object, &node->value, ret);
}

/* a[b] and a op b */
static int eval_binary(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                       struct leat_jinja_value *ret) {
    struct leat_jinja_value a, b;
    int r = leat_jinja_eval(render, node->a, &a);

    if (r == 0)
        r = leat_jinja_eval(render, node->b, &b);
    if (r < 0)
        return r;
    if (node->kind == LEAT_JINJA_ITEM)
        return leat_jinja_item(render, &a, &b, ret);
    return leat_jinja_arithmetic(render, node->op, &a, &b, ret);
}

/* `a or b` and `a and b` have the value that decides. */
static int eval_logical(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        struct leat_jinja_value *ret) {
    int r = leat_jinja_eval(render, node->a, ret);

    if (r < 0 || leat_jinja_is_true(ret) == (node->kind == LEAT_JINJA_OR))
        return r;
    return leat_jinja_eval(render, node->b, ret);
}

static int eval_node(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                     struct leat_jinja_value *ret) {
    struct leat_jinja_value value;
    int r;

    switch (node->kind) {
    case LEAT_JINJA_LIST_OF:
    case LEAT_JINJA_TUPLE_OF:
        return eval_items(render, node, ret);
    case LEAT_JINJA_DICT_OF:
        return eval_dict(render, node, ret);
    case LEAT_JINJA_CONDITION:
        return eval_condition(render, node, ret);
    case LEAT_JINJA_OR:
    case LEAT_JINJA_AND:
        return eval_logical(render, node, ret);
    case LEAT_JINJA_NOT:
        r = leat_jinja_eval(render, node->a, &value);
        *ret = leat_jinja_bool(r == 0 && !leat_jinja_is_true(&value));
        return r;
    case LEAT_JINJA_COMPARE:
        return eval_comparison(render, node, ret);
    case LEAT_JINJA_CONCAT:
        return eval_concat(render, node, ret);
    case LEAT_JINJA_NEGATIVE:
    case LEAT_JINJA_POSITIVE:
        return eval_sign(render, node, ret);
    case LEAT_JINJA_SLICE:
        return eval_slice(render, node, ret);
    case LEAT_JINJA_CALL:
        return leat_jinja_eval_call(render, node, NULL, ret);
    case LEAT_JINJA_FILTER:
    case LEAT_JINJA_TEST:
        r = leat_jinja_eval(render, node->a, &value);
        return r < 0 ? r : eval_builtin(render, node, &value, ret);
    case LEAT_JINJA_ATTRIBUTE:
        return eval_attribute(render, node, ret);
    default: /* ARITHMETIC, ITEM */
        return eval_binary(render, node, ret);
    }
}

int leat_jinja_eval(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                    struct leat_jinja_value *ret) {
    int r;

    if (node->kind == LEAT_JINJA_CONST) {
        *ret = node->value;
        return leat_jinja_heap_spend(&render->heap, 1, render->err);
    }
    if (node->kind == LEAT_JINJA_NAME) {
        leat_jinja_look_up(render, node, ret);
        return leat_jinja_heap_spend(&render->heap, 1, render->err);
    }
    r = leat_jinja_heap_enter(&render->heap, render->err);
    if (r == 0)
        r = eval_node(render, node, ret);
    leat_jinja_heap_leave(&render->heap);
    if (r < 0)
        leat_error_locate(render->err, NULL, node->line, node->column);
    return r;
}
