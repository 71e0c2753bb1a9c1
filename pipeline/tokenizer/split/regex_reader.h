/* regex_reader.h: what the parts of the parser share: where it is in the pattern, the options in
 * force, and the leaves that are the same inside and outside of brackets.
 *
 * Owner: the thread that loads.
 */
#pragma once

#include "pipeline/tokenizer/split/regex_tree.h"

/* The first and the last character of something that is a string under (?i), each as the least of
 * those that it equals; 0: it is not known to begin, or to end, so. */
struct leat_regex_ends {
    uint32_t first, last;
};

/* A group that a backreference may refer to. */
struct leat_regex_group {
    const uint8_t *name; /* in the pattern, of n_name_bytes; NULL: it has none */
    uint32_t n_name_bytes;
    uint32_t node;   /* NO_NODE: it is open */
    uint32_t number; /* among those that are referred to, from 1 */
    bool is_referenced, is_nullable;
};

struct leat_regex_options {
    bool ignores_case, dot_is_all, is_extended;
};

struct leat_regex_reader {
    const uint8_t *pattern;
    uint32_t n_bytes;
    uint32_t at;
    uint32_t depth; /* of groups */
    uint32_t bracket_depth;
    struct leat_regex_options options;
    struct leat_regex_ends ends;     /* of the group that was taken last */
    struct leat_regex_group *groups; /* in the order in which they open */
    uint32_t n_groups;
    size_t groups_capacity;
    bool has_names, has_numbers; /* groups with names; backreferences by number */
    struct leat_regex_tree *tree;
    struct leat_error *err;
};

static inline bool leat_regex_is_done(const struct leat_regex_reader *reader) {
    return reader->at >= reader->n_bytes;
}

/* The byte `ahead` of the place; 0 after the end. */
static inline uint8_t leat_regex_peek(const struct leat_regex_reader *reader, uint32_t ahead) {
    uint32_t at = reader->at + ahead;

    return at < reader->n_bytes ? reader->pattern[at] : 0;
}

static inline bool leat_regex_looks_at(const struct leat_regex_reader *reader, const char *text) {
    uint32_t i = 0;

    while (text[i] && leat_regex_peek(reader, i) == (uint8_t)text[i])
        i++;
    return !text[i];
}

/* Sets an error that names the place; returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int leat_regex_fail(struct leat_regex_reader *reader,
                                                          const char *format, ...);

/* A new node without children; its number. 0, -ENOMEM, -EINVAL. */
int leat_regex_add_node(struct leat_regex_reader *reader, enum leat_regex_kind kind, uint32_t *ret);

uint32_t leat_regex_take_code(struct leat_regex_reader *reader); /* one character of the pattern */

/* An escape: a code point, or a set of them. Assertions and \R, which exist only
 * outside of brackets, are not escapes here. */
struct leat_regex_escape {
    bool is_set;
    uint32_t code;
    struct leat_code_set set; /* if is_set; the caller's to deinit */
};

/* Takes an escape; the place is after the backslash. 0 or -EINVAL. */
int leat_regex_take_escape(struct leat_regex_reader *reader, bool is_bracket,
                           struct leat_regex_escape *ret_escape);

/* Takes a bracket expression; the place is at its `[`. 0, -ENOMEM, -EINVAL. */
int leat_regex_take_bracket(struct leat_regex_reader *reader, struct leat_code_set *ret_set);

/* ---- groups and backreferences (regex_group.c); each 0, -ENOMEM or -EINVAL */

/* name: NULL for a group without one. */
int leat_regex_open_group(struct leat_regex_reader *reader, const uint8_t *name, uint32_t n_bytes,
                          uint32_t *ret_group);
int leat_regex_close_group(struct leat_regex_reader *reader, uint32_t group, uint32_t body,
                           uint32_t *ret_node);
/* The place is at a digit after a backslash. 1: it was taken; 0: it is no backreference. */
int leat_regex_take_number_reference(struct leat_regex_reader *reader, uint32_t *ret_node);
/* The place is at the `k` of \k<name> or \k'name'. */
int leat_regex_take_name_reference(struct leat_regex_reader *reader, uint32_t *ret_node);
/* True if the node can match the empty string. */
bool leat_regex_is_nullable(const struct leat_regex_tree *tree, uint32_t node);
/* Numbers the groups after the whole pattern was taken. */
int leat_regex_settle_groups(struct leat_regex_reader *reader);

/* ---- named sets of code points (regex_bracket.c) */

/* Adds the class that `\p{name}` or `[:name:]` stands for. False: no class has that name. */
bool leat_regex_add_property(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes,
                             bool is_bracket);
bool leat_regex_add_posix(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes);
/* \s, \w, \d, \h by their letter. */
void leat_regex_add_shorthand(struct leat_code_set *set, uint8_t letter, bool is_bracket);

/* Adds to a set the code points that equal one of its own but for case. */
void leat_regex_add_cases(struct leat_code_set *set);
/* A code point that in another case is several ones (U+00DF is `ss`), or 0. */
uint32_t leat_regex_find_long_case(const struct leat_code_set *set);
/* True if some character in another case begins with these two code points. */
bool leat_regex_is_long_case(uint32_t first, uint32_t second);
