/* regex_parse.c: Ruby's syntax, as Oniguruma reads it, to a tree: alternatives, groups with
 * options, repeats, assertions. Escapes and brackets have files of their own.
 *
 * An option that stands alone, (?i), holds to the end of the group around it and takes all of its
 * alternatives along: a(?i)b|c is a(?i:b|c).
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/split/regex_reader.h"
#include "proto/base/array.h"

/* ---- nodes and sets */

int leat_regex_add_node(struct leat_regex_reader *reader, enum leat_regex_kind kind,
                        uint32_t *ret) {
    struct leat_regex_tree *tree = reader->tree;

    if (tree->n_nodes == LEAT_REGEX_NODES_MAX)
        return leat_regex_fail(reader, "the regex is too long");
    if (!leat_array_reserve(&tree->nodes, tree->n_nodes + 1, &tree->nodes_capacity))
        return leat_error_oom(reader->err);
    *ret = tree->n_nodes++;
    tree->nodes[*ret] = (struct leat_regex_node){
        .kind = kind, .first = LEAT_REGEX_NO_NODE, .next = LEAT_REGEX_NO_NODE};
    return 0;
}

static struct leat_regex_node *node_of(struct leat_regex_reader *reader, uint32_t node) {
    return &reader->tree->nodes[node];
}

static int add_parent(struct leat_regex_reader *reader, enum leat_regex_kind kind, uint32_t child,
                      uint32_t *ret) {
    int r = leat_regex_add_node(reader, kind, ret);

    if (r == 0)
        node_of(reader, *ret)->first = child;
    return r;
}

/* The number of a set among the tree's; takes it over. */
static int intern(struct leat_regex_reader *reader, struct leat_code_set *take_set, uint32_t *ret) {
    struct leat_regex_tree *tree = reader->tree;

    leat_code_set_sort(take_set);
    if (take_set->is_broken) {
        leat_code_set_deinit(take_set);
        return leat_error_oom(reader->err);
    }
    for (*ret = 0; *ret < tree->n_sets; ++*ret)
        if (leat_code_set_equals(&tree->sets[*ret], take_set)) {
            leat_code_set_deinit(take_set);
            return 0;
        }
    if (tree->n_sets == LEAT_REGEX_SETS_MAX) {
        leat_code_set_deinit(take_set);
        return leat_regex_fail(reader,
                               "the regex has more than %d different characters and classes",
                               LEAT_REGEX_SETS_MAX);
    }
    tree->sets[tree->n_sets++] = *take_set;
    return 0;
}

static int add_set(struct leat_regex_reader *reader, struct leat_code_set *take_set,
                   uint32_t *ret) {
    uint32_t set;
    int r = intern(reader, take_set, &set);

    if (r == 0)
        r = leat_regex_add_node(reader, LEAT_REGEX_SET, ret);
    if (r == 0)
        node_of(reader, *ret)->set = set;
    return r;
}

/* ---- atoms */

struct item {
    uint32_t node;
    struct leat_regex_ends ends;
    bool is_unrepeatable; /* an assertion */
};

static int add_code(struct leat_regex_reader *reader, uint32_t code, struct item *ret) {
    struct leat_code_set set = {0};
    uint32_t odd = 0;

    leat_code_set_add(&set, code, code);
    if (reader->options.ignores_case) {
        odd = leat_regex_find_long_case(&set);
        leat_regex_add_cases(&set);
        leat_code_set_sort(&set);
        ret->ends.first = ret->ends.last = set.ranges ? set.ranges[0].first : code;
    }
    if (odd) {
        leat_code_set_deinit(&set);
        return leat_regex_fail(
            reader,
            "U+%04X with (?i) is not supported: in its other case, it is several characters",
            (unsigned)odd);
    }
    return add_set(reader, &set, &ret->node);
}

static int add_any(struct leat_regex_reader *reader, bool is_all, uint32_t *ret) {
    struct leat_code_set set = {0};

    if (!is_all)
        leat_code_set_add(&set, '\n', '\n');
    leat_code_set_complement(&set);
    return add_set(reader, &set, ret);
}

