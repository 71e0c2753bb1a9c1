/* tests.c: what stands behind `is`. */
#include <string.h>

#include "pipeline/tokenizer/jinja/strings.h"

/* variant: the kinds that pass, as bits. */
static LEAT_JINJA_BUILTIN(is_of_kind) {
    *ret = leat_jinja_bool(variant >> self->kind & 1);
    return 0;
}

/* variant: true or false. */
static LEAT_JINJA_BUILTIN(is_boolean_of) {
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_BOOL && self->boolean == variant);
    return 0;
}

static LEAT_JINJA_BUILTIN(is_escaped) {
    *ret = leat_jinja_bool(self->is_safe);
    return 0;
}

static int check_integer(struct leat_jinja_render *render, const struct leat_jinja_value *value) {
    int r = leat_jinja_check_defined(render, value);

    if (r == 0 && !leat_jinja_is_integral(value))
        r = leat_jinja_fail(render, "expected an integer here, not %s",
                            leat_jinja_kind_name(value));
    return r;
}

/* variant: the last bit. */
static LEAT_JINJA_BUILTIN(is_odd_or_even) {
    int r = check_integer(render, self);

    *ret = leat_jinja_bool(r == 0 && (leat_jinja_integer(self) & 1) == variant);
    return r;
}

static LEAT_JINJA_BUILTIN(is_divisible) {
    int r = check_integer(render, self);

    if (r == 0)
        r = check_integer(render, &arguments[0]);
    if (r == 0 && leat_jinja_integer(&arguments[0]) == 0)
        r = leat_jinja_fail(render, "division by zero");
    *ret = leat_jinja_bool(r == 0 &&
                           (leat_jinja_integer(&arguments[0]) == -1 ||
                            leat_jinja_integer(self) % leat_jinja_integer(&arguments[0]) == 0));
    return r;
}

/* Small integers, None and booleans are the same object wherever they are equal. */
static LEAT_JINJA_BUILTIN(is_same) {
    const struct leat_jinja_value *other = &arguments[0];

    if (self->kind == other->kind && self->kind != LEAT_JINJA_NONE && self->kind != LEAT_JINJA_BOOL)
        return leat_jinja_fail(render, "the test \"sameas\" does not support %s",
                               leat_jinja_kind_name(self));
    *ret = leat_jinja_bool(self->kind == other->kind &&
                           (self->kind == LEAT_JINJA_NONE || self->boolean == other->boolean));
    return 0;
}

/* variant: enum leat_jinja_op. */
static LEAT_JINJA_BUILTIN(compare) {
    bool is_true = false;
    int r = leat_jinja_test_operator(render, variant, self, &arguments[0], &is_true);

    *ret = leat_jinja_bool(is_true);
    return r;
}

static int is_known(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                    const struct leat_jinja_builtin *(*find)(const char *, size_t),
                    struct leat_jinja_value *ret) {
    int r = leat_jinja_check_key(render, self);

    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_STRING && find(self->text, self->n_bytes));
    return r;
}

static LEAT_JINJA_BUILTIN(is_filter) {
    return is_known(render, self, leat_jinja_filter_find, ret);
}

static LEAT_JINJA_BUILTIN(is_test) {
    return is_known(render, self, leat_jinja_test_find, ret);
}

#define PLAIN(test_name, function, test_variant)                                                   \
    { .name = (test_name), .call = (function), .variant = (test_variant) }
#define BINARY(test_name, argument, function, test_variant)                                        \
    {                                                                                              \
        .name = (test_name), .names = {argument}, .n_required = 1, .call = (function),             \
        .variant = (test_variant)                                                                  \
    }
#define KIND(kind) (UINT32_C(1) << LEAT_JINJA_##kind)

static const struct leat_jinja_builtin tests[] = {
    PLAIN("defined", is_of_kind, ~KIND(UNDEFINED)),
    PLAIN("undefined", is_of_kind, KIND(UNDEFINED)),
    PLAIN("none", is_of_kind, KIND(NONE)),
    PLAIN("boolean", is_of_kind, KIND(BOOL)),
    PLAIN("true", is_boolean_of, true),
    PLAIN("false", is_boolean_of, false),
    PLAIN("integer", is_of_kind, KIND(INT)),
    PLAIN("float", is_of_kind, KIND(FLOAT)),
    PLAIN("number", is_of_kind, KIND(BOOL) | KIND(INT) | KIND(FLOAT)),
    PLAIN("string", is_of_kind, KIND(STRING)),
    PLAIN("mapping", is_of_kind, KIND(DICT)),
    /* all that have a length and items by number or key: an undefined value has them too */
    PLAIN("sequence", is_of_kind,
          KIND(LIST) | KIND(TUPLE) | KIND(RANGE) | KIND(DICT) | KIND(STRING) | KIND(UNDEFINED)),
    PLAIN("iterable", is_of_kind,
          KIND(LIST) | KIND(TUPLE) | KIND(VIEW) | KIND(ITERATOR) | KIND(RANGE) | KIND(DICT) |
              KIND(STRING) | KIND(LOOP) | KIND(UNDEFINED)),
    PLAIN("callable", is_of_kind,
          KIND(MACRO) | KIND(FUNCTION) | KIND(METHOD) | KIND(JOINER) | KIND(LOOP) |
              KIND(UNDEFINED)),
    PLAIN("odd", is_odd_or_even, 1),
    PLAIN("even", is_odd_or_even, 0),
    PLAIN("lower", leat_jinja_has_case, false),
    PLAIN("upper", leat_jinja_has_case, true),
    PLAIN("escaped", is_escaped, 0),
    PLAIN("filter", is_filter, 0),
    PLAIN("test", is_test, 0),
    BINARY("divisibleby", "num", is_divisible, 0),
    BINARY("sameas", "other", is_same, 0),
    BINARY("eq", "other", compare, LEAT_JINJA_EQ),
    BINARY("equalto", "other", compare, LEAT_JINJA_EQ),
    BINARY("==", "other", compare, LEAT_JINJA_EQ),
    BINARY("ne", "other", compare, LEAT_JINJA_NE),
    BINARY("!=", "other", compare, LEAT_JINJA_NE),
    BINARY("gt", "other", compare, LEAT_JINJA_GT),
    BINARY("greaterthan", "other", compare, LEAT_JINJA_GT),
    BINARY(">", "other", compare, LEAT_JINJA_GT),
    BINARY("ge", "other", compare, LEAT_JINJA_GE),
    BINARY(">=", "other", compare, LEAT_JINJA_GE),
    BINARY("lt", "other", compare, LEAT_JINJA_LT),
    BINARY("lessthan", "other", compare, LEAT_JINJA_LT),
    BINARY("<", "other", compare, LEAT_JINJA_LT),
    BINARY("le", "other", compare, LEAT_JINJA_LE),
    BINARY("<=", "other", compare, LEAT_JINJA_LE),
    BINARY("in", "seq", compare, LEAT_JINJA_IN),
    {.name = NULL},
};

const struct leat_jinja_builtin *leat_jinja_test_find(const char *name, size_t n_bytes) {
    return leat_jinja_builtin_find(tests, name, n_bytes);
}
