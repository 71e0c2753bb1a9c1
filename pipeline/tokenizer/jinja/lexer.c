#include "pipeline/tokenizer/jinja/lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/unicode/unicode.h"
#include "pipeline/tokenizer/white_space.h"
#include "proto/base/text.h"
#include "proto/base/utf8.h"

#define BRACKETS_MAX 200

struct lexer {
    struct leat_jinja_heap *heap;
    struct leat_error *err;
    const char *source;
    size_t n_bytes, at;
    size_t line_start, counted; /* lines are counted up to `counted` */
    uint32_t line;
    bool starts_line; /* nothing but a line end came right before `at` */
    char brackets[BRACKETS_MAX];
    size_t n_brackets;
    struct leat_jinja_token *tokens;
    size_t n_tokens, capacity;
};

/* Python counts the separators 0x1c to 0x1f as white space, Unicode does not. */
size_t leat_jinja_space(const char *text, size_t n_bytes) {
    if (n_bytes > 0 && text[0] >= 0x1c && text[0] <= 0x1f)
        return 1;
    return leat_white_space_length((const uint8_t *)text, n_bytes);
}

size_t leat_jinja_leading_space(const char *text, size_t n_bytes) {
    size_t n = 0, length;

    while ((length = leat_jinja_space(text + n, n_bytes - n)) > 0)
        n += length;
    return n;
}

size_t leat_jinja_trailing_space(const char *text, size_t n_bytes) {
    size_t n = n_bytes;

    while (n > 0) {
        size_t length = text[n - 1] >= 0x1c && text[n - 1] <= 0x1f
                            ? 1
                            : leat_white_space_length_before((const uint8_t *)text, n);

        if (length == 0)
            break;
        n -= length;
    }
    return n_bytes - n;
}

static void place(struct lexer *lexer, size_t at, uint32_t *ret_line, uint32_t *ret_column) {
    for (; lexer->counted < at; lexer->counted++)
        if (lexer->source[lexer->counted] == '\n') {
            lexer->line++;
            lexer->line_start = lexer->counted + 1;
        }
    *ret_line = lexer->line;
    *ret_column = at >= lexer->line_start ? (uint32_t)(at - lexer->line_start) + 1 : 1;
}

__attribute__((format(printf, 3, 4))) static int fail(struct lexer *lexer, size_t at,
                                                      const char *format, ...) {
    uint32_t line, column;
    va_list ap;

    place(lexer, at, &line, &column);
    va_start(ap, format);
    (void)leat_error_setv(lexer->err, -EINVAL, format, ap);
    va_end(ap);
    leat_error_locate(lexer->err, NULL, line, column);
    return -EINVAL;
}

static int add(struct lexer *lexer, enum leat_jinja_token_kind kind, int op, size_t at,
               struct leat_jinja_value value) {
    struct leat_jinja_token token = {.kind = (uint8_t)kind, .op = op, .value = value};

    place(lexer, at, &token.line, &token.column);
    if (!leat_jinja_heap_grow(lexer->heap, &lexer->tokens, sizeof(token), lexer->n_tokens,
                              &lexer->capacity))
        return leat_jinja_heap_error(lexer->heap, lexer->err);
    lexer->tokens[lexer->n_tokens++] = token;
    return 0;
}

static bool has(const struct lexer *lexer, size_t at, const char *text) {
    size_t n = strlen(text);

    return at + n <= lexer->n_bytes && memcmp(lexer->source + at, text, n) == 0;
}

static size_t skip_space(const struct lexer *lexer, size_t at) {
    return at + leat_jinja_leading_space(lexer->source + at, lexer->n_bytes - at);
}

/* Passes the end of a tag, "%}" say, with what it takes away behind it; false if it is not here. */
static bool pass_end(struct lexer *lexer, const char *end, bool trims) {
    size_t at = lexer->at;
    bool strips = has(lexer, at, "-");

    if (strips || (trims && has(lexer, at, "+")))
        at++;
    if (!has(lexer, at, end))
        return false;
    if (strips)
        at = skip_space(lexer, at + 2);
    else if (at > lexer->at || !trims)
        at += 2;
    else
        at += has(lexer, at + 2, "\n") ? 3 : 2;
    lexer->at = at;
    lexer->starts_line = lexer->source[at - 1] == '\n';
    return true;
}

