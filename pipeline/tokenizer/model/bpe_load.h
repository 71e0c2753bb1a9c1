/* bpe_load.h: filling a BPE model from the node `model` of a tokenizer.json. */
#pragma once

#include "pipeline/tokenizer/model/bpe.h"

/* bpe: zeroed but for is_byte_level; deinit it also on failure. 0, -EINVAL, -ENOMEM, -E2BIG. */
int leat_bpe_load(struct leat_bpe *bpe, const struct leat_component *component,
                  struct leat_error *err);

/* Its `merges`, when the tokens are there and it is known whether words can be cut. */
int leat_bpe_read_merges(struct leat_bpe *bpe, const struct leat_component *component,
                         struct leat_error *err);
