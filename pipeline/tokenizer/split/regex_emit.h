/* regex_emit.h: a tree written as a pattern of PCRE2, over the letters of its alphabet or over code
 * points. */
#pragma once

#include "pipeline/tokenizer/split/regex_alphabet.h"

#define LEAT_REGEX_EMITTED_BYTES_MAX (UINT32_C(4) << 20)

/* alphabet NULL: over code points. *ret_pattern is malloc'ed. To be compiled with DOTALL, over
 * letters without UTF, over code points with it. 0, -ENOMEM, -EINVAL. */
int leat_regex_emit(const struct leat_regex_tree *tree, const struct leat_regex_alphabet *alphabet,
                    char **ret_pattern, size_t *ret_n_bytes, struct leat_error *err);