static int add_bracket(struct leat_regex_reader *reader, uint32_t *ret) {
    struct leat_code_set set;
    int r = leat_regex_take_bracket(reader, &set);

    if (r < 0) {
        leat_code_set_deinit(&set);
        return r;
    }
    return add_set(reader, &set, ret);
}

/* \R: (?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}]) */
static int add_line_break(struct leat_regex_reader *reader, uint32_t *ret) {
    struct leat_code_set cr = {0}, lf = {0}, any = {0};
    uint32_t first, second, single, pair, either;
    int r;

    leat_code_set_add(&cr, '\r', '\r');
    leat_code_set_add(&lf, '\n', '\n');
    leat_code_set_add(&any, '\n', '\r');
    leat_code_set_add(&any, 0x85, 0x85);
    leat_code_set_add(&any, 0x2028, 0x2029);
    r = add_set(reader, &any, &single);
    if (r == 0)
        r = add_set(reader, &cr, &first);
    else
        leat_code_set_deinit(&cr);
    if (r == 0)
        r = add_set(reader, &lf, &second);
    else
        leat_code_set_deinit(&lf);
    if (r == 0)
        r = add_parent(reader, LEAT_REGEX_SEQUENCE, first, &pair);
    if (r == 0)
        r = add_parent(reader, LEAT_REGEX_ALTERNATION, pair, &either);
    if (r < 0)
        return r;
    node_of(reader, first)->next = second;
    node_of(reader, pair)->next = single;
    return add_parent(reader, LEAT_REGEX_ATOMIC, either, ret);
}

static int need_set(struct leat_regex_reader *reader, bool is_word, uint32_t *ret) {
    struct leat_code_set set = {0};

    if (is_word)
        leat_regex_add_shorthand(&set, 'w', false);
    else
        leat_code_set_add(&set, '\n', '\n');
    return intern(reader, &set, ret);
}

static int add_assertion(struct leat_regex_reader *reader, enum leat_regex_kind kind,
                         struct item *ret) {
    int r = 0;

    ret->is_unrepeatable = true;
    if (kind == LEAT_REGEX_WORD_EDGE || kind == LEAT_REGEX_NO_WORD_EDGE)
        r = need_set(reader, true, &reader->tree->word_set);
    else if (kind == LEAT_REGEX_LINE_START || kind == LEAT_REGEX_LINE_END ||
             kind == LEAT_REGEX_LAST_LINE_END)
        r = need_set(reader, false, &reader->tree->newline_set);
    return r == 0 ? leat_regex_add_node(reader, kind, &ret->node) : r;
}

/* The assertion that a letter after a backslash names, or EMPTY. */
static enum leat_regex_kind assertion_of(uint8_t letter) {
    static const enum leat_regex_kind kinds[128] = {
        ['b'] = LEAT_REGEX_WORD_EDGE,     ['B'] = LEAT_REGEX_NO_WORD_EDGE,
        ['A'] = LEAT_REGEX_TEXT_START,    ['z'] = LEAT_REGEX_TEXT_END,
        ['Z'] = LEAT_REGEX_LAST_LINE_END, ['G'] = LEAT_REGEX_SEARCH_START,
    };

    return letter < 128 ? kinds[letter] : LEAT_REGEX_EMPTY;
}

static const char *reason_against(uint8_t letter) {
    switch (letter) {
    case 'g':
        return "calls of groups";
    case 'K':
        return "\\K (keep)";
    case 'X':
    case 'y':
    case 'Y':
        return "text segments (\\X, \\y, \\Y)";
    }
    return NULL;
}

/* 1: a backreference was taken, 0: there is none. */
static int take_reference(struct leat_regex_reader *reader, uint8_t letter, struct item *ret) {
    uint8_t next = leat_regex_peek(reader, 1);
    int r;

    if (letter >= '1' && letter <= '9')
        return leat_regex_take_number_reference(reader, &ret->node);
    if (letter != 'k' || (next != '<' && next != '\''))
        return 0;
    r = leat_regex_take_name_reference(reader, &ret->node);
    return r < 0 ? r : 1;
}

