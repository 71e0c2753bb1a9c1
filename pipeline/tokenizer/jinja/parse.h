/* parse.h: what the files of the parser have in common (parser.h is for users). Functions return
 * NULL, or a negative errno, once the error is set. */
#pragma once

#include "pipeline/tokenizer/jinja/lexer.h"
#include "pipeline/tokenizer/jinja/syntax.h"

struct leat_jinja_parser {
    struct leat_jinja_template *template;
    struct leat_error *err;
    const struct leat_jinja_token *at;
    size_t depth;
    size_t n_inner; /* inner blocks around this place: those with variables of their own */
    size_t n_ifs;   /* `if` around it */
    size_t n_loops; /* loops around this place that `break` can leave */
    size_t n_fors;  /* all loops around it, with their `else` */
    struct leat_jinja_macro_node *macro;
};

typedef struct leat_jinja_node *(*leat_jinja_parse_fn)(struct leat_jinja_parser *parser);

/* parse.c */
__attribute__((format(printf, 3, 4))) struct leat_jinja_node *
leat_jinja_parse_fail_at(struct leat_jinja_parser *parser, const struct leat_jinja_token *token,
                         const char *format, ...);
struct leat_jinja_node *leat_jinja_parse_fail_memory(struct leat_jinja_parser *parser);
struct leat_jinja_node *leat_jinja_parse_fail_unexpected(struct leat_jinja_parser *parser,
                                                         const char *wanted);
bool leat_jinja_parse_is_op(const struct leat_jinja_parser *parser, int op);
bool leat_jinja_parse_is_word(const struct leat_jinja_token *token, const char *word);
bool leat_jinja_parse_skip_op(struct leat_jinja_parser *parser, int op);
bool leat_jinja_parse_skip_word(struct leat_jinja_parser *parser, const char *word);
int leat_jinja_parse_expect_op(struct leat_jinja_parser *parser, int op, const char *name);
int leat_jinja_parse_expect_kind(struct leat_jinja_parser *parser, enum leat_jinja_token_kind kind,
                                 const char *name);
struct leat_jinja_node *leat_jinja_parse_node_new(struct leat_jinja_parser *parser,
                                                  enum leat_jinja_node_kind kind,
                                                  const struct leat_jinja_token *token);
int leat_jinja_parse_nodes_add(struct leat_jinja_parser *parser, struct leat_jinja_nodes *nodes,
                               struct leat_jinja_node *node);
/* Begins nested syntax; the caller decrements parser->depth. */
bool leat_jinja_parse_enter(struct leat_jinja_parser *parser);
int leat_jinja_parse_intern(struct leat_jinja_parser *parser, struct leat_jinja_value name,
                            uint32_t *ret_symbol);
/* Notes that the symbol is used here. */
void leat_jinja_parse_note_use(const struct leat_jinja_parser *parser, uint32_t symbol,
                               bool is_set);
struct leat_jinja_node *leat_jinja_parse_name_node(struct leat_jinja_parser *parser);
struct leat_jinja_node *leat_jinja_parse_const_node(struct leat_jinja_parser *parser,
                                                    const struct leat_jinja_token *token,
                                                    struct leat_jinja_value value);

/* parse_expression.c */
/* One expression, or a tuple of several. is_explicit: `()` is a tuple. */
struct leat_jinja_node *leat_jinja_parse_tuple(struct leat_jinja_parser *parser,
                                               leat_jinja_parse_fn parse, bool is_explicit);
struct leat_jinja_node *leat_jinja_parse_expression(struct leat_jinja_parser *parser);
/* An expression without a condition. */
struct leat_jinja_node *leat_jinja_parse_or(struct leat_jinja_parser *parser);
/* input: NULL for the filters of a block. */
struct leat_jinja_node *leat_jinja_parse_filter(struct leat_jinja_parser *parser,
                                                struct leat_jinja_node *input);
/* Parses the name or number behind the dot of an object. */
struct leat_jinja_node *leat_jinja_parse_attribute(struct leat_jinja_parser *parser,
                                                   struct leat_jinja_node *object);
