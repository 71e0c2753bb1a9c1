/* unigram_path.h: the best path of pieces through a word: Unigram's own work.
 *
 * It equals `Unigram::encode_optimized` and `tokenize` of Hugging Face `tokenizers`: scores are
 * doubles, added along the path; of equal sums the first found counts. Where no piece is just the
 * next character, that character may be unknown, at a score of the lowest one - 10. Unknowns that
 * follow each other are one; if their text together is a piece, it is that piece's id; else it is
 * its bytes, if there is byte_fallback and a piece for each; else unk_id.
 *
 * Time is linear in the word for a given vocabulary. Memory is bounded by how far back paths of
 * equal right differ, which is a few words: what all paths share is given out and forgotten.
 */
#pragma once

#include "pipeline/tokenizer/model/model.h"
#include "pipeline/tokenizer/model/word_trie.h"

/* Immutable: any thread. */
struct leat_unigram_plan {
    struct leat_word_trie trie;
    double *scores; /* by node of the trie, where a piece ends */
    double unknown_score;
    int64_t unknown; /* id, or -1 */
    bool has_byte_fallback;
    bool is_byte_level;    /* a byte is a character */
    int32_t byte_ids[256]; /* of <0x00> to <0xFF>, or -1 */
};

/* Paths that end at a byte. Owner: the job. */
struct leat_unigram_node {
    union {
        double score;  /* of the best path to here; -INFINITY: there is none yet */
        uint32_t next; /* once the best path is known: where it goes on */
    };
    uint32_t start; /* of the last piece, from the start of the word */
    uint32_t leaf;  /* of the trie; 0: unknown */
};

struct leat_unigram_path {
    struct leat_unigram_node *nodes;
    size_t capacity;
};

/* Where ids go: to `ids`, or with ranges from the start of the word to `tokens`. */
struct leat_unigram_sink {
    int32_t *ids;
    struct leat_token *tokens;
    size_t n;
};

int leat_unigram_path_init(struct leat_unigram_path *path); /* 0 or -ENOMEM */
void leat_unigram_path_deinit(struct leat_unigram_path *path);

/* 0, -ENOMEM, or -EINVAL: there is an unknown character and no unk_id. */
int leat_unigram_path_encode(const struct leat_unigram_plan *plan, struct leat_unigram_path *path,
                             const uint8_t *word, uint32_t n_bytes, struct leat_unigram_sink *sink,
                             struct leat_error *err);
