/* statements.c: runs statements. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"
#include "proto/base/array.h"

enum { FLOW_BREAK = 1, FLOW_CONTINUE = 2 };

static int check_output(struct leat_jinja_render *render) {
    if (render->out.failed)
        return leat_error_oom(render->err);
    if (render->out.n_bytes > LEAT_JINJA_OUTPUT_MAX)
        return leat_error_set(render->err, -E2BIG, "the conversation would have more than %u bytes",
                              LEAT_JINJA_OUTPUT_MAX);
    return 0;
}

static int assign_to(struct leat_jinja_render *render, const struct leat_jinja_node *target,
                     const struct leat_jinja_value *value) {
    const struct leat_jinja_list *items;
    struct leat_jinja_value object;
    int r;

    if (target->kind == LEAT_JINJA_NAME)
        return leat_jinja_assign(render, target->symbol, *value);
    if (target->kind == LEAT_JINJA_ATTRIBUTE) {
        leat_jinja_look_up(render, target->a, &object);
        if (object.kind != LEAT_JINJA_NAMESPACE)
            return leat_jinja_fail(render, "cannot set an attribute of %s, only of a namespace()",
                                   leat_jinja_kind_name(&object));
        if (target->value.text[0] == '_')
            return leat_jinja_fail(render,
                                   "the name of an attribute of a namespace must not begin with _");
        return leat_jinja_dict_put(&render->heap, object.dict, target->value, *value)
                   ? 0
                   : leat_jinja_fail_memory(render);
    }
    r = leat_jinja_items(render, value, &items);
    if (r < 0)
        return r;
    if (items->n_items != target->list.n_items)
        return leat_jinja_fail(render, "cannot assign %zu values to %zu names", items->n_items,
                               target->list.n_items);
    for (size_t i = 0; r == 0 && i < items->n_items; i++)
        r = assign_to(render, target->list.items[i], &items->items[i]);
    return r;
}

int leat_jinja_loop_fill(struct leat_jinja_render *render, struct leat_jinja_loop *loop,
                         size_t n_wanted) {
    struct leat_jinja_scope *scope = render->scope;
    int r = 0;

    while (r == 0 && loop->items.n_items < n_wanted && loop->n_read < loop->source->n_items) {
        const struct leat_jinja_value *item = &loop->source->items[loop->n_read++];
        struct leat_jinja_value passes = leat_jinja_bool(true);

        if (loop->node->c) {
            if (!leat_jinja_scope_push(render, loop->outer))
                r = render->err->code;
            if (r == 0)
                r = assign_to(render, loop->node->a, item);
            if (r == 0)
                r = leat_jinja_eval(render, loop->node->c, &passes);
            render->scope = scope;
        }
        if (r == 0 && leat_jinja_is_true(&passes) &&
            !leat_jinja_list_add(&render->heap, &loop->items, *item))
            r = leat_jinja_fail_memory(render);
    }
    return r;
}

/* Runs the body for the present item, and notes what that has printed. */
static int run_pass(struct leat_jinja_render *render, const struct leat_jinja_loop *loop) {
    const struct leat_jinja_value *item = &loop->items.items[loop->index];
    size_t start = render->out.n_bytes;
    int r = leat_jinja_run(render, &loop->node->list);

    if (r < 0 || item->kind != LEAT_JINJA_DICT || render->n_captures ||
        start == render->out.n_bytes)
        return r;
    if (!leat_array_reserve(&render->turns, render->n_turns + 1, &render->turns_capacity))
        return leat_error_oom(render->err);
    render->turns[render->n_turns++] =
        (struct leat_jinja_turn){.item = item->dict, .start = start, .end = render->out.n_bytes};
    return r;
}

static int run_items(struct leat_jinja_render *render, struct leat_jinja_loop *loop) {
    struct leat_jinja_scope *scope = leat_jinja_scope_push(render, loop->outer);
    int r = scope ? 0 : render->err->code;

    for (; r == 0; loop->index++) {
        r = leat_jinja_loop_fill(render, loop, loop->index + 1);
        if (r < 0 || loop->index >= loop->items.n_items)
            break;
        if (scope->is_captured) {
            scope = leat_jinja_scope_push(render, loop->outer);
            if (!scope)
                return render->err->code;
        }
        scope->n_bindings = 0;
        r = assign_to(render, loop->node->a, &loop->items.items[loop->index]);
        if (r == 0)
            r = leat_jinja_assign(render, LEAT_JINJA_SYMBOL_LOOP,
                                  (struct leat_jinja_value){.kind = LEAT_JINJA_LOOP, .loop = loop});
        if (r == 0)
            r = run_pass(render, loop);
        loop->has_completed |= r == 0;
        if (r == FLOW_BREAK)
            return 0;
        if (r == FLOW_CONTINUE)
            r = 0;
    }
    return r;
}

