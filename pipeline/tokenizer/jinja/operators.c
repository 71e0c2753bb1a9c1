/* operators.c: arithmetic and comparisons, as Python has them. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pipeline/tokenizer/jinja/render.h"

static const char *op_name(enum leat_jinja_op op) {
    static const char *const names[] = {
        [LEAT_JINJA_ADD] = "+",        [LEAT_JINJA_SUB] = "-", [LEAT_JINJA_MUL] = "*",
        [LEAT_JINJA_DIV] = "/",        [LEAT_JINJA_MOD] = "%", [LEAT_JINJA_POW] = "**",
        [LEAT_JINJA_FLOOR_DIV] = "//",
    };

    return names[op];
}

static int fail_overflow(struct leat_jinja_render *render) {
    return leat_jinja_fail(render, "integers beyond 64 bits are not supported");
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t quotient = a / b;

    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t floor_mod(int64_t a, int64_t b) {
    int64_t rest = a % b;

    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int integer_power(struct leat_jinja_render *render, int64_t a, int64_t b, int64_t *ret) {
    int64_t result = 1;

    while (b > 0) {
        if ((b & 1) && __builtin_mul_overflow(result, a, &result))
            return fail_overflow(render);
        b >>= 1;
        if (b > 0 && __builtin_mul_overflow(a, a, &a))
            return fail_overflow(render);
    }
    *ret = result;
    return 0;
}

static int integers(struct leat_jinja_render *render, enum leat_jinja_op op, int64_t a, int64_t b,
                    struct leat_jinja_value *ret) {
    int64_t result = 0;
    bool overflows = false;
    int r = 0;

    switch (op) {
    case LEAT_JINJA_ADD:
        overflows = __builtin_add_overflow(a, b, &result);
        break;
    case LEAT_JINJA_SUB:
        overflows = __builtin_sub_overflow(a, b, &result);
        break;
    case LEAT_JINJA_MUL:
        overflows = __builtin_mul_overflow(a, b, &result);
        break;
    case LEAT_JINJA_POW:
        r = integer_power(render, a, b, &result);
        break;
    default: /* FLOOR_DIV, MOD */
        overflows = a == INT64_MIN && b == -1;
        if (!overflows)
            result = op == LEAT_JINJA_FLOOR_DIV ? floor_div(a, b) : floor_mod(a, b);
    }
    *ret = leat_jinja_int(result);
    return overflows ? fail_overflow(render) : r;
}

static double float_mod(double a, double b) {
    double rest = fmod(a, b);

    if (rest != 0 && (rest < 0) != (b < 0))
        return rest + b;
    return rest != 0 ? rest : copysign(0, b);
}

static double float_floor_div(double a, double b) {
    double rest = fmod(a, b), quotient = (a - rest) / b;

    if (rest != 0 && (rest < 0) != (b < 0))
        quotient -= 1;
    return quotient != 0 ? round(quotient) : copysign(0, a / b);
}

static double floats(enum leat_jinja_op op, double a, double b) {
    switch (op) {
    case LEAT_JINJA_ADD:
        return a + b;
    case LEAT_JINJA_SUB:
        return a - b;
    case LEAT_JINJA_MUL:
        return a * b;
    case LEAT_JINJA_DIV:
        return a / b;
    case LEAT_JINJA_POW:
        return pow(a, b);
    case LEAT_JINJA_MOD:
        return float_mod(a, b);
    default:
        return float_floor_div(a, b);
    }
}

static int numbers(struct leat_jinja_render *render, enum leat_jinja_op op,
                   const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                   struct leat_jinja_value *ret) {
    bool divides = op == LEAT_JINJA_DIV || op == LEAT_JINJA_FLOOR_DIV || op == LEAT_JINJA_MOD;
    double x = leat_jinja_number(a), y = leat_jinja_number(b), result;

    if (divides && y == 0)
        return leat_jinja_fail(render, "division by zero");
    if (leat_jinja_is_integral(a) && leat_jinja_is_integral(b) && op != LEAT_JINJA_DIV &&
        !(op == LEAT_JINJA_POW && leat_jinja_integer(b) < 0))
        return integers(render, op, leat_jinja_integer(a), leat_jinja_integer(b), ret);
    result = floats(op, x, y);
    if (op == LEAT_JINJA_POW && !isfinite(result) && isfinite(x) && isfinite(y))
        return leat_jinja_fail(render, "%g ** %g is not a finite number", x, y);
    *ret = leat_jinja_float(result);
    return 0;
}

