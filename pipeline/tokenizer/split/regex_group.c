/* regex_group.c: groups that a backreference names by number or by name, as Oniguruma reads them.
 *
 * \1 to \9 are backreferences, and so is a greater number if so many groups were opened before it;
 * else its digits are an octal code. Where a group has a name, those without one do not count, and
 * only names refer. One name may stand for several groups: the last of them that took part is
 * compared first.
 */
#include <string.h>

#include "pipeline/tokenizer/split/regex_reader.h"
#include "proto/base/array.h"

bool leat_regex_is_nullable(const struct leat_regex_tree *tree, uint32_t node) {
    const struct leat_regex_node *at = &tree->nodes[node];
    bool is_any = at->kind == LEAT_REGEX_ALTERNATION;

    if (at->kind == LEAT_REGEX_SET)
        return false;
    if ((at->kind == LEAT_REGEX_REPEAT || at->kind == LEAT_REGEX_REFERENCE) && at->min == 0)
        return true;
    if (at->kind == LEAT_REGEX_REFERENCE)
        return false;
    if (at->kind != LEAT_REGEX_SEQUENCE && at->kind != LEAT_REGEX_ALTERNATION &&
        at->kind != LEAT_REGEX_REPEAT && at->kind != LEAT_REGEX_ATOMIC &&
        at->kind != LEAT_REGEX_CAPTURE)
        return true;
    for (uint32_t child = at->first; child != LEAT_REGEX_NO_NODE; child = tree->nodes[child].next)
        if (leat_regex_is_nullable(tree, child) == is_any)
            return is_any;
    return !is_any;
}

int leat_regex_open_group(struct leat_regex_reader *reader, const uint8_t *name, uint32_t n_bytes,
                          uint32_t *ret_group) {
    if (!leat_array_reserve(&reader->groups, reader->n_groups + 1, &reader->groups_capacity))
        return leat_error_oom(reader->err);
    reader->has_names |= name != NULL;
    *ret_group = reader->n_groups;
    reader->groups[reader->n_groups++] = (struct leat_regex_group){
        .name = name, .n_name_bytes = n_bytes, .node = LEAT_REGEX_NO_NODE};
    return 0;
}

int leat_regex_close_group(struct leat_regex_reader *reader, uint32_t group, uint32_t body,
                           uint32_t *ret_node) {
    int r = leat_regex_add_node(reader, LEAT_REGEX_CAPTURE, ret_node);

    if (r < 0)
        return r;
    reader->tree->nodes[*ret_node].first = body;
    reader->tree->nodes[*ret_node].group = group;
    reader->groups[group].node = *ret_node;
    reader->groups[group].is_nullable = leat_regex_is_nullable(reader->tree, body);
    return 0;
}

/* A reference to a group; `group` may not be there yet. */
static int add_reference(struct leat_regex_reader *reader, uint32_t group, uint32_t *ret_node) {
    int r;

    if (reader->options.ignores_case)
        return leat_regex_fail(reader, "backreferences with (?i) are not supported");
    if (group < reader->n_groups && reader->groups[group].node == LEAT_REGEX_NO_NODE)
        return leat_regex_fail(reader, "a backreference within its own group is not supported");
    r = leat_regex_add_node(reader, LEAT_REGEX_REFERENCE, ret_node);
    if (r < 0)
        return r;
    reader->tree->nodes[*ret_node].group = group;
    reader->tree->nodes[*ret_node].min =
        group < reader->n_groups && !reader->groups[group].is_nullable;
    reader->tree->has_references = true;
    return 0;
}

/* A number within the braces of \k<...>. False: it is none. */
static bool read_number(const uint8_t *text, uint32_t n_bytes, uint32_t *ret_number) {
    *ret_number = 0;
    for (uint32_t i = 0; i < n_bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        if (*ret_number <= LEAT_REGEX_NODES_MAX)
            *ret_number = 10 * *ret_number + text[i] - '0';
    }
    return n_bytes > 0;
}

int leat_regex_take_number_reference(struct leat_regex_reader *reader, uint32_t *ret_node) {
    uint32_t n_digits = 1, number;
    int r;

    while (leat_regex_peek(reader, n_digits) >= '0' && leat_regex_peek(reader, n_digits) <= '9')
        n_digits++;
    (void)read_number(reader->pattern + reader->at, n_digits, &number);
    if (number > 9 && number > reader->n_groups)
        return 0;
    reader->has_numbers = true;
    r = add_reference(reader, number - 1, ret_node);
    reader->at += n_digits;
    return r < 0 ? r : 1;
}