static int take_backslash(struct leat_regex_reader *reader, struct item *ret) {
    uint8_t letter = leat_regex_peek(reader, 1);
    enum leat_regex_kind kind = assertion_of(letter);
    const char *reason = reason_against(letter);
    struct leat_regex_escape escape;
    int r;

    if (reason)
        return leat_regex_fail(reader, "%s are not supported", reason);
    reader->at++;
    if (kind != LEAT_REGEX_EMPTY || letter == 'R' || letter == 'N' || letter == 'O') {
        reader->at++;
        if (letter == 'R')
            return add_line_break(reader, &ret->node);
        if (letter == 'N' || letter == 'O')
            return add_any(reader, letter == 'O', &ret->node);
        return add_assertion(reader, kind, ret);
    }
    r = take_reference(reader, letter, ret);
    if (r != 0)
        return r < 0 ? r : 0;
    r = leat_regex_take_escape(reader, false, &escape);
    if (r == 0)
        return escape.is_set ? add_set(reader, &escape.set, &ret->node)
                             : add_code(reader, escape.code, ret);
    leat_code_set_deinit(&escape.set);
    return r;
}

/* ---- groups */

static int take_alternatives(struct leat_regex_reader *reader, uint32_t *ret);

static int take_close(struct leat_regex_reader *reader) {
    if (leat_regex_peek(reader, 0) != ')' || leat_regex_is_done(reader))
        return leat_regex_fail(reader, "a group is not closed");
    reader->at++;
    return 0;
}

/* Takes the body and the end of a group, then restores the options. */
static int take_body(struct leat_regex_reader *reader, enum leat_regex_kind kind, uint32_t *ret) {
    struct leat_regex_options options = reader->options;
    uint32_t body;
    int r = take_alternatives(reader, &body);

    reader->options = options;
    if (r == 0)
        r = take_close(reader);
    if (r < 0)
        return r;
    *ret = body;
    return kind == LEAT_REGEX_EMPTY ? 0 : add_parent(reader, kind, body, ret);
}

/* The letters of (?imx-imx: or (?imx-imx), up to the `:` or `)`. */
static int take_options(struct leat_regex_reader *reader) {
    bool is_on = true;

    for (;; reader->at++) {
        switch (leat_regex_is_done(reader) ? 0 : leat_regex_peek(reader, 0)) {
        case '-':
            is_on = false;
            break;
        case 'i':
            reader->options.ignores_case = is_on;
            break;
        case 'm':
            reader->options.dot_is_all = is_on;
            break;
        case 'x':
            reader->options.is_extended = is_on;
            break;
        case ':':
        case ')':
            return 0;
        default:
            return leat_regex_fail(
                reader, "this group or option is not supported; leat supports the options i, m and "
                        "x, and the groups (?:, (?=, (?!, (?<=, (?<!, (?> and names");
        }
    }
}

/* (?i: or (?i); without a body, what follows in the group around is the body. */
static int take_rest(struct leat_regex_reader *reader, uint32_t *ret) {
    struct leat_regex_options options = reader->options;
    int r = take_options(reader);
    bool has_body = leat_regex_peek(reader, 0) == ':';

    if (r < 0)
        return r;
    reader->at++;
    r = take_alternatives(reader, ret);
    if (r == 0 && has_body)
        r = take_close(reader);
    reader->options = options;
    return r;
}

static int take_name(struct leat_regex_reader *reader, uint8_t close) {
    uint32_t start = reader->at;

    while (!leat_regex_is_done(reader) && leat_regex_peek(reader, 0) != close) {
        if (leat_regex_peek(reader, 0) == ')')
            break;
        reader->at++;
    }
    if (leat_regex_peek(reader, 0) != close || reader->at == start)
        return leat_regex_fail(reader, "the name of a capture group is not closed");
    reader->at++;
    return 0;
}

