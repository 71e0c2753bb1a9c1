/* jinja.h: chat templates of models, in the language of jinja2 as transformers sets it up.
 *
 * A template is compiled once and rendered for each conversation. It gives what
 * transformers' apply_chat_template() gives, byte for byte, or an error: a construct that is not
 * supported is refused when the template is compiled, with line and column, and a value that is
 * not supported is an error of the rendering. A template reaches nothing but the values it is
 * given, and its work, memory, output and depth are bounded (heap.h).
 *
 * A template is immutable: any thread. A rendering belongs to one thread at a time.
 */
#pragma once

#include <time.h>

#include "pipeline/tokenizer/jinja/value.h"
#include "pipeline/tokenizer/json.h"

#define LEAT_JINJA_SOURCE_MAX (UINT32_C(1) << 20)  /* bytes of a template */
#define LEAT_JINJA_OUTPUT_MAX (UINT32_C(64) << 20) /* bytes of a conversation */

struct leat_jinja_template;
struct leat_jinja_render;

/* Compiles a template of n_bytes of UTF-8. 0; -EINVAL with line and column; -E2BIG; -ENOMEM. */
int leat_jinja_compile(const char *source, size_t n_bytes,
                       struct leat_jinja_template **ret_template, struct leat_error *err);
struct leat_jinja_template *leat_jinja_template_free(struct leat_jinja_template *template);
/* True if the template reads a variable of that name. */
bool leat_jinja_template_reads(const struct leat_jinja_template *template, const char *name);
/* True if it marks with {% generation %} what the model is to say. */
bool leat_jinja_template_marks(const struct leat_jinja_template *template);

/* A rendering keeps its memory from one conversation to the next. NULL: memory ran out. */
struct leat_jinja_render *leat_jinja_render_new(const struct leat_jinja_template *template);
struct leat_jinja_render *leat_jinja_render_free(struct leat_jinja_render *render);

/* Begins a conversation: forgets all values. */
int leat_jinja_render_begin(struct leat_jinja_render *render, struct leat_error *err);
/* Begins the same conversation again: keeps its values, forgets variables and output. */
int leat_jinja_render_rewind(struct leat_jinja_render *render, struct leat_error *err);
/* Makes a value of JSON; its texts are copied. */
int leat_jinja_render_json(struct leat_jinja_render *render, struct leat_json_node node,
                           struct leat_jinja_value *ret_value, struct leat_error *err);
/* Sets a variable; one that the template does not read is ignored. The value must live as long as
 * the conversation. */
int leat_jinja_render_set(struct leat_jinja_render *render, const char *name, size_t n_name,
                          struct leat_jinja_value value, struct leat_error *err);
/* The day that strftime_now() gives from now on. Without one it is an error, for batches must not
 * depend on the day on which they are made. */
void leat_jinja_render_date(struct leat_jinja_render *render, const struct tm *date);
/* Where values of this conversation are made. */
struct leat_jinja_heap *leat_jinja_render_heap(struct leat_jinja_render *render);

/* A part that the model is to say, in bytes of the output. */
struct leat_jinja_part {
    size_t start, end;
};
/* Renders the conversation. The output and its parts are valid until the next begin. -EINVAL: the
 * template failed, also by raise_exception(); err has its line. -E2BIG: a bound; -ENOMEM. */
int leat_jinja_render_run(struct leat_jinja_render *render, const char **ret_text,
                          size_t *ret_n_bytes, const struct leat_jinja_part **ret_parts,
                          size_t *ret_n_parts, struct leat_error *err);

/* What one pass of a loop over dictionaries has printed, in bytes of the output. */
struct leat_jinja_turn {
    const struct leat_jinja_dict *item;
    size_t start, end;
};
/* The passes of the last run that printed to the output itself, in their order. */
const struct leat_jinja_turn *leat_jinja_render_turns(const struct leat_jinja_render *render,
                                                      size_t *ret_n);
