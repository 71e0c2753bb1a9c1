/* parse_expression.c: expressions, by the grammar of jinja2 3.1. */
#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/builtin.h"
#include "pipeline/tokenizer/jinja/parse.h"

static struct leat_jinja_node *parse_unary(struct leat_jinja_parser *parser, bool with_filters);

/* A node of one part, and of two; NULL if a part is NULL. */
static struct leat_jinja_node *node_of(struct leat_jinja_parser *parser,
                                       enum leat_jinja_node_kind kind,
                                       const struct leat_jinja_token *token,
                                       struct leat_jinja_node *a) {
    struct leat_jinja_node *node = a ? leat_jinja_parse_node_new(parser, kind, token) : NULL;

    if (node)
        node->a = a;
    return node;
}

static struct leat_jinja_node *node_of_two(struct leat_jinja_parser *parser,
                                           enum leat_jinja_node_kind kind,
                                           const struct leat_jinja_token *token,
                                           struct leat_jinja_node *a, struct leat_jinja_node *b) {
    struct leat_jinja_node *node = b ? node_of(parser, kind, token, a) : NULL;

    if (node)
        node->b = b;
    return node;
}

/* ---- expressions */

static bool is_tuple_end(const struct leat_jinja_parser *parser) {
    return parser->at->kind == LEAT_JINJA_T_PRINT_END ||
           parser->at->kind == LEAT_JINJA_T_BLOCK_END || leat_jinja_parse_is_op(parser, ')');
}

struct leat_jinja_node *leat_jinja_parse_tuple(struct leat_jinja_parser *parser,
                                               leat_jinja_parse_fn parse, bool is_explicit) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_nodes items = {.n_items = 0};
    struct leat_jinja_node *tuple;
    bool is_tuple = false;

    while (true) {
        if (items.n_items > 0 && leat_jinja_parse_expect_op(parser, ',', "a comma") < 0)
            return NULL;
        if (is_tuple_end(parser))
            break;
        if (leat_jinja_parse_nodes_add(parser, &items, parse(parser)) < 0)
            return NULL;
        if (!leat_jinja_parse_is_op(parser, ','))
            break;
        is_tuple = true;
    }
    if (!is_tuple && items.n_items > 0)
        return items.items[0];
    if (!is_tuple && !is_explicit)
        return leat_jinja_parse_fail_unexpected(parser, "an expression");
    tuple = leat_jinja_parse_node_new(parser, LEAT_JINJA_TUPLE_OF, token);
    if (tuple)
        tuple->list = items;
    return tuple;
}

static int parse_keyword(struct leat_jinja_parser *parser, struct leat_jinja_call *call) {
    const struct leat_jinja_token *token = parser->at;

    parser->at += 2;
    if (leat_jinja_parse_nodes_add(parser, &call->names,
                                   leat_jinja_parse_const_node(parser, token, token->value)) < 0)
        return parser->err->code;
    return leat_jinja_parse_nodes_add(parser, &call->keywords, leat_jinja_parse_expression(parser));
}

static int parse_argument(struct leat_jinja_parser *parser, struct leat_jinja_call *call) {
    const struct leat_jinja_token *token = parser->at;
    bool is_keyword = parser->at->kind == LEAT_JINJA_T_NAME &&
                      parser->at[1].kind == LEAT_JINJA_T_OP && parser->at[1].op == '=';

    if (call->star_star || (call->star && leat_jinja_parse_is_op(parser, '*'))) {
        (void)leat_jinja_parse_fail_at(parser, token,
                                       "`*` may occur only once, and no argument "
                                       "may follow `**`");
        return -EINVAL;
    }
    if (leat_jinja_parse_skip_op(parser, LEAT_JINJA_OP('*', '*'))) {
        call->star_star = leat_jinja_parse_expression(parser);
        return call->star_star ? 0 : parser->err->code;
    }
    if (leat_jinja_parse_skip_op(parser, '*')) {
        call->star = leat_jinja_parse_expression(parser);
        return call->star ? 0 : parser->err->code;
    }
    if (is_keyword)
        return parse_keyword(parser, call);
    if (call->keywords.n_items || call->star) {
        (void)leat_jinja_parse_fail_at(
            parser, token, "a positional argument must come before keyword arguments and `*`");
        return -EINVAL;
    }
    return leat_jinja_parse_nodes_add(parser, &call->positional,
                                      leat_jinja_parse_expression(parser));
}