/* Adds the text before a tag. sign: of the tag; 0 if it has none. */
static int add_data(struct lexer *lexer, size_t start, size_t end, char sign, bool is_print) {
    const char *text = lexer->source + start;
    size_t n = end - start, line = n;

    if (sign == '-') {
        n -= leat_jinja_trailing_space(text, n);
    } else if (sign != '+' && !is_print) {
        while (line > 0 && text[line - 1] != '\n')
            line--;
        if ((line > 0 || lexer->starts_line) &&
            leat_jinja_leading_space(text + line, n - line) == n - line)
            n = line;
    }
    if (n == 0)
        return 0;
    return add(lexer, LEAT_JINJA_T_DATA, 0, start, leat_jinja_string(text, n));
}

/* `{% raw %}`: where its contents start; 0 if there is no such tag at `at`. */
static size_t find_raw(const struct lexer *lexer, size_t at) {
    at += 2;
    if (has(lexer, at, "-") || has(lexer, at, "+"))
        at++;
    at = skip_space(lexer, at);
    if (!has(lexer, at, "raw"))
        return 0;
    at = skip_space(lexer, at + 3);
    if (has(lexer, at, "%}"))
        return at + 2;
    return has(lexer, at, "-%}") ? skip_space(lexer, at + 3) : 0;
}

static int lex_raw(struct lexer *lexer, size_t start) {
    lexer->starts_line = lexer->source[start - 1] == '\n';
    for (size_t at = start; at < lexer->n_bytes; at++) {
        char sign = 0;
        int r;

        if (!has(lexer, at, "{%"))
            continue;
        lexer->at = at + 2;
        if (has(lexer, lexer->at, "-") || has(lexer, lexer->at, "+"))
            sign = lexer->source[lexer->at++];
        lexer->at = skip_space(lexer, lexer->at);
        if (!has(lexer, lexer->at, "endraw"))
            continue;
        lexer->at = skip_space(lexer, lexer->at + 6);
        r = add_data(lexer, start, at, sign, false);
        if (r < 0)
            return r;
        if (pass_end(lexer, "%}", true))
            return 0;
        return fail(lexer, at, "the tag `endraw` is not closed");
    }
    return fail(lexer, start, "`raw` has no `endraw`");
}

static int lex_comment(struct lexer *lexer, size_t start) {
    for (size_t at = start; at < lexer->n_bytes; at++) {
        if (!has(lexer, at, "#}"))
            continue;
        lexer->at = at;
        if (at > start && (has(lexer, at - 1, "-") || has(lexer, at - 1, "+")))
            lexer->at--;
        (void)pass_end(lexer, "#}", true);
        return 0;
    }
    return fail(lexer, start, "a comment is not closed");
}

static int add_bytes(struct lexer *lexer, char *text, size_t *n, uint32_t code, size_t at) {
    if (code >= 0xd800 && code < 0xe000)
        return fail(lexer, at, "half of a surrogate pair is not supported");
    if (code >= 0x110000)
        return fail(lexer, at, "an escape gives a code above U+10FFFF");
    *n += leat_unicode_encode(code, (uint8_t *)text + *n);
    return 0;
}

static int lex_hex(struct lexer *lexer, size_t at, size_t n_digits, uint32_t *ret_code) {
    uint32_t code = 0;

    for (size_t i = 0; i < n_digits; i++) {
        int digit = at + i < lexer->n_bytes ? leat_hex_digit(lexer->source[at + i]) : -1;

        if (digit < 0)
            return fail(lexer, at, "an escape needs %zu hexadecimal digits", n_digits);
        code = code << 4 | (uint32_t)digit;
    }
    *ret_code = code;
    return 0;
}

