/* chartrie.c: building a trie, and rows through a mode. See chartrie.h. */
#include "pipeline/tokenizer/chartrie.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/segment.h"

#define BATCH_ROWS      32   /* that are scanned together */
#define BATCH_BYTES_MAX 4096 /* of a row that may be one of them */

static int set_costs(struct leat_chartrie *trie, const struct leat_vocab_token *const *tokens,
                     size_t n_tokens, struct leat_error *err) {
    bool is_random = trie->options.mode == LEAT_CHARTRIE_RANDOM;

    trie->costs = calloc(n_tokens + 1, sizeof(*trie->costs));
    trie->weights = is_random ? calloc(n_tokens + 1, sizeof(*trie->weights)) : NULL;
    if (!trie->costs || (is_random && !trie->weights))
        return leat_error_oom(err);
    for (size_t i = 0; i < n_tokens; i++) {
        trie->costs[i + 1] = tokens[i]->cost;
        if (!is_random)
            continue;
        if (fabs(tokens[i]->cost) > LEAT_CHARTRIE_RANDOM_COST_MAX)
            return leat_error_set(err, -ERANGE,
                                  "id %d costs %g: in random mode costs must lie within -%g..%g",
                                  tokens[i]->id, tokens[i]->cost, LEAT_CHARTRIE_RANDOM_COST_MAX,
                                  LEAT_CHARTRIE_RANDOM_COST_MAX);
        trie->weights[i + 1] = exp(-tokens[i]->cost);
    }
    return 0;
}

static int build(struct leat_chartrie *trie, const struct leat_vocab *vocab,
                 struct leat_automaton_key *keys, const struct leat_vocab_token **tokens,
                 struct leat_error *err) {
    size_t n = 0;
    int r;

    trie->ids = calloc(vocab->n_tokens + 1, sizeof(*trie->ids));
    if (!trie->ids)
        return leat_error_oom(err);
    for (size_t i = 0; i < vocab->n_tokens; i++) {
        const struct leat_vocab_token *token = &vocab->tokens[i];

        if (token->is_hidden)
            continue;
        keys[n] = (struct leat_automaton_key){.bytes = token->bytes, .n_bytes = token->n_bytes};
        tokens[n++] = token;
        trie->ids[n] = token->id;
    }
    r = leat_automaton_build(&trie->automaton, keys, n, err);
    return r == 0 && vocab->has_costs ? set_costs(trie, tokens, n, err) : r;
}

int leat_chartrie_new(const struct leat_vocab *vocab, const struct leat_chartrie_options *options,
                      struct leat_chartrie **ret_trie, struct leat_error *err) {
    struct leat_automaton_key *keys = malloc(vocab->n_tokens * sizeof(*keys));
    const struct leat_vocab_token **tokens = malloc(vocab->n_tokens * sizeof(*tokens));
    struct leat_chartrie *trie = calloc(1, sizeof(*trie));
    int r;

    if (trie)
        trie->options = *options;
    r = keys && tokens && trie ? build(trie, vocab, keys, tokens, err) : leat_error_oom(err);
    free(keys);
    free(tokens);
    if (r < 0)
        leat_chartrie_free(trie);
    else
        *ret_trie = trie;
    return r;
}

struct leat_chartrie *leat_chartrie_free(struct leat_chartrie *trie) {
    if (!trie)
        return NULL;
    leat_automaton_deinit(&trie->automaton);
    free(trie->ids);
    free(trie->costs);
    free(trie->weights);
    free(trie);
    return NULL;
}

size_t leat_chartrie_n_bytes(const struct leat_chartrie *trie) {
    const struct leat_automaton *automaton = &trie->automaton;
    size_t node_bytes =
        sizeof(*automaton->nodes) + sizeof(*automaton->fails) + sizeof(*automaton->longest);
    size_t match_bytes = sizeof(*automaton->matches) + sizeof(*automaton->masks) +
                         sizeof(*trie->ids) + (trie->costs ? sizeof(*trie->costs) : 0) +
                         (trie->weights ? sizeof(*trie->weights) : 0);

    return sizeof(*trie) + automaton->n_nodes * node_bytes + automaton->n_matches * match_bytes;
}

