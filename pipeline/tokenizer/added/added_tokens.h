/* added_tokens.h: `added_tokens` of a tokenizer.json: literal tokens that are cut out of a text
 * before the model sees it.
 *
 * As in Hugging Face `tokenizers`: the ids of the file do not count. A token gets the id that the
 * model has for its text, else the next free one. Tokens with normalized = false are looked for in
 * the text as it came; the others, themselves normalized, in what the normalizer made of the pieces
 * between.
 *
 * Immutable once loaded: any thread.
 */
#pragma once

#include "pipeline/tokenizer/added/added_matcher.h"
#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/normalize/normalizer.h"
#include "pipeline/tokenizer/token_table.h"

#define LEAT_ADDED_TOKENS_MAX      (UINT32_C(1) << 20)
#define LEAT_ADDED_TOKEN_BYTES_MAX 65535

struct leat_added_token {
    int32_t id;
    bool is_single_word, strips_left, strips_right, is_normalized, is_special;
    bool was_special; /* or an earlier token of the same text was */
};

struct leat_added_tokens {
    struct leat_token_table table;   /* text to id */
    struct leat_token_table changed; /* id to text, of those that the normalizer changes */
    struct leat_added_token *tokens; /* by their place in the table's texts */
    uint32_t *by_id; /* [table.n_ids]: the token that last got an id, or UINT32_MAX */
    struct leat_added_matcher raw, normalized;
    uint32_t n_special, n_normalized;
    size_t n_bytes; /* of memory */
};

/* component: the array, NULL: none. model: the tokens of the model. 0 or -errno. */
int leat_added_tokens_init(struct leat_added_tokens *added, const struct leat_component *component,
                           const struct leat_token_table *model,
                           const struct leat_normalizer *normalizer, struct leat_error *err);
void leat_added_tokens_deinit(struct leat_added_tokens *added); /* of a zeroed one too */

/* The token that an id is, or NULL. */
const struct leat_added_token *leat_added_tokens_find(const struct leat_added_tokens *added,
                                                      int64_t id);

/* Returns an added token as Hugging Face `tokenizers` spells it: normalized, if it is matched so.
 * NULL: no added token has that id. */
const uint8_t *leat_added_tokens_spelling(const struct leat_added_tokens *added, int64_t id,
                                          uint32_t *ret_n_bytes);

/* True if decoding leaves an id out as special: by its spelling, as in HF, so that a special token
 * that the normalizer changes stays. */
bool leat_added_tokens_is_special(const struct leat_added_tokens *added, int64_t id);

/* A walk through the pieces of a text: what lies between tokens, and the tokens. */
struct leat_added_walk {
    const struct leat_added_tokens *added;
    const struct leat_added_matcher *matcher;
    const struct leat_text_view *text;
    uint32_t from;           /* where to look for the next match */
    uint32_t done;           /* all before was handed out */
    struct leat_range token; /* a match that is due after a piece */
    int32_t token_id;        /* of it; -1: none is due */
    bool keeps_special;      /* special tokens are text */
    bool is_over;
};

struct leat_added_piece {
    struct leat_range range; /* of the text; not empty unless it is a token */
    int32_t id;              /* -1: text */
};

void leat_added_walk_begin(struct leat_added_walk *walk, const struct leat_added_tokens *added,
                           const struct leat_added_matcher *matcher,
                           const struct leat_text_view *text, bool keeps_special);
bool leat_added_walk_next(struct leat_added_walk *walk, struct leat_added_piece *ret_piece);
