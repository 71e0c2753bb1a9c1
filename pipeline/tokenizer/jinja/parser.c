/* parser.c: statements, by the grammar of jinja2 3.1, with `break`, `continue` and `generation`,
 * which transformers adds. */
#include "pipeline/tokenizer/jinja/parser.h"

#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/parse.h"

static int parse_body(struct leat_jinja_parser *parser, const char *const *ends,
                      struct leat_jinja_nodes *ret_nodes);

/* A name that can get a value. */
static struct leat_jinja_node *parse_parameter(struct leat_jinja_parser *parser) {
    static const char *const constants[] = {"true", "True", "false", "False", "none", "None"};

    for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
        if (leat_jinja_parse_is_word(parser->at, constants[i]))
            return leat_jinja_parse_fail_at(parser, parser->at, "cannot assign a value to `%s`",
                                            constants[i]);
    return leat_jinja_parse_name_node(parser);
}

/* A name that `for` or `set` gives a value. */
static struct leat_jinja_node *parse_target(struct leat_jinja_parser *parser) {
    if (parser->n_fors && leat_jinja_parse_is_word(parser->at, "loop"))
        return leat_jinja_parse_fail_at(parser, parser->at,
                                        "cannot assign a value to `loop` in a "
                                        "loop");
    return parse_parameter(parser);
}

/* A name, or an attribute of a namespace. */
static struct leat_jinja_node *parse_place(struct leat_jinja_parser *parser) {
    struct leat_jinja_node *name;

    if (parser->at[1].kind != LEAT_JINJA_T_OP || parser->at[1].op != '.')
        return parse_target(parser);
    name = leat_jinja_parse_name_node(parser);
    if (!name)
        return NULL;
    parser->at++;
    return leat_jinja_parse_attribute(parser, name);
}

static int end_tag(struct leat_jinja_parser *parser) {
    return leat_jinja_parse_expect_kind(parser, LEAT_JINJA_T_BLOCK_END, "the end of the tag");
}

/* The statements up to one of `ends`, the last of which ends the block: it is passed. */
static int parse_block(struct leat_jinja_parser *parser, const char *end,
                       struct leat_jinja_nodes *ret_nodes) {
    const char *const ends[] = {end, NULL};
    int r = parse_body(parser, ends, ret_nodes);

    if (r == 0)
        parser->at++;
    return r;
}

/* The same, of a block with variables of its own. */
static int parse_inner_block(struct leat_jinja_parser *parser, const char *end,
                             struct leat_jinja_nodes *ret_nodes) {
    int r;

    parser->n_inner++;
    r = parse_block(parser, end, ret_nodes);
    parser->n_inner--;
    return r;
}

static struct leat_jinja_node *parse_for(struct leat_jinja_parser *parser,
                                         const struct leat_jinja_token *token) {
    static const char *const ends[] = {"endfor", "else", NULL};
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_FOR, token);

    if (!node)
        return NULL;
    parser->n_fors++;
    node->a = leat_jinja_parse_tuple(parser, parse_target, false);
    if (!node->a)
        return NULL;
    if (!leat_jinja_parse_skip_word(parser, "in"))
        return leat_jinja_parse_fail_unexpected(parser, "\"in\"");
    node->b = leat_jinja_parse_tuple(parser, leat_jinja_parse_or, false);
    if (!node->b)
        return NULL;
    parser->n_inner++;
    if (leat_jinja_parse_skip_word(parser, "if")) {
        node->c = leat_jinja_parse_expression(parser);
        if (!node->c)
            return NULL;
    }
    node->flag = leat_jinja_parse_skip_word(parser, "recursive");
    parser->n_loops++;
    if (parse_body(parser, ends, &node->list) < 0)
        return NULL;
    parser->n_loops--;
    if (!leat_jinja_parse_skip_word(parser, "endfor")) {
        parser->at++;
        if (parse_block(parser, "endfor", &node->other) < 0)
            return NULL;
    }
    parser->n_fors--;
    parser->n_inner--;
    return node;
}

static struct leat_jinja_node *parse_if(struct leat_jinja_parser *parser,
                                        const struct leat_jinja_token *token) {
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    struct leat_jinja_node *first = leat_jinja_parse_node_new(parser, LEAT_JINJA_IF, token),
                           *node = first;

    parser->n_ifs++;
    while (node) {
        node->a = leat_jinja_parse_tuple(parser, leat_jinja_parse_or, false);
        if (!node->a || parse_body(parser, ends, &node->list) < 0)
            return NULL;
        token = parser->at++;
        if (leat_jinja_parse_is_word(token, "endif") ||
            (leat_jinja_parse_is_word(token, "else") &&
             parse_block(parser, "endif", &node->other) == 0)) {
            parser->n_ifs--;
            return first;
        }
        if (leat_jinja_parse_is_word(token, "else"))
            return NULL;
        if (leat_jinja_parse_nodes_add(parser, &node->other,
                                       leat_jinja_parse_node_new(parser, LEAT_JINJA_IF, token)) < 0)
            return NULL;
        node = node->other.items[0];
    }
    return NULL;
}

