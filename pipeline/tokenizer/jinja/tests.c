/* tests.c: what stands behind `is`. */
#include <string.h>

#include "pipeline/tokenizer/jinja/strings.h"

#define TEST(function)                                                                             \
    static int function(struct leat_jinja_render *render, const struct leat_jinja_value *self,     \
                        const struct leat_jinja_value *arguments,                                  \
                        const struct leat_jinja_arguments *all, struct leat_jinja_value *ret)
#define UNUSED (void)render, (void)arguments, (void)all

TEST(is_defined) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind != LEAT_JINJA_UNDEFINED);
    return 0;
}

TEST(is_undefined) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_UNDEFINED);
    return 0;
}

TEST(is_none) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_NONE);
    return 0;
}

TEST(is_boolean) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_BOOL);
    return 0;
}

TEST(is_true) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_BOOL && self->boolean);
    return 0;
}

TEST(is_false) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_BOOL && !self->boolean);
    return 0;
}

TEST(is_integer) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_INT);
    return 0;
}

TEST(is_float) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_FLOAT);
    return 0;
}

TEST(is_number) {
    UNUSED;
    *ret = leat_jinja_bool(leat_jinja_is_number(self));
    return 0;
}

TEST(is_string) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_STRING);
    return 0;
}

TEST(is_mapping) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_DICT);
    return 0;
}

/* Everything with a length and items by number or key: an undefined value has them too. */
TEST(is_sequence) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_LIST || self->kind == LEAT_JINJA_TUPLE ||
                           self->kind == LEAT_JINJA_RANGE || self->kind == LEAT_JINJA_DICT ||
                           self->kind == LEAT_JINJA_STRING || self->kind == LEAT_JINJA_UNDEFINED);
    return 0;
}

TEST(is_iterable) {
    UNUSED;
    *ret = leat_jinja_bool(leat_jinja_has_items(self) || self->kind == LEAT_JINJA_DICT ||
                           self->kind == LEAT_JINJA_STRING || self->kind == LEAT_JINJA_LOOP ||
                           self->kind == LEAT_JINJA_UNDEFINED);
    return 0;
}

TEST(is_callable) {
    UNUSED;
    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_MACRO || self->kind == LEAT_JINJA_FUNCTION ||
                           self->kind == LEAT_JINJA_METHOD || self->kind == LEAT_JINJA_JOINER ||
                           self->kind == LEAT_JINJA_LOOP || self->kind == LEAT_JINJA_UNDEFINED);
    return 0;
}

