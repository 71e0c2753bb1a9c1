/* tokenizer.h: text to token ids exactly as Hugging Face `tokenizers` does it: the public header of
 * libleat-tokenizer.
 *
 * A tokenizer is loaded once. Its file is a tokenizer.json, a vocab.txt (BERT), a vocab.json beside
 * its merges.txt (GPT-2), or a directory with one of these, as Hugging Face models have.
 * It is immutable and shared by any number of threads. A context holds the memory and the caches of
 * one encoder; it is used by one thread at a time and stays warm from text to text. Once its
 * buffers have grown to the longest text, encoding allocates nothing.
 *
 * Ids, type ids and offsets equal those of the wheel `tokenizers` 0.23.3 on the same file ("table
 * set u16": the Unicode versions that it uses). Text is UTF-8; what is not valid becomes U+FFFD,
 * one for each maximal part, as Python's errors="replace" does.
 *
 * Errors: 0 or a negative errno, and a struct leat_error (LEAT_ERROR_INIT before the call) that
 * names file, line, column and the path within the document.
 *
 * Installed as <leat_tokenizer.h>, one file, with the headers that it includes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/encoding.h"
#include "pipeline/tokenizer/reader.h"
#include "pipeline/tokenizer/truncation.h"
#include "proto/base/error.h"

#ifndef LEAT_API
#define LEAT_API __attribute__((visibility("default")))
#endif

struct leat_tokenizer;
struct leat_tokenizer_context;

/* Loads a tokenizer by its path; reader NULL: plain files. With a directory, or beside a
 * tokenizer.json, tokenizer_config.json is read for the padding token (leat_tokenizer_pad_id). */
LEAT_API int leat_tokenizer_open(const char *path, const struct leat_tokenizer_reader *reader,
                                 struct leat_tokenizer **ret_tokenizer, struct leat_error *err);

/* Loads a tokenizer.json that is in memory; `file` is its name, for errors. */
LEAT_API int leat_tokenizer_new(const char *json, size_t n_bytes, const char *file,
                                struct leat_tokenizer **ret_tokenizer, struct leat_error *err);
LEAT_API struct leat_tokenizer *leat_tokenizer_free(struct leat_tokenizer *tokenizer);

/* ---- tokens and settings */

/* Ids are 0..n - 1; some may have no token. */
LEAT_API uint32_t leat_tokenizer_n_ids(const struct leat_tokenizer *tokenizer);
/* The number of tokens: of the model alone, or with the added ones. */
LEAT_API uint32_t leat_tokenizer_n_tokens(const struct leat_tokenizer *tokenizer, bool with_added);
/* True if an id is that of an added token. */
LEAT_API bool leat_tokenizer_is_added(const struct leat_tokenizer *tokenizer, int32_t id);
/* The id of a token spelled as in the file, added tokens included; -1: none. */
LEAT_API int32_t leat_tokenizer_id(const struct leat_tokenizer *tokenizer, const char *token,
                                   size_t n_bytes);
/* The spelling of an id, not terminated; NULL: none. Lives as long as the tokenizer. */
LEAT_API const uint8_t *leat_tokenizer_token(const struct leat_tokenizer *tokenizer, int32_t id,
                                             uint32_t *ret_n_bytes);
/* The spelling of an id in the file, which leat_tokenizer_id() takes; it differs for tokens that
 * the normalizer changes. */
LEAT_API const uint8_t *leat_tokenizer_entry(const struct leat_tokenizer *tokenizer, int32_t id,
                                             uint32_t *ret_n_bytes);
/* The flags of an added token; false: the id is not that of an added token. */
struct leat_added_token_flags {
    bool is_single_word, strips_left, strips_right, is_normalized, is_special;
};
LEAT_API bool leat_tokenizer_added(const struct leat_tokenizer *tokenizer, int32_t id,
                                   struct leat_added_token_flags *ret_flags);
LEAT_API bool leat_tokenizer_is_special(const struct leat_tokenizer *tokenizer, int32_t id);
/* The id to pad with: `padding.pad_id` of the file, else `pad_token` of tokenizer_config.json, else
 * the special token of the file that is spelled as such, [PAD] or <pad>; else -1. */