/* A list of filters, as `a` of one another. The first has none. */
static struct leat_jinja_node *parse_block_filters(struct leat_jinja_parser *parser) {
    struct leat_jinja_node *node = leat_jinja_parse_filter(parser, NULL);

    while (node && leat_jinja_parse_skip_op(parser, '|'))
        node = leat_jinja_parse_filter(parser, node);
    return node;
}

static void note_targets(const struct leat_jinja_parser *parser,
                         const struct leat_jinja_node *target) {
    if (target->kind == LEAT_JINJA_NAME)
        leat_jinja_parse_note_use(parser, target->symbol, true);
    else if (target->kind == LEAT_JINJA_ATTRIBUTE)
        leat_jinja_parse_note_use(parser, target->a->symbol, false);
    else
        for (size_t i = 0; i < target->list.n_items; i++)
            note_targets(parser, target->list.items[i]);
}

static struct leat_jinja_node *parse_set(struct leat_jinja_parser *parser,
                                         const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_SET, token);

    if (!node)
        return NULL;
    node->a = leat_jinja_parse_tuple(parser, parse_place, false);
    if (!node->a)
        return NULL;
    if (leat_jinja_parse_skip_op(parser, '=')) {
        node->b = leat_jinja_parse_tuple(parser, leat_jinja_parse_expression, false);
        note_targets(parser, node->a);
        return node->b ? node : NULL;
    }
    note_targets(parser, node->a);
    node->kind = LEAT_JINJA_SET_BLOCK;
    if (node->a->kind == LEAT_JINJA_TUPLE_OF)
        return leat_jinja_parse_fail_unexpected(parser, "\"=\"");
    if (leat_jinja_parse_skip_op(parser, '|')) {
        node->b = parse_block_filters(parser);
        if (!node->b)
            return NULL;
    }
    return parse_inner_block(parser, "endset", &node->list) == 0 ? node : NULL;
}

/* The last parameter must have a name of its own. */
static int check_parameter(struct leat_jinja_parser *parser,
                           const struct leat_jinja_macro_node *macro) {
    size_t last = macro->parameters.n_items - 1;
    uint32_t symbol = macro->parameters.items[last]->symbol;
    bool is_double = false;

    for (size_t i = 0; i < last; i++)
        is_double |= macro->parameters.items[i]->symbol == symbol;
    if (is_double)
        (void)leat_jinja_parse_fail_at(parser, parser->at, "two parameters have the same name");
    else if (symbol == LEAT_JINJA_SYMBOL_CALLER && !leat_jinja_parse_is_op(parser, '='))
        (void)leat_jinja_parse_fail_at(parser, parser->at,
                                       "the parameter `caller` must have a default");
    return parser->err->code;
}

static int parse_parameters(struct leat_jinja_parser *parser, struct leat_jinja_macro_node *macro) {
    bool is_first = true;
    int r = leat_jinja_parse_expect_op(parser, '(', "\"(\"");

    while (r == 0 && !leat_jinja_parse_is_op(parser, ')')) {
        if (!is_first)
            r = leat_jinja_parse_expect_op(parser, ',', "a comma");
        if (r == 0)
            r = leat_jinja_parse_nodes_add(parser, &macro->parameters, parse_parameter(parser));
        if (r == 0)
            r = check_parameter(parser, macro);
        if (r == 0 && leat_jinja_parse_skip_op(parser, '=')) {
            r = leat_jinja_parse_nodes_add(parser, &macro->defaults,
                                           leat_jinja_parse_expression(parser));
        } else if (r == 0 && macro->defaults.n_items) {
            (void)leat_jinja_parse_fail_at(
                parser, parser->at,
                "parameters without a default must come before parameters with a default");
            r = -EINVAL;
        }
        is_first = false;
    }
    if (r == 0)
        parser->at++;
    return r;
}

/* Parses parameters and body of a macro or of a `call` block. */
static struct leat_jinja_macro_node *macro_new(struct leat_jinja_parser *parser) {
    struct leat_jinja_macro_node *macro =
        leat_jinja_heap_alloc(&parser->template->heap, sizeof(*macro));

    if (macro)
        *macro = (struct leat_jinja_macro_node){.symbol = 0};
    else
        (void)leat_jinja_parse_fail_memory(parser);
    return macro;
}

