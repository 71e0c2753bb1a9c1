/* json_path.c: see json_path.h.
 *
 * Walks the text without building anything: values that the path does not lead through are skipped
 * by counting brackets outside of strings, so depth costs no stack. Each step skips through its
 * container once (an object to its end, for the last of equal keys): time is the number of steps
 * times the size of the document. `at` never passes `end`, whatever the bytes are.
 */
#include "pipeline/tokenizer/json_path.h"

#include <string.h>

#include "pipeline/tokenizer/json_locate.h"
#include "pipeline/tokenizer/unicode/unicode.h"

struct walker {
    const uint8_t *at, *end;
};

static int peek(const struct walker *walker) {
    return walker->at < walker->end ? *walker->at : -1;
}

static void skip_space(struct walker *walker) {
    while (walker->at < walker->end && memchr(" \t\n\r", *walker->at, 4))
        walker->at++;
}

static bool take(struct walker *walker, char c) {
    skip_space(walker);
    if (peek(walker) != c)
        return false;
    walker->at++;
    return true;
}

/* Moves past the next quote that no backslash escapes. */
static void skip_string(struct walker *walker) {
    const uint8_t *at = walker->at + 1;
    size_t n_backslashes;

    while ((at = memchr(at, '"', (size_t)(walker->end - at)))) {
        for (n_backslashes = 0; at[-1 - (ptrdiff_t)n_backslashes] == '\\';)
            n_backslashes++;
        at++;
        if (n_backslashes % 2 == 0)
            break;
    }
    walker->at = at ? at : walker->end;
}

/* A string, a whole container, or a number or word. */
static void skip_value(struct walker *walker) {
    size_t depth = 0;

    do {
        int c = peek(walker);
        if (c < 0)
            return;
        if (c == '"') {
            skip_string(walker);
            continue;
        }
        depth += c == '{' || c == '[';
        depth -= depth && (c == '}' || c == ']');
        walker->at++;
    } while (depth || (peek(walker) >= 0 && !memchr(",:]}\" \t\n\r", peek(walker), 9)));
}

static uint32_t hex_unit(const uint8_t *digits) {
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        uint32_t c = digits[i] | 0x20U;
        unit = unit << 4 | ((c >= 'a' ? c - 'a' + 10 : c - '0') & 15);
    }
    return unit;
}

/* The bytes of the escape at the walker, which steps over it; 0: it is cut off. */
static size_t read_escape(struct walker *walker, uint8_t bytes[4]) {
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
    size_t left = (size_t)(walker->end - walker->at);
    const uint8_t *at = walker->at;
    const char *letter;
    uint32_t unit, low;

    if (left < 2 || (at[1] == 'u' && left < 6))
        return 0;
    if (at[1] != 'u') {
        letter = strchr(letters, at[1]);
        bytes[0] = letter && *letter ? (uint8_t)values[letter - letters] : at[1];
        walker->at += 2;
        return 1;
    }
    unit = hex_unit(at + 2);
    walker->at += 6;
    if (unit >= 0xd800 && unit < 0xdc00 && left >= 12 && at[6] == '\\' && at[7] == 'u') {
        low = hex_unit(at + 8);
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low & 0x3ff);
        walker->at += 6;
    }
    return leat_unicode_encode(unit, bytes);
}

/* Steps over a string; says whether it reads `key`. */
static bool read_key(struct walker *walker, const char *key, size_t n_key) {
    struct walker inside = {.at = walker->at + 1};
    uint8_t bytes[4];
    size_t n;

    skip_string(walker);
    inside.end = walker->at;
    while (inside.at < inside.end && *inside.at != '"') {
        n = 1;
        bytes[0] = *inside.at;
        if (bytes[0] == '\\')
            n = read_escape(&inside, bytes);
        else
            inside.at++;
        if (n == 0 || n > n_key || memcmp(bytes, key, n) != 0)
            return false;
        key += n;
        n_key -= n;
    }
    return n_key == 0;
}

/* To the value of the last such key of the object at the walker. */
static bool enter_member(struct walker *walker, const struct leat_json_step *step) {
    const uint8_t *found = NULL;

    if (!take(walker, '{'))
        return false;
    do {
        bool is_key;
        skip_space(walker);
        if (peek(walker) != '"')
            break;
        is_key = read_key(walker, step->key, step->n_key);
        if (!take(walker, ':'))
            break;
        skip_space(walker);
        if (is_key)
            found = walker->at;
        skip_value(walker);
    } while (take(walker, ','));
    walker->at = found;
    return found;
}

/* To an item of the array at the walker. */
static bool enter_item(struct walker *walker, const struct leat_json_step *step) {
    if (!take(walker, '['))
        return false;
    for (size_t i = 0; i < step->index; i++) {
        skip_space(walker);
        skip_value(walker);
        if (!take(walker, ','))
            return false;
    }
    skip_space(walker);
    return peek(walker) >= 0 && peek(walker) != ']';
}

const uint8_t *leat_json_find_value(const uint8_t *data, size_t n_bytes,
                                    const struct leat_json_step *steps, size_t n_steps) {
    struct walker walker = {.at = data, .end = data + n_bytes};

    for (size_t i = 0; i < n_steps; i++)
        if (!(steps[i].key ? enter_member(&walker, &steps[i]) : enter_item(&walker, &steps[i])))
            return NULL;
    skip_space(&walker);
    return walker.at < walker.end ? walker.at : NULL;
}

bool leat_json_locate_value(const uint8_t *data, size_t n_bytes, const struct leat_json_step *steps,
                            size_t n_steps, uint32_t *ret_line, uint32_t *ret_column) {
    const uint8_t *value = leat_json_find_value(data, n_bytes, steps, n_steps);

    if (value)
        leat_json_count_lines(data, value, ret_line, ret_column);
    return value;
}