LEAT_API int32_t leat_tokenizer_pad_id(const struct leat_tokenizer *tokenizer);
LEAT_API const struct leat_truncation *
leat_tokenizer_truncation(const struct leat_tokenizer *tokenizer);
LEAT_API const struct leat_padding *leat_tokenizer_padding(const struct leat_tokenizer *tokenizer);
/* The number of special tokens that it puts around one text or a pair. */
LEAT_API size_t leat_tokenizer_n_added(const struct leat_tokenizer *tokenizer, bool is_pair);
/* The special token that it puts in front of all others, or after them; -1: none. */
LEAT_API int32_t leat_tokenizer_outer_id(const struct leat_tokenizer *tokenizer, bool is_pair,
                                         bool is_last);

/* A description for people: lines of `name: value`, malloc'ed; NULL when memory is out. */
LEAT_API char *leat_tokenizer_describe(const struct leat_tokenizer *tokenizer);
/* True if the result of a text depends on the seed too (dropout). */
LEAT_API bool leat_tokenizer_has_chance(const struct leat_tokenizer *tokenizer);
LEAT_API size_t leat_tokenizer_n_bytes(const struct leat_tokenizer *tokenizer); /* of memory */

/* ---- encode */

LEAT_API int leat_tokenizer_context_new(const struct leat_tokenizer *tokenizer,
                                        struct leat_tokenizer_context **ret_context);
LEAT_API struct leat_tokenizer_context *
leat_tokenizer_context_free(struct leat_tokenizer_context *context);
/* Bytes that the caches of one context may grow to; buffers for its longest text come on top. */
LEAT_API size_t leat_tokenizer_context_max_bytes(const struct leat_tokenizer *tokenizer);

/* A text that is cut into words already, one after the other: where each of them ends, in bytes,
 * ascending, the last at the end of the text. Each word is a text of its own for the normalizer,
 * the pre-tokenizer and the model, and its offsets begin at 0. */
struct leat_word_ends {
    const uint32_t *ends; /* NULL: the text is not cut into words */
    size_t n;
};

struct leat_encode_options {
    bool adds_special_tokens;
    bool encodes_special_tokens;    /* special tokens in the text are text */
    uint64_t seed;                  /* of models with chance (dropout): another one draws anew */
    bool drops_overflow;            /* no encodings of the overflow are made */
    bool offsets_in_chars;          /* as Python counts them; else in bytes */
    uint32_t columns;               /* enum leat_encoding_column; ids always */
    const struct leat_range *marks; /* [n_marks], for LEAT_ENCODING_MARKS: bytes of the first text,
                                       ascending and apart from each other */
    size_t n_marks;
    struct leat_word_ends words[2];           /* of the texts */
    const struct leat_truncation *truncation; /* NULL: as the file says */
    const struct leat_padding *padding;       /* NULL: as the file says */
};

/* Encodes a text, or a pair of texts (pair NULL: none; n_pair bytes). *ret_encodings is an array
 * that belongs to the context, valid until its next use: [0] is the result; if it was truncated,
 * the others are the overflow. Offsets are those of the text that a token comes from.
 * 0; -E2BIG: a text is longer than LEAT_TEXT_BYTES_MAX; -ENOMEM; -EINVAL: the model has no token
 * for some part of the text and no unknown token. */
LEAT_API int leat_tokenizer_encode(const struct leat_tokenizer *tokenizer,
                                   struct leat_tokenizer_context *context, const void *text,
                                   size_t n_text, const void *pair, size_t n_pair,
                                   const struct leat_encode_options *options,
                                   const struct leat_encoding **ret_encodings,
                                   size_t *ret_n_encodings, struct leat_error *err);

/* Returns the spelling of a token of the last result whose `surfaces` is not 0
 * (LEAT_ENCODING_SURFACES): an added token as found in the text (normalized if matched so), or the
 * text behind an unknown token of a Unigram model. Not terminated. */
LEAT_API const uint8_t *leat_tokenizer_surface(const struct leat_tokenizer_context *context,
                                               uint32_t surface, uint32_t *ret_n_bytes);

/* ---- decode */

/* The text of ids, special tokens left out if skips_special: malloc'ed, terminated. An id without a
 * token is left out. 0, -ENOMEM, -E2BIG. */
LEAT_API int leat_tokenizer_decode(const struct leat_tokenizer *tokenizer, const int32_t *ids,
                                   size_t n_ids, bool skips_special, char **ret_text,
                                   size_t *ret_n_bytes, struct leat_error *err);
/* The same of tokens in the tokenizer's spelling, UTF-8 of n_bytes[i] bytes; they need not be in
 * its vocabulary. */
LEAT_API int leat_tokenizer_join(const struct leat_tokenizer *tokenizer, const char *const *tokens,
                                 const uint32_t *n_bytes, size_t n_tokens, char **ret_text,
                                 size_t *ret_n_bytes, struct leat_error *err);
