#include "pipeline/tokenizer/model/score_reader.h"

#include <limits.h>
#include <math.h>

#include "pipeline/tokenizer/json_skip.h"

void leat_score_reader_init(struct leat_score_reader *reader, const struct leat_component *array) {
    const uint8_t *text = leat_component_text(array);

    reader->at = text ? leat_json_skip_mark(text, '[') : NULL;
    reader->end = (const uint8_t *)array->document->data + array->document->n_bytes;
}

bool leat_score_reader_next(struct leat_score_reader *reader, double *ret_score) {
    const char *number, *end;
    bool is_good;

    if (!reader->at)
        return false;
    reader->at = leat_json_skip_space(leat_json_skip_mark(reader->at, '['));
    reader->at = leat_json_skip_value(reader->at);
    number = (const char *)leat_json_skip_space(leat_json_skip_mark(reader->at, ','));
    is_good = leat_score_parse(number, (const char *)reader->end, ret_score, &end);
    reader->at = leat_json_skip_mark(leat_json_skip_mark((const uint8_t *)end, ']'), ',');
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

/* Takes digits while they fit; those after the first that does not are left out, and count for the
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
