/* property.c: see property.h. The names are sorted by kind and name; a name is brought to the form
 * of the table first. */
#include "pipeline/tokenizer/unicode/property.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 48

static bool normalize(const char *name, size_t n_name, char *ret_key) {
    size_t n = 0;

    for (size_t i = 0; i < n_name; i++) {
        char c = name[i];

        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (n == NAME_MAX_BYTES || c == 0)
            return false;
        ret_key[n++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    ret_key[n] = 0;
    return true;
}

static int compare(const void *a, const void *b) {
    const struct leat_unicode_name *key = a, *row = b;

    if (key->kind != row->kind)
        return key->kind < row->kind ? -1 : 1;
    return strcmp(key->name, row->name);
}

bool leat_unicode_find(enum leat_unicode_kind kind, const char *name, size_t n_name,
                       const struct leat_unicode_range **ret_ranges, size_t *ret_n_ranges) {
    char key[NAME_MAX_BYTES + 1];
    const struct leat_unicode_name wanted = {.kind = kind, .name = key}, *row;

    if (!normalize(name, n_name, key))
        return false;
    row = bsearch(&wanted, leat_unicode_u16_names, leat_unicode_u16_n_names, sizeof *row, compare);
    if (!row)
        return false;
    *ret_ranges = leat_unicode_u16_ranges + row->start;
    *ret_n_ranges = row->n_ranges;
    return true;
}

struct leat_unicode_set leat_unicode_property(const char *name) {
    struct leat_unicode_set set = {.n = 0};

    (void)leat_unicode_find(LEAT_UNICODE_PROPERTY, name, strlen(name), &set.ranges, &set.n);
    return set;
}

bool leat_unicode_set_has(const struct leat_unicode_set *set, uint32_t code_point) {
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (set->ranges[middle].last < code_point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->ranges[low].first <= code_point;
}
