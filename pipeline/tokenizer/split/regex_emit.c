/* regex_emit.c: see regex_emit.h. Letters are written as \xHH, so that none means anything else. */
#include "pipeline/tokenizer/split/regex_emit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct emitter {
    const struct leat_regex_tree *tree;
    const struct leat_regex_alphabet *alphabet;
    FILE *out;
    bool has_failed; /* fclose() does not report a lack of memory */
};

__attribute__((format(printf, 2, 3))) static void put(struct emitter *emitter, const char *format,
                                                      ...) {
    va_list ap;

    va_start(ap, format);
    emitter->has_failed |= vfprintf(emitter->out, format, ap) < 0;
    va_end(ap);
}

static void emit_letter(struct emitter *emitter, uint32_t letter) {
    put(emitter, "\\x%02x", (unsigned)letter);
}

/* UTF-8 has no surrogates, and PCRE2 takes none; `step` leads out of them. */
static uint32_t avoid_surrogates(uint32_t code, int step) {
    if (code < 0xd800 || code > 0xdfff)
        return code;
    return step > 0 ? 0xe000 : 0xd7ff;
}

static void emit_codes(struct emitter *emitter, const struct leat_code_set *set) {
    bool is_empty = true;

    for (uint32_t i = 0; i < set->n_ranges; i++) {
        uint32_t first = avoid_surrogates(set->ranges[i].first, 1);
        uint32_t last = avoid_surrogates(set->ranges[i].last, -1);

        if (first > last)
            continue;
        put(emitter, "%s\\x{%x}-\\x{%x}", is_empty ? "[" : "", (unsigned)first, (unsigned)last);
        is_empty = false;
    }
    put(emitter, "%s", is_empty ? "(?!)" : "]");
}

static void emit_letters(struct emitter *emitter, uint32_t set) {
    uint32_t n = emitter->alphabet->n_letters, n_in = 0, first = 0;

    for (uint32_t i = 0; i < n; i++)
        if (leat_regex_letter_is_in(emitter->alphabet, i, set) && n_in++ == 0)
            first = i;
    if (n_in == 0 || n_in == n) {
        put(emitter, "%s", n_in ? "." : "(?!)");
        return;
    }
    if (n_in == 1) {
        emit_letter(emitter, first);
        return;
    }
    put(emitter, "[");
    for (uint32_t i = first; i < n; i++) {
        if (!leat_regex_letter_is_in(emitter->alphabet, i, set))
            continue;
        emit_letter(emitter, i);
        first = i;
        while (i + 1 < n && leat_regex_letter_is_in(emitter->alphabet, i + 1, set))
            i++;
        if (i > first) {
            put(emitter, "-");
            emit_letter(emitter, i);
        }
    }
    put(emitter, "]");
}

static void emit_set(struct emitter *emitter, uint32_t set) {
    if (emitter->alphabet)
        emit_letters(emitter, set);
    else
        emit_codes(emitter, &emitter->tree->sets[set]);
}

/* A sequence or an alternation of one is that one. */
static const struct leat_regex_node *unwrap(struct emitter *emitter,
                                            const struct leat_regex_node *node) {
    const struct leat_regex_node *nodes = emitter->tree->nodes;

    while ((node->kind == LEAT_REGEX_SEQUENCE || node->kind == LEAT_REGEX_ALTERNATION) &&
           node->first != LEAT_REGEX_NO_NODE && nodes[node->first].next == LEAT_REGEX_NO_NODE)
        node = &nodes[node->first];
    return node;
}

static void emit(struct emitter *emitter, const struct leat_regex_node *node);

static void emit_children(struct emitter *emitter, const struct leat_regex_node *node,
                          const char *separator) {
    const struct leat_regex_node *nodes = emitter->tree->nodes;

    for (uint32_t child = node->first; child != LEAT_REGEX_NO_NODE; child = nodes[child].next) {
        if (child != node->first)
            put(emitter, "%s", separator);
        emit(emitter, &nodes[child]);
    }
}

/* A group of the node's child. Its alternatives stand in it without another group around them:
 * PCRE2 looks behind for alternatives of different lengths only so. */
static void emit_group(struct emitter *emitter, const char *open,
                       const struct leat_regex_node *node) {
    const struct leat_regex_node *child = unwrap(emitter, &emitter->tree->nodes[node->first]);

    put(emitter, "%s", open);
    if (child->kind == LEAT_REGEX_ALTERNATION)
        emit_children(emitter, child, "|");
    else
        emit(emitter, child);
    put(emitter, ")");
}