static struct leat_jinja_call *call_new(struct leat_jinja_parser *parser) {
    struct leat_jinja_call *call = leat_jinja_heap_alloc(&parser->template->heap, sizeof(*call));

    if (!call)
        (void)leat_jinja_parse_fail_memory(parser);
    else
        *call = (struct leat_jinja_call){.star = NULL};
    return call;
}

static struct leat_jinja_call *parse_arguments(struct leat_jinja_parser *parser) {
    struct leat_jinja_call *call = call_new(parser);
    bool is_first = true;

    if (!call || leat_jinja_parse_expect_op(parser, '(', "\"(\"") < 0)
        return NULL;
    while (!leat_jinja_parse_is_op(parser, ')')) {
        if (!is_first && leat_jinja_parse_expect_op(parser, ',', "a comma") < 0)
            return NULL;
        if (!is_first && leat_jinja_parse_is_op(parser, ')'))
            break;
        if (parse_argument(parser, call) < 0)
            return NULL;
        is_first = false;
    }
    parser->at++;
    return call;
}

static struct leat_jinja_node *parse_call(struct leat_jinja_parser *parser,
                                          struct leat_jinja_node *callee) {
    struct leat_jinja_node *node = node_of(parser, LEAT_JINJA_CALL, parser->at, callee);

    if (!node)
        return NULL;
    node->call = parse_arguments(parser);
    return node->call ? node : NULL;
}

/* A filter or a test, as `kind` says, and its arguments if they are in brackets. input: NULL for
 * the filters of a block. */
static struct leat_jinja_node *parse_builtin(struct leat_jinja_parser *parser,
                                             enum leat_jinja_node_kind kind,
                                             struct leat_jinja_node *input) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, kind, token);
    bool is_filter = kind == LEAT_JINJA_FILTER;

    if (!node)
        return NULL;
    if (token->kind != LEAT_JINJA_T_NAME)
        return leat_jinja_parse_fail_unexpected(parser, is_filter ? "the name of a filter"
                                                                  : "the name of a test");
    parser->at++;
    node->a = input;
    node->value = token->value;
    node->function = (is_filter ? leat_jinja_filter_find
                                : leat_jinja_test_find)(token->value.text, token->value.n_bytes);
    if (!node->function)
        return leat_jinja_parse_fail_at(
            parser, token, "the %s \"%.*s\" is unknown or not supported",
            is_filter ? "filter" : "test",
            (int)(token->value.n_bytes < 64 ? token->value.n_bytes : 64), token->value.text);
    node->call = leat_jinja_parse_is_op(parser, '(') ? parse_arguments(parser) : call_new(parser);
    return node->call ? node : NULL;
}

struct leat_jinja_node *leat_jinja_parse_filter(struct leat_jinja_parser *parser,
                                                struct leat_jinja_node *input) {
    return parse_builtin(parser, LEAT_JINJA_FILTER, input);
}

static bool starts_test_argument(const struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;

    if (token->kind == LEAT_JINJA_T_OP)
        return token->op == '[' || token->op == '{';
    if (token->kind == LEAT_JINJA_T_NAME)
        return !leat_jinja_parse_is_word(token, "else") && !leat_jinja_parse_is_word(token, "or") &&
               !leat_jinja_parse_is_word(token, "and");
    return token->kind == LEAT_JINJA_T_STRING || token->kind == LEAT_JINJA_T_NUMBER;
}