static int parse_macro_body(struct leat_jinja_parser *parser, struct leat_jinja_macro_node *macro,
                            const char *end) {
    struct leat_jinja_macro_node *outer = parser->macro;
    size_t n_loops = parser->n_loops;
    int r;

    parser->macro = macro;
    parser->n_loops = 0;
    r = parse_inner_block(parser, end, &macro->body);
    parser->n_loops = n_loops;
    parser->macro = outer;
    for (size_t i = 0; i < macro->parameters.n_items;
         i++) { /* a parameter of such a name is plain */
        macro->reads_varargs &= macro->parameters.items[i]->symbol != LEAT_JINJA_SYMBOL_VARARGS;
        macro->reads_kwargs &= macro->parameters.items[i]->symbol != LEAT_JINJA_SYMBOL_KWARGS;
    }
    return r;
}

static struct leat_jinja_node *parse_macro(struct leat_jinja_parser *parser,
                                           const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_MACRO_OF, token),
                           *name;

    if (!node)
        return NULL;
    name = parse_parameter(parser);
    node->macro = name ? macro_new(parser) : NULL;
    if (!node->macro)
        return NULL;
    node->macro->symbol = name->symbol;
    node->macro->name = name->value;
    leat_jinja_parse_note_use(parser, name->symbol, true);
    parser->n_inner++;
    if (parse_parameters(parser, node->macro) < 0 ||
        parse_macro_body(parser, node->macro, "endmacro") < 0)
        return NULL;
    parser->n_inner--;
    return node;
}

static struct leat_jinja_node *parse_call_block(struct leat_jinja_parser *parser,
                                                const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_CALL_BLOCK, token);

    if (!node)
        return NULL;
    node->macro = macro_new(parser);
    if (!node->macro)
        return NULL;
    node->macro->name = leat_jinja_string("caller", 6);
    node->macro->name.kind = LEAT_JINJA_NONE; /* of the text, only messages speak */
    if (leat_jinja_parse_is_op(parser, '(') && parse_parameters(parser, node->macro) < 0)
        return NULL;
    node->a = leat_jinja_parse_expression(parser);
    if (!node->a)
        return NULL;
    if (node->a->kind != LEAT_JINJA_CALL)
        return leat_jinja_parse_fail_at(parser, token, "`call` must call a macro");
    return parse_macro_body(parser, node->macro, "endcall") == 0 ? node : NULL;
}

static struct leat_jinja_node *parse_filter_block(struct leat_jinja_parser *parser,
                                                  const struct leat_jinja_token *token) {
    struct leat_jinja_node *node =
        leat_jinja_parse_node_new(parser, LEAT_JINJA_FILTER_BLOCK, token);

    if (!node)
        return NULL;
    node->b = parse_block_filters(parser);
    return node->b && parse_inner_block(parser, "endfilter", &node->list) == 0 ? node : NULL;
}

static struct leat_jinja_node *parse_with(struct leat_jinja_parser *parser,
                                          const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_WITH, token);

    if (!node)
        return NULL;
    while (parser->at->kind != LEAT_JINJA_T_BLOCK_END) {
        if (node->other.n_items && leat_jinja_parse_expect_op(parser, ',', "a comma") < 0)
            return NULL;
        if (leat_jinja_parse_nodes_add(parser, &node->other, parse_parameter(parser)) < 0 ||
            leat_jinja_parse_expect_op(parser, '=', "\"=\"") < 0 ||
            leat_jinja_parse_nodes_add(parser, &node->other, leat_jinja_parse_expression(parser)) <
                0)
            return NULL;
    }
    return parse_inner_block(parser, "endwith", &node->list) == 0 ? node : NULL;
}

static struct leat_jinja_node *parse_generation(struct leat_jinja_parser *parser,
                                                const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_GENERATION, token);
    size_t n_loops = parser->n_loops;

    if (!node)
        return NULL;
    parser->n_loops = 0; /* its body is a macro's in jinja2: `break` cannot leave it */
    if (parse_inner_block(parser, "endgeneration", &node->list) < 0)
        return NULL;
    parser->n_loops = n_loops;
    return node;
}

static struct leat_jinja_node *parse_jump(struct leat_jinja_parser *parser,
                                          const struct leat_jinja_token *token) {
    if (parser->n_loops == 0)
        return leat_jinja_parse_fail_at(parser, token, "`%.*s` is outside a loop",
                                        (int)token->value.n_bytes, token->value.text);
    return leat_jinja_parse_node_new(
        parser, leat_jinja_parse_is_word(token, "break") ? LEAT_JINJA_BREAK : LEAT_JINJA_CONTINUE,
        token);
}