int leat_jinja_run_loop(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        const struct leat_jinja_value *value, struct leat_jinja_scope *outer,
                        size_t depth) {
    struct leat_jinja_scope *scope = render->scope;
    struct leat_jinja_loop *loop = leat_jinja_heap_alloc(&render->heap, sizeof(*loop));
    int r;

    if (!loop)
        return leat_jinja_fail_memory(render);
    *loop = (struct leat_jinja_loop){.node = node, .outer = outer, .depth = depth};
    r = leat_jinja_items(render, value, &loop->source);
    if (r == 0 && !node->c) { /* no filter: the items are the source's */
        loop->items = *loop->source;
        loop->n_read = loop->items.n_items;
    }
    if (r == 0)
        r = run_items(render, loop);
    if (r == 0 && !loop->has_completed && node->other.n_items) {
        r = leat_jinja_scope_push(render, outer) ? 0 : render->err->code;
        if (r == 0)
            r = leat_jinja_run(render, &node->other);
    }
    render->scope = scope;
    return r;
}

static int run_for(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    int r = leat_jinja_eval(render, node->b, &value);

    return r < 0 ? r : leat_jinja_run_loop(render, node, &value, render->scope, 0);
}

static int run_if(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    int r = leat_jinja_eval(render, node->a, &value);

    return r < 0 ? r
                 : leat_jinja_run(render, leat_jinja_is_true(&value) ? &node->list : &node->other);
}

/* Runs the list of the node in a scope of its own, and gives what it prints. */
static int run_scoped(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                      struct leat_jinja_value *ret) {
    struct leat_jinja_scope *scope = render->scope;
    int r = leat_jinja_scope_push(render, scope) ? leat_jinja_run_captured(render, &node->list, ret)
                                                 : render->err->code;

    render->scope = scope;
    return r;
}

static int run_set(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    int r;

    if (node->kind == LEAT_JINJA_SET) {
        r = leat_jinja_eval(render, node->b, &value);
    } else {
        r = run_scoped(render, node, &value);
        if (r == 0 && node->b)
            r = leat_jinja_eval_filters(render, node->b, &value, &value);
    }
    return r != 0 ? r : assign_to(render, node->a, &value);
}

static int macro_new(struct leat_jinja_render *render, const struct leat_jinja_macro_node *node,
                     struct leat_jinja_value *ret) {
    struct leat_jinja_macro *macro = leat_jinja_heap_alloc(&render->heap, sizeof(*macro));

    if (!macro)
        return leat_jinja_fail_memory(render);
    *macro = (struct leat_jinja_macro){.node = node, .scope = render->scope};
    for (struct leat_jinja_scope *scope = render->scope; scope; scope = scope->parent)
        scope->is_captured = true;
    *ret = (struct leat_jinja_value){.kind = LEAT_JINJA_MACRO, .macro = macro};
    return 0;
}

static int print(struct leat_jinja_render *render, const struct leat_jinja_value *value) {
    int r = leat_jinja_add_str(render, &render->out, value);

    return r < 0 ? r : check_output(render);
}

/* ---- sums and joined values, which are printed as they are evaluated */

/* What has been printed of a sum. */
struct sum {
    size_t start;                  /* in the output */
    bool is_printed;               /* so far the sum is a text, which stands in the output */
    struct leat_jinja_value value; /* else */
};

static bool is_plain_text(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_STRING && !value->is_safe;
}

static int add_to_sum(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                      struct sum *sum) {
    int r = 0;

    if (is_plain_text(value) && (sum->is_printed || is_plain_text(&sum->value))) {
        if (!sum->is_printed)
            r = print(render, &sum->value);
        sum->is_printed = true;
        return r < 0 ? r : print(render, value);
    }
    if (sum->is_printed) {
        r = leat_jinja_copy_string(render, render->out.data + sum->start,
                                   render->out.n_bytes - sum->start, &sum->value);
        render->out.n_bytes = sum->start;
        sum->is_printed = false;
    }
    return r < 0 ? r
                 : leat_jinja_arithmetic(render, LEAT_JINJA_ADD, &sum->value, value, &sum->value);
}

static bool is_sum(const struct leat_jinja_node *node) {
    return node->kind == LEAT_JINJA_ARITHMETIC && node->op == LEAT_JINJA_ADD;
}

static int eval_sum(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                    struct sum *sum) {
    struct leat_jinja_value value;
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    if (r == 0)
        r = is_sum(node->a) ? eval_sum(render, node->a, sum)
                            : leat_jinja_eval(render, node->a, &sum->value);
    if (r == 0)
        r = leat_jinja_eval(render, node->b, &value);
    if (r == 0)
        r = add_to_sum(render, &value, sum);
    leat_jinja_heap_leave(&render->heap);
    if (r < 0)
        leat_error_locate(render->err, NULL, node->line, node->column);
    return r;
}

