/* score_reader.c: see score_reader.h. The document has been parsed, so it is well-formed: values
 * are skipped by their brackets and quotes alone. */
#include "pipeline/tokenizer/model/score_reader.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- walking over JSON text */

static char peek(const struct leat_score_reader *reader) {
    return reader->at < reader->end ? *reader->at : '\0';
}

static void skip_blanks(struct leat_score_reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at))
        reader->at++;
}

static void skip_char(struct leat_score_reader *reader, char c) {
    skip_blanks(reader);
    if (peek(reader) == c)
        reader->at++;
    skip_blanks(reader);
}

static void skip_string(struct leat_score_reader *reader) {
    for (reader->at++; reader->at < reader->end && *reader->at != '"'; reader->at++)
        if (*reader->at == '\\')
            reader->at++;
    reader->at++;
}

static void skip_value(struct leat_score_reader *reader) {
    size_t depth = 0;

    do {
        char c = peek(reader);

        if (c == '"') {
            skip_string(reader);
            continue;
        }
        depth += c == '[' || c == '{';
        depth -= c == ']' || c == '}';
        reader->at++;
        if (depth == 0 && c != ']' && c != '}') /* a number or a literal */
            while (reader->at < reader->end && !strchr(",]} \t\r\n", *reader->at))
                reader->at++;
    } while (depth && reader->at < reader->end);
}

/* The place of the last member of that key. Decoded keys come from the nodes. */
static size_t last_member(struct leat_json_node object, const char *key) {
    struct leat_json_iterator it;
    struct leat_json_node value;
    const char *name;
    size_t n_name, last = 0;

    leat_json_iterate(object, &it);
    for (size_t i = 0; leat_json_next_member(&it, &name, &n_name, &value); i++)
        if (n_name == strlen(key) && memcmp(name, key, n_name) == 0)
            last = i;
    return last;
}

static void enter_member(struct leat_score_reader *reader, size_t index) {
    skip_char(reader, '{');
    for (size_t i = 0; i <= index; i++) {
        if (i > 0) {
            skip_value(reader);
            skip_char(reader, ',');
        }
        skip_string(reader);
        skip_char(reader, ':');
    }
}

static void enter_item(struct leat_score_reader *reader, size_t index) {
    skip_char(reader, '[');
    for (size_t i = 0; i < index; i++) {
        skip_value(reader);
        skip_char(reader, ',');
    }
}

static void enter(struct leat_score_reader *reader, const struct leat_component *component) {
    const struct leat_component *parent = component->parent;

    if (!parent) {
        assert(component->document);
        reader->at = component->document->data;
        reader->end = reader->at + component->document->n_bytes;
        skip_blanks(reader);
        return;
    }
    enter(reader, parent);
    if (component->key)
        enter_member(reader, last_member(parent->node, component->key));
    else
        enter_item(reader, component->index);
}

void leat_score_reader_init(struct leat_score_reader *reader, const struct leat_component *array) {
    enter(reader, array);
    skip_char(reader, '[');
}

bool leat_score_reader_next(struct leat_score_reader *reader, double *ret_score) {
    const char *end = reader->at;
    bool is_good;

    skip_char(reader, '[');
    skip_string(reader);
    skip_char(reader, ',');
    is_good = leat_score_parse(reader->at, reader->end, ret_score, &end);
    reader->at = end;
    skip_char(reader, ']');
    skip_char(reader, ',');
    return is_good;
}

/* ---- numbers, after `serde_json::de::Deserializer::parse_any_number` */

struct number {
    const char *at, *end;
    uint64_t digits; /* as many as fit */
    int64_t exponent;
};

static bool next_digit(struct number *number, uint32_t *ret_digit) {
    if (number->at == number->end || *number->at < '0' || *number->at > '9')
        return false;
    *ret_digit = (uint32_t)(*number->at - '0');
    return true;
}

static bool append(struct number *number, uint32_t digit) {
    return !__builtin_mul_overflow(number->digits, 10, &number->digits) &&
           !__builtin_add_overflow(number->digits, digit, &number->digits);
}

/* Takes digits while they fit; those behind the first that does not are left out, and count for the
 * exponent if they stand before the point. */
static void take_digits(struct number *number, bool is_fraction) {
    uint32_t digit;
    bool fits = true;

    for (; next_digit(number, &digit); number->at++) {
        uint64_t digits = number->digits;

        fits = fits && append(number, digit);
        if (!fits)
            number->digits = digits;
        number->exponent += is_fraction ? -(int)fits : !fits;
    }
}

/* False if the exponent is beyond an int. */
static bool take_exponent(struct number *number, int64_t *ret_exponent) {
    bool is_negative = false;
    int64_t exponent = 0;
    uint32_t digit;

    number->at++;
    if (*number->at == '+' || *number->at == '-')
        is_negative = *number->at++ == '-';
    for (; next_digit(number, &digit); number->at++)
        if (exponent <= INT_MAX)
            exponent = exponent * 10 + digit;
    *ret_exponent = is_negative ? -exponent : exponent;
    return exponent <= INT_MAX;
}

#define TEN(d)                                                                                     \
    1e##d##0, 1e##d##1, 1e##d##2, 1e##d##3, 1e##d##4, 1e##d##5, 1e##d##6, 1e##d##7, 1e##d##8,      \
        1e##d##9

/* digits * 10^exponent, rounded at each step as serde_json does. */
static bool scale(double value, int64_t exponent, double *ret_value) {
    static const double powers[309] = {
        TEN(),   TEN(1),  TEN(2),  TEN(3),  TEN(4),  TEN(5),  TEN(6),  TEN(7),  TEN(8),  TEN(9),
        TEN(10), TEN(11), TEN(12), TEN(13), TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19),
        TEN(20), TEN(21), TEN(22), TEN(23), TEN(24), TEN(25), TEN(26), TEN(27), TEN(28), TEN(29),
        1e300,   1e301,   1e302,   1e303,   1e304,   1e305,   1e306,   1e307,   1e308};

    for (; exponent < -308 && value != 0.0; exponent += 308)
        value /= 1e308;
    if (value == 0.0 || exponent < 0) {
        *ret_value = value == 0.0 ? value : value / powers[-exponent];
        return true;
    }
    if (exponent > 308)
        return false;
    *ret_value = value * powers[exponent];
    return !isinf(*ret_value);
}

bool leat_score_parse(const char *text, const char *end, double *ret_value, const char **ret_end) {
    struct number number = {.at = text, .end = end};
    bool is_negative = text < end && *text == '-', is_good = true;
    int64_t exponent = 0;

    number.at += is_negative;
    take_digits(&number, false);
    if (number.at < end && *number.at == '.') {
        number.at++;
        take_digits(&number, true);
    }
    if (number.at + 1 < end && (*number.at == 'e' || *number.at == 'E'))
        is_good = take_exponent(&number, &exponent);
    *ret_end = number.at;
    if (!is_good) { /* far beyond a double, on one side or the other */
        *ret_value = 0.0;
        is_good = exponent < 0 || number.digits == 0;
    } else {
        is_good = scale((double)number.digits, number.exponent + exponent, ret_value);
    }
    *ret_value = is_negative ? -*ret_value : *ret_value;
    return is_good;
}
