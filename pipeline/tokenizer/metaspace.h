/* metaspace.h: the fields that Metaspace has as a pre-tokenizer and as a decoder. */
#pragma once

#include "pipeline/tokenizer/component.h"

/* Where its character is put in front. */
enum leat_metaspace_scheme {
    LEAT_SCHEME_ALWAYS,
    LEAT_SCHEME_FIRST,
    LEAT_SCHEME_NEVER,
};

struct leat_metaspace {
    const char *replacement; /* one character */
    size_t n_replacement;
    enum leat_metaspace_scheme scheme;
    bool splits;
};

/* str_rep is ignored, as in HF; add_prefix_space must not contradict prepend_scheme. 0 or -EINVAL.
 */
int leat_metaspace_read(const struct leat_component *component,
                        struct leat_metaspace *ret_metaspace, struct leat_error *err);
