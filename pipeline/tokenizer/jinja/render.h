/* render.h: the state of one rendering, for the files that evaluate a template (see jinja.h). */
#pragma once

#include <time.h>

#include "pipeline/tokenizer/jinja/builtin.h"
#include "pipeline/tokenizer/jinja/jinja.h"
#include "proto/base/text.h"

struct leat_jinja_binding {
    uint32_t symbol;
    struct leat_jinja_value value;
};

struct leat_jinja_scope {
    struct leat_jinja_scope *parent;
    struct leat_jinja_binding *bindings;
    size_t n_bindings, capacity;
    bool is_captured; /* a macro refers to it, so it must stay as it is */
};

struct leat_jinja_macro {
    const struct leat_jinja_macro_node *node;
    struct leat_jinja_scope *scope;
};

/* A `for` that runs. Items are filtered when they are needed, as in jinja2. */
struct leat_jinja_loop {
    const struct leat_jinja_node *node;
    struct leat_jinja_scope *outer;
    const struct leat_jinja_list *source;
    size_t n_read;                /* of source */
    struct leat_jinja_list items; /* those of source that pass the filter */
    size_t index;                 /* of the present item */
    size_t depth;
    bool has_completed; /* the end of its body has been reached, so `else` does not run */
    struct leat_jinja_list *changed; /* the last arguments of changed() */
};

struct leat_jinja_render {
    const struct leat_jinja_template *template;
    struct leat_jinja_heap heap;
    struct leat_error *err;
    struct leat_jinja_scope *scope;
    struct tm date; /* of strftime_now() */
    bool has_date;
    struct leat_text out;         /* captured text is at its end */
    struct leat_text scratch;     /* for texts that are being made */
    size_t n_captures, n_printed; /* n_printed: bytes before the outermost capture */
    struct leat_jinja_part *parts;
    size_t n_parts, parts_capacity;
    struct leat_jinja_turn *turns;
    size_t n_turns, turns_capacity;
};

/* All return 0, or a negative errno with render->err set. */

__attribute__((format(printf, 2, 3))) int leat_jinja_fail(struct leat_jinja_render *render,
                                                          const char *format, ...);
int leat_jinja_fail_memory(struct leat_jinja_render *render);
/* Fails for an undefined value; else 0. */
int leat_jinja_check_defined(struct leat_jinja_render *render,
                             const struct leat_jinja_value *value);

/* Fails for a value that Python cannot hash, so that it cannot be a key; else 0. */
int leat_jinja_check_key(struct leat_jinja_render *render, const struct leat_jinja_value *value);

int leat_jinja_call_value(struct leat_jinja_render *render, const struct leat_jinja_value *callee,
                          const struct leat_jinja_arguments *arguments,
                          struct leat_jinja_value *ret);
/* object.name and object[key], which may be undefined. */
int leat_jinja_attribute(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                         const struct leat_jinja_value *name, struct leat_jinja_value *ret);
int leat_jinja_item(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                    const struct leat_jinja_value *key, struct leat_jinja_value *ret);
/* object[start:stop:step]; each is an integer or None. */
int leat_jinja_slice(struct leat_jinja_render *render, const struct leat_jinja_value *object,
                     const struct leat_jinja_value *start, const struct leat_jinja_value *stop,
                     const struct leat_jinja_value *step, struct leat_jinja_value *ret);

/* The items that a loop over the value gives. An iterator is used up. */
int leat_jinja_items(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                     const struct leat_jinja_list **ret_items);

/* operators.c */
int leat_jinja_arithmetic(struct leat_jinja_render *render, enum leat_jinja_op op,
                          const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                          struct leat_jinja_value *ret);
int leat_jinja_test_operator(struct leat_jinja_render *render, enum leat_jinja_op op,
                             const struct leat_jinja_value *a, const struct leat_jinja_value *b,
                             bool *ret);

/* format.c: adds the value as str(), repr() and json.dumps() write it. */
int leat_jinja_add_str(struct leat_jinja_render *render, struct leat_text *text,
                       const struct leat_jinja_value *value);
int leat_jinja_add_repr(struct leat_jinja_render *render, struct leat_text *text,
                        const struct leat_jinja_value *value);
struct leat_jinja_json_style {
    const char *indent; /* of one level; NULL: all in one line */
    size_t n_indent;
    struct leat_jinja_value item_separator, key_separator;
    bool escapes, sorts;
};
int leat_jinja_add_json(struct leat_jinja_render *render, struct leat_text *text,
                        const struct leat_jinja_value *value,
                        const struct leat_jinja_json_style *style, size_t depth);
/* text % value. */
int leat_jinja_percent(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                       const struct leat_jinja_value *value, struct leat_jinja_value *ret);
/* text.format(arguments). */
int leat_jinja_format(struct leat_jinja_render *render, const struct leat_jinja_value *text,
                      const struct leat_jinja_arguments *arguments, struct leat_jinja_value *ret);

/* str(value) as a value; a text is itself. */
int leat_jinja_to_string(struct leat_jinja_render *render, const struct leat_jinja_value *value,
                         struct leat_jinja_value *ret);
/* Copies a text into the heap. */
int leat_jinja_copy_string(struct leat_jinja_render *render, const char *text, size_t n_bytes,
                           struct leat_jinja_value *ret);
/* Ends what was written to render->scratch since it had n_before bytes, as a value. */
int leat_jinja_take_scratch(struct leat_jinja_render *render, size_t n_before,
                            struct leat_jinja_value *ret);

/* render.c: scopes, and what is printed into a value rather than to the output. */
struct leat_jinja_scope *leat_jinja_scope_push(struct leat_jinja_render *render,
                                               struct leat_jinja_scope *parent);
int leat_jinja_assign(struct leat_jinja_render *render, uint32_t symbol,
                      struct leat_jinja_value value);
void leat_jinja_look_up(const struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        struct leat_jinja_value *ret);
void leat_jinja_capture_begin(struct leat_jinja_render *render, size_t *ret_start);
int leat_jinja_capture_end(struct leat_jinja_render *render, size_t start,
                           struct leat_jinja_value *ret);
/* Runs the nodes and gives what they print. More than 0: `break` or `continue` left them. */
int leat_jinja_run_captured(struct leat_jinja_render *render, const struct leat_jinja_nodes *nodes,
                            struct leat_jinja_value *ret);

/* evaluate.c */
int leat_jinja_eval(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                    struct leat_jinja_value *ret);
/* caller: for a `call` block, else NULL. */
int leat_jinja_eval_call(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                         const struct leat_jinja_value *caller, struct leat_jinja_value *ret);
/* Filters of a block, the innermost of which gets `input`. */
int leat_jinja_eval_filters(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                            const struct leat_jinja_value *input, struct leat_jinja_value *ret);

/* calls.c; caller: for a `call` block, else NULL. */
int leat_jinja_eval_arguments(struct leat_jinja_render *render, const struct leat_jinja_call *call,
                              const struct leat_jinja_value *caller,
                              struct leat_jinja_arguments *arguments);

/* statements.c */
int leat_jinja_run(struct leat_jinja_render *render, const struct leat_jinja_nodes *nodes);
int leat_jinja_run_loop(struct leat_jinja_render *render, const struct leat_jinja_node *node,
                        const struct leat_jinja_value *value, struct leat_jinja_scope *outer,
                        size_t depth);
/* Reads items until there are n_wanted that pass the filter, or no more. */
int leat_jinja_loop_fill(struct leat_jinja_render *render, struct leat_jinja_loop *loop,
                         size_t n_wanted);
