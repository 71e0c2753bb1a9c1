/* regex_bracket.c: bracket expressions: ranges, classes, nested brackets, && and POSIX brackets.
 *
 * Follows Oniguruma's rules for a `-` that stands where no range can be: it is a character first
 * and last, after a range, and before a `&&`; after a class only where it is last.
 */
#include <string.h>

#include "pipeline/tokenizer/split/regex_reader.h"
#include "pipeline/tokenizer/unicode/folding.h"
#include "pipeline/tokenizer/unicode/property.h"

enum state {
    STATE_START,
    STATE_CODE,  /* after a code point that may begin a range */
    STATE_CLASS, /* after a class */
    STATE_RANGE, /* after the `-` of a range */
    STATE_DONE,  /* after a range or a bracket */
};

struct bracket {
    struct leat_code_set set;   /* of what stands since the last && */
    struct leat_code_set above; /* what the sets before it have in common */
    bool has_above;
    enum state state;
    uint32_t code; /* of STATE_CODE and STATE_RANGE: not in the set yet */
};

static void deinit(struct bracket *bracket) {
    leat_code_set_deinit(&bracket->set);
    leat_code_set_deinit(&bracket->above);
}

static void flush(struct bracket *bracket) {
    if (bracket->state == STATE_CODE)
        leat_code_set_add(&bracket->set, bracket->code, bracket->code);
}

static int put_code(struct leat_regex_reader *reader, struct bracket *bracket, uint32_t code) {
    if (bracket->state == STATE_RANGE) {
        if (bracket->code > code)
            return leat_regex_fail(
                reader,
                "the range U+%04X-U+%04X in brackets is empty: its ends are in the wrong order",
                (unsigned)bracket->code, (unsigned)code);
        leat_code_set_add(&bracket->set, bracket->code, code);
        bracket->state = STATE_DONE;
        return 0;
    }
    flush(bracket);
    bracket->code = code;
    bracket->state = STATE_CODE;
    return 0;
}

static int put_class(struct leat_regex_reader *reader, struct bracket *bracket,
                     const struct leat_code_set *set) {
    if (bracket->state == STATE_RANGE)
        return leat_regex_fail(
            reader,
            "a range in brackets must end with one character, and not with a class such as \\d");
    flush(bracket);
    leat_code_set_add_set(&bracket->set, set);
    bracket->state = STATE_CLASS;
    return 0;
}

static int put_escape(struct leat_regex_reader *reader, struct bracket *bracket) {
    struct leat_regex_escape escape;
    int r;

    reader->at++;
    r = leat_regex_take_escape(reader, true, &escape);
    if (r == 0)
        r = escape.is_set ? put_class(reader, bracket, &escape.set)
                          : put_code(reader, bracket, escape.code);
    leat_code_set_deinit(&escape.set);
    return r;
}

/* [:name:] or [:^name:]; the place is at the `[`. 1: it is none. */
static int put_posix(struct leat_regex_reader *reader, struct bracket *bracket) {
    const uint8_t *name = reader->pattern + reader->at + 2;
    uint32_t n_left = reader->n_bytes - reader->at - 2, n = 0;
    struct leat_code_set set = {0};
    bool is_not = n_left > 0 && name[0] == '^';
    int r;

    name += is_not;
    n_left -= is_not;
    while (n < n_left && n < 20 && name[n] != ':' && name[n] != ']')
        n++;
    if (n + 1 >= n_left || name[n] != ':' || name[n + 1] != ']')
        return 1;
    if (!leat_regex_add_posix(&set, name, n))
        return leat_regex_fail(reader, "[:%.*s:] is not a POSIX class", (int)n, (const char *)name);
    if (is_not)
        leat_code_set_complement(&set);
    reader->at += 2 + is_not + n + 2;
    r = put_class(reader, bracket, &set);
    leat_code_set_deinit(&set);
    return r;
}

static int put_nested(struct leat_regex_reader *reader, struct bracket *bracket) {
    struct leat_code_set set;
    int r = 1;

    if (leat_regex_peek(reader, 1) == ':')
        r = put_posix(reader, bracket);
    if (r <= 0)
        return r;
    if (bracket->state == STATE_RANGE)
        return leat_regex_fail(reader, "a range in brackets must end with one character, and not "
                                       "with a bracket");
    flush(bracket);
    bracket->state = STATE_DONE;
    r = leat_regex_take_bracket(reader, &set);
    if (r == 0)
        leat_code_set_add_set(&bracket->set, &set);
    leat_code_set_deinit(&set);
    return r;
}