/* An escape at *at, just behind its backslash. */
static int lex_escape(struct lexer *lexer, size_t *at, char *text, size_t *n) {
    static const char plain[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    char c = lexer->source[*at];
    const char *found = c ? strchr(plain, c) : NULL;
    size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    int r;

    if (found) {
        text[(*n)++] = values[found - plain];
        ++*at;
        return 0;
    }
    if (c == '\n') { /* a line that goes on */
        ++*at;
        return 0;
    }
    if (c >= '0' && c <= '7') {
        for (size_t i = 0; i < 3 && lexer->source[*at] >= '0' && lexer->source[*at] <= '7'; i++)
            code = code * 8 + (uint32_t)(lexer->source[(*at)++] - '0');
        return add_bytes(lexer, text, n, code, *at);
    }
    if (n_digits) {
        r = lex_hex(lexer, *at + 1, n_digits, &code);
        *at += 1 + n_digits;
        return r < 0 ? r : add_bytes(lexer, text, n, code, *at);
    }
    if (c == 'N')
        return fail(lexer, *at, "\\N is not supported");
    if ((unsigned char)c >= 0x80)
        return fail(lexer, *at, "a backslash before a character outside ASCII is not supported");
    text[(*n)++] = '\\'; /* Python keeps an unknown escape */
    return 0;
}

/* No escape is shorter than what it stands for. */
static int lex_string(struct lexer *lexer) {
    size_t start = lexer->at, at = start + 1, n = 0;
    char quote = lexer->source[start], *text;
    size_t end = at;
    int r = 0;

    while (end < lexer->n_bytes && lexer->source[end] != quote)
        end += lexer->source[end] == '\\' ? 2 : 1;
    if (end >= lexer->n_bytes)
        return fail(lexer, start, "a text is not closed with %c", quote);
    text = leat_jinja_heap_alloc(lexer->heap, end - start);
    if (!text)
        return leat_jinja_heap_error(lexer->heap, lexer->err);
    while (r == 0 && at < end) {
        if (lexer->source[at] != '\\') {
            text[n++] = lexer->source[at++];
            continue;
        }
        at++;
        r = lex_escape(lexer, &at, text, &n);
    }
    if (r < 0)
        return r;
    lexer->at = end + 1;
    return add(lexer, LEAT_JINJA_T_STRING, 0, start, leat_jinja_string(text, n));
}

static size_t skip_digits(const struct lexer *lexer, size_t at) {
    while (at < lexer->n_bytes && (isdigit((unsigned char)lexer->source[at]) ||
                                   (lexer->source[at] == '_' && at + 1 < lexer->n_bytes &&
                                    isdigit((unsigned char)lexer->source[at + 1]))))
        at++;
    return at;
}

static int lex_number(struct lexer *lexer) {
    size_t start = lexer->at, at = skip_digits(lexer, start), n = 0;
    bool is_float = false;
    char digits[64], *end;
    struct leat_jinja_value value;

    if (at + 1 < lexer->n_bytes && lexer->source[start] == '0' && at == start + 1 &&
        strchr("bBoOxX", lexer->source[at]))
        return fail(lexer, start, "only decimal numbers are supported");
    if (has(lexer, at, ".") && at + 1 < lexer->n_bytes &&
        isdigit((unsigned char)lexer->source[at + 1]) &&
        !(start > 0 && lexer->source[start - 1] == '.')) {
        is_float = true;
        at = skip_digits(lexer, at + 1);
    }
    if (at < lexer->n_bytes && (lexer->source[at] == 'e' || lexer->source[at] == 'E')) {
        size_t exponent = at + 1;

        if (has(lexer, exponent, "+") || has(lexer, exponent, "-"))
            exponent++;
        if (exponent < lexer->n_bytes && isdigit((unsigned char)lexer->source[exponent])) {
            is_float = true;
            at = skip_digits(lexer, exponent);
        }
    }
    for (size_t i = start; i < at && n < sizeof(digits) - 1; i++)
        if (lexer->source[i] != '_')
            digits[n++] = lexer->source[i];
    digits[n] = '\0';
    if (!is_float && digits[0] == '0' && digits[strspn(digits, "0")])
        return fail(lexer, start, "a number must not begin with 0");
    errno = 0;
    value = is_float ? leat_jinja_float(strtod(digits, &end))
                     : leat_jinja_int(strtoll(digits, &end, 10));
    if (*end || (!is_float && errno == ERANGE) || n == sizeof(digits) - 1)
        return fail(lexer, start, "the number does not fit into 64 bits");
    lexer->at = at;
    return add(lexer, LEAT_JINJA_T_NUMBER, 0, start, value);
}

static bool is_name(int c, bool is_first) {
    return c == '_' || isalpha(c) || (!is_first && isdigit(c));
}

static int balance(struct lexer *lexer, char c) {
    static const char opening[] = "([{", closing[] = ")]}";
    const char *found;

    if ((found = strchr(opening, c))) {
        if (lexer->n_brackets == BRACKETS_MAX)
            return fail(lexer, lexer->at, "brackets nest more than %d levels", BRACKETS_MAX);
        lexer->brackets[lexer->n_brackets++] = closing[found - opening];
    } else if (strchr(closing, c)) {
        if (lexer->n_brackets == 0 || lexer->brackets[lexer->n_brackets - 1] != c)
            return fail(lexer, lexer->at, "unexpected '%c'", c);
        lexer->n_brackets--;
    }
    return 0;
}

static int lex_operator(struct lexer *lexer) {
    static const char *const doubles[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t start = lexer->at;
    char c = lexer->source[start];
    int r;

    for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++)
        if (has(lexer, start, doubles[i])) {
            lexer->at += 2;
            return add(lexer, LEAT_JINJA_T_OP, LEAT_JINJA_OP(doubles[i][0], doubles[i][1]), start,
                       leat_jinja_none());
        }
    if (!c || !strchr("+-/*%~[](){}><=.:|,;", c))
        return fail(
            lexer, start, "unexpected character '%.*s'",
            (int)leat_utf8_length((const uint8_t *)lexer->source + start, lexer->n_bytes - start),
            lexer->source + start);
    r = balance(lexer, c);
    if (r < 0)
        return r;
    lexer->at++;
    return add(lexer, LEAT_JINJA_T_OP, c, start, leat_jinja_none());
}

static int lex_tag(struct lexer *lexer, bool is_print) {
    size_t start = lexer->at;
    int r = 0;

    while (r == 0) {
        size_t at = lexer->at = skip_space(lexer, lexer->at);
        int c = at < lexer->n_bytes ? (unsigned char)lexer->source[at] : -1;

        if (c < 0)
            return fail(lexer, start, "a tag is not closed");
        if (lexer->n_brackets == 0 && pass_end(lexer, is_print ? "}}" : "%}", !is_print))
            return add(lexer, is_print ? LEAT_JINJA_T_PRINT_END : LEAT_JINJA_T_BLOCK_END, 0, at,
                       leat_jinja_none());
        if (isdigit(c)) {
            r = lex_number(lexer);
        } else if (is_name(c, true)) {
            while (lexer->at < lexer->n_bytes &&
                   is_name((unsigned char)lexer->source[lexer->at], false))
                lexer->at++;
            r = add(lexer, LEAT_JINJA_T_NAME, 0, at,
                    leat_jinja_string(lexer->source + at, lexer->at - at));
        } else {
            r = c == '\'' || c == '"' ? lex_string(lexer) : lex_operator(lexer);
        }
    }
    return r;
}

static int lex_root(struct lexer *lexer) {
    size_t start = lexer->at, at = start, raw;
    bool is_print;
    char sign = 0;
    int r;

    while (at < lexer->n_bytes &&
           !(has(lexer, at, "{%") || has(lexer, at, "{{") || has(lexer, at, "{#")))
        at++;
    if (at == lexer->n_bytes) {
        lexer->at = at;
        return add_data(lexer, start, at, '+', false);
    }
    is_print = lexer->source[at + 1] == '{';
    if (has(lexer, at + 2, "-") || has(lexer, at + 2, "+"))
        sign = lexer->source[at + 2];
    r = add_data(lexer, start, at, sign, is_print);
    if (r < 0)
        return r;
    lexer->at = at + (sign ? 3 : 2);
    lexer->starts_line = false;
    if (lexer->source[at + 1] == '#')
        return lex_comment(lexer, lexer->at);
    raw = is_print ? 0 : find_raw(lexer, at);
    if (raw)
        return lex_raw(lexer, raw);
    r = add(lexer, is_print ? LEAT_JINJA_T_PRINT_BEGIN : LEAT_JINJA_T_BLOCK_BEGIN, 0, at,
            leat_jinja_none());
    return r < 0 ? r : lex_tag(lexer, is_print);
}

int leat_jinja_lex(struct leat_jinja_heap *heap, const char *source, size_t n_bytes,
                   struct leat_jinja_token **ret_tokens, struct leat_error *err) {
    struct lexer lexer = {.heap = heap,
                          .err = err,
                          .source = source,
                          .n_bytes = n_bytes,
                          .line = 1,
                          .starts_line = true};
    int r = 0;

    while (r == 0 && lexer.at < n_bytes)
        r = lex_root(&lexer);
    if (r == 0)
        r = add(&lexer, LEAT_JINJA_T_END, 0, n_bytes, leat_jinja_none());
    *ret_tokens = lexer.tokens;
    return r;
}
