/* vocab.h: the tokens of a tokenizer, read from what people have.
 *
 * Three kinds of file, told apart by what is in them:
 * - lines: one token a line, numbered from 0. Lines end at LF; everything else belongs to the
 * token, CR and blanks too. A file whose every line ends in CR LF is refused. A final LF makes no
 * token.
 * - JSON {token: id}.
 * - a tokenizer.json: the vocabulary of its model (BPE, WordPiece, WordLevel: {token: id};
 *   Unigram: [[piece, score]...], numbered in order, whose scores are log probabilities) and its
 *   added tokens, which are literal text whatever the encoding. Normalizers, pre-tokenizers and
 *   merges are not used.
 * It is JSON if its first byte that is not blank is '{' and the last one is '}', or the file's name
 * ends in ".json".
 *
 * Two tokens of the same bytes are an error, and so are two tokens of one id, but for what real
 * vocabularies hold: an added token takes the place of the model's token of its id or of its bytes,
 * and <0xNN> (metaspace) gives way to any other token for that byte. What gave way has no way into
 * the trie but can still be shown.
 *
 * Immutable once loaded: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/token_encoding.h"
#include "proto/base/error.h"

#define LEAT_VOCAB_FILE_BYTES_MAX  (UINT32_C(256) << 20)
#define LEAT_VOCAB_BYTES_MAX       (UINT32_C(64) << 20) /* of all tokens together */
#define LEAT_VOCAB_TOKENS_MAX      (UINT32_C(4) << 20)
#define LEAT_VOCAB_TOKEN_BYTES_MAX UINT32_C(65535)

/* If two tokens conflict, the one of higher rank stays. */
enum leat_vocab_rank {
    LEAT_VOCAB_BYTE,
    LEAT_VOCAB_MODEL,
    LEAT_VOCAB_ADDED,
};

struct leat_vocab_token {
    const uint8_t *bytes; /* what it stands for, not terminated */
    uint32_t n_bytes;     /* 1.. */
    int32_t id;           /* 0.. */
    double cost;          /* valid if has_costs */
    enum leat_vocab_rank rank;
    bool is_hidden; /* gave way to another token */
};

struct leat_vocab {
    struct leat_vocab_token *tokens; /* ascending by id */
    size_t n_tokens;
    bool has_costs; /* the least total cost wins, not the least number of tokens */
    int64_t unk_id; /* if the file says so; else -1 */
    int64_t pad_id;
    uint8_t *bytes; /* of all tokens */
    size_t n_bytes;
};

/* Reads a vocabulary; `file` is its name, for errors and for its ending. 0 or -errno. */
int leat_vocab_new(const char *data, size_t n_bytes, enum leat_token_encoding encoding,
                   const char *file, struct leat_vocab **ret_vocab, struct leat_error *err);
struct leat_vocab *leat_vocab_free(struct leat_vocab *vocab);

/* Reads costs from a file with one number a line: line i + 1 is the cost of id i (the lower the
 * better; negative is allowed), one line for every id up to the highest. They replace the scores of
 * a Unigram model. */
int leat_vocab_read_costs(struct leat_vocab *vocab, const char *data, size_t n_bytes,
                          const char *file, struct leat_error *err);

/* The usual spellings of padding tokens, most common first; ends with NULL. */
extern const char *const leat_vocab_pads[];