/* \k<1>, \k<-1>: a group by its number, or as many before the place. 0: it is not one of these. */
static int take_numbered(struct leat_regex_reader *reader, const uint8_t *name, uint32_t n_bytes,
                         uint32_t *ret_node) {
    bool is_relative = name[0] == '-';
    uint32_t number;
    int r;

    if (!read_number(name + is_relative, n_bytes - is_relative, &number))
        return 0;
    if (number == 0 || (is_relative && number > reader->n_groups))
        return leat_regex_fail(reader, "a backreference refers to no group");
    reader->has_numbers = true;
    r = add_reference(reader, is_relative ? reader->n_groups - number : number - 1, ret_node);
    return r < 0 ? r : 1;
}

static bool is_called(const struct leat_regex_group *group, const uint8_t *name, uint32_t n_bytes) {
    return group->name && group->n_name_bytes == n_bytes && memcmp(group->name, name, n_bytes) == 0;
}

/* Alternatives within an atomic group, of which the last group that has the name is the first. */
static int take_named(struct leat_regex_reader *reader, const uint8_t *name, uint32_t n_bytes,
                      uint32_t *ret_node) {
    uint32_t either, last = LEAT_REGEX_NO_NODE, node;
    int r = leat_regex_add_node(reader, LEAT_REGEX_ATOMIC, ret_node);

    if (r == 0)
        r = leat_regex_add_node(reader, LEAT_REGEX_ALTERNATION, &either);
    for (uint32_t i = reader->n_groups; r == 0 && i-- > 0;) {
        if (!is_called(&reader->groups[i], name, n_bytes))
            continue;
        r = add_reference(reader, i, &node);
        if (r < 0)
            return r;
        if (last == LEAT_REGEX_NO_NODE)
            reader->tree->nodes[either].first = node;
        else
            reader->tree->nodes[last].next = node;
        last = node;
    }
    if (r == 0 && last == LEAT_REGEX_NO_NODE)
        return leat_regex_fail(reader, "there is no group <%.*s> before its backreference",
                               n_bytes > 60 ? 60 : (int)n_bytes, (const char *)name);
    if (r == 0)
        reader->tree->nodes[*ret_node].first = either;
    return r;
}

int leat_regex_take_name_reference(struct leat_regex_reader *reader, uint32_t *ret_node) {
    uint8_t close = leat_regex_peek(reader, 1) == '<' ? '>' : '\'';
    const uint8_t *name = reader->pattern + reader->at + 2, *end;
    uint32_t n;
    int r;

    end = memchr(name, close, reader->n_bytes - reader->at - 2);
    if (!end || end == name)
        return leat_regex_fail(reader, "the name of a backreference is not closed");
    n = (uint32_t)(end - name);
    if (memchr(name, '+', n) || memchr(name + 1, '-', n - 1))
        return leat_regex_fail(reader, "backreferences with a level are not supported");
    r = take_numbered(reader, name, n, ret_node);
    if (r == 0)
        r = take_named(reader, name, n, ret_node);
    if (r < 0)
        return r;
    reader->at += n + 3;
    return 0;
}

/* Groups that nothing refers to become plain ones; the others are numbered anew. */
int leat_regex_settle_groups(struct leat_regex_reader *reader) {
    struct leat_regex_tree *tree = reader->tree;
    uint32_t n_captures = 0;

    if (reader->has_numbers && reader->has_names)
        return leat_regex_fail(
            reader, "a backreference must use names, because the regex has groups with names");
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        if (tree->nodes[i].kind != LEAT_REGEX_REFERENCE)
            continue;
        if (tree->nodes[i].group >= reader->n_groups)
            return leat_regex_fail(reader,
                                   "a backreference names group %u; the regex has groups 1 to %u",
                                   (unsigned)tree->nodes[i].group + 1, (unsigned)reader->n_groups);
        reader->groups[tree->nodes[i].group].is_referenced = true;
    }
    for (uint32_t i = 0; i < reader->n_groups; i++) {
        if (reader->groups[i].is_referenced)
            reader->groups[i].number = ++n_captures;
        else
            tree->nodes[reader->groups[i].node].kind = LEAT_REGEX_SEQUENCE;
    }
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->nodes[i].kind == LEAT_REGEX_REFERENCE ||
            tree->nodes[i].kind == LEAT_REGEX_CAPTURE)
            tree->nodes[i].group = reader->groups[tree->nodes[i].group].number;
    return 0;
}
