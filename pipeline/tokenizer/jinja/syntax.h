/* syntax.h: a template as a tree. Its nodes, names and texts are in the memory of the compiled
 * template, which is immutable: any thread may render it. */
#pragma once

#include "pipeline/tokenizer/jinja/value.h"

enum leat_jinja_node_kind {
    /* expressions */
    LEAT_JINJA_CONST,     /* value */
    LEAT_JINJA_NAME,      /* symbol; value: its text */
    LEAT_JINJA_LIST_OF,   /* list: items */
    LEAT_JINJA_TUPLE_OF,  /* list: items */
    LEAT_JINJA_DICT_OF,   /* list: key, value, key, value ... */
    LEAT_JINJA_CONDITION, /* a if b else c; c may be NULL */
    LEAT_JINJA_OR,        /* a or b */
    LEAT_JINJA_AND,       /* a and b */
    LEAT_JINJA_NOT,       /* not a */
    LEAT_JINJA_COMPARE,   /* a and list: operands, each with its `op` and its expression `a` */
    LEAT_JINJA_OPERAND,
    LEAT_JINJA_ARITHMETIC, /* a op b */
    LEAT_JINJA_CONCAT,     /* list: what `~` joins */
    LEAT_JINJA_NEGATIVE,   /* -a */
    LEAT_JINJA_POSITIVE,   /* +a */
    LEAT_JINJA_ATTRIBUTE,  /* a.value */
    LEAT_JINJA_ITEM,       /* a[b] */
    LEAT_JINJA_SLICE,      /* a[b:c:d] */
    LEAT_JINJA_CALL,       /* a(call) */
    LEAT_JINJA_FILTER,     /* a|filter(call); a is NULL for a filter block */
    LEAT_JINJA_TEST,       /* a is test(call) */

    /* statements */
    LEAT_JINJA_TEXT,         /* value */
    LEAT_JINJA_PRINT,        /* a */
    LEAT_JINJA_FOR,          /* for a in b if c: list, else other; flag: recursive */
    LEAT_JINJA_IF,           /* if a: list, else other */
    LEAT_JINJA_SET,          /* a = b */
    LEAT_JINJA_SET_BLOCK,    /* a = what list prints, through the filters in b */
    LEAT_JINJA_MACRO_OF,     /* macro */
    LEAT_JINJA_CALL_BLOCK,   /* a: a call; macro: its body */
    LEAT_JINJA_FILTER_BLOCK, /* list, through the filters in b */
    LEAT_JINJA_WITH,         /* other: names and values in turn; list: body */
    LEAT_JINJA_SCOPE,        /* list, in a scope of its own */
    LEAT_JINJA_GENERATION,   /* list: the part that the model is to say */
    LEAT_JINJA_BREAK,
    LEAT_JINJA_CONTINUE,
};

enum leat_jinja_op {
    LEAT_JINJA_ADD,
    LEAT_JINJA_SUB,
    LEAT_JINJA_MUL,
    LEAT_JINJA_DIV,
    LEAT_JINJA_FLOOR_DIV,
    LEAT_JINJA_MOD,
    LEAT_JINJA_POW,
    LEAT_JINJA_EQ,
    LEAT_JINJA_NE,
    LEAT_JINJA_GT,
    LEAT_JINJA_GE,
    LEAT_JINJA_LT,
    LEAT_JINJA_LE,
    LEAT_JINJA_IN,
    LEAT_JINJA_NOT_IN,
};

struct leat_jinja_nodes {
    struct leat_jinja_node **items;
    size_t n_items, capacity;
};

/* Arguments as they are written: f(1, x=2, *more, **others). */
struct leat_jinja_call {
    struct leat_jinja_nodes positional;
    struct leat_jinja_nodes keywords; /* their values */
    struct leat_jinja_nodes names;    /* CONST nodes, one a keyword */
    struct leat_jinja_node *star, *star_star;
};

struct leat_jinja_node {
    uint8_t kind; /* enum leat_jinja_node_kind */
    uint8_t op;   /* enum leat_jinja_op */
    bool flag;
    uint32_t line, column; /* from 1 */
    uint32_t symbol;
    struct leat_jinja_value value;
    struct leat_jinja_node *a, *b, *c, *d;
    struct leat_jinja_nodes list, other;
    struct leat_jinja_call *call;
    const struct leat_jinja_builtin *function; /* of a FILTER or a TEST */
    struct leat_jinja_macro_node *macro;
};

struct leat_jinja_macro_node {
    uint32_t symbol; /* of its name */
    struct leat_jinja_value name;
    struct leat_jinja_nodes parameters; /* NAME nodes */
    struct leat_jinja_nodes defaults;   /* of the last parameters */
    struct leat_jinja_nodes body;
    bool reads_varargs, reads_kwargs, reads_caller;
};

/* Names that the renderer itself knows have the first symbols. */
enum {
    LEAT_JINJA_SYMBOL_LOOP,
    LEAT_JINJA_SYMBOL_CALLER,
    LEAT_JINJA_SYMBOL_VARARGS,
    LEAT_JINJA_SYMBOL_KWARGS,
    LEAT_JINJA_N_SYMBOLS,
};

/* How the template itself, outside its inner blocks, first uses a name. If it first sets the name,
 * then jinja2 hides a variable or built-in of that name, also from inner blocks and macros. */
enum leat_jinja_use {
    LEAT_JINJA_NOT_USED,
    LEAT_JINJA_READ,
    LEAT_JINJA_SET_FIRST,
};

struct leat_jinja_symbol {
    struct leat_jinja_value name;
    const struct leat_jinja_builtin *function; /* NULL: the name is no built-in function */
    enum leat_jinja_use use;
};

struct leat_jinja_template {
    struct leat_jinja_heap heap; /* of the tree */
    struct leat_jinja_nodes body;
    struct leat_jinja_symbol *symbols;
    size_t n_symbols, symbols_capacity;
    char *source;
};

/* The symbol of a name that the template uses; false if it does not. */
bool leat_jinja_find_symbol(const struct leat_jinja_template *template, const char *name,
                            size_t n_bytes, uint32_t *ret_symbol);