TEST(is_escaped) {
    UNUSED;
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

TEST(is_odd) {
    int r = check_integer(render, self);

    UNUSED;
    *ret = leat_jinja_bool(r == 0 && leat_jinja_integer(self) % 2 != 0);
    return r;
}

TEST(is_even) {
    int r = check_integer(render, self);

    UNUSED;
    *ret = leat_jinja_bool(r == 0 && leat_jinja_integer(self) % 2 == 0);
    return r;
}

TEST(is_divisible) {
    int r = check_integer(render, self);

    (void)all;
    if (r == 0)
        r = check_integer(render, &arguments[0]);
    if (r == 0 && leat_jinja_integer(&arguments[0]) == 0)
        r = leat_jinja_fail(render, "division by zero");
    *ret = leat_jinja_bool(r == 0 &&
                           (leat_jinja_integer(&arguments[0]) == -1 ||
                            leat_jinja_integer(self) % leat_jinja_integer(&arguments[0]) == 0));
    return r;
}

static int is_case(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                   bool is_upper, struct leat_jinja_value *ret) {
    struct leat_jinja_value text;
    int r = leat_jinja_to_string(render, self, &text);

    return r < 0 ? r : leat_jinja_has_case(render, &text, is_upper, ret);
}

TEST(is_lower) {
    UNUSED;
    return is_case(render, self, false, ret);
}

TEST(is_upper) {
    UNUSED;
    return is_case(render, self, true, ret);
}

/* Small integers, None and booleans are the same object wherever they are equal. */
TEST(is_same) {
    const struct leat_jinja_value *other = &arguments[0];

    (void)all;
    if (self->kind != other->kind) {
        *ret = leat_jinja_bool(false);
        return 0;
    }
    if (self->kind == LEAT_JINJA_NONE || self->kind == LEAT_JINJA_BOOL) {
        *ret = leat_jinja_bool(self->kind == LEAT_JINJA_NONE || self->boolean == other->boolean);
        return 0;
    }
    return leat_jinja_fail(render, "the test \"sameas\" does not support %s",
                           leat_jinja_kind_name(self));
}

static int compare(struct leat_jinja_render *render, enum leat_jinja_op op,
                   const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                   struct leat_jinja_value *ret) {
    bool is_true = false;
    int r = leat_jinja_test_operator(render, op, a, b, &is_true);

    *ret = leat_jinja_bool(is_true);
    return r;
}

TEST(is_equal) {
    (void)all;
    return compare(render, LEAT_JINJA_EQ, self, &arguments[0], ret);
}

TEST(is_unequal) {
    (void)all;
    return compare(render, LEAT_JINJA_NE, self, &arguments[0], ret);
}

TEST(is_greater) {
    (void)all;
    return compare(render, LEAT_JINJA_GT, self, &arguments[0], ret);
}

TEST(is_greater_equal) {
    (void)all;
    return compare(render, LEAT_JINJA_GE, self, &arguments[0], ret);
}

TEST(is_less) {
    (void)all;
    return compare(render, LEAT_JINJA_LT, self, &arguments[0], ret);
}

TEST(is_less_equal) {
    (void)all;
    return compare(render, LEAT_JINJA_LE, self, &arguments[0], ret);
}

TEST(is_in) {
    (void)all;
    return compare(render, LEAT_JINJA_IN, self, &arguments[0], ret);
}

static int is_known(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                    const struct leat_jinja_builtin *(*find)(const char *, size_t),
                    struct leat_jinja_value *ret) {
    int r = leat_jinja_check_key(render, self);

    *ret = leat_jinja_bool(self->kind == LEAT_JINJA_STRING && find(self->text, self->n_bytes));
    return r;
}

TEST(is_filter) {
    UNUSED;
    return is_known(render, self, leat_jinja_filter_find, ret);
}

TEST(is_test) {
    UNUSED;
    return is_known(render, self, leat_jinja_test_find, ret);
}

#define PLAIN(test_name, function)                                                                 \
    { .name = (test_name), .call = (function) }
#define BINARY(test_name, function)                                                                \
    { .name = (test_name), .names = {"other"}, .n_required = 1, .call = (function) }

static const struct leat_jinja_builtin tests[] = {
    PLAIN("defined", is_defined),
    PLAIN("undefined", is_undefined),
    PLAIN("none", is_none),
    PLAIN("boolean", is_boolean),
    PLAIN("true", is_true),
    PLAIN("false", is_false),
    PLAIN("integer", is_integer),
    PLAIN("float", is_float),
    PLAIN("number", is_number),
    PLAIN("string", is_string),
    PLAIN("mapping", is_mapping),
    PLAIN("sequence", is_sequence),
    PLAIN("iterable", is_iterable),
    PLAIN("callable", is_callable),
    PLAIN("odd", is_odd),
    PLAIN("even", is_even),
    PLAIN("lower", is_lower),
    PLAIN("upper", is_upper),
    PLAIN("escaped", is_escaped),
    PLAIN("filter", is_filter),
    PLAIN("test", is_test),
    {.name = "divisibleby", .names = {"num"}, .n_required = 1, .call = is_divisible},
    BINARY("sameas", is_same),
    BINARY("eq", is_equal),
    BINARY("equalto", is_equal),
    BINARY("==", is_equal),
    BINARY("ne", is_unequal),
    BINARY("!=", is_unequal),
    BINARY("gt", is_greater),
    BINARY("greaterthan", is_greater),
    BINARY(">", is_greater),
    BINARY("ge", is_greater_equal),
    BINARY(">=", is_greater_equal),
    BINARY("lt", is_less),
    BINARY("lessthan", is_less),
    BINARY("<", is_less),
    BINARY("le", is_less_equal),
    BINARY("<=", is_less_equal),
    {.name = "in", .names = {"seq"}, .n_required = 1, .call = is_in},
};

const struct leat_jinja_builtin *leat_jinja_test_find(const char *name, size_t n_bytes) {
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        if (strlen(tests[i].name) == n_bytes && memcmp(tests[i].name, name, n_bytes) == 0)
            return &tests[i];
    return NULL;
}
