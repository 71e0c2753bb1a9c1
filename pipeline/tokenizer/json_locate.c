/* json_locate.c: see json_locate.h.
 *
 * A plain pushdown automaton for RFC 8259 with a bit a level (object or array), so that depth costs
 * no stack. It accepts what the parser behind json.h accepts, which the tests hold against each
 * other.
 */
#include "pipeline/tokenizer/json_locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

struct scanner {
    const uint8_t *data, *at, *end;
    const char *message;         /* first fault; `at` stays there */
    struct leat_json_odds *odds; /* NULL: oddities are faults */
    uint8_t *copy, *mended;      /* or NULL: where oddities, or halves of pairs, are written over */
    bool is_in_key;
};

static bool fail(struct scanner *scanner, const char *message) {
    scanner->message = message;
    return false;
}

static int peek(const struct scanner *scanner) {
    return scanner->at < scanner->end ? *scanner->at : -1;
}

static void skip_space(struct scanner *scanner) {
    while (scanner->at < scanner->end && memchr(" \t\n\r", *scanner->at, 4))
        scanner->at++;
}

static bool take(struct scanner *scanner, char c) {
    if (peek(scanner) != c)
        return false;
    scanner->at++;
    return true;
}

static size_t skip_digits(struct scanner *scanner) {
    const uint8_t *start = scanner->at;

    while (peek(scanner) >= '0' && peek(scanner) <= '9')
        scanner->at++;
    return (size_t)(scanner->at - start);
}

/* ---- oddities ---- */

static void add_odd(struct scanner *scanner, enum leat_json_oddity oddity, double value) {
    struct leat_json_odds *odds = scanner->odds;

    if (!leat_array_reserve(&odds->items, odds->n_items + 1, &odds->capacity)) {
        odds->is_out_of_memory = true;
        return;
    }
    odds->items[odds->n_items++] =
        (struct leat_json_odd){.oddity = oddity, .scalar = odds->n_scalars, .value = value};
}

static void put_copy(struct scanner *scanner, const uint8_t *at, const char *text, size_t n) {
    if (scanner->copy)
        memcpy(scanner->copy + (at - scanner->data), text, n);
}

static double value_of(const uint8_t *text, size_t n) {
    char *number = strndup((const char *)text, n);
    double value = number ? strtod(number, NULL) : 0;

    free(number);
    return value;
}

/* True if the integer of these characters is just that double. */
static bool is_just(double value, const uint8_t *text, size_t n) {
    char digits[330];
    int n_digits = snprintf(digits, sizeof(digits), "%.0f", value);

    return n_digits == (int)n && memcmp(digits, text, n) == 0;
}

/* The number has at least 5 characters. */
static void take_wide(struct scanner *scanner, const uint8_t *text, size_t n, bool is_integer) {
    double value = value_of(text, n);
    bool is_rounded = is_integer && !is_just(value, text, n);

    add_odd(scanner, is_rounded ? LEAT_JSON_ROUNDED_NUMBER : LEAT_JSON_WIDE_NUMBER, value);
    put_copy(scanner, text, "0.0", 3);
    for (size_t i = 3; i < n; i++)
        put_copy(scanner, text + i, " ", 1);
}

/* Only the first one in a string counts. */
static void take_half(struct scanner *scanner, const uint8_t *at) {
    const struct leat_json_odds *odds = scanner->odds;
    bool is_first = odds->n_items == 0 || odds->items[odds->n_items - 1].scalar != odds->n_scalars;

    if (is_first && !scanner->is_in_key)
        add_odd(scanner, LEAT_JSON_HALF_PAIR, 0);
    put_copy(scanner, at, scanner->is_in_key ? "\\u0000" : "\\ufffd", 6);
    if (scanner->mended)
        memcpy(scanner->mended + (at - scanner->data), "\\ufffd", 6);
}

/* ---- scalars ---- */

/* True if an integer or real of these characters fits a uint64_t, int64_t or double. */
static bool is_in_range(const uint8_t *text, size_t n, bool is_integer) {
    char copy[32];
    double value;

    if (is_integer && n < sizeof(copy)) {
        memcpy(copy, text, n);
        copy[n] = '\0';
        if (copy[0] == '-')
            return n < 20 || (n == 20 && strcmp(copy, "-9223372036854775808") <= 0);
        return n < 20 || (n == 20 && strcmp(copy, "18446744073709551615") <= 0);
    }
    if (is_integer)
        return false;
    value = value_of(text, n);
    return value - value == 0;
}