static int print_sum(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct sum sum = {.start = render->out.n_bytes};
    int r = eval_sum(render, node, &sum);

    return r < 0 || sum.is_printed ? r : print(render, &sum.value);
}

static int print_joined(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    for (size_t i = 0; r == 0 && i < node->list.n_items; i++) {
        struct leat_jinja_value value;

        r = leat_jinja_eval(render, node->list.items[i], &value);
        if (r == 0)
            r = print(render, &value);
    }
    leat_jinja_heap_leave(&render->heap);
    if (r < 0)
        leat_error_locate(render->err, NULL, node->line, node->column);
    return r;
}

/* What a generation block within the expression counts as printed is what stands there before. */
static int print_expression(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    size_t start;
    int r;

    if (!is_sum(node) && node->kind != LEAT_JINJA_CONCAT) {
        r = leat_jinja_eval(render, node, &value);
        return r < 0 ? r : print(render, &value);
    }
    leat_jinja_capture_begin(render, &start);
    r = is_sum(node) ? print_sum(render, node) : print_joined(render, node);
    render->n_captures--;
    return r;
}

static int run_call_block(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value caller, value;
    int r = macro_new(render, node->macro, &caller);

    if (r == 0)
        r = leat_jinja_eval_call(render, node->a, &caller, &value);
    return r < 0 ? r : print(render, &value);
}

static int run_with(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_scope *outer = render->scope, *inner = leat_jinja_scope_push(render, outer);
    int r = inner ? 0 : render->err->code;

    for (size_t i = 0; r == 0 && i < node->other.n_items; i += 2) {
        struct leat_jinja_value value;

        render->scope = outer;
        r = leat_jinja_eval(render, node->other.items[i + 1], &value);
        render->scope = inner;
        if (r == 0)
            r = leat_jinja_assign(render, node->other.items[i]->symbol, value);
    }
    if (r == 0)
        r = leat_jinja_run(render, &node->list);
    render->scope = outer;
    return r;
}

static int run_filter_block(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    int r = run_scoped(render, node, &value);

    if (r == 0)
        r = leat_jinja_eval_filters(render, node->b, &value, &value);
    if (r == 0 && value.kind != LEAT_JINJA_STRING)
        r = leat_jinja_fail(render, "the result of a filter block must be a text, not %s",
                            leat_jinja_kind_name(&value));
    return r != 0 ? r : print(render, &value);
}

/* As transformers counts it: from what has been printed when the block begins. Within a macro or
 * a `set` block that is the place where these began. */
static int run_generation(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    size_t start = render->n_captures ? render->n_printed : render->out.n_bytes;
    struct leat_jinja_value value;
    int r = run_scoped(render, node, &value);

    if (r < 0)
        return r;
    if (!leat_array_reserve(&render->parts, render->n_parts + 1, &render->parts_capacity))
        return leat_error_oom(render->err);
    render->parts[render->n_parts++] =
        (struct leat_jinja_part){.start = start, .end = start + value.n_bytes};
    return print(render, &value);
}

static int run_node(struct leat_jinja_render *render, const struct leat_jinja_node *node) {
    struct leat_jinja_value value;
    int r;

    switch (node->kind) {
    case LEAT_JINJA_TEXT:
        return print(render, &node->value);
    case LEAT_JINJA_PRINT:
        return print_expression(render, node->a);
    case LEAT_JINJA_FOR:
        return run_for(render, node);
    case LEAT_JINJA_IF:
        return run_if(render, node);
    case LEAT_JINJA_SET:
    case LEAT_JINJA_SET_BLOCK:
        return run_set(render, node);
    case LEAT_JINJA_MACRO_OF:
        r = macro_new(render, node->macro, &value);
        return r < 0 ? r : leat_jinja_assign(render, node->macro->symbol, value);
    case LEAT_JINJA_CALL_BLOCK:
        return run_call_block(render, node);
    case LEAT_JINJA_FILTER_BLOCK:
        return run_filter_block(render, node);
    case LEAT_JINJA_WITH:
        return run_with(render, node);
    case LEAT_JINJA_GENERATION:
        return run_generation(render, node);
    default:
        return node->kind == LEAT_JINJA_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
    }
}

int leat_jinja_run(struct leat_jinja_render *render, const struct leat_jinja_nodes *nodes) {
    int r = leat_jinja_heap_enter(&render->heap, render->err);

    for (size_t i = 0; r == 0 && i < nodes->n_items; i++) {
        r = leat_jinja_heap_spend(&render->heap, 1, render->err);
        if (r == 0)
            r = run_node(render, nodes->items[i]);
        if (r < 0)
            leat_error_locate(render->err, NULL, nodes->items[i]->line, nodes->items[i]->column);
    }
    leat_jinja_heap_leave(&render->heap);
    return r;
}