static int put_minus(struct leat_regex_reader *reader, struct bracket *bracket) {
    bool is_last;

    reader->at++;
    is_last = leat_regex_peek(reader, 0) == ']' || leat_regex_looks_at(reader, "&&");
    if (bracket->state == STATE_CLASS && !is_last)
        return leat_regex_fail(reader, "a range in brackets must begin with one character, and not "
                                       "with a class");
    if (bracket->state == STATE_CODE && !is_last) {
        bracket->state = STATE_RANGE;
        return 0;
    }
    return put_code(reader, bracket, '-');
}

static void put_and(struct bracket *bracket) {
    flush(bracket);
    if (bracket->has_above) {
        leat_code_set_intersect(&bracket->above, &bracket->set);
        leat_code_set_deinit(&bracket->set);
    } else {
        bracket->above = bracket->set;
    }
    bracket->set = (struct leat_code_set){0};
    bracket->has_above = true;
    bracket->state = STATE_START;
}

static int put_item(struct leat_regex_reader *reader, struct bracket *bracket) {
    switch (leat_regex_peek(reader, 0)) {
    case '\\':
        return put_escape(reader, bracket);
    case '[':
        return put_nested(reader, bracket);
    case '-':
        return put_minus(reader, bracket);
    case '&':
        if (leat_regex_peek(reader, 1) == '&') {
            reader->at += 2;
            put_and(bracket);
            return 0;
        }
    }
    return put_code(reader, bracket, leat_regex_take_code(reader));
}

/* True if a `]` closes the bracket later on, so that this one, which is first, is a character. */
static bool is_closed_later(const struct leat_regex_reader *reader) {
    for (uint32_t at = reader->at + 1; at < reader->n_bytes; at++) {
        if (reader->pattern[at] == '\\')
            at++;
        else if (reader->pattern[at] == ']')
            return true;
    }
    return false;
}

static int take_items(struct leat_regex_reader *reader, struct bracket *bracket) {
    int r = 0;

    if (leat_regex_peek(reader, 0) == ']') {
        if (!is_closed_later(reader))
            return leat_regex_fail(reader, "brackets are empty");
        reader->at++;
        r = put_code(reader, bracket, ']');
    }
    while (r == 0) {
        if (leat_regex_is_done(reader))
            return leat_regex_fail(reader, "brackets are not closed");
        if (leat_regex_peek(reader, 0) == ']')
            break;
        r = put_item(reader, bracket);
    }
    return r;
}

/* The complement is that of all cases of what is in the brackets, not the other way round. */
static int finish(struct leat_regex_reader *reader, struct bracket *bracket, bool is_not,
                  struct leat_code_set *ret_set) {
    uint32_t odd;

    if (bracket->has_above) {
        put_and(bracket);
        bracket->set = bracket->above;
        bracket->above = (struct leat_code_set){0};
    }
    leat_code_set_sort(&bracket->set);
    if (reader->options.ignores_case && reader->bracket_depth == 1) {
        odd = is_not ? 0 : leat_regex_find_long_case(&bracket->set);
        if (odd)
            return leat_regex_fail(
                reader,
                "U+%04X in brackets with (?i) is not supported: in its other case, it is several "
                "characters",
                (unsigned)odd);
        leat_regex_add_cases(&bracket->set);
    }
    if (is_not)
        leat_code_set_complement(&bracket->set);
    *ret_set = bracket->set;
    bracket->set = (struct leat_code_set){0};
    return 0;
}

int leat_regex_take_bracket(struct leat_regex_reader *reader, struct leat_code_set *ret_set) {
    struct bracket bracket = {0};
    bool is_not;
    int r;

    *ret_set = (struct leat_code_set){0};
    if (++reader->bracket_depth > LEAT_REGEX_DEPTH_MAX)
        return leat_regex_fail(reader, "brackets nest more than %d levels", LEAT_REGEX_DEPTH_MAX);
    reader->at++;
    is_not = leat_regex_peek(reader, 0) == '^';
    reader->at += is_not;
    r = take_items(reader, &bracket);
    if (r == 0) {
        reader->at++;
        flush(&bracket);
        bracket.state = STATE_DONE;
        r = finish(reader, &bracket, is_not, ret_set);
    }
    deinit(&bracket);
    reader->bracket_depth--;
    return r;
}