static bool scan_number(struct scanner *scanner) {
    const uint8_t *start = scanner->at;
    bool is_integer = true;
    size_t n;

    (void)take(scanner, '-');
    if (!take(scanner, '0') && !skip_digits(scanner))
        return fail(scanner, "expected a digit");
    if (take(scanner, '.')) {
        is_integer = false;
        if (!skip_digits(scanner))
            return fail(scanner, "expected a digit after the decimal point");
    }
    if (take(scanner, 'e') || take(scanner, 'E')) {
        is_integer = false;
        if (!take(scanner, '+'))
            (void)take(scanner, '-');
        if (!skip_digits(scanner))
            return fail(scanner, "expected a digit in the exponent");
    }
    n = (size_t)(scanner->at - start);
    if (!is_in_range(start, n, is_integer)) {
        if (!scanner->odds) {
            scanner->at = start;
            return fail(scanner, "the number is too large");
        }
        take_wide(scanner, start, n, is_integer);
    } else if (scanner->odds && is_integer && n == 2 && memcmp(start, "-0", 2) == 0) {
        add_odd(scanner, LEAT_JSON_MINUS_ZERO, 0);
    }
    if (scanner->odds)
        scanner->odds->n_scalars++;
    return true;
}

/* One character of UTF-8. */
static bool scan_utf8(struct scanner *scanner) {
    uint32_t n = leat_utf8_character(scanner->at, (size_t)(scanner->end - scanner->at));

    scanner->at += n;
    return n > 0 || fail(scanner, "the text is not valid UTF-8");
}

/* The code unit of \uXXXX at `at`, or -1. */
static int code_unit(const struct scanner *scanner, const uint8_t *at) {
    int unit = 0;

    if (scanner->end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        if (leat_hex_digit(at[i]) < 0)
            return -1;
        unit = unit * 16 + leat_hex_digit(at[i]);
    }
    return unit;
}

static bool scan_escape(struct scanner *scanner) {
    const uint8_t *at = scanner->at;
    int unit, low;

    if (scanner->end - at < 2)
        return fail(scanner, "the string is never closed");
    if (at[1] != 'u') {
        if (!memchr("\"\\/bfnrt", at[1], 8))
            return fail(scanner, "an unknown escape in a string");
        scanner->at += 2;
        return true;
    }
    unit = code_unit(scanner, at);
    if (unit < 0)
        return fail(scanner, "expected four hexadecimal digits after \\u");
    scanner->at += 6;
    if (unit < 0xd800 || unit > 0xdfff)
        return true;
    low = code_unit(scanner, scanner->at);
    if (unit <= 0xdbff && low >= 0xdc00 && low <= 0xdfff) {
        scanner->at += 6;
        return true;
    }
    if (!scanner->odds) {
        scanner->at = at;
        return fail(scanner, "an unpaired surrogate (\\ud800 to \\udfff)");
    }
    take_half(scanner, at);
    return true;
}

static bool scan_string(struct scanner *scanner) {
    const uint8_t *start = scanner->at++;
    int c;

    while ((c = peek(scanner)) != '"') {
        if (c < 0) {
            scanner->at = start;
            return fail(scanner, "the string is never closed");
        }
        if (c < 0x20)
            return fail(scanner, "a control character in a string must be escaped");
        if (c == '\\') {
            if (!scan_escape(scanner))
                return false;
        } else if (c >= 0x80) {
            if (!scan_utf8(scanner))
                return false;
        } else {
            scanner->at++;
        }
    }
    scanner->at++;
    if (scanner->odds)
        scanner->odds->n_scalars++;
    return true;
}

static bool scan_word(struct scanner *scanner) {
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(scanner->end - scanner->at) >= n && memcmp(scanner->at, words[i], n) == 0) {
            scanner->at += n;
            return true;
        }
    }
    return fail(scanner, "expected a value");
}

static bool scan_scalar(struct scanner *scanner) {
    int c = peek(scanner);

    if (c == '"')
        return scan_string(scanner);
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(scanner);
    return scan_word(scanner);
}

static bool scan_key(struct scanner *scanner) {
    skip_space(scanner);
    if (peek(scanner) != '"')
        return fail(scanner, "expected a key in double quotes");
    scanner->is_in_key = true;
    if (!scan_string(scanner))
        return false;
    scanner->is_in_key = false;
    skip_space(scanner);
    if (!take(scanner, ':'))
        return fail(scanner, "expected a ':' after the key");
    return true;
}

