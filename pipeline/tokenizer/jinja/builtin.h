/* builtin.h: the filters, tests, functions and methods that templates may use, as jinja2 3.1 and
 * Python have them. Names are looked up once, when a template is compiled. */
#pragma once

#include "pipeline/tokenizer/jinja/syntax.h"

#define LEAT_JINJA_ARGUMENTS_MAX 8

struct leat_jinja_render;

struct leat_jinja_keyword {
    struct leat_jinja_value name, value;
};

/* Arguments of a call, evaluated. */
struct leat_jinja_arguments {
    struct leat_jinja_value *items;
    size_t n_items;
    struct leat_jinja_keyword *keywords;
    size_t n_keywords;
};

#define LEAT_JINJA_UNUSED __attribute__((unused))

/* A function that a built-in calls. variant: what the built-in's row says. */
#define LEAT_JINJA_BUILTIN(function)                                                               \
    int function(LEAT_JINJA_UNUSED struct leat_jinja_render *render,                               \
                 LEAT_JINJA_UNUSED const struct leat_jinja_value *self,                            \
                 LEAT_JINJA_UNUSED const struct leat_jinja_value *arguments,                       \
                 LEAT_JINJA_UNUSED const struct leat_jinja_arguments *all,                         \
                 LEAT_JINJA_UNUSED uint32_t variant,                                               \
                 LEAT_JINJA_UNUSED struct leat_jinja_value *ret)

/* `names` are the parameters, NULL-terminated; `call` finds those that were not given ABSENT. With
 * no names, `call` gets the arguments as they are in `all`, and may take any number. */
struct leat_jinja_builtin {
    const char *name;
    const char *names[LEAT_JINJA_ARGUMENTS_MAX];
    size_t n_required;
    bool takes_any;
    bool takes_no_names; /* an argument cannot be given by its name */
    bool takes_safe;     /* a filter that a text behind `safe` may pass */
    LEAT_JINJA_BUILTIN((*call));
    uint32_t variant; /* of what `call` does */
};

struct leat_jinja_method {
    struct leat_jinja_value self;
    const struct leat_jinja_builtin *builtin;
};

/* The row of that name in a table that ends with a name of NULL; NULL: there is none. */
const struct leat_jinja_builtin *leat_jinja_builtin_find(const struct leat_jinja_builtin *table,
                                                         const char *name, size_t n_bytes);
const struct leat_jinja_builtin *leat_jinja_filter_find(const char *name, size_t n_bytes);
const struct leat_jinja_builtin *leat_jinja_test_find(const char *name, size_t n_bytes);
const struct leat_jinja_builtin *leat_jinja_function_find(const char *name, size_t n_bytes);

static inline bool leat_jinja_is_given(const struct leat_jinja_value *argument) {
    return argument->kind != LEAT_JINJA_ABSENT;
}
/* Given, and not None. */
static inline bool leat_jinja_is_some(const struct leat_jinja_value *argument) {
    return leat_jinja_is_given(argument) && argument->kind != LEAT_JINJA_NONE;
}
static inline struct leat_jinja_value leat_jinja_given_or(const struct leat_jinja_value *argument,
                                                          struct leat_jinja_value fallback) {
    return leat_jinja_is_given(argument) ? *argument : fallback;
}

/* Tables of their own. */
extern const struct leat_jinja_builtin leat_jinja_list_filters[], leat_jinja_str_methods[];

/* The method of that name of the value: 0 and *ret, 1 if Python has no such attribute, or -EINVAL
 * if Python has it and leat does not. */
int leat_jinja_method_find(struct leat_jinja_render *render, const struct leat_jinja_value *self,
                           const char *name, size_t n_bytes, struct leat_jinja_value *ret);

/* True for a name that can only be a key: no value has an attribute or a method of that name in
 * Python. (Those of a loop, a namespace, a cycler and a macro do not count.) */
bool leat_jinja_is_key(const char *name, size_t n_bytes);

/* Fails if the filter does not take a text that was marked "safe", and `input` is one; else 0. */
int leat_jinja_check_filter(struct leat_jinja_render *render,
                            const struct leat_jinja_builtin *filter,
                            const struct leat_jinja_value *input);

/* Binds the arguments to the names of the built-in, and calls it. */
int leat_jinja_builtin_call(struct leat_jinja_render *render,
                            const struct leat_jinja_builtin *builtin,
                            const struct leat_jinja_value *self,
                            const struct leat_jinja_arguments *arguments,
                            struct leat_jinja_value *ret);
