/* calls.c: calls of macros, built-ins and loops, and their arguments. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"

static int add_keyword(struct leat_jinja_render *render, struct leat_jinja_arguments *arguments,
                       size_t *capacity, struct leat_jinja_value name,
                       struct leat_jinja_value value) {
    for (size_t i = 0; i < arguments->n_keywords; i++)
        if (leat_jinja_equals_text(&arguments->keywords[i].name, name.text, name.n_bytes))
            return leat_jinja_fail(render, "the argument '%.*s' is given twice",
                                   (int)(name.n_bytes < 64 ? name.n_bytes : 64), name.text);
    if (!leat_jinja_heap_grow(&render->heap, &arguments->keywords, sizeof(*arguments->keywords),
                              arguments->n_keywords, capacity))
        return leat_jinja_fail_memory(render);
    arguments->keywords[arguments->n_keywords++] =
        (struct leat_jinja_keyword){.name = name, .value = value};
    return 0;
}

static int eval_positional(struct leat_jinja_render *render, const struct leat_jinja_call *call,
                           struct leat_jinja_arguments *arguments) {
    struct leat_jinja_list *list =
        leat_jinja_list_new(&render->heap, call->positional.n_items + (call->star != NULL));
    const struct leat_jinja_list *more = NULL;
    struct leat_jinja_value value;
    int r = list ? 0 : leat_jinja_fail_memory(render);

    for (size_t i = 0; r == 0 && i < call->positional.n_items; i++) {
        r = leat_jinja_eval(render, call->positional.items[i], &value);
        if (r == 0 && !leat_jinja_list_add(&render->heap, list, value))
            r = leat_jinja_fail_memory(render);
    }
    if (r == 0 && call->star) {
        r = leat_jinja_eval(render, call->star, &value);
        if (r == 0)
            r = leat_jinja_items(render, &value, &more);
    }
    for (size_t i = 0; r == 0 && more && i < more->n_items; i++)
        if (!leat_jinja_list_add(&render->heap, list, more->items[i]))
            r = leat_jinja_fail_memory(render);
    if (r == 0) {
        arguments->items = list->items;
        arguments->n_items = list->n_items;
    }
    return r;
}

int leat_jinja_eval_arguments(struct leat_jinja_render *render, const struct leat_jinja_call *call,
                              const struct leat_jinja_value *caller,
                              struct leat_jinja_arguments *arguments) {
    struct leat_jinja_value value;
    size_t capacity = 0;
    int r;

    *arguments = (struct leat_jinja_arguments){.items = NULL};
    r = call->positional.n_items || call->star ? eval_positional(render, call, arguments) : 0;
    for (size_t i = 0; r == 0 && i < call->keywords.n_items; i++) {
        r = leat_jinja_eval(render, call->keywords.items[i], &value);
        if (r == 0)
            r = add_keyword(render, arguments, &capacity, call->names.items[i]->value, value);
    }
    if (r == 0 && call->star_star) {
        r = leat_jinja_eval(render, call->star_star, &value);
        if (r == 0 && value.kind != LEAT_JINJA_DICT)
            r = leat_jinja_fail(render, "the value after `**` is %s, but must be a dict",
                                leat_jinja_kind_name(&value));
        for (size_t i = 0; r == 0 && i < value.dict->n_pairs; i++) {
            const struct leat_jinja_pair *pair = &value.dict->pairs[i];

            r = pair->key.kind == LEAT_JINJA_STRING
                    ? add_keyword(render, arguments, &capacity, pair->key, pair->value)
                    : leat_jinja_fail(render, "the name of an argument must be a text");
        }
    }
    if (r == 0 && caller)
        r = add_keyword(render, arguments, &capacity, leat_jinja_string("caller", 6), *caller);
    return r;
}

static const struct leat_jinja_keyword *find_keyword(const struct leat_jinja_arguments *arguments,
                                                     const struct leat_jinja_value *name) {
    for (size_t i = 0; i < arguments->n_keywords; i++)
        if (leat_jinja_equals_text(&arguments->keywords[i].name, name->text, name->n_bytes))
            return &arguments->keywords[i];
    return NULL;
}

static int bind_parameter(struct leat_jinja_render *render,
                          const struct leat_jinja_macro_node *node, size_t i,
                          const struct leat_jinja_arguments *arguments) {
    const struct leat_jinja_node *parameter = node->parameters.items[i];
    const struct leat_jinja_keyword *keyword = find_keyword(arguments, &parameter->value);
    size_t n_required = node->parameters.n_items - node->defaults.n_items;
    struct leat_jinja_value value;
    int r = 0;

    if (i < arguments->n_items && keyword)
        return leat_jinja_fail(render, "the macro gets the argument '%.*s' twice",
                               (int)parameter->value.n_bytes, parameter->value.text);
    if (i < arguments->n_items)
        value = arguments->items[i];
    else if (keyword)
        value = keyword->value;
    else if (i >= n_required)
        r = leat_jinja_eval(render, node->defaults.items[i - n_required], &value);
    else
        value = leat_jinja_undefined(parameter->value.text, parameter->value.n_bytes);
    return r < 0 ? r : leat_jinja_assign(render, parameter->symbol, value);
}

/* Binds the positional arguments that no parameter takes. */
static int bind_varargs(struct leat_jinja_render *render, const struct leat_jinja_macro_node *node,
                        const struct leat_jinja_arguments *arguments) {
    size_t n_parameters = node->parameters.n_items;
    size_t n_more = arguments->n_items > n_parameters ? arguments->n_items - n_parameters : 0;
    struct leat_jinja_list *list;

    if (!node->reads_varargs)
        return n_more == 0
                   ? 0
                   : leat_jinja_fail(render, "the macro '%.*s' takes %zu arguments, not %zu",
                                     (int)node->name.n_bytes, node->name.text, n_parameters,
                                     arguments->n_items);
    list = leat_jinja_list_new(&render->heap, n_more);
    if (!list)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; i < n_more; i++)
        (void)leat_jinja_list_add(&render->heap, list, arguments->items[n_parameters + i]);
    return leat_jinja_assign(render, LEAT_JINJA_SYMBOL_VARARGS,
                             (struct leat_jinja_value){.kind = LEAT_JINJA_TUPLE, .list = list});
}