static int encode_text(struct leat_segment *segment) {
    switch (segment->trie->options.mode) {
    case LEAT_CHARTRIE_GREEDY:
        return leat_segment_greedy(segment);
    case LEAT_CHARTRIE_RANDOM:
        return leat_segment_random(segment);
    default:
        return leat_segment_shortest(segment);
    }
}

/* Cuts the text's ids, which begin at index `first`, to what may stay between bos and eos. */
static void truncate_ids(const struct leat_chartrie_options *options, struct leat_encoder *encoder,
                         size_t first) {
    size_t n = encoder->n_ids - first;
    size_t n_ends = (size_t)(options->bos_id >= 0) + (size_t)(options->eos_id >= 0);
    size_t limit = options->max_length > n_ends ? options->max_length - n_ends : 0;

    if (!options->max_length || n <= limit)
        return;
    if (options->keeps_tail)
        memmove(encoder->ids + first, encoder->ids + first + n - limit,
                limit * sizeof(*encoder->ids));
    encoder->n_ids = first + limit;
}

static int encode_row(struct leat_segment *segment) {
    const struct leat_chartrie_options *options = &segment->trie->options;
    struct leat_encoder *encoder = segment->encoder;
    struct leat_encoder_row *row = segment->row;
    size_t first;

    row->first_id = encoder->n_ids;
    row->unknown = LEAT_ENCODER_NO_UNKNOWN;
    if (leat_encoder_make_room(encoder, 1) < 0)
        return -ENOMEM;
    if (options->bos_id >= 0)
        leat_encoder_put(encoder, options->bos_id);
    first = encoder->n_ids;
    if (encode_text(segment) < 0)
        return -ENOMEM;
    if (row->unknown != LEAT_ENCODER_NO_UNKNOWN) {
        encoder->n_ids = row->first_id;
    } else {
        truncate_ids(options, encoder, first);
        if (leat_encoder_make_room(encoder, 1) < 0)
            return -ENOMEM;
        if (options->eos_id >= 0)
            leat_encoder_put(encoder, options->eos_id);
    }
    row->n_ids = encoder->n_ids - row->first_id;
    return 0;
}

/* Rows that are short enough to be scanned together. */
static int encode_batch(const struct leat_chartrie *trie, struct leat_encoder *encoder,
                        struct leat_encoder_row *rows, size_t n_rows) {
    struct leat_automaton_scan scans[BATCH_ROWS];
    size_t n_positions = 0;
    uint32_t *matches;

    for (size_t i = 0; i < n_rows; i++)
        n_positions += rows[i].n_bytes + 1;
    matches = leat_encoder_scratch(encoder, &encoder->matches, n_positions * sizeof(*matches));
    if (!matches)
        return -ENOMEM;
    for (size_t i = 0; i < n_rows; i++) {
        scans[i] = (struct leat_automaton_scan){
            .text = rows[i].text, .n_bytes = rows[i].n_bytes, .matches = matches};
        matches[rows[i].n_bytes] = 0;
        matches += rows[i].n_bytes + 1;
    }
    leat_automaton_scan(&trie->automaton, scans, n_rows);
    for (size_t i = 0; i < n_rows; i++) {
        struct leat_segment segment = {.trie = trie,
                                       .encoder = encoder,
                                       .row = &rows[i],
                                       .matches = scans[i].matches,
                                       .end = rows[i].n_bytes};

        if (encode_row(&segment) < 0)
            return -ENOMEM;
    }
    return 0;
}

int leat_chartrie_encode(const struct leat_chartrie *trie, struct leat_encoder *encoder,
                         struct leat_encoder_row *rows, size_t n_rows, struct leat_error *err) {
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_rows; i++)
        n_bytes += rows[i].n_bytes;
    if (leat_encoder_make_room(encoder, n_bytes / 4 + n_rows * 2) < 0) /* mostly enough */
        return leat_error_oom(err);
    for (size_t i = 0; i < n_rows;) {
        struct leat_segment segment = {.trie = trie, .encoder = encoder, .row = &rows[i]};
        size_t n = 0;
        int r;

        while (n < BATCH_ROWS && i + n < n_rows && rows[i + n].n_bytes <= BATCH_BYTES_MAX)
            n++;
        r = n ? encode_batch(trie, encoder, &rows[i], n) : encode_row(&segment);
        if (r < 0)
            return leat_error_oom(err);
        i += n ? n : 1;
    }
    return 0;
}