static void emit_bounds(struct emitter *emitter, const struct leat_regex_node *node) {
    static const char *const suffixes[] = {
        [LEAT_REGEX_GREEDY] = "", [LEAT_REGEX_LAZY] = "?", [LEAT_REGEX_POSSESSIVE] = "+"};

    if (node->max == LEAT_REGEX_FOREVER && node->min <= 1)
        put(emitter, "%c", node->min ? '+' : '*');
    else if (node->max == LEAT_REGEX_FOREVER)
        put(emitter, "{%u,}", (unsigned)node->min);
    else
        put(emitter, "{%u,%u}", (unsigned)node->min, (unsigned)node->max);
    put(emitter, "%s", suffixes[node->greed]);
}

static void emit_repeat(struct emitter *emitter, const struct leat_regex_node *node) {
    const struct leat_regex_node *child = unwrap(emitter, &emitter->tree->nodes[node->first]);

    if (child->kind == LEAT_REGEX_SET)
        emit_set(emitter, child->set);
    else
        emit_group(emitter, "(?:", node);
    emit_bounds(emitter, node);
}

/* The other kinds: what opens a group, or an assertion in which `@` is the set. */
static const struct {
    const char *text;
    bool is_group, is_of_words;
} forms[] = {
    [LEAT_REGEX_CAPTURE] = {"(", true, false},
    [LEAT_REGEX_ATOMIC] = {"(?>", true, false},
    [LEAT_REGEX_AHEAD] = {"(?=", true, false},
    [LEAT_REGEX_NOT_AHEAD] = {"(?!", true, false},
    [LEAT_REGEX_BEHIND] = {"(?<=", true, false},
    [LEAT_REGEX_NOT_BEHIND] = {"(?<!", true, false},
    [LEAT_REGEX_LINE_START] = {"(?:\\A|(?<=@)(?!\\z))", false, false},
    [LEAT_REGEX_LINE_END] = {"(?=@|\\z)", false, false},
    [LEAT_REGEX_TEXT_START] = {"\\A", false, false},
    [LEAT_REGEX_TEXT_END] = {"\\z", false, false},
    [LEAT_REGEX_LAST_LINE_END] = {"(?=@?\\z)", false, false},
    [LEAT_REGEX_SEARCH_START] = {"\\G", false, false},
    [LEAT_REGEX_WORD_EDGE] = {"(?:(?<=@)(?!@)|(?<!@)(?=@))", false, true},
    [LEAT_REGEX_NO_WORD_EDGE] = {"(?:(?<=@)(?=@)|(?<!@)(?!@))", false, true},
};

static void emit_form(struct emitter *emitter, const struct leat_regex_node *node) {
    const struct leat_regex_tree *tree = emitter->tree;
    const char *text = forms[node->kind].text;

    if (forms[node->kind].is_group) {
        emit_group(emitter, text, node);
        return;
    }
    for (; *text; text++)
        if (*text == '@')
            emit_set(emitter, forms[node->kind].is_of_words ? tree->word_set : tree->newline_set);
        else
            put(emitter, "%c", *text);
}

static void emit(struct emitter *emitter, const struct leat_regex_node *node) {
    node = unwrap(emitter, node);
    switch (node->kind) {
    case LEAT_REGEX_EMPTY:
        break;
    case LEAT_REGEX_SET:
        emit_set(emitter, node->set);
        break;
    case LEAT_REGEX_SEQUENCE:
        emit_children(emitter, node, "");
        break;
    case LEAT_REGEX_ALTERNATION:
        put(emitter, "(?:");
        emit_children(emitter, node, "|");
        put(emitter, ")");
        break;
    case LEAT_REGEX_REPEAT:
        emit_repeat(emitter, node);
        break;
    case LEAT_REGEX_REFERENCE:
        put(emitter, "\\g{%u}", (unsigned)node->group);
        break;
    default:
        emit_form(emitter, node);
    }
}

int leat_regex_emit(const struct leat_regex_tree *tree, const struct leat_regex_alphabet *alphabet,
                    char **ret_pattern, size_t *ret_n_bytes, struct leat_error *err) {
    struct emitter emitter = {.tree = tree, .alphabet = alphabet};

    *ret_pattern = NULL;
    emitter.out = open_memstream(ret_pattern, ret_n_bytes);
    if (!emitter.out)
        return leat_error_oom(err);
    emit(&emitter, &tree->nodes[tree->root]);
    if (fclose(emitter.out) != 0 || emitter.has_failed || !*ret_pattern) {
        free(*ret_pattern);
        *ret_pattern = NULL;
        return leat_error_oom(err);
    }
    if (*ret_n_bytes <= LEAT_REGEX_EMITTED_BYTES_MAX)
        return 0;
    free(*ret_pattern);
    *ret_pattern = NULL;
    return leat_error_set(err, -EINVAL, "the regex is too large");
}