/* After a value: closes containers that end here, and steps over a comma. False at the end or at a
 * fault. */
static bool scan_after(struct scanner *scanner, const bool *is_object, size_t *depth) {
    while (*depth) {
        bool in_object = is_object[*depth - 1];
        skip_space(scanner);
        if (take(scanner, ','))
            return !in_object || scan_key(scanner);
        if (!take(scanner, in_object ? '}' : ']'))
            return fail(scanner, in_object ? "expected a ',' or '}' after a member"
                                           : "expected a ',' or ']' after an item");
        --*depth;
    }
    skip_space(scanner);
    if (scanner->at < scanner->end)
        return fail(scanner, "expected the end of the document");
    return false;
}

/* Enters a container. *ret_is_empty: it was closed at once, and counts as a value. */
static bool scan_open(struct scanner *scanner, bool in_object, bool *ret_is_empty) {
    skip_space(scanner);
    *ret_is_empty = take(scanner, in_object ? '}' : ']');
    return *ret_is_empty || !in_object || scan_key(scanner);
}

static void scan_document(struct scanner *scanner) {
    bool is_object[LEAT_JSON_DEPTH_MAX];
    bool is_empty;
    size_t depth = 0;

    do {
        is_empty = true;
        skip_space(scanner);
        if (peek(scanner) == '{' || peek(scanner) == '[') {
            bool in_object = *scanner->at++ == '{';
            if (!scan_open(scanner, in_object, &is_empty))
                return;
            if (!is_empty)
                is_object[depth++] = in_object;
            if (depth >= LEAT_JSON_DEPTH_MAX) {
                (void)fail(scanner, "objects and arrays nest too deep");
                return;
            }
        } else if (!scan_scalar(scanner)) {
            return;
        }
    } while (!is_empty || scan_after(scanner, is_object, &depth));
}

static void describe(const struct scanner *scanner, struct leat_json_fault *ret_fault) {
    int c = peek(scanner);
    size_t size = sizeof(ret_fault->message);

    if (strncmp(scanner->message, "expected", 8) != 0)
        (void)snprintf(ret_fault->message, size, "%s", scanner->message);
    else if (c < 0)
        (void)snprintf(ret_fault->message, size, "%s, but the text ends here", scanner->message);
    else if (c > 0x20 && c < 0x7f)
        (void)snprintf(ret_fault->message, size, "%s, found '%c'", scanner->message, c);
    else
        (void)snprintf(ret_fault->message, size, "%s, found byte 0x%02x", scanner->message,
                       (unsigned)c);
}

void leat_json_count_lines(const uint8_t *data, const uint8_t *place, uint32_t *ret_line,
                           uint32_t *ret_column) {
    const uint8_t *line_start = data;

    *ret_line = 1;
    for (const uint8_t *at = data; at < place; at++)
        if (*at == '\n') {
            ++*ret_line;
            line_start = at + 1;
        }
    *ret_column = (uint32_t)(place - line_start) + 1;
}

/* True if there is a fault, which *ret_fault describes. */
static bool report(const struct scanner *scanner, struct leat_json_fault *ret_fault) {
    if (!scanner->message)
        return false;
    leat_json_count_lines(scanner->data, scanner->at, &ret_fault->line, &ret_fault->column);
    describe(scanner, ret_fault);
    return true;
}

bool leat_json_locate(const uint8_t *data, size_t n_bytes, struct leat_json_fault *ret_fault) {
    struct scanner scanner = {.data = data, .at = data, .end = data + n_bytes};

    scan_document(&scanner);
    return report(&scanner, ret_fault);
}

bool leat_json_find_odds(const uint8_t *data, size_t n_bytes, uint8_t *copy,
                         struct leat_json_odds *ret_odds, struct leat_json_fault *ret_fault) {
    struct scanner scanner = {
        .data = data, .at = data, .end = data + n_bytes, .odds = ret_odds, .copy = copy};

    *ret_odds = (struct leat_json_odds){.items = NULL};
    scan_document(&scanner);
    return !report(&scanner, ret_fault) && !ret_odds->is_out_of_memory;
}

void leat_json_mend_pairs(uint8_t *text, size_t n_bytes) {
    struct leat_json_odds odds = {.items = NULL};
    struct scanner scanner = {
        .data = text, .at = text, .end = text + n_bytes, .odds = &odds, .mended = text};

    scan_document(&scanner);
    free(odds.items);
}
