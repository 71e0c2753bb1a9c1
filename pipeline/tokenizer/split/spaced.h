/* spaced.h: WhitespaceSplit and then Metaspace (always, U+2581), as T5 and its kin have them, in
 * one pass: words of a text without origins, each with its U+2581 in front.
 */
#pragma once

#include "pipeline/tokenizer/split/step.h"

/* Bytes that the words of a text may need: one for each second byte that is a word by itself. */
#define LEAT_SPACED_BYTES(n_bytes) (2 * (size_t)(n_bytes) + 16)

/* True if the steps are just these. */
bool leat_spaced_is(const struct leat_split_steps *steps);

/* Words from *at on, n_max (at least 1) at most; they are written after what is in `target`, which
 * must have been empty at the first call, with room for LEAT_SPACED_BYTES. Returns how many; *at is
 * moved, to the end if all are done. */
size_t leat_spaced_next(const struct leat_text_view *source, uint32_t *at,
                        struct leat_text_buffer *target, struct leat_range *words, size_t n_max);
