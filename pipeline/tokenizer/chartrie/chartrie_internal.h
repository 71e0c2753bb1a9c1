/* chartrie_internal.h: what the modes of the CharTrie share: the trie itself, the matches of a
 * text, and the emission of ids. Only for the files of this folder. */
#pragma once

#include "pipeline/tokenizer/chartrie/automaton.h"
#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "pipeline/tokenizer/chartrie/cuts.h"

struct leat_chartrie {
    struct leat_chartrie_options options;
    struct leat_automaton automaton;
    struct leat_chartrie_cuts cuts;
    int32_t *ids;    /* by match */
    double *costs;   /* by match; NULL: 1 each */
    double *weights; /* by match: exp(-cost), RANDOM mode; NULL: 1 each */
};

/* One text on its way, and the longest tokens of a part of it. */
struct leat_segment {
    const struct leat_chartrie *trie;
    struct leat_encoder *encoder;
    struct leat_encoder_row *row;
    const uint32_t *matches; /* of positions first..end, matches[0] is that of `first` */
    size_t first, end;
};

/* Room for n_bytes in a scratch buffer; what was in it is lost. NULL when memory is out. */
void *leat_encoder_scratch(struct leat_encoder *encoder, struct leat_encoder_buffer *buffer,
                           size_t n_bytes);

/* Room for n more ids. 0 or -ENOMEM. */
int leat_encoder_make_room(struct leat_encoder *encoder, size_t n);

static inline void leat_encoder_put(struct leat_encoder *encoder, int32_t id) {
    encoder->ids[encoder->n_ids++] = id;
}

/* Makes the matches of positions first..end-1 available; that of position `end` is none. Tokens
 * that end more than n_ahead bytes beyond `end` are not seen. 0 or -ENOMEM. */
int leat_segment_load(struct leat_segment *segment, size_t first, size_t end, size_t n_ahead);

/* The same for a window of n_bytes and all tokens that begin in it, unless it is there already. */
int leat_segment_load_window(struct leat_segment *segment, size_t first, size_t n_bytes);

/* An unknown character at that position: puts what it becomes (there is room). False: the row
 * cannot be encoded. */
bool leat_segment_put_unknown(struct leat_segment *segment, size_t position);

/* Encodes the whole text in the trie's mode. 0 or -ENOMEM; row->unknown is set if it cannot be
 * encoded. */
int leat_segment_text(struct leat_segment *segment);

/* The modes: encode the whole text. 0 or -ENOMEM; row->unknown is set if it cannot be encoded. */
int leat_segment_shortest(struct leat_segment *segment);
int leat_segment_random(struct leat_segment *segment);

/* SHORTEST with costs or unknown characters: encodes from position `first` (at cost `cost`) to a
 * position that every best path goes through, or to the end of the text; *first and *cost are moved
 * there. */
int leat_segment_best_path(struct leat_segment *segment, size_t *first, double *cost);

/* SHORTEST without costs, or GREEDY, by an encoder that has memory of pieces: encodes the whole
 * text. 0 or -ENOMEM; row->unknown is set if it cannot be encoded. */
int leat_segment_pieces(struct leat_segment *segment);

#define LEAT_SEGMENT_SMALL 63 /* bytes of a text whose positions are bits of one word */

/* The fewest tokens, or the greedy ones, for 1 to LEAT_SEGMENT_SMALL bytes. matches: [n + 1], the
 * longest token at each position that ends within the text. Returns the number of ids, 0 if there
 * is an unknown character. */
size_t leat_segment_small_shortest(const struct leat_chartrie *trie, const uint32_t *matches,
                                   size_t n, int32_t *ids);
size_t leat_segment_small_greedy(const struct leat_chartrie *trie, const uint32_t *matches,
                                 size_t n, int32_t *ids);