/* Binds the named arguments that no parameter takes. */
static int bind_kwargs(struct leat_jinja_render *render, const struct leat_jinja_macro_node *node,
                       const struct leat_jinja_arguments *arguments) {
    struct leat_jinja_dict *dict = leat_jinja_dict_new(&render->heap, 0);
    struct leat_jinja_value caller = leat_jinja_undefined("caller", 6);
    int r = dict ? 0 : leat_jinja_fail_memory(render);

    for (size_t i = 0; r == 0 && i < arguments->n_keywords; i++) {
        const struct leat_jinja_keyword *keyword = &arguments->keywords[i];
        bool is_known = false;

        for (size_t k = 0; k < node->parameters.n_items; k++)
            is_known |=
                leat_jinja_equals_text(&keyword->name, node->parameters.items[k]->value.text,
                                       node->parameters.items[k]->value.n_bytes);
        if (is_known)
            continue;
        if (node->reads_caller && leat_jinja_equals_text(&keyword->name, "caller", 6))
            caller = keyword->value;
        else if (!node->reads_kwargs)
            r = leat_jinja_fail(render, "the macro '%.*s' has no parameter '%.*s'",
                                (int)node->name.n_bytes, node->name.text,
                                (int)(keyword->name.n_bytes < 64 ? keyword->name.n_bytes : 64),
                                keyword->name.text);
        else if (!leat_jinja_dict_put(&render->heap, dict, keyword->name, keyword->value))
            r = leat_jinja_fail_memory(render);
    }
    if (r == 0 && node->reads_caller)
        r = leat_jinja_assign(render, LEAT_JINJA_SYMBOL_CALLER, caller);
    if (r == 0 && node->reads_kwargs)
        r = leat_jinja_assign(render, LEAT_JINJA_SYMBOL_KWARGS,
                              (struct leat_jinja_value){.kind = LEAT_JINJA_DICT, .dict = dict});
    return r;
}

static int call_macro(struct leat_jinja_render *render, const struct leat_jinja_macro *macro,
                      const struct leat_jinja_arguments *arguments, struct leat_jinja_value *ret) {
    struct leat_jinja_scope *outer = render->scope;
    int r = leat_jinja_scope_push(render, macro->scope) ? 0 : render->err->code;

    if (r == 0)
        r = bind_kwargs(render, macro->node, arguments);
    if (r == 0)
        r = bind_varargs(render, macro->node, arguments);
    for (size_t i = 0; r == 0 && i < macro->node->parameters.n_items; i++)
        r = bind_parameter(render, macro->node, i, arguments);
    if (r == 0)
        r = leat_jinja_run_captured(render, &macro->node->body, ret);
    render->scope = outer;
    return r;
}

/* loop(items) of a recursive loop. */
static int call_loop(struct leat_jinja_render *render, const struct leat_jinja_loop *loop,
                     const struct leat_jinja_arguments *arguments, struct leat_jinja_value *ret) {
    struct leat_jinja_scope *scope = render->scope;
    size_t start;
    int r, end;

    if (!loop->node->flag)
        return leat_jinja_fail(render, "loop() works only in a loop that is `recursive`");
    if (arguments->n_items != 1 || arguments->n_keywords)
        return leat_jinja_fail(render, "loop() takes one argument");
    leat_jinja_capture_begin(render, &start);
    r = leat_jinja_run_loop(render, loop->node, &arguments->items[0], loop->outer, loop->depth + 1);
    end = leat_jinja_capture_end(render, start, ret);
    render->scope = scope;
    return r < 0 ? r : end;
}

static int call_joiner(struct leat_jinja_render *render, struct leat_jinja_cycle *joiner,
                       const struct leat_jinja_arguments *arguments, struct leat_jinja_value *ret) {
    if (arguments->n_items || arguments->n_keywords)
        return leat_jinja_fail(render, "a joiner takes no arguments");
    *ret = joiner->is_used ? joiner->list.items[0] : leat_jinja_string("", 0);
    joiner->is_used = true;
    return 0;
}