/* A group that can be referred to; the place is after its opening. name: NULL for none. */
static int take_capture(struct leat_regex_reader *reader, const uint8_t *name, uint32_t n_bytes,
                        uint32_t *ret) {
    uint32_t group, body;
    int r = leat_regex_open_group(reader, name, n_bytes, &group);

    if (r == 0)
        r = take_body(reader, LEAT_REGEX_EMPTY, &body);
    return r == 0 ? leat_regex_close_group(reader, group, body, ret) : r;
}

static int take_named(struct leat_regex_reader *reader, uint8_t close, uint32_t *ret) {
    const uint8_t *name = reader->pattern + reader->at;
    int r = take_name(reader, close);
    uint32_t n = (uint32_t)(reader->pattern + reader->at - name);

    return r == 0 ? take_capture(reader, name, n - 1, ret) : r;
}

struct opening {
    const char *text;
    enum leat_regex_kind kind;
};

static const struct opening openings[] = {
    {"(?:", LEAT_REGEX_EMPTY},  {"(?=", LEAT_REGEX_AHEAD},   {"(?!", LEAT_REGEX_NOT_AHEAD},
    {"(?>", LEAT_REGEX_ATOMIC}, {"(?<=", LEAT_REGEX_BEHIND}, {"(?<!", LEAT_REGEX_NOT_BEHIND},
};

static int take_group(struct leat_regex_reader *reader, struct item *ret) {
    uint8_t quote;

    if (leat_regex_peek(reader, 1) != '?') {
        if (leat_regex_peek(reader, 1) == '*')
            return leat_regex_fail(reader, "(* (a callout) is not supported");
        reader->at++;
        return take_capture(reader, NULL, 0, &ret->node);
    }
    for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++)
        if (leat_regex_looks_at(reader, openings[i].text)) {
            reader->at += (uint32_t)strlen(openings[i].text);
            ret->is_unrepeatable = i == 1 || i == 2 || i >= 4;
            return take_body(reader, openings[i].kind, &ret->node);
        }
    reader->at += 2;
    quote = leat_regex_peek(reader, 0);
    if (quote == '<' || quote == '\'') {
        reader->at++;
        return take_named(reader, quote == '<' ? '>' : quote, &ret->node);
    }
    return take_rest(reader, &ret->node);
}

/* (?#...) */
static int skip_comment(struct leat_regex_reader *reader) {
    while (!leat_regex_is_done(reader) && leat_regex_peek(reader, 0) != ')')
        reader->at += leat_regex_peek(reader, 0) == '\\' ? 2 : 1;
    return take_close(reader);
}

/* Comments, and the layout of (?x). */
static int skip_layout(struct leat_regex_reader *reader) {
    int r = 0;

    while (r == 0 && !leat_regex_is_done(reader)) {
        uint8_t c = leat_regex_peek(reader, 0);
        if (leat_regex_looks_at(reader, "(?#")) {
            r = skip_comment(reader);
        } else if (reader->options.is_extended && c == '#') {
            while (!leat_regex_is_done(reader) && leat_regex_peek(reader, 0) != '\n')
                reader->at++;
        } else if (reader->options.is_extended && (c == ' ' || (c >= '\t' && c <= '\r'))) {
            reader->at++;
        } else {
            break;
        }
    }
    return r;
}

static int take_atom(struct leat_regex_reader *reader, struct item *ret) {
    uint8_t c = leat_regex_peek(reader, 0);
    int r;

    switch (c) {
    case '\\':
        return take_backslash(reader, ret);
    case '[':
        return add_bracket(reader, &ret->node);
    case '(':
        reader->ends = (struct leat_regex_ends){0};
        r = take_group(reader, ret);
        ret->ends = reader->ends;
        return r;
    case '.':
        reader->at++;
        return add_any(reader, reader->options.dot_is_all, &ret->node);
    case '^':
    case '$':
        reader->at++;
        return add_assertion(reader, c == '^' ? LEAT_REGEX_LINE_START : LEAT_REGEX_LINE_END, ret);
    case '*':
    case '+':
    case '?':
        return leat_regex_fail(reader, "`%c` has nothing before it to repeat", c);
    }
    return add_code(reader, leat_regex_take_code(reader), ret);
}

/* ---- repeats */

struct repeat {
    uint32_t min, max;
    enum leat_regex_greed greed;
};

