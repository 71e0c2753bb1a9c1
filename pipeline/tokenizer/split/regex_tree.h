/* regex_tree.h: a regex after parsing: nodes in one array, each with its first child and its next
 * sibling, and the sets of code points that its leaves match.
 *
 * The tree has no options any more: case, line breaks and layout are resolved into sets. Groups
 * only group, but for those that a backreference refers to.
 *
 * Owner: the thread that loads.
 */
#pragma once

#include <stdbool.h>

#include "pipeline/tokenizer/split/code_set.h"
#include "proto/base/error.h"

#define LEAT_REGEX_NODES_MAX  65536
#define LEAT_REGEX_SETS_MAX   512
#define LEAT_REGEX_DEPTH_MAX  100
#define LEAT_REGEX_REPEAT_MAX 65535 /* that PCRE2 allows */
#define LEAT_REGEX_FOREVER    UINT32_MAX
#define LEAT_REGEX_NO_NODE    UINT32_MAX

enum leat_regex_kind {
    LEAT_REGEX_EMPTY,
    LEAT_REGEX_SET,         /* a character of the set */
    LEAT_REGEX_SEQUENCE,    /* of the children */
    LEAT_REGEX_ALTERNATION, /* of the children */
    LEAT_REGEX_REPEAT,      /* of the only child */
    LEAT_REGEX_CAPTURE,     /* the only child, and what it matched is kept */
    LEAT_REGEX_REFERENCE,   /* what the group matched last */
    LEAT_REGEX_ATOMIC,
    LEAT_REGEX_AHEAD,
    LEAT_REGEX_NOT_AHEAD,
    LEAT_REGEX_BEHIND,
    LEAT_REGEX_NOT_BEHIND,
    LEAT_REGEX_LINE_START,
    LEAT_REGEX_LINE_END,
    LEAT_REGEX_TEXT_START,
    LEAT_REGEX_TEXT_END,
    LEAT_REGEX_LAST_LINE_END, /* \Z */
    LEAT_REGEX_SEARCH_START,  /* \G */
    LEAT_REGEX_WORD_EDGE,
    LEAT_REGEX_NO_WORD_EDGE,
};

enum leat_regex_greed {
    LEAT_REGEX_GREEDY,
    LEAT_REGEX_LAZY,
    LEAT_REGEX_POSSESSIVE,
};

struct leat_regex_node {
    enum leat_regex_kind kind;
    enum leat_regex_greed greed; /* of a REPEAT, and */
    uint32_t min, max;           /* its bounds; max may be FOREVER; of a REFERENCE the characters
                                    that it matches at least: 0 or 1 */
    uint32_t set;                /* of a SET */
    uint32_t group;              /* of a CAPTURE or REFERENCE, from 1 in the order of the text */
    uint32_t first, next;        /* NO_NODE: none */
};

struct leat_regex_tree {
    struct leat_regex_node *nodes;
    uint32_t n_nodes;
    size_t nodes_capacity;
    struct leat_code_set *sets; /* all different */
    uint32_t n_sets;
    uint32_t root;
    uint32_t newline_set, word_set; /* that assertions need */
    bool has_references;
};

/* Parses a pattern in Ruby's syntax. 0, -ENOMEM, or -EINVAL with err set. The tree is to be freed
 * in any case. */
int leat_regex_parse(const char *pattern, size_t n_bytes, struct leat_regex_tree *ret_tree,
                     struct leat_error *err);
void leat_regex_tree_deinit(struct leat_regex_tree *tree);