static int join_items(struct leat_jinja_render *render, const struct leat_jinja_value *a,
                      const struct leat_jinja_value *b, struct leat_jinja_value *ret) {
    size_t n = a->list->n_items + b->list->n_items;
    struct leat_jinja_list *list = leat_jinja_list_new(&render->heap, n);

    if (!list)
        return leat_jinja_fail_memory(render);
    for (size_t i = 0; i < n; i++)
        list->items[i] =
            i < a->list->n_items ? a->list->items[i] : b->list->items[i - a->list->n_items];
    list->n_items = n;
    *ret = (struct leat_jinja_value){.kind = a->kind, .list = list};
    return leat_jinja_heap_spend(&render->heap, n, render->err);
}

static void add_escaped(struct leat_text *text, const struct leat_jinja_value *value) {
    static const char plain[] = "&<>'\"";
    static const char *const escapes[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};

    for (size_t i = 0; i < value->n_bytes; i++) {
        const char *found = value->text[i] ? strchr(plain, value->text[i]) : NULL;

        if (found)
            leat_text_add_bytes(text, escapes[found - plain], strlen(escapes[found - plain]));
        else
            leat_text_add_bytes(text, value->text + i, 1);
    }
}

/* A safe text beside one that is not: the other is escaped, as in markupsafe. */
static int join_safe(struct leat_jinja_render *render, const struct leat_jinja_value *a,
                     const struct leat_jinja_value *b, struct leat_jinja_value *ret) {
    size_t n_before = render->scratch.n_bytes;
    int r;

    for (int i = 0; i < 2; i++) {
        const struct leat_jinja_value *text = i == 0 ? a : b;

        if (text->is_safe)
            leat_text_add_bytes(&render->scratch, text->text, text->n_bytes);
        else
            add_escaped(&render->scratch, text);
    }
    r = leat_jinja_take_scratch(render, n_before, ret);
    ret->is_safe = true;
    return r;
}

static int join_texts(struct leat_jinja_render *render, const struct leat_jinja_value *a,
                      const struct leat_jinja_value *b, struct leat_jinja_value *ret) {
    size_t n_bytes = (size_t)a->n_bytes + b->n_bytes;
    char *joined;

    if (a->is_safe || b->is_safe)
        return join_safe(render, a, b, ret);
    joined = leat_jinja_heap_alloc(&render->heap, n_bytes);
    if (!joined)
        return leat_jinja_fail_memory(render);
    memcpy(joined, a->text, a->n_bytes);
    memcpy(joined + a->n_bytes, b->text, b->n_bytes);
    *ret = leat_jinja_string(joined, n_bytes);
    return leat_jinja_heap_spend(&render->heap, n_bytes / 16, render->err);
}

/* value * count, of a text or a list. */
static int repeat(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                  const struct leat_jinja_value *count, struct leat_jinja_value *ret) {
    int64_t n = leat_jinja_integer(count) > 0 ? leat_jinja_integer(count) : 0;
    size_t n_before = render->scratch.n_bytes;
    size_t size = value->kind == LEAT_JINJA_STRING
                      ? value->n_bytes
                      : value->list->n_items * sizeof(struct leat_jinja_value);
    struct leat_jinja_list *list;

    if (size > 0 && n > (int64_t)(LEAT_JINJA_OUTPUT_MAX / size))
        return leat_jinja_fail(render, "value * count has more than %u bytes",
                               LEAT_JINJA_OUTPUT_MAX);
    if (size == 0)
        n = 0;
    if (value->kind == LEAT_JINJA_STRING) {
        for (int64_t i = 0; i < n; i++)
            leat_text_add_bytes(&render->scratch, value->text, value->n_bytes);
        return leat_jinja_take_scratch(render, n_before, ret);
    }
    list = leat_jinja_list_new(&render->heap, (size_t)n * value->list->n_items);
    if (!list)
        return leat_jinja_fail_memory(render);
    for (int64_t i = 0; i < n; i++)
        for (size_t k = 0; k < value->list->n_items; k++)
            list->items[list->n_items++] = value->list->items[k];
    *ret = (struct leat_jinja_value){.kind = value->kind, .list = list};
    return leat_jinja_heap_spend(&render->heap, list->n_items, render->err);
}

