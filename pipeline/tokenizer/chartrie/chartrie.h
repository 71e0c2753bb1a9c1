/* chartrie.h: text to token ids by the shape of the vocabulary alone.
 *
 * A segmentation cuts a text into tokens of the vocabulary and unknown characters. An unknown
 * character is one character of UTF-8 (or one byte that begins none) that is no token itself. Among
 * all segmentations
 *
 * - SHORTEST takes the one with the fewest unknown characters; among those, of the least total cost
 *   (1 a token, or the vocabulary's costs, added from the left in double); among those, whose last
 *   token is the longest, then the last but one, and so on: the forward dynamic program
 *   best[j] = min(best[i] + w) over i in ascending order with a strict comparison;
 * - GREEDY takes, from the left, the longest token at each place, an unknown character where there
 *   is none;
 * - RANDOM draws one of those with the fewest unknown characters: each with the same probability,
 *   or, if the vocabulary has costs, with a probability proportional to exp(-total cost). The exact
 *   procedure stands in segment_random.c.
 *
 * An unknown character makes the text an error (ERROR), gives nothing (SKIP), or gives one unk_id
 * (UNK).
 *
 * A trie is immutable: any thread. An encoder is one worker's memory and result. Pieces are words
 * that a worker has seen, with their ids (pieces.h); they change no ids.
 */
#pragma once

#include "pipeline/tokenizer/chartrie/vocab.h"

enum leat_chartrie_mode {
    LEAT_CHARTRIE_SHORTEST,
    LEAT_CHARTRIE_GREEDY,
    LEAT_CHARTRIE_RANDOM,
};

enum leat_chartrie_unknown {
    LEAT_CHARTRIE_ERROR,
    LEAT_CHARTRIE_SKIP,
    LEAT_CHARTRIE_UNK,
};

/* In RANDOM mode costs must lie within -MAX..MAX. */
#define LEAT_CHARTRIE_RANDOM_COST_MAX 600.0

struct leat_chartrie_options {
    enum leat_chartrie_mode mode;
    enum leat_chartrie_unknown unknown;
    int32_t unk_id;      /* for UNK */
    int32_t bos_id;      /* put before each text; -1: none */
    int32_t eos_id;      /* put after each text; -1: none */
    uint32_t max_length; /* ids of a row at most, bos and eos included and kept; 0: any number */
    bool keeps_tail;     /* a text that is too long loses its beginning, not its end */
};

struct leat_chartrie;

/* Builds a trie of the vocabulary's tokens, of which nothing is kept. 0 or -errno. */
int leat_chartrie_new(const struct leat_vocab *vocab, const struct leat_chartrie_options *options,
                      struct leat_chartrie **ret_trie, struct leat_error *err);
struct leat_chartrie *leat_chartrie_free(struct leat_chartrie *trie);

/* Where an encoder gets memory. allocate: scratch that lives as long as the encoder. reserve: at
 * least min_bytes for ids, *ret_size of them usable; a region given before must stay readable until
 * the call after next, so that ids can be copied. Both NULL when memory is out. */
struct leat_encoder_memory {
    void *context;
    void *(*allocate)(void *context, size_t n_bytes);
    void *(*reserve)(void *context, size_t min_bytes, size_t *ret_size);
};

/* Memory of pieces, for SHORTEST without costs and for GREEDY, where the vocabulary lets words be
 * kept (leat_chartrie_keeps_pieces). Owner: the job, one trie's only. */
struct leat_chartrie_pieces;

bool leat_chartrie_keeps_pieces(const struct leat_chartrie *trie);
/* 0 or -ENOMEM. */
int leat_chartrie_pieces_new(struct leat_chartrie_pieces **ret_pieces);
struct leat_chartrie_pieces *leat_chartrie_pieces_free(struct leat_chartrie_pieces *pieces);
size_t leat_chartrie_pieces_max_bytes(void);

struct leat_encoder_buffer {
    void *data;
    size_t n_bytes;
};

/* Owner: the job. Zeroed but for `memory` and `pieces` before first use. */
struct leat_encoder {
    struct leat_encoder_memory memory;
    struct leat_chartrie_pieces *pieces; /* NULL: no words are kept */
    int32_t *ids;                        /* [n_ids]: of all rows, one after the other */
    size_t n_ids, ids_capacity;
    struct leat_encoder_buffer matches, path, costs, marks; /* scratch of the modes */
};

#define LEAT_ENCODER_NO_UNKNOWN UINT32_MAX

struct leat_encoder_row {
    const uint8_t *text;
    uint32_t n_bytes;
    uint32_t unknown; /* out: ERROR mode: offset of the first unknown character, or NO_UNKNOWN */
    uint64_t key;     /* RANDOM mode: the stream of random numbers, see proto/base/rng.h */
    size_t first_id;  /* out: index into the encoder's ids */
    size_t n_ids;     /* out; 0 if unknown is set */
};

/* Encodes all rows; appends to the encoder's ids. 0 or -ENOMEM. */
int leat_chartrie_encode(const struct leat_chartrie *trie, struct leat_encoder *encoder,
                         struct leat_encoder_row *rows, size_t n_rows, struct leat_error *err);
