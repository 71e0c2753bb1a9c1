/* encoding_columns.h: filling the columns of an encoding. Owner: the job. */
#pragma once

#include "pipeline/tokenizer/encoding.h"

void leat_encoding_deinit(struct leat_encoding *encoding); /* of a zeroed one too */

/* Empties it and says which columns it has from now on. */
void leat_encoding_reset(struct leat_encoding *encoding, uint32_t columns);

/* Room for n_more tokens. 0, -ENOMEM. */
int leat_encoding_reserve(struct leat_encoding *encoding, size_t n_more);

/* Appends one token, with the mark of the one before; room must have been reserved. */
void leat_encoding_push(struct leat_encoding *encoding, int32_t id, uint32_t type_id,
                        struct leat_range offsets, bool is_special);

/* Moves all tokens n places back; room must have been reserved. What is in front is not set. */
void leat_encoding_shift(struct leat_encoding *encoding, size_t n);

/* Appends tokens start..end - 1 of another with the same columns, all with this type id. 0,
 * -ENOMEM. */
int leat_encoding_append(struct leat_encoding *encoding, const struct leat_encoding *other,
                         size_t start, size_t end, uint32_t type_id);