static bool can_repeat(const struct leat_jinja_value *value) {
    return value->kind == LEAT_JINJA_STRING || value->kind == LEAT_JINJA_LIST ||
           value->kind == LEAT_JINJA_TUPLE;
}

int leat_jinja_arithmetic(struct leat_jinja_render *render, enum leat_jinja_op op,
                          const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                          struct leat_jinja_value *ret) {
    int r = leat_jinja_check_defined(render, a);

    if (r == 0 && !(op == LEAT_JINJA_MOD && a->kind == LEAT_JINJA_STRING))
        r = leat_jinja_check_defined(render, b);
    if (r < 0)
        return r;
    if (leat_jinja_is_number(a) && leat_jinja_is_number(b))
        return numbers(render, op, a, b, ret);
    if (op != LEAT_JINJA_ADD && (a->is_safe || b->is_safe))
        return leat_jinja_fail(render, "a text that was marked \"safe\" supports only `+` and `~`");
    if (op == LEAT_JINJA_MOD && a->kind == LEAT_JINJA_STRING)
        return leat_jinja_percent(render, a, b, ret);
    if (op == LEAT_JINJA_ADD && a->kind == b->kind) {
        if (a->kind == LEAT_JINJA_STRING)
            return join_texts(render, a, b, ret);
        if (a->kind == LEAT_JINJA_LIST || a->kind == LEAT_JINJA_TUPLE)
            return join_items(render, a, b, ret);
    }
    if (op == LEAT_JINJA_MUL && can_repeat(a) && leat_jinja_is_integral(b))
        return repeat(render, a, b, ret);
    if (op == LEAT_JINJA_MUL && can_repeat(b) && leat_jinja_is_integral(a))
        return repeat(render, b, a, ret);
    return leat_jinja_fail(render, "%s %s %s is not possible", leat_jinja_kind_name(a), op_name(op),
                           leat_jinja_kind_name(b));
}

static int contains(struct leat_jinja_render *render, const struct leat_jinja_value *a,
                    const struct leat_jinja_value *b, bool *ret) {
    const struct leat_jinja_list *items;
    int r;

    *ret = false;
    if (b->kind == LEAT_JINJA_STRING) {
        if (a->kind != LEAT_JINJA_STRING) {
            r = leat_jinja_check_defined(render, a);
            return r < 0 ? r
                         : leat_jinja_fail(render, "%s cannot be `in` a text",
                                           leat_jinja_kind_name(a));
        }
        *ret = a->n_bytes == 0 || memmem(b->text, b->n_bytes, a->text, a->n_bytes) != NULL;
        return leat_jinja_heap_spend(&render->heap, b->n_bytes / 16, render->err);
    }
    if (b->kind == LEAT_JINJA_DICT) {
        *ret = leat_jinja_dict_find(b->dict, a) != NULL;
        r = leat_jinja_check_key(render, a);
        return r < 0 ? r : leat_jinja_heap_spend(&render->heap, b->dict->n_pairs, render->err);
    }
    r = leat_jinja_items(render, b, &items);
    for (size_t i = 0; r == 0 && !*ret && i < items->n_items; i++)
        r = leat_jinja_equal(&render->heap, &items->items[i], a, ret, render->err);
    return r;
}

static bool order_holds(enum leat_jinja_op op, int order) {
    switch (op) {
    case LEAT_JINJA_GT:
        return order == 1;
    case LEAT_JINJA_GE:
        return order == 1 || order == 0;
    case LEAT_JINJA_LT:
        return order == -1;
    default:
        return order == -1 || order == 0;
    }
}

int leat_jinja_test_operator(struct leat_jinja_render *render, enum leat_jinja_op op,
                             const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                             bool *ret) {
    int order, r;

    switch (op) {
    case LEAT_JINJA_EQ:
    case LEAT_JINJA_NE:
        r = leat_jinja_equal(&render->heap, a, b, ret, render->err);
        *ret = *ret == (op == LEAT_JINJA_EQ);
        return r;
    case LEAT_JINJA_IN:
    case LEAT_JINJA_NOT_IN:
        r = contains(render, a, b, ret);
        *ret = *ret == (op == LEAT_JINJA_IN);
        return r;
    default:
        r = leat_jinja_check_defined(render, a);
        if (r == 0)
            r = leat_jinja_check_defined(render, b);
        if (r == 0)
            r = leat_jinja_compare(&render->heap, a, b, &order, render->err);
        *ret = r == 0 && order_holds(op, order);
        return r;
    }
}
