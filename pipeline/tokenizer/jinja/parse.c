#include "pipeline/tokenizer/jinja/parse.h"

#include <errno.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/builtin.h"

__attribute__((format(printf, 3, 4))) struct leat_jinja_node *
leat_jinja_parse_fail_at(struct leat_jinja_parser *parser, const struct leat_jinja_token *token,
                         const char *format, ...) {
    va_list ap;

    if (parser->err->code == 0) {
        va_start(ap, format);
        (void)leat_error_setv(parser->err, -EINVAL, format, ap);
        va_end(ap);
        leat_error_locate(parser->err, NULL, token->line, token->column);
    }
    return NULL;
}

struct leat_jinja_node *leat_jinja_parse_fail_memory(struct leat_jinja_parser *parser) {
    (void)leat_jinja_heap_error(&parser->template->heap, parser->err);
    return NULL;
}

bool leat_jinja_parse_is_op(const struct leat_jinja_parser *parser, int op) {
    return parser->at->kind == LEAT_JINJA_T_OP && parser->at->op == op;
}

bool leat_jinja_parse_is_word(const struct leat_jinja_token *token, const char *word) {
    return token->kind == LEAT_JINJA_T_NAME &&
           leat_jinja_equals_text(&token->value, word, strlen(word));
}

bool leat_jinja_parse_skip_op(struct leat_jinja_parser *parser, int op) {
    if (!leat_jinja_parse_is_op(parser, op))
        return false;
    parser->at++;
    return true;
}

bool leat_jinja_parse_skip_word(struct leat_jinja_parser *parser, const char *word) {
    if (!leat_jinja_parse_is_word(parser->at, word))
        return false;
    parser->at++;
    return true;
}

struct leat_jinja_node *leat_jinja_parse_fail_unexpected(struct leat_jinja_parser *parser,
                                                         const char *wanted) {
    const struct leat_jinja_token *token = parser->at;

    switch (token->kind) {
    case LEAT_JINJA_T_NAME:
        return leat_jinja_parse_fail_at(
            parser, token, "expected %s, found \"%.*s\"", wanted,
            (int)(token->value.n_bytes < 64 ? token->value.n_bytes : 64), token->value.text);
    case LEAT_JINJA_T_OP:
        return leat_jinja_parse_fail_at(parser, token, "expected %s, found \"%c%c\"", wanted,
                                        token->op > 0xff ? token->op >> 8 : token->op,
                                        token->op > 0xff ? token->op & 0xff : ' ');
    case LEAT_JINJA_T_BLOCK_END:
    case LEAT_JINJA_T_PRINT_END:
        return leat_jinja_parse_fail_at(parser, token, "expected %s before the end of the tag",
                                        wanted);
    case LEAT_JINJA_T_END:
        return leat_jinja_parse_fail_at(parser, token, "expected %s before the end of the template",
                                        wanted);
    default:
        return leat_jinja_parse_fail_at(parser, token, "expected %s", wanted);
    }
}

int leat_jinja_parse_expect_op(struct leat_jinja_parser *parser, int op, const char *name) {
    if (leat_jinja_parse_skip_op(parser, op))
        return 0;
    (void)leat_jinja_parse_fail_unexpected(parser, name);
    return -EINVAL;
}

int leat_jinja_parse_expect_kind(struct leat_jinja_parser *parser, enum leat_jinja_token_kind kind,
                                 const char *name) {
    if (parser->at->kind != kind) {
        (void)leat_jinja_parse_fail_unexpected(parser, name);
        return -EINVAL;
    }
    parser->at++;
    return 0;
}

struct leat_jinja_node *leat_jinja_parse_node_new(struct leat_jinja_parser *parser,
                                                  enum leat_jinja_node_kind kind,
                                                  const struct leat_jinja_token *token) {
    struct leat_jinja_node *node = leat_jinja_heap_alloc(&parser->template->heap, sizeof(*node));

    if (!node)
        return leat_jinja_parse_fail_memory(parser);
    *node = (struct leat_jinja_node){
        .kind = (uint8_t)kind, .line = token->line, .column = token->column};
    return node;
}