static struct leat_jinja_node *parse_statement(struct leat_jinja_parser *parser) {
    static const struct {
        const char *word;
        struct leat_jinja_node *(*parse)(struct leat_jinja_parser *,
                                         const struct leat_jinja_token *);
    } statements[] = {
        {"for", parse_for},
        {"if", parse_if},
        {"set", parse_set},
        {"macro", parse_macro},
        {"with", parse_with},
        {"call", parse_call_block},
        {"break", parse_jump},
        {"continue", parse_jump},
        {"filter", parse_filter_block},
        {"generation", parse_generation},
    };
    const struct leat_jinja_token *token = parser->at;

    if (token->kind != LEAT_JINJA_T_NAME)
        return leat_jinja_parse_fail_unexpected(parser, "a statement");
    for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
        if (leat_jinja_parse_is_word(token, statements[i].word)) {
            parser->at++;
            return statements[i].parse(parser, token);
        }
    return leat_jinja_parse_fail_at(
        parser, token, "the statement \"%.*s\" is unknown or not supported",
        (int)(token->value.n_bytes < 64 ? token->value.n_bytes : 64), token->value.text);
}

static struct leat_jinja_node *parse_print(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_PRINT, token);

    if (!node)
        return NULL;
    node->a = leat_jinja_parse_tuple(parser, leat_jinja_parse_expression, false);
    if (!node->a || leat_jinja_parse_expect_kind(parser, LEAT_JINJA_T_PRINT_END,
                                                 "the end of the expression") < 0)
        return NULL;
    return node;
}

static struct leat_jinja_node *parse_text(struct leat_jinja_parser *parser) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_TEXT, parser->at);

    if (node)
        node->value = parser->at++->value;
    return node;
}

static bool is_end(const struct leat_jinja_parser *parser, const char *const *ends) {
    for (; ends && *ends; ends++)
        if (leat_jinja_parse_is_word(parser->at, *ends))
            return true;
    return false;
}

static int parse_statements(struct leat_jinja_parser *parser, const char *const *ends,
                            struct leat_jinja_nodes *ret_nodes) {
    int r = 0;

    while (r == 0 && parser->at->kind != LEAT_JINJA_T_END) {
        if (parser->at->kind == LEAT_JINJA_T_DATA) {
            r = leat_jinja_parse_nodes_add(parser, ret_nodes, parse_text(parser));
        } else if (parser->at->kind == LEAT_JINJA_T_PRINT_BEGIN) {
            parser->at++;
            r = leat_jinja_parse_nodes_add(parser, ret_nodes, parse_print(parser));
        } else {
            parser->at++;
            if (is_end(parser, ends))
                return 0;
            r = leat_jinja_parse_nodes_add(parser, ret_nodes, parse_statement(parser));
            if (r == 0)
                r = end_tag(parser);
        }
    }
    if (r == 0 && ends) {
        (void)leat_jinja_parse_fail_at(
            parser, parser->at, "expected the tag `%s` before the end of the template", ends[0]);
        r = -EINVAL;
    }
    return r;
}

/* Ends at the word of one of the tags `ends`. */
static int parse_body(struct leat_jinja_parser *parser, const char *const *ends,
                      struct leat_jinja_nodes *ret_nodes) {
    int r;

    (void)leat_jinja_parse_skip_op(parser, ':');
    r = end_tag(parser);
    if (r == 0)
        r = leat_jinja_parse_enter(parser) ? parse_statements(parser, ends, ret_nodes) : -EINVAL;
    parser->depth--;
    return r;
}

/* In the order of LEAT_JINJA_SYMBOL_LOOP and its kin. */
static int intern_own(struct leat_jinja_parser *parser) {
    static const char *const names[LEAT_JINJA_N_SYMBOLS] = {"loop", "caller", "varargs", "kwargs"};
    uint32_t symbol;
    int r = 0;

    for (size_t i = 0; r == 0 && i < LEAT_JINJA_N_SYMBOLS; i++)
        r = leat_jinja_parse_intern(parser, leat_jinja_string(names[i], strlen(names[i])), &symbol);
    return r;
}

int leat_jinja_parse(struct leat_jinja_template *template, size_t n_bytes, struct leat_error *err) {
    struct leat_jinja_parser parser = {.template = template, .err = err};
    struct leat_jinja_token *tokens;
    int r = leat_jinja_lex(&template->heap, template->source, n_bytes, &tokens, err);

    if (r < 0)
        return r;
    parser.at = tokens;
    r = intern_own(&parser);
    return r < 0 ? r : parse_statements(&parser, NULL, &template->body);
}