static struct leat_jinja_node *parse_primary(struct leat_jinja_parser *parser);
static struct leat_jinja_node *parse_postfix(struct leat_jinja_parser *parser,
                                             struct leat_jinja_node *node);

static struct leat_jinja_node *parse_test(struct leat_jinja_parser *parser,
                                          struct leat_jinja_node *input) {
    bool is_negated = leat_jinja_parse_skip_word(parser, "not");
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node = parse_builtin(parser, LEAT_JINJA_TEST, input);

    if (!node)
        return NULL;
    if (token[1].op != '(' && starts_test_argument(parser)) {
        struct leat_jinja_node *argument;

        if (leat_jinja_parse_is_word(parser->at, "is"))
            return leat_jinja_parse_fail_at(parser, parser->at,
                                            "tests with `is` cannot be chained");
        argument = parse_primary(parser);
        if (argument)
            argument = parse_postfix(parser, argument);
        if (leat_jinja_parse_nodes_add(parser, &node->call->positional, argument) < 0)
            return NULL;
    }
    return is_negated ? node_of(parser, LEAT_JINJA_NOT, token, node) : node;
}

static struct leat_jinja_node *parse_subscript_item(struct leat_jinja_parser *parser) {
    struct leat_jinja_node *parts[3] = {NULL, NULL, NULL}, *node;
    const struct leat_jinja_token *token = parser->at;
    size_t n = 0;
    bool is_slice = false;

    while (n < 3) {
        if (!leat_jinja_parse_is_op(parser, ':') && !leat_jinja_parse_is_op(parser, ']') &&
            !leat_jinja_parse_is_op(parser, ',')) {
            parts[n] = leat_jinja_parse_expression(parser);
            if (!parts[n])
                return NULL;
        }
        if (n == 2 || !leat_jinja_parse_skip_op(parser, ':'))
            break;
        is_slice = true;
        n++;
    }
    if (!is_slice)
        return parts[0] ? parts[0] : leat_jinja_parse_fail_unexpected(parser, "an expression");
    node = leat_jinja_parse_node_new(parser, LEAT_JINJA_SLICE, token);
    if (!node)
        return NULL;
    node->b = parts[0];
    node->c = parts[1];
    node->d = parts[2];
    return node;
}

struct leat_jinja_node *leat_jinja_parse_attribute(struct leat_jinja_parser *parser,
                                                   struct leat_jinja_node *object) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node;

    if (token->kind == LEAT_JINJA_T_NUMBER && token->value.kind == LEAT_JINJA_INT) {
        node = node_of_two(parser, LEAT_JINJA_ITEM, token, object,
                           leat_jinja_parse_const_node(parser, token, token->value));
    } else if (token->kind == LEAT_JINJA_T_NAME) {
        node = node_of(parser, LEAT_JINJA_ATTRIBUTE, token, object);
        if (!node)
            return NULL;
        node->value = token->value;
        node->value.is_key = leat_jinja_is_key(token->value.text, token->value.n_bytes);
    } else {
        return leat_jinja_parse_fail_unexpected(parser, "a name");
    }
    parser->at++;
    return node;
}

static struct leat_jinja_node *parse_subscript(struct leat_jinja_parser *parser,
                                               struct leat_jinja_node *object) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *item = parse_subscript_item(parser);

    if (item && leat_jinja_parse_is_op(parser, ','))
        return leat_jinja_parse_fail_at(parser, parser->at,
                                        "a subscript of several values is not supported");
    if (!item || leat_jinja_parse_expect_op(parser, ']', "\"]\"") < 0)
        return NULL;
    if (item->kind == LEAT_JINJA_SLICE && !item->a) {
        item->a = object;
        return item;
    }
    return node_of_two(parser, LEAT_JINJA_ITEM, token, object, item);
}

