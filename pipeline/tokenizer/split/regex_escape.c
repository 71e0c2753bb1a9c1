/* regex_escape.c: what a backslash begins, where it stands for a character or a set of them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/tokenizer/split/regex_reader.h"
#include "pipeline/tokenizer/unicode/unicode.h"

int leat_regex_fail(struct leat_regex_reader *reader, const char *format, ...) {
    char reason[256];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(reason, sizeof(reason), format, ap);
    va_end(ap);
    return leat_error_set(reader->err, -EINVAL, "at byte %u of the regex: %s",
                          (unsigned)(reader->at < reader->n_bytes ? reader->at : reader->n_bytes),
                          reason);
}

uint32_t leat_regex_take_code(struct leat_regex_reader *reader) {
    uint32_t n, code = leat_unicode_decode(reader->pattern + reader->at, &n);

    reader->at += n;
    return code;
}

static int digit_of(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return 99;
}

/* Digits of a base, n_max at most; returns how many. */
static uint32_t take_digits(struct leat_regex_reader *reader, int base, uint32_t n_max,
                            uint32_t *ret_value) {
    uint32_t n = 0, value = 0;

    while (n < n_max && !leat_regex_is_done(reader)) {
        int digit = digit_of(leat_regex_peek(reader, 0));
        if (digit >= base)
            break;
        value = value * (uint32_t)base + (uint32_t)digit;
        reader->at++;
        n++;
    }
    *ret_value = value;
    return n;
}

/* {digits} */
static int take_braced(struct leat_regex_reader *reader, int base, uint32_t *ret_code) {
    uint32_t n;

    reader->at++;
    n = take_digits(reader, base, base == 16 ? 8 : 11, ret_code);
    if (n == 0 || leat_regex_peek(reader, 0) != '}')
        return leat_regex_fail(reader, "the braces must contain a single code point");
    reader->at++;
    if (*ret_code > LEAT_CODE_MAX || (*ret_code >= 0xd800 && *ret_code < 0xe000))
        return leat_regex_fail(reader, "U+%X is not a character", (unsigned)*ret_code);
    return 0;
}

static int take_hex(struct leat_regex_reader *reader, uint32_t *ret_code) {
    if (leat_regex_peek(reader, 0) == '{')
        return take_braced(reader, 16, ret_code);
    (void)take_digits(reader, 16, 2, ret_code);
    if (*ret_code >= 0x80)
        return leat_regex_fail(
            reader,
            "\\x%02X is a byte of UTF-8, which is not supported: write the character or \\x{...}",
            (unsigned)*ret_code);
    return 0;
}

static int take_unicode(struct leat_regex_reader *reader, uint32_t *ret_code) {
    if (take_digits(reader, 16, 4, ret_code) != 4)
        return leat_regex_fail(reader, "\\u needs four hexadecimal digits");
    if (*ret_code >= 0xd800 && *ret_code < 0xe000)
        return leat_regex_fail(reader, "U+%X is not a character", (unsigned)*ret_code);
    return 0;
}

static int take_octal(struct leat_regex_reader *reader, uint32_t n_max, uint32_t *ret_code) {
    (void)take_digits(reader, 8, n_max, ret_code);
    if (*ret_code >= 0x80)
        return leat_regex_fail(
            reader,
            "\\%o is a byte of UTF-8, which is not supported: write the character or \\x{...}",
            (unsigned)*ret_code);
    return 0;
}

/* \p{name}, \p{^name}; the place is at the brace. */
static int take_property(struct leat_regex_reader *reader, bool is_not, bool is_bracket,
                         struct leat_code_set *set) {
    const uint8_t *name = reader->pattern + reader->at + 1;
    const uint8_t *close = memchr(name, '}', reader->n_bytes - reader->at - 1);
    uint32_t n;

    if (!close)
        return leat_regex_fail(reader, "\\p{ is not closed");
    n = (uint32_t)(close - name);
    if (n > 0 && name[0] == '^') {
        is_not = !is_not;
        name++;
        n--;
    }
    if (!leat_regex_add_property(set, name, n, is_bracket))
        return leat_regex_fail(reader, "the property \\p{%.*s} is unknown", n > 60 ? 60 : (int)n,
                               (const char *)name);
    if (is_not)
        leat_code_set_complement(set);
    reader->at += (uint32_t)(close + 1 - (reader->pattern + reader->at));
    return 0;
}

static void take_shorthand(uint8_t letter, bool is_bracket, struct leat_regex_escape *escape) {
    escape->is_set = true;
    leat_regex_add_shorthand(&escape->set, letter | 0x20, is_bracket);
    if (letter < 'a')
        leat_code_set_complement(&escape->set);
}

static uint32_t control_of(uint8_t letter) {
    static const char letters[] = "tnrfvae", codes[] = "\t\n\r\f\v\a\033";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? (uint8_t)codes[found - letters] : letter;
}

static int take_letter(struct leat_regex_reader *reader, uint8_t letter, bool is_bracket,
                       struct leat_regex_escape *escape) {
    uint8_t next = leat_regex_peek(reader, 0);

    switch (letter) {
    case 'd':
    case 'D':
    case 'h':
    case 'H':
    case 's':
    case 'S':
    case 'w':
    case 'W':
        take_shorthand(letter, is_bracket, escape);
        return 0;
    case 'x':
        return leat_regex_is_done(reader) ? 0 : take_hex(reader, &escape->code);
    case 'u':
        return leat_regex_is_done(reader) ? 0 : take_unicode(reader, &escape->code);
    case 'b': /* elsewhere an assertion */
        escape->code = 0x08;
        return 0;
    case 'o':
        return next == '{' ? take_braced(reader, 8, &escape->code) : 0;
    case 'p':
    case 'P':
        if (next != '{')
            return 0;
        escape->is_set = true;
        return take_property(reader, letter == 'P', is_bracket, &escape->set);
    case 'c':
    case 'C':
    case 'M':
        return leat_regex_fail(reader, "\\%c (a control or meta character) is not supported",
                               letter);
    case '0':
        return take_octal(reader, 2, &escape->code);
    }
    if (letter >= '1' && letter <= '7') { /* a backreference is taken elsewhere */
        reader->at--;
        return take_octal(reader, 3, &escape->code);
    }
    escape->code = control_of(letter);
    return 0;
}

int leat_regex_take_escape(struct leat_regex_reader *reader, bool is_bracket,
                           struct leat_regex_escape *ret_escape) {
    uint8_t letter = leat_regex_peek(reader, 0);

    *ret_escape = (struct leat_regex_escape){0};
    if (leat_regex_is_done(reader))
        return leat_regex_fail(reader, "the regex ends with a backslash");
    if (letter >= 0x80) {
        ret_escape->code = leat_regex_take_code(reader);
        return 0;
    }
    reader->at++;
    ret_escape->code = letter;
    return take_letter(reader, letter, is_bracket, ret_escape);
}
