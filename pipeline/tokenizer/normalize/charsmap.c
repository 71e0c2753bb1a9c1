/* charsmap.c: see charsmap.h. The trie is that of darts-clone: a unit holds a label, the distance
 * to its children (xor), and whether one of these, at label 0, is a leaf with a value. */
#include "pipeline/tokenizer/normalize/charsmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/utf8.h"

static int digit_of(uint8_t c) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four characters to three bytes; n_pad of the characters are padding. */
static bool decode_group(const char *group, int n_pad, uint8_t *bytes) {
    uint32_t bits = 0;

    for (int i = 0; i < 4; i++) {
        int digit = i < 4 - n_pad ? digit_of((uint8_t)group[i]) : group[i] == '=' ? 0 : -1;

        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
    }
    for (int i = 0; i < 3 - n_pad; i++)
        bytes[i] = (uint8_t)(bits >> (16 - 8 * i));
    return (bits & ((1U << 8 * n_pad) - 1)) == 0;
}

/* RFC 4648, with padding, strict. Allocates; NULL and -EINVAL or -ENOMEM. */
static int decode_base64(const char *text, size_t n, uint8_t **ret_bytes, size_t *ret_n_bytes,
                         struct leat_error *err) {
    int n_pad = n >= 4 ? (text[n - 1] == '=') + (text[n - 1] == '=' && text[n - 2] == '=') : 0;
    uint8_t *bytes;

    if (n > LEAT_CHARSMAP_BYTES_MAX)
        return leat_error_set(err, -EINVAL, "has %zu bytes; at most %u are possible", n,
                              LEAT_CHARSMAP_BYTES_MAX);
    if (n % 4)
        return leat_error_set(err, -EINVAL,
                              "is not valid base64: %zu bytes are not a multiple of 4", n);
    bytes = malloc(n / 4 * 3 + 1);
    if (!bytes)
        return -ENOMEM;
    for (size_t i = 0; i < n; i += 4)
        if (!decode_group(text + i, i + 4 == n ? n_pad : 0, bytes + i / 4 * 3)) {
            free(bytes);
            return leat_error_set(err, -EINVAL, "is not valid base64 at byte %zu", i);
        }
    *ret_bytes = bytes;
    *ret_n_bytes = n / 4 * 3 - (size_t)n_pad;
    return 0;
}

static uint32_t unit_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static int parse(struct leat_charsmap *map, const uint8_t *bytes, size_t n_bytes,
                 struct leat_error *err) {
    size_t n_trie = n_bytes >= 4 ? unit_at(bytes) : 0, n_text;

    if (n_trie == 0 || n_trie % 4 || n_trie > n_bytes - 4)
        return leat_error_set(err, -EINVAL, "claims a trie of %zu bytes, but has only %zu bytes",
                              n_trie, n_bytes);
    n_text = n_bytes - 4 - n_trie;
    if (!leat_utf8_is_valid(bytes + 4 + n_trie, n_text))
        return leat_error_set(err, -EINVAL, "the replacements are not valid UTF-8");
    map->units = malloc(n_trie);
    map->replacements = calloc(n_text + 1, 1);
    if (!map->units || !map->replacements)
        return -ENOMEM;
    map->n_units = (uint32_t)(n_trie / 4);
    map->n_replacements = (uint32_t)n_text;
    for (uint32_t i = 0; i < map->n_units; i++)
        map->units[i] = unit_at(bytes + 4 + 4 * (size_t)i);
    memcpy(map->replacements, bytes + 4 + n_trie, n_text);
    return 0;
}

int leat_charsmap_init(struct leat_charsmap *map, const char *base64, size_t n_base64,
                       struct leat_error *err) {
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    int r;

    *map = (struct leat_charsmap){0};
    r = decode_base64(base64, n_base64, &bytes, &n_bytes, err);
    if (r == 0)
        r = parse(map, bytes, n_bytes, err);
    free(bytes);
    return r;
}

void leat_charsmap_deinit(struct leat_charsmap *map) {
    free(map->units);
    free(map->replacements);
}

/* Units. */

static bool has_leaf(uint32_t unit) {
    return unit >> 8 & 1;
}

static uint32_t value_of(uint32_t unit) {
    return unit & 0x7fffffff;
}

static uint32_t label_of(uint32_t unit) {
    return unit & 0x800000ff;
}

static uint32_t offset_of(uint32_t unit) {
    return unit >> 10 << ((unit & 0x200) >> 6);
}

const uint8_t *leat_charsmap_find(const struct leat_charsmap *map, const uint8_t *bytes,
                                  uint32_t n_bytes) {
    uint32_t at = offset_of(map->units[0]);

    for (uint32_t i = 0; i < n_bytes && bytes[i]; i++) {
        uint32_t unit;

        at ^= bytes[i];
        if (at >= map->n_units || label_of(map->units[at]) != bytes[i])
            return NULL;
        unit = map->units[at];
        at ^= offset_of(unit);
        if (has_leaf(unit) && at < map->n_units) {
            uint32_t start = value_of(map->units[at]);

            if (start > map->n_replacements || (map->replacements[start] & 0xc0) == 0x80)
                return NULL;
            return map->replacements + start;
        }
    }
    return NULL;
}

uint32_t leat_charsmap_longest(const struct leat_charsmap *map) {
    uint32_t longest = 0;

    for (uint32_t at = 0; at < map->n_replacements; at++) {
        uint32_t n = (uint32_t)strlen((const char *)map->replacements + at);

        longest = n > longest ? n : longest;
        at += n;
    }
    return longest;
}

bool leat_charsmap_is_apart(const struct leat_charsmap *map, const uint8_t *bytes,
                            uint32_t n_bytes) {
    uint32_t at = offset_of(map->units[0]);

    for (uint32_t i = 0; i < n_bytes; i++) {
        at ^= bytes[i];
        if (at >= map->n_units || label_of(map->units[at]) != bytes[i])
            return true;
        if (has_leaf(map->units[at]))
            return false;
        at ^= offset_of(map->units[at]);
    }
    return false;
}