int leat_jinja_call_value(struct leat_jinja_render *render, const struct leat_jinja_value *callee,
                          const struct leat_jinja_arguments *arguments,
                          struct leat_jinja_value *ret) {
    int r;

    r = leat_jinja_heap_enter(&render->heap, render->err);
    if (r < 0)
        return r;
    switch (callee->kind) {
    case LEAT_JINJA_FUNCTION:
        r = leat_jinja_builtin_call(render, callee->function, NULL, arguments, ret);
        break;
    case LEAT_JINJA_METHOD:
        r = callee->method->self.is_safe
                ? leat_jinja_fail(render,
                                  "a method of a text that was marked \"safe\" is not supported")
                : leat_jinja_builtin_call(render, callee->method->builtin, &callee->method->self,
                                          arguments, ret);
        break;
    case LEAT_JINJA_MACRO:
        r = call_macro(render, callee->macro, arguments, ret);
        break;
    case LEAT_JINJA_LOOP:
        r = call_loop(render, callee->loop, arguments, ret);
        break;
    case LEAT_JINJA_JOINER:
        r = call_joiner(render, callee->cycle, arguments, ret);
        break;
    default:
        r = leat_jinja_check_defined(render, callee);
        if (r == 0)
            r = leat_jinja_fail(render, "%s cannot be called", leat_jinja_kind_name(callee));
    }
    leat_jinja_heap_leave(&render->heap);
    return r;
}

/* ---- built-ins */

const struct leat_jinja_builtin *leat_jinja_builtin_find(const struct leat_jinja_builtin *table,
                                                         const char *name, size_t n_bytes) {
    for (; table->name; table++)
        if (strlen(table->name) == n_bytes && memcmp(table->name, name, n_bytes) == 0)
            return table;
    return NULL;
}

int leat_jinja_check_filter(struct leat_jinja_render *render,
                            const struct leat_jinja_builtin *filter,
                            const struct leat_jinja_value *input) {
    if (!input->is_safe || filter->takes_safe)
        return 0;
    return leat_jinja_fail(render,
                           "the filter \"%s\" is not supported for a text that was marked \"safe\"",
                           filter->name);
}

static int bind_keyword(struct leat_jinja_render *render, const struct leat_jinja_builtin *builtin,
                        const struct leat_jinja_keyword *keyword, struct leat_jinja_value *values) {
    size_t n_names = builtin->takes_no_names ? 0 : LEAT_JINJA_ARGUMENTS_MAX;

    for (size_t i = 0; i < n_names && builtin->names[i]; i++) {
        if (!leat_jinja_equals_text(&keyword->name, builtin->names[i], strlen(builtin->names[i])))
            continue;
        if (values[i].kind != LEAT_JINJA_ABSENT)
            return leat_jinja_fail(render, "\"%s\" gets the argument '%s' twice", builtin->name,
                                   builtin->names[i]);
        values[i] = keyword->value;
        return 0;
    }
    return leat_jinja_fail(render, "\"%s\" has no argument '%.*s'", builtin->name,
                           (int)(keyword->name.n_bytes < 64 ? keyword->name.n_bytes : 64),
                           keyword->name.text);
}

int leat_jinja_builtin_call(struct leat_jinja_render *render,
                            const struct leat_jinja_builtin *builtin,
                            const struct leat_jinja_value *self,
                            const struct leat_jinja_arguments *arguments,
                            struct leat_jinja_value *ret) {
    struct leat_jinja_value values[LEAT_JINJA_ARGUMENTS_MAX];
    size_t n_names = 0;
    int r = 0;

    if (builtin->takes_any ||
        (!builtin->names[0] && arguments->n_items + arguments->n_keywords == 0))
        return builtin->call(render, self, NULL, arguments, builtin->variant, ret);
    while (n_names < LEAT_JINJA_ARGUMENTS_MAX && builtin->names[n_names])
        n_names++;
    if (arguments->n_items > n_names)
        return leat_jinja_fail(render, "\"%s\" takes at most %zu arguments, not %zu", builtin->name,
                               n_names, arguments->n_items);
    for (size_t i = 0; i < n_names; i++)
        values[i] = i < arguments->n_items ? arguments->items[i]
                                           : (struct leat_jinja_value){.kind = LEAT_JINJA_ABSENT};
    for (size_t i = 0; r == 0 && i < arguments->n_keywords; i++)
        r = bind_keyword(render, builtin, &arguments->keywords[i], values);
    for (size_t i = 0; r == 0 && i < builtin->n_required; i++)
        if (values[i].kind == LEAT_JINJA_ABSENT)
            r = leat_jinja_fail(render, "\"%s\" needs the argument '%s'", builtin->name,
                                builtin->names[i]);
    return r < 0 ? r : builtin->call(render, self, values, arguments, builtin->variant, ret);
}
