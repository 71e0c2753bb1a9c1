/* property.h: classes of regular expressions by name, as ranges of code points.
 *
 * The names are those that Oniguruma knows, as `tokenizers` has it: general categories and their
 * groups (Lu, L, Letter), scripts (Han, Hira), other properties (Alphabetic, Emoji), the names of
 * POSIX brackets ([:punct:], whose sets differ in places from those of \p{Punct}) and the escapes
 * \s, \w, \d, \h. Blocks and ages are not here. Immutable: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leat_unicode_range {
    uint32_t first, last; /* may run across the surrogates, which are no characters */
};

enum leat_unicode_kind {
    LEAT_UNICODE_ESCAPE,   /* "space", "word", "digit", "hex" */
    LEAT_UNICODE_POSIX,    /* [[:name:]] */
    LEAT_UNICODE_PROPERTY, /* \p{name} */
};

/* The ranges of a class, sorted, not touching; false if there is no such name. Case, blanks, `-`
 * and `_` in the name make no difference. */
bool leat_unicode_find(enum leat_unicode_kind kind, const char *name, size_t n_name,
                       const struct leat_unicode_range **ret_ranges, size_t *ret_n_ranges);

struct leat_unicode_set {
    const struct leat_unicode_range *ranges;
    size_t n;
};
/* The property of that name; empty if there is none. */
struct leat_unicode_set leat_unicode_property(const char *name);
bool leat_unicode_set_has(const struct leat_unicode_set *set, uint32_t code_point);

/* The generated tables: */
struct leat_unicode_name {
    enum leat_unicode_kind kind;
    const char *name;
    uint32_t start, n_ranges;
};
extern const struct leat_unicode_range leat_unicode_u16_ranges[];
extern const struct leat_unicode_name leat_unicode_u16_names[];
extern const size_t leat_unicode_u16_n_names;
