/* chartrie.c: building a trie, rows through a mode, what the modes share, and the mode GREEDY. See
 * chartrie.h. */
#include "pipeline/tokenizer/chartrie/chartrie_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/utf8.h"

#define BATCH_ROWS        32    /* that are scanned together */
#define BATCH_BYTES_MAX   4096  /* of a row that may be one of them */
#define WINDOW_BYTES      16384 /* of a long text in mode GREEDY */
#define SCRATCH_BYTES_MIN 4096
#define ROOM_MIN          64

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
                                  "the cost of id %d is %g: with `mode: random`, costs must be "
                                  "within -%g..%g",
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
        leat_chartrie_cuts_add(&trie->cuts, token->bytes, token->n_bytes);
    }
    leat_chartrie_cuts_finish(&trie->cuts);
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

/* ---- what the modes share */

void *leat_encoder_scratch(struct leat_encoder *encoder, struct leat_encoder_buffer *buffer,
                           size_t n_bytes) {
    size_t size = buffer->n_bytes * 2 > n_bytes ? buffer->n_bytes * 2 : n_bytes;
    void *data;

    if (n_bytes <= buffer->n_bytes)
        return buffer->data;
    if (n_bytes > (size_t)1 << 20)
        size = n_bytes; /* not twice as much of what is large already */
    if (size < SCRATCH_BYTES_MIN)
        size = SCRATCH_BYTES_MIN;
    data = encoder->memory.allocate(encoder->memory.context, size);
    if (!data)
        return NULL;
    *buffer = (struct leat_encoder_buffer){.data = data, .n_bytes = size};
    return data;
}

int leat_encoder_make_room(struct leat_encoder *encoder, size_t n) {
    size_t capacity = encoder->n_ids + n, size;
    int32_t *ids;

    if (capacity <= encoder->ids_capacity)
        return 0;
    capacity += ROOM_MIN; /* what comes one by one, bos and eos, must not cost a copy */
    if (capacity < encoder->n_ids + encoder->n_ids / 2)
        capacity = encoder->n_ids + encoder->n_ids / 2;
    ids = encoder->memory.reserve(encoder->memory.context, capacity * sizeof(*ids), &size);
    if (!ids)
        return -ENOMEM;
    if (encoder->n_ids && ids != encoder->ids)
        memcpy(ids, encoder->ids, encoder->n_ids * sizeof(*ids));
    encoder->ids = ids;
    encoder->ids_capacity = size / sizeof(*ids);
    return 0;
}

int leat_segment_load(struct leat_segment *segment, size_t first, size_t end, size_t n_ahead) {
    struct leat_encoder *encoder = segment->encoder;
    struct leat_automaton_scan scan = {
        .text = segment->row->text + first, .n_bytes = end - first, .n_ahead = n_ahead};

    scan.matches =
        leat_encoder_scratch(encoder, &encoder->matches, (end - first + 1) * sizeof(uint32_t));
    if (!scan.matches)
        return -ENOMEM;
    leat_automaton_scan(&segment->trie->automaton, &scan, 1);
    scan.matches[end - first] = 0;
    segment->matches = scan.matches;
    segment->first = first;
    segment->end = end;
    return 0;
}

int leat_segment_load_window(struct leat_segment *segment, size_t first, size_t n_bytes) {
    size_t n = segment->row->n_bytes, end = first + (n_bytes < n - first ? n_bytes : n - first);
    size_t n_ahead = segment->trie->automaton.max_bytes;

    if (first >= segment->first && end <= segment->end && segment->matches)
        return 0;
    return leat_segment_load(segment, first, end, n_ahead < n - end ? n_ahead : n - end);
}

bool leat_segment_put_unknown(struct leat_segment *segment, size_t position) {
    const struct leat_chartrie_options *options = &segment->trie->options;

    if (options->unknown == LEAT_CHARTRIE_UNK)
        leat_encoder_put(segment->encoder, options->unk_id);
    else if (options->unknown == LEAT_CHARTRIE_ERROR)
        segment->row->unknown = (uint32_t)position;
    return options->unknown != LEAT_CHARTRIE_ERROR;
}

/* ---- GREEDY: the longest token at each place, from the left */

/* Encodes up to the end of the window; returns where it got to, SIZE_MAX if the row is bad. */
static size_t walk(struct leat_segment *segment, size_t position) {
    const struct leat_chartrie *trie = segment->trie;
    const struct leat_encoder_row *row = segment->row;

    while (position < segment->end) {
        uint32_t match = segment->matches[position - segment->first];

        if (match) {
            leat_encoder_put(segment->encoder, trie->ids[match]);
            position += trie->automaton.matches[match].n_bytes;
            continue;
        }
        if (!leat_segment_put_unknown(segment, position))
            return SIZE_MAX;
        position += leat_utf8_length(row->text + position, row->n_bytes - position);
    }
    return position;
}

static int encode_greedy(struct leat_segment *segment) {
    size_t n_window = WINDOW_BYTES + 4 * (size_t)segment->trie->automaton.max_bytes;

    for (size_t position = 0; position < segment->row->n_bytes;) {
        if (position >= segment->end && leat_segment_load_window(segment, position, n_window) < 0)
            return -ENOMEM;
        if (leat_encoder_make_room(segment->encoder, segment->end - position) < 0)
            return -ENOMEM;
        position = walk(segment, position);
    }
    return 0;
}

/* ---- rows */

bool leat_chartrie_keeps_pieces(const struct leat_chartrie *trie) {
    bool is_divisible = trie->options.mode == LEAT_CHARTRIE_GREEDY ||
                        (trie->options.mode == LEAT_CHARTRIE_SHORTEST && !trie->costs);

    return is_divisible && trie->cuts.is_useful;
}

int leat_segment_text(struct leat_segment *segment) {
    switch (segment->trie->options.mode) {
    case LEAT_CHARTRIE_GREEDY:
        return encode_greedy(segment);
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

static int encode_row(struct leat_segment *segment, bool has_pieces) {
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
    if ((has_pieces ? leat_segment_pieces(segment) : leat_segment_text(segment)) < 0)
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
    struct leat_automaton_scan scans[BATCH_ROWS] = {{0}};
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

        if (encode_row(&segment, false) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool goes_in_pieces(const struct leat_chartrie *trie, const struct leat_encoder *encoder,
                           const struct leat_encoder_row *row) {
    return encoder->pieces && leat_chartrie_keeps_pieces(trie) &&
           leat_chartrie_has_pieces(row->text, row->n_bytes);
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
        bool has_pieces = goes_in_pieces(trie, encoder, &rows[i]);
        size_t n = 0;
        int r;

        while (!has_pieces && n < BATCH_ROWS && i + n < n_rows &&
               rows[i + n].n_bytes <= BATCH_BYTES_MAX &&
               (n == 0 || !goes_in_pieces(trie, encoder, &rows[i + n])))
            n++;
        r = n ? encode_batch(trie, encoder, &rows[i], n) : encode_row(&segment, has_pieces);
        if (r < 0)
            return leat_error_oom(err);
        i += n ? n : 1;
    }
    return 0;
}
