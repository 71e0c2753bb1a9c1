/* bpe.h: the parts of the BPE model (Sennrich et al. 2016) as Hugging Face `tokenizers` runs it.
 *
 * A word becomes symbols, one for each of its characters (bpe_symbols.c); then, as long as some two
 * neighbours are a pair of the merges, the pair of the least rank is merged, of equal ranks the
 * leftmost (bpe_merge.c). What a word became is cached (bpe.c). Where words are long because
 * nothing splits the text, they are cut at boundaries that no merge crosses (bpe_cut.h).
 *
 * In a byte-level model words are raw bytes, and each byte is a character of GPT-2's alphabet.
 * Where that changes nothing, a character of UTF-8 begins as one symbol (bpe_characters.h).
 */
#pragma once

#include "pipeline/tokenizer/model/bpe_characters.h"
#include "pipeline/tokenizer/model/bpe_cut.h"
#include "pipeline/tokenizer/model/bpe_pairs.h"
#include "pipeline/tokenizer/model/model.h"

#define LEAT_BPE_AFFIX_MAX  64  /* bytes of prefix and suffix */
#define LEAT_BPE_CONTEXT    3   /* bytes that a cut is judged by, on each side */
#define LEAT_BPE_SMALL_WORD 250 /* symbols that are merged by scanning, not by a heap */

struct leat_bpe {
    struct leat_model base;
    struct leat_bpe_pairs pairs;
    struct leat_bpe_joins joins;
    struct leat_bpe_characters characters; /* of a byte-level model that has all bytes */
    bool can_cut;                          /* words that nothing splits */
    bool can_cut_bytes;                    /* long words of a byte-level model */
    bool has_all_bytes;                    /* each byte is a symbol, without affixes */
    bool ignore_merges;
    bool fuse_unk;
    bool byte_fallback;
    bool has_unk;
    int32_t unk_id;      /* -1: the unknown token is not in the vocabulary */
    double dropout;      /* 0: none */
    int32_t bytes[256];  /* byte_fallback: the ids of <0x00>.., -1: none */
    int32_t single[256]; /* ids of single characters: of a byte-level model each byte; else ASCII */
    int32_t *wide;       /* the same for characters below U+10000; NULL in a byte-level model */
    uint32_t longest[256];  /* by the first byte of a word: bytes of the longest that is a token */
    uint8_t mapped[256][2]; /* by byte: UTF-8 of its character in GPT-2's alphabet */
    uint8_t n_mapped[256];  /* bytes of that */
    char prefix[LEAT_BPE_AFFIX_MAX], suffix[LEAT_BPE_AFFIX_MAX];
    uint32_t n_prefix, n_suffix;
    char unk_token[LEAT_MODEL_UNKNOWN_TEXT_MAX];
};

struct leat_bpe_symbol {
    int32_t id;
    uint32_t n_bytes; /* of the word */
};

/* Owner: the job. */
struct leat_bpe_scratch {
    struct leat_bpe_symbol *symbols;
    uint32_t *next, *previous;
    size_t capacity; /* of the three */
    uint64_t *heap;
    size_t heap_capacity;
    struct leat_text_buffer mapped; /* a word in GPT-2's alphabet */
};

struct leat_bpe_context {
    struct leat_model_context base;
    struct leat_bpe_scratch scratch;
};

void leat_bpe_scratch_deinit(struct leat_bpe_scratch *scratch);
/* Room for a word of that many symbols. 0 or -ENOMEM. */
int leat_bpe_scratch_reserve(struct leat_bpe_scratch *scratch, size_t n_symbols);

/* The symbols of a word (padded), into scratch. Their lengths are what HF counts offsets with. 0,
 * -ENOMEM, or -EINVAL: it needs an unknown token and there is none in the vocabulary. */
int leat_bpe_make_symbols(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                          const uint8_t *word, uint32_t n_bytes, uint32_t *ret_n_symbols,
                          struct leat_error *err);

/* Merges symbols in place; returns how many are left, or -ENOMEM. random: for dropout. */
int64_t leat_bpe_merge(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                       struct leat_rng *random, uint32_t n_symbols);

/* Fills a model, zeroed but for is_byte_level, from the node `model` of a tokenizer.json; to be
 * freed on failure too. 0, -EINVAL, -ENOMEM, -E2BIG. */
int leat_bpe_load(struct leat_bpe *bpe, const struct leat_component *component,
                  struct leat_error *err);
/* Its `merges`, when the tokens are there and it is known whether words can be cut. */
int leat_bpe_read_merges(struct leat_bpe *bpe, const struct leat_component *component,
                         struct leat_error *err);

/* The id of a word that is a token as a whole, or -1. */
int32_t leat_bpe_find_word(const struct leat_bpe *bpe, struct leat_bpe_scratch *scratch,
                           const uint8_t *word, uint32_t n_bytes);