/* ---- classes ----
 *
 * Sets of code points from the tables of Unicode: classes by name, and letters that are the same
 * but for case, as Oniguruma folds them (K has three, the last of them U+212A). */

/* A \w, or a property that is the same, outside of brackets is decided by another table up to
 * U+00FF, which has the superscript digits and the fractions too. */
static void add_odd_words(struct leat_code_set *set) {
    leat_code_set_add(set, 0xb2, 0xb3);
    leat_code_set_add(set, 0xb9, 0xb9);
    leat_code_set_add(set, 0xbc, 0xbe);
    leat_code_set_sort(set);
}

static bool is_word(const char *name, size_t n_bytes) {
    const struct leat_unicode_range *ranges, *words;
    size_t n;

    return leat_unicode_find(LEAT_UNICODE_PROPERTY, name, n_bytes, &ranges, &n) &&
           leat_unicode_find(LEAT_UNICODE_ESCAPE, "word", 4, &words, &n) && ranges == words;
}

static bool add(struct leat_code_set *set, enum leat_unicode_kind kind, const char *name,
                size_t n_bytes) {
    const struct leat_unicode_range *ranges;
    size_t n_ranges;

    if (!leat_unicode_find(kind, name, n_bytes, &ranges, &n_ranges))
        return false;
    for (size_t i = 0; i < n_ranges; i++)
        leat_code_set_add(set, ranges[i].first, ranges[i].last);
    leat_code_set_sort(set);
    return true;
}

bool leat_regex_add_property(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes,
                             bool is_bracket) {
    if (!is_bracket && is_word((const char *)name, n_bytes))
        add_odd_words(set);
    return add(set, LEAT_UNICODE_PROPERTY, (const char *)name, n_bytes);
}

bool leat_regex_add_posix(struct leat_code_set *set, const uint8_t *name, uint32_t n_bytes) {
    return add(set, LEAT_UNICODE_POSIX, (const char *)name, n_bytes);
}

void leat_regex_add_shorthand(struct leat_code_set *set, uint8_t letter, bool is_bracket) {
    if (!is_bracket && letter == 'w')
        add_odd_words(set);
    if (letter == 's')
        (void)add(set, LEAT_UNICODE_ESCAPE, "space", 5);
    else if (letter == 'w')
        (void)add(set, LEAT_UNICODE_ESCAPE, "word", 4);
    else if (letter == 'd')
        (void)add(set, LEAT_UNICODE_ESCAPE, "digit", 5);
    else
        (void)add(set, LEAT_UNICODE_ESCAPE, "hex", 3);
}

/* ---- case */

void leat_regex_add_cases(struct leat_code_set *set) {
    struct leat_code_set more = {0};

    leat_code_set_sort(set);
    for (size_t i = 0; i < leat_unicode_u16_n_folds; i++) {
        const struct leat_unicode_fold *fold = &leat_unicode_u16_folds[i];
        uint32_t n_in = 0;

        for (uint32_t k = 0; k < fold->n; k++)
            n_in += leat_code_set_has(set, fold->code_points[k]);
        for (uint32_t k = 0; k < fold->n && n_in > 0 && n_in < fold->n; k++)
            leat_code_set_add(&more, fold->code_points[k], fold->code_points[k]);
    }
    leat_code_set_add_set(set, &more);
    leat_code_set_sort(set);
    leat_code_set_deinit(&more);
}

uint32_t leat_regex_find_long_case(const struct leat_code_set *set) {
    for (size_t i = 0; i < leat_unicode_u16_n_long_folds; i++)
        if (leat_code_set_has(set, leat_unicode_u16_long_folds[i].code_point))
            return leat_unicode_u16_long_folds[i].code_point;
    return 0;
}

bool leat_regex_is_long_case(uint32_t first, uint32_t second) {
    for (size_t i = 0; i < leat_unicode_u16_n_long_folds; i++)
        if (leat_unicode_u16_long_folds[i].first == first &&
            leat_unicode_u16_long_folds[i].second == second)
            return true;
    return false;
}