static uint32_t take_number(struct leat_regex_reader *reader, uint32_t *ret_n_digits) {
    uint32_t value = 0;

    *ret_n_digits = 0;
    for (uint8_t c; (c = leat_regex_peek(reader, 0)) >= '0' && c <= '9'; reader->at++) {
        value = value > 1000000 ? value : value * 10 + (uint32_t)(c - '0');
        ++*ret_n_digits;
    }
    return value;
}

/* {n}, {n,}, {,m}, {n,m}: 1; anything else that begins with a brace is text: 0. */
static int take_interval(struct leat_regex_reader *reader, struct repeat *ret) {
    uint32_t start = reader->at, n_low, n_high = 0;
    bool has_comma;

    reader->at++;
    ret->min = take_number(reader, &n_low);
    ret->max = ret->min;
    has_comma = leat_regex_peek(reader, 0) == ',';
    if (has_comma) {
        reader->at++;
        ret->max = take_number(reader, &n_high);
        if (n_high == 0)
            ret->max = LEAT_REGEX_FOREVER;
    }
    if (leat_regex_peek(reader, 0) != '}' || n_low + n_high == 0) {
        reader->at = start;
        return 0;
    }
    reader->at++;
    if (ret->min > LEAT_REGEX_REPEAT_MAX ||
        (ret->max != LEAT_REGEX_FOREVER && ret->max > LEAT_REGEX_REPEAT_MAX))
        return leat_regex_fail(reader, "a repeat of more than %d times is not supported",
                               LEAT_REGEX_REPEAT_MAX);
    if (ret->min > ret->max)
        return leat_regex_fail(reader, "the bounds of a repeat are in the wrong order: {%u,%u}",
                               (unsigned)ret->min, (unsigned)ret->max);
    /* {n}? is not lazy but optional: that is the `?` of a further repeat. */
    if (leat_regex_peek(reader, 0) == '?' && has_comma) {
        reader->at++;
        ret->greed = LEAT_REGEX_LAZY;
    }
    return 1;
}

/* 1: a repeat was taken; 0: there is none. */
static int take_repeat(struct leat_regex_reader *reader, struct repeat *ret) {
    uint8_t c = leat_regex_is_done(reader) ? 0 : leat_regex_peek(reader, 0), next;

    *ret = (struct repeat){.min = c == '+', .max = c == '?' ? 1 : LEAT_REGEX_FOREVER};
    if (c == '{')
        return take_interval(reader, ret);
    if (c != '*' && c != '+' && c != '?')
        return 0;
    next = leat_regex_peek(reader, 1);
    if (next == '?')
        ret->greed = LEAT_REGEX_LAZY;
    else if (next == '+')
        ret->greed = LEAT_REGEX_POSSESSIVE;
    reader->at += ret->greed == LEAT_REGEX_GREEDY ? 1 : 2;
    return 1;
}

static int take_repeats(struct leat_regex_reader *reader, struct item *item) {
    struct repeat repeat = {0};
    uint32_t child;
    int r, n = 0;

    for (;;) {
        r = skip_layout(reader);
        if (r == 0)
            r = take_repeat(reader, &repeat);
        if (r <= 0)
            return r;
        if (item->is_unrepeatable)
            return leat_regex_fail(reader, "a repeated assertion is not supported");
        /* Matchers differ in how they end a loop whose rounds match nothing. */
        if (repeat.max > 1 && leat_regex_is_nullable(reader->tree, item->node))
            return leat_regex_fail(reader, "a repeat of a part that can be empty is not supported");
        if (++n > 8)
            return leat_regex_fail(reader, "repeats nest more than 8 levels");
        child = item->node;
        r = add_parent(reader, LEAT_REGEX_REPEAT, child, &item->node);
        if (r < 0)
            return r;
        node_of(reader, item->node)->min = repeat.min;
        node_of(reader, item->node)->max = repeat.max;
        node_of(reader, item->node)->greed = repeat.greed;
        item->ends = (struct leat_regex_ends){0};
    }
}

/* ---- sequences and alternatives */

