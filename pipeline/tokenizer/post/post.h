/* post.h: from the tokens of one or two texts to what a trainer gets: truncation, special tokens,
 * padding: `truncation`, `post_processor` and `padding` of a tokenizer.json.
 *
 * A post-processor is flattened at load: for one text and for a pair, with special tokens and
 * without, a list of items, each a special token or one of the texts, with a type id. Types:
 * BertProcessing, RobertaProcessing, ByteLevel (offsets only), TemplateProcessing, Sequence.
 *
 * Truncation comes first, to max_length less the special tokens that will be added; what is cut off
 * becomes further encodings (the overflow), each of the full length, that overlap by `stride`.
 *
 * A post is immutable: any thread.
 */
#pragma once

#include "pipeline/tokenizer/post/lengths.h"

#define LEAT_POST_FIRST  (-1)
#define LEAT_POST_SECOND (-2)

#define LEAT_POST_ITEMS_MAX 1024 /* of a layout */
#define LEAT_POST_TEXTS_MAX 8    /* among them */
#define LEAT_POST_TRIMS_MAX 4

struct leat_post_item {
    int32_t id; /* of a special token, or LEAT_POST_FIRST, LEAT_POST_SECOND */
    uint32_t type_id;
    uint32_t overflow_type_id; /* of what was cut off a text: HF does not set that to type_id */
};

struct leat_post_layout {
    struct leat_post_item *items;
    size_t n_items, capacity;
    size_t n_texts;
    size_t n_added; /* special tokens among them */
};

struct leat_post {
    struct leat_post_layout layouts[2][2]; /* [is_pair][adds_special_tokens] */
    /* how often blanks around a token are taken off its offsets (trim_offsets), and whether that
     * leaves the single blank of a first token (add_prefix_space) */
    uint32_t n_trims;
    bool trim_leaves_first[LEAT_POST_TRIMS_MAX];
    char description[256];
};

int leat_post_new(const struct leat_component *component /* NULL: none */,
                  struct leat_post **ret_post, struct leat_error *err);
struct leat_post *leat_post_free(struct leat_post *post);

struct leat_post_speller {
    void *context;
    /* Returns the spelling of a token with that surface (surfaces.h), or NULL. */
    const uint8_t *(*text)(const void *context, int32_t id, uint32_t surface,
                           uint32_t *ret_n_bytes);
    /* The same range of that text in characters; NULL: the results have offsets in bytes. Blanks
     * count as characters then, which is not the same where a token is part of a character. */
    struct leat_range (*in_chars)(void *context, bool is_second, struct leat_range offsets);
};

/* Truncates first and second (second NULL: one text), puts special tokens around them and pads.
 * encodings[0] is the result, those after it the overflow, in HF's order: each part of the first
 * with each of the second. The array grows as needed and is reused: *n_encodings says how many
 * count, *capacity how many are initialised; n_encodings NULL: no overflow is made. first and
 * second have the columns that the results get, offsets in bytes, and surfaces if these offsets
 * are trimmed, for which speller is asked (NULL: they are not). Padding to the longest of a batch
 * is the batch's business: a single text is padded to its own length, rounded up to multiple_of.
 *
 * 0; -ENOMEM; -E2BIG: the overflow is above LEAT_POST_TOKENS_MAX; -EINVAL: the truncation cannot be
 * carried out: a stride that is not below the length, OnlySecond without a second text, a text that
 * is too short to take all from, as in HF. A max_length below the number of special tokens is none,
 * as in HF. */
#define LEAT_POST_TOKENS_MAX (UINT32_C(256) << 20)

int leat_post_run(const struct leat_post *post, const struct leat_truncation *truncation,
                  const struct leat_padding *padding, const struct leat_encoding *first,
                  const struct leat_encoding *second, bool adds_special_tokens,
                  const struct leat_post_speller *speller, struct leat_encoding **encodings,
                  size_t *n_encodings, size_t *capacity, struct leat_error *err);
