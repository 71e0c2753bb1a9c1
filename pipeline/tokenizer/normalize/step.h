/* step.h: one step of a normalizer, and the kinds there are.
 *
 * A step is loaded from one component, is immutable, and rewrites a text in place: what *text says
 * is replaced by a view of the result. Its kind is a row of functions.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/text.h"
#include "pipeline/tokenizer/unicode/form.h"

#define LEAT_NORMALIZE_STEP_DESCRIPTION_MAX 128

struct leat_regex_context;
struct leat_form_item;

/* Owner: the job. */
struct leat_normalize_step_memory {
    struct leat_writer_memory writer;
    struct leat_form_item *forms; /* of NFC and its like: 2 * forms_capacity */
    size_t forms_capacity;
    struct leat_regex_context *regex; /* NULL before the first search */
};

/* No case, form or alphabet of Unicode makes more bytes than these of one. */
#define LEAT_NORMALIZE_STEP_GROWTH 16

struct leat_normalize_step {
    const struct leat_normalize_step_kind *kind;
    size_t n_bytes;  /* of memory */
    uint32_t growth; /* bytes that it makes of one at most, and of nothing;
                        LEAT_NORMALIZE_STEP_GROWTH if the step says nothing else */
    char description[LEAT_NORMALIZE_STEP_DESCRIPTION_MAX];
};

struct leat_normalize_step_kind {
    const char *name; /* the `type` */
    size_t size;      /* of a step */
    /* Loads into a step that is zeroed but for its base. 0; -ENOMEM; other errors with err set.
     * NULL: there is nothing to load. */
    int (*load)(struct leat_normalize_step *step, const struct leat_component *component,
                struct leat_error *err);
    /* 0, -ENOMEM, -E2BIG; other errors with err set. */
    int (*run)(const struct leat_normalize_step *step, struct leat_normalize_step_memory *memory,
               struct leat_text_view *text, struct leat_error *err);
    void (*deinit)(struct leat_normalize_step *step); /* what a step holds; NULL: nothing */
    int variant;                                      /* where several kinds share functions */
};

extern const struct leat_normalize_step_kind leat_normalize_step_bert, leat_normalize_step_strip,
    leat_normalize_step_strip_accents, leat_normalize_step_nfc, leat_normalize_step_nfd,
    leat_normalize_step_nfkc, leat_normalize_step_nfkd, leat_normalize_step_lowercase,
    leat_normalize_step_nmt, leat_normalize_step_precompiled, leat_normalize_step_replace,
    leat_normalize_step_prepend, leat_normalize_step_byte_level;

/* Appends to a description what fits. */
__attribute__((format(printf, 2, 3))) void
leat_normalize_step_describe(struct leat_normalize_step *step, const char *format, ...);

/* A normalization form as a rewriting of a text (forms.c). 0, -ENOMEM, -E2BIG. */
int leat_form_run(enum leat_form form, struct leat_normalize_step_memory *memory,
                  struct leat_text_view *text);
