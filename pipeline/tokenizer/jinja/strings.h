/* strings.h: what filters and methods have in common. All return 0, or a negative errno with
 * render->err set. */
#pragma once

#include "pipeline/tokenizer/jinja/render.h"

/* Methods of texts that are filters and tests, too, of str() of any value. Case is as Python has
 * it, also of letters outside ASCII (cases.c). */
enum leat_jinja_case {
    LEAT_JINJA_LOWER,
    LEAT_JINJA_UPPER,
    LEAT_JINJA_CAPITALIZE,
    LEAT_JINJA_TITLE,
    LEAT_JINJA_TITLE_WORDS, /* the filter `title`, which begins words elsewhere */
};
LEAT_JINJA_BUILTIN(leat_jinja_change_case); /* variant: enum leat_jinja_case */
LEAT_JINJA_BUILTIN(leat_jinja_has_case);    /* variant: whether isupper() or islower() */

enum leat_jinja_character {
    LEAT_JINJA_ALPHABETIC,
    LEAT_JINJA_ALPHANUMERIC,
    LEAT_JINJA_DECIMAL,
    LEAT_JINJA_DIGIT,
    LEAT_JINJA_NUMERIC,
};
/* str.isalpha(), str.isalnum() ...: there is a character, and all are of that kind. */
int leat_jinja_all_are(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       enum leat_jinja_character kind, struct leat_jinja_value *ret);

enum leat_jinja_sides {
    LEAT_JINJA_STRIP_LEFT = 1,
    LEAT_JINJA_STRIP_RIGHT = 2,
    LEAT_JINJA_STRIP_BOTH = 3,
};

/* Takes off white space, or the characters that are given. variant: enum leat_jinja_sides. */
LEAT_JINJA_BUILTIN(leat_jinja_strip);
/* count: how often at most; ABSENT and None: always. */
int leat_jinja_replace(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       const struct leat_jinja_value *old, const struct leat_jinja_value *new,
                       const struct leat_jinja_value *count, struct leat_jinja_value *ret);

/* The value at a dotted path of keys and numbers; ABSENT and None: the value itself. fallback: in
 * place of what is undefined at each step of the path; NULL and None: nothing. */
int leat_jinja_path(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                    const struct leat_jinja_value *path, const struct leat_jinja_value *fallback,
                    struct leat_jinja_value *ret);
/* Keys and values of a dictionary as tuples. */
int leat_jinja_pairs(struct leat_jinja_render *render, const struct leat_jinja_dict *dict,
                     struct leat_jinja_list **ret_list);
/* A list, tuple or iterator with a copy of the items. */
int leat_jinja_list_value(struct leat_jinja_render *render, enum leat_jinja_kind kind,
                          const struct leat_jinja_value *items, size_t n_items,
                          struct leat_jinja_value *ret);
