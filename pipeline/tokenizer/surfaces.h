/* surfaces.h: the texts of tokens that are not spelled as in the vocabulary.
 *
 * An added token has the text that it was found in, normalized where it is matched so, with the
 * blanks that it took along; an unknown token of a Unigram model has the text that it stands for.
 * Hugging Face `tokenizers` gives these as `tokens`, and trims offsets by them.
 *
 * A surface is a number: 1 + an index into the list, or 0 for a token that the vocabulary spells.
 * Owner: the job.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct leat_surfaces {
    uint8_t *bytes;
    size_t *ends; /* of each text, in bytes */
    size_t n, n_capacity, bytes_capacity;
};

void leat_surfaces_deinit(struct leat_surfaces *surfaces); /* of zeroed ones too */

/* Appends a text. 0, -ENOMEM. */
int leat_surfaces_add(struct leat_surfaces *surfaces, const uint8_t *bytes, uint32_t n_bytes,
                      uint32_t *ret_surface);

/* The text of a surface above 0, not terminated; it stays until the next one is added. */
const uint8_t *leat_surfaces_get(const struct leat_surfaces *surfaces, uint32_t surface,
                                 uint32_t *ret_n_bytes);
