/* vocab_builder.h: collects tokens while a vocabulary file is read, for vocab.c and vocab_json.c.
 */
#pragma once

#include "pipeline/tokenizer/vocab.h"

struct leat_vocab_builder {
    struct leat_vocab *vocab;
    enum leat_token_encoding encoding;
    const char *file;
    size_t token_capacity;
    size_t byte_capacity; /* allocated at once: decoding makes nothing longer than the file */
};

/* Adds a token as it is written in the file. line: from 1, or 0. */
int leat_vocab_builder_add(struct leat_vocab_builder *builder, const char *token, size_t n_bytes,
                           int64_t id, enum leat_vocab_rank rank, double cost, uint32_t line,
                           struct leat_error *err);

/* Reads a JSON vocabulary into the builder. */
int leat_vocab_builder_read_json(struct leat_vocab_builder *builder, const char *data,
                                 size_t n_bytes, struct leat_error *err);