int leat_jinja_parse_nodes_add(struct leat_jinja_parser *parser, struct leat_jinja_nodes *nodes,
                               struct leat_jinja_node *node) {
    if (!node)
        return parser->err->code;
    if (!leat_jinja_heap_grow(&parser->template->heap, &nodes->items,
                              sizeof(struct leat_jinja_node *), nodes->n_items, &nodes->capacity))
        return leat_jinja_heap_error(&parser->template->heap, parser->err);
    nodes->items[nodes->n_items++] = node;
    return 0;
}

bool leat_jinja_parse_enter(struct leat_jinja_parser *parser) {
    if (++parser->depth <= LEAT_JINJA_DEPTH_MAX)
        return true;
    (void)leat_jinja_parse_fail_at(parser, parser->at, "the template nests more than %d levels",
                                   LEAT_JINJA_DEPTH_MAX);
    return false;
}
/* ---- names */

int leat_jinja_parse_intern(struct leat_jinja_parser *parser, struct leat_jinja_value name,
                            uint32_t *ret_symbol) {
    struct leat_jinja_template *template = parser->template;

    if (leat_jinja_find_symbol(template, name.text, name.n_bytes, ret_symbol))
        return 0;
    if (!leat_jinja_heap_grow(&template->heap, &template->symbols, sizeof(*template->symbols),
                              template->n_symbols, &template->symbols_capacity))
        return leat_jinja_heap_error(&template->heap, parser->err);
    *ret_symbol = (uint32_t) template->n_symbols;
    template->symbols[template->n_symbols++] = (struct leat_jinja_symbol){
        .name = name, .function = leat_jinja_function_find(name.text, name.n_bytes)};
    return 0;
}

/* A name that only one branch of an `if` sets keeps its value in the other branches. */
void leat_jinja_parse_note_use(const struct leat_jinja_parser *parser, uint32_t symbol,
                               bool is_set) {
    struct leat_jinja_symbol *used = &parser->template->symbols[symbol];

    if (parser->macro && !is_set) {
        parser->macro->reads_varargs |= symbol == LEAT_JINJA_SYMBOL_VARARGS;
        parser->macro->reads_kwargs |= symbol == LEAT_JINJA_SYMBOL_KWARGS;
        parser->macro->reads_caller |= symbol == LEAT_JINJA_SYMBOL_CALLER;
    }
    if (parser->n_inner || used->use != LEAT_JINJA_NOT_USED)
        return;
    used->use = is_set && !parser->n_ifs ? LEAT_JINJA_SET_FIRST : LEAT_JINJA_READ;
    if (used->use == LEAT_JINJA_SET_FIRST)
        used->function = NULL;
}

struct leat_jinja_node *leat_jinja_parse_name_node(struct leat_jinja_parser *parser) {
    const struct leat_jinja_token *token = parser->at;
    struct leat_jinja_node *node;

    if (token->kind != LEAT_JINJA_T_NAME)
        return leat_jinja_parse_fail_unexpected(parser, "a name");
    node = leat_jinja_parse_node_new(parser, LEAT_JINJA_NAME, token);
    if (!node || leat_jinja_parse_intern(parser, token->value, &node->symbol) < 0)
        return NULL;
    node->value = token->value;
    parser->at++;
    return node;
}

struct leat_jinja_node *leat_jinja_parse_const_node(struct leat_jinja_parser *parser,
                                                    const struct leat_jinja_token *token,
                                                    struct leat_jinja_value value) {
    struct leat_jinja_node *node = leat_jinja_parse_node_new(parser, LEAT_JINJA_CONST, token);

    if (!node)
        return NULL;
    node->value = value;
    node->value.is_key =
        value.kind == LEAT_JINJA_STRING && leat_jinja_is_key(value.text, value.n_bytes);
    return node;
}