static struct leat_jinja_node *parse_postfix(struct leat_jinja_parser *parser,
                                             struct leat_jinja_node *node) {
    while (node) {
        if (leat_jinja_parse_skip_op(parser, '.'))
            node = leat_jinja_parse_attribute(parser, node);
        else if (leat_jinja_parse_skip_op(parser, '['))
            node = parse_subscript(parser, node);
        else if (leat_jinja_parse_is_op(parser, '('))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

static struct leat_jinja_node *parse_filters(struct leat_jinja_parser *parser,
                                             struct leat_jinja_node *node) {
    while (node) {
        if (leat_jinja_parse_skip_op(parser, '|'))
            node = leat_jinja_parse_filter(parser, node);
        else if (leat_jinja_parse_skip_word(parser, "is"))
            node = parse_test(parser, node);
        else if (leat_jinja_parse_is_op(parser, '('))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

static int parse_items(struct leat_jinja_parser *parser, int end, bool is_dict,
                       struct leat_jinja_nodes *ret_items) {
    bool is_first = true;
    int r = 0;

    while (r == 0 && !leat_jinja_parse_is_op(parser, end)) {
        if (!is_first)
            r = leat_jinja_parse_expect_op(parser, ',', "a comma");
        if (r < 0 || leat_jinja_parse_is_op(parser, end))
            break;
        r = leat_jinja_parse_nodes_add(parser, ret_items, leat_jinja_parse_expression(parser));
        if (r == 0 && is_dict)
            r = leat_jinja_parse_expect_op(parser, ':', "\":\"");
        if (r == 0 && is_dict)
            r = leat_jinja_parse_nodes_add(parser, ret_items, leat_jinja_parse_expression(parser));
        is_first = false;
    }
    if (r == 0)
        parser->at++;
    return r;
}

/* Texts side by side are one. */
static struct leat_jinja_node *parse_string(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *first = parser->at;
    size_t n = 0;
    char *text;

    if (first[1].kind != LEAT_JINJA_T_STRING) {
        parser->at++;
        return leat_jinja_parse_const_node(parser, first, first->value);
    }
    for (const struct leat_jinja_token *at = first; at->kind == LEAT_JINJA_T_STRING; at++)
        n += at->value.n_bytes;
    text = leat_jinja_heap_alloc(&parser->template->heap, n);
    if (!text)
        return leat_jinja_parse_fail_memory(parser);
    n = 0;
    for (; parser->at->kind == LEAT_JINJA_T_STRING; parser->at++) {
        memcpy(text + n, parser->at->value.text, parser->at->value.n_bytes);
        n += parser->at->value.n_bytes;
    }
    return leat_jinja_parse_const_node(parser, first, leat_jinja_string(text, n));
}

static struct leat_jinja_node *parse_name(struct leat_jinja_parser *parser) {
    static const struct {
        const char *words[2];
        struct leat_jinja_value value;
    } constants[] = {
        {{"true", "True"}, {.kind = LEAT_JINJA_BOOL, .boolean = true}},
        {{"false", "False"}, {.kind = LEAT_JINJA_BOOL, .boolean = false}},
        {{"none", "None"}, {.kind = LEAT_JINJA_NONE}},
    };
    struct leat_jinja_node *node;

    for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
        if (leat_jinja_parse_is_word(parser->at, constants[i].words[0]) ||
            leat_jinja_parse_is_word(parser->at, constants[i].words[1]))
            return leat_jinja_parse_const_node(parser, parser->at++, constants[i].value);
    node = leat_jinja_parse_name_node(parser);
    if (node)
        leat_jinja_parse_note_use(parser, node->symbol, false);
    return node;
}

static struct leat_jinja_node *parse_primary(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node;

    if (token->kind == LEAT_JINJA_T_NAME)
        return parse_name(parser);
    if (token->kind == LEAT_JINJA_T_STRING)
        return parse_string(parser);
    if (token->kind == LEAT_JINJA_T_NUMBER)
        return leat_jinja_parse_const_node(parser, parser->at++, token->value);
    if (leat_jinja_parse_skip_op(parser, '(')) {
        node = leat_jinja_parse_tuple(parser, leat_jinja_parse_expression, true);
        return node && leat_jinja_parse_expect_op(parser, ')', "\")\"") == 0 ? node : NULL;
    }
    if (leat_jinja_parse_skip_op(parser, '[') || leat_jinja_parse_skip_op(parser, '{')) {
        bool is_dict = token->op == '{';

        node = leat_jinja_parse_node_new(parser, is_dict ? LEAT_JINJA_DICT_OF : LEAT_JINJA_LIST_OF,
                                         token);
        if (!node || parse_items(parser, is_dict ? '}' : ']', is_dict, &node->list) < 0)
            return NULL;
        return node;
    }
    return leat_jinja_parse_fail_unexpected(parser, "an expression");
}

static struct leat_jinja_node *parse_signed(struct leat_jinja_parser *parser, bool with_filters) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node;

    if (leat_jinja_parse_skip_op(parser, '-') || leat_jinja_parse_skip_op(parser, '+'))
        node = node_of(parser, token->op == '-' ? LEAT_JINJA_NEGATIVE : LEAT_JINJA_POSITIVE, token,
                       parse_unary(parser, false));
    else
        node = parse_primary(parser);
    node = parse_postfix(parser, node);
    return with_filters ? parse_filters(parser, node) : node;
}

static struct leat_jinja_node *parse_unary(struct leat_jinja_parser *parser, bool with_filters) {
    struct leat_jinja_node *node =
        leat_jinja_parse_enter(parser) ? parse_signed(parser, with_filters) : NULL;

    parser->depth--;
    return node;
}

/* The operators of one level of precedence, which bind to the left. */
struct level {
    const int *ops;
    const uint8_t *codes;
    size_t n;
};

static struct leat_jinja_node *parse_level(struct leat_jinja_parser *parser,
                                           const struct level *level, leat_jinja_parse_fn parse) {
    struct leat_jinja_node *left = parse(parser);

    for (size_t i = 0; left && i < level->n; i++) {
        const struct leat_jinja_token *token = parser->at;

        if (!leat_jinja_parse_skip_op(parser, level->ops[i]))
            continue;
        left = node_of_two(parser, LEAT_JINJA_ARITHMETIC, token, left, parse(parser));
        if (left)
            left->op = level->codes[i];
        i = SIZE_MAX; /* the same level again */
    }
    return left;
}

static struct leat_jinja_node *parse_operand(struct leat_jinja_parser *parser) {
    return parse_unary(parser, true);
}

static struct leat_jinja_node *parse_power(struct leat_jinja_parser *parser) {
    static const int ops[] = {LEAT_JINJA_OP('*', '*')};
    static const uint8_t codes[] = {LEAT_JINJA_POW};

    return parse_level(parser, &(struct level){ops, codes, 1}, parse_operand);
}

static struct leat_jinja_node *parse_product(struct leat_jinja_parser *parser) {
    static const int ops[] = {'*', '/', LEAT_JINJA_OP('/', '/'), '%'};
    static const uint8_t codes[] = {LEAT_JINJA_MUL, LEAT_JINJA_DIV, LEAT_JINJA_FLOOR_DIV,
                                    LEAT_JINJA_MOD};

    return parse_level(parser, &(struct level){ops, codes, 4}, parse_power);
}

static struct leat_jinja_node *parse_concat(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *first = parse_product(parser), *node;

    if (!first || !leat_jinja_parse_is_op(parser, '~'))
        return first;
    node = leat_jinja_parse_node_new(parser, LEAT_JINJA_CONCAT, token);
    if (!node || leat_jinja_parse_nodes_add(parser, &node->list, first) < 0)
        return NULL;
    while (leat_jinja_parse_skip_op(parser, '~'))
        if (leat_jinja_parse_nodes_add(parser, &node->list, parse_product(parser)) < 0)
            return NULL;
    return node;
}

static struct leat_jinja_node *parse_sum(struct leat_jinja_parser *parser) {
    static const int ops[] = {'+', '-'};
    static const uint8_t codes[] = {LEAT_JINJA_ADD, LEAT_JINJA_SUB};

    return parse_level(parser, &(struct level){ops, codes, 2}, parse_concat);
}

static bool skip_comparison(struct leat_jinja_parser *parser, uint8_t *ret_op) {
    static const struct {
        int op;
        uint8_t code;
    } ops[] = {{LEAT_JINJA_OP('=', '='), LEAT_JINJA_EQ},
               {LEAT_JINJA_OP('!', '='), LEAT_JINJA_NE},
               {LEAT_JINJA_OP('>', '='), LEAT_JINJA_GE},
               {LEAT_JINJA_OP('<', '='), LEAT_JINJA_LE},
               {'>', LEAT_JINJA_GT},
               {'<', LEAT_JINJA_LT}};

    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (leat_jinja_parse_skip_op(parser, ops[i].op)) {
            *ret_op = ops[i].code;
            return true;
        }
    if (leat_jinja_parse_skip_word(parser, "in")) {
        *ret_op = LEAT_JINJA_IN;
        return true;
    }
    if (leat_jinja_parse_is_word(parser->at, "not") &&
        leat_jinja_parse_is_word(parser->at + 1, "in")) {
        parser->at += 2;
        *ret_op = LEAT_JINJA_NOT_IN;
        return true;
    }
    return false;
}

static struct leat_jinja_node *parse_comparison(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *first = parse_sum(parser), *node = NULL;
    uint8_t op;

    while (first && (token = parser->at, skip_comparison(parser, &op))) {
        struct leat_jinja_node *operand =
            node_of(parser, LEAT_JINJA_OPERAND, token, parse_sum(parser));

        if (!operand)
            return NULL;
        operand->op = op;
        if (!node)
            node = node_of(parser, LEAT_JINJA_COMPARE, token, first);
        if (!node || leat_jinja_parse_nodes_add(parser, &node->list, operand) < 0)
            return NULL;
    }
    return node ? node : first;
}

static struct leat_jinja_node *parse_not(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node;

    if (!leat_jinja_parse_skip_word(parser, "not"))
        return parse_comparison(parser);
    node = leat_jinja_parse_enter(parser) ? parse_not(parser) : NULL;
    parser->depth--;
    return node_of(parser, LEAT_JINJA_NOT, token, node);
}

static struct leat_jinja_node *parse_logical(struct leat_jinja_parser *parser, const char *word,
                                             enum leat_jinja_node_kind kind,
                                             leat_jinja_parse_fn parse) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *left = parse(parser);

    while (left && (token = parser->at, leat_jinja_parse_skip_word(parser, word)))
        left = node_of_two(parser, kind, token, left, parse(parser));
    return left;
}

static struct leat_jinja_node *parse_and(struct leat_jinja_parser *parser) {
    return parse_logical(parser, "and", LEAT_JINJA_AND, parse_not);
}

struct leat_jinja_node *leat_jinja_parse_or(struct leat_jinja_parser *parser) {
    return parse_logical(parser, "or", LEAT_JINJA_OR, parse_and);
}

static struct leat_jinja_node *parse_condition(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *left = leat_jinja_parse_or(parser);

    while (left && (token = parser->at, leat_jinja_parse_skip_word(parser, "if"))) {
        left = node_of_two(parser, LEAT_JINJA_CONDITION, token, left, leat_jinja_parse_or(parser));
        if (left && leat_jinja_parse_skip_word(parser, "else")) {
            left->c = leat_jinja_parse_expression(parser);
            if (!left->c)
                return NULL;
        }
    }
    return left;
}

struct leat_jinja_node *leat_jinja_parse_expression(struct leat_jinja_parser *parser) {
    struct leat_jinja_node *node = leat_jinja_parse_enter(parser) ? parse_condition(parser) : NULL;

    parser->depth--;
    return node;
}