static bool is_at_end(const struct leat_regex_reader *reader) {
    uint8_t c = leat_regex_peek(reader, 0);

    return leat_regex_is_done(reader) || c == '|' || c == ')';
}

static bool is_option(const struct leat_regex_reader *reader) {
    uint32_t i = 2;

    if (!leat_regex_looks_at(reader, "(?"))
        return false;
    for (uint8_t c; (c = leat_regex_peek(reader, i)) == 'i' || c == 'm' || c == 'x' || c == '-';)
        i++;
    return leat_regex_peek(reader, i) == ')';
}

/* In Oniguruma `ss` under (?i) is U+00DF too. */
static int check_long_case(struct leat_regex_reader *reader, uint32_t before, uint32_t code) {
    if (before && code && leat_regex_is_long_case(before, code))
        return leat_regex_fail(reader,
                               "U+%04X U+%04X with (?i) is not supported: in another case, it is a "
                               "single character",
                               (unsigned)before, (unsigned)code);
    return 0;
}

static int take_sequence(struct leat_regex_reader *reader, uint32_t *ret) {
    struct leat_regex_ends ends = {0};
    uint32_t last = LEAT_REGEX_NO_NODE;
    int r = leat_regex_add_node(reader, LEAT_REGEX_SEQUENCE, ret);

    while (r == 0) {
        struct item item = {0};
        bool takes_rest;

        r = skip_layout(reader);
        if (r < 0 || is_at_end(reader))
            break;
        takes_rest = is_option(reader);
        r = take_atom(reader, &item);
        if (r == 0 && !takes_rest)
            r = take_repeats(reader, &item);
        if (r == 0)
            r = check_long_case(reader, ends.last, item.ends.first);
        if (r < 0)
            break;
        if (last == LEAT_REGEX_NO_NODE) {
            node_of(reader, *ret)->first = item.node;
            ends.first = item.ends.first;
        } else {
            node_of(reader, last)->next = item.node;
        }
        ends.last = item.ends.last;
        last = item.node;
    }
    reader->ends = ends;
    return r;
}

static int take_alternatives(struct leat_regex_reader *reader, uint32_t *ret) {
    uint32_t branch, last;
    int r;

    if (++reader->depth > LEAT_REGEX_DEPTH_MAX)
        return leat_regex_fail(reader, "groups nest more than %d levels", LEAT_REGEX_DEPTH_MAX);
    r = take_sequence(reader, &last);
    if (r == 0)
        r = add_parent(reader, LEAT_REGEX_ALTERNATION, last, ret);
    while (r == 0 && leat_regex_peek(reader, 0) == '|') {
        reader->at++;
        r = take_sequence(reader, &branch);
        if (r == 0)
            node_of(reader, last)->next = branch;
        last = branch;
        reader->ends = (struct leat_regex_ends){0};
    }
    reader->depth--;
    return r;
}

int leat_regex_parse(const char *pattern, size_t n_bytes, struct leat_regex_tree *ret_tree,
                     struct leat_error *err) {
    struct leat_regex_reader reader = {.pattern = (const uint8_t *)pattern,
                                       .n_bytes = (uint32_t)n_bytes,
                                       .tree = ret_tree,
                                       .err = err};
    int r;

    *ret_tree = (struct leat_regex_tree){0};
    ret_tree->sets = calloc(LEAT_REGEX_SETS_MAX, sizeof(*ret_tree->sets));
    if (!ret_tree->sets)
        return leat_error_oom(err);
    r = take_alternatives(&reader, &ret_tree->root);
    if (r == 0 && !leat_regex_is_done(&reader))
        r = leat_regex_fail(&reader, "a `)` has no `(` before it");
    if (r == 0)
        r = leat_regex_settle_groups(&reader);
    free(reader.groups);
    return r;
}

void leat_regex_tree_deinit(struct leat_regex_tree *tree) {
    for (uint32_t i = 0; i < tree->n_sets; i++)
        leat_code_set_deinit(&tree->sets[i]);
    free(tree->sets);
    free(tree->nodes);
    *tree = (struct leat_regex_tree){0};
}
