/* fuzz_chartrie.c: any vocabulary and any text: the tokens that come out, unknown characters left
 * out, are a part of the text in its order, and those of every mode agree on how many characters
 * are unknown, but for greedy, which may find more; and a memory of pieces changes nothing.
 *
 * Input: lines of tokens, an empty line, the text. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/chartrie/chartrie.h"
#include "proto/base/utf8.h"

#define UNK        INT32_MAX
#define BLOCKS_MAX 192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct blocks {
    void *items[BLOCKS_MAX];
    size_t n;
};

static void *allocate(void *context, size_t n_bytes) {
    struct blocks *blocks = context;

    if (blocks->n == BLOCKS_MAX)
        abort();
    return blocks->items[blocks->n++] = malloc(n_bytes);
}

static void *reserve(void *context, size_t min_bytes, size_t *ret_size) {
    *ret_size = min_bytes;
    return allocate(context, min_bytes);
}

static int compare_ids(const void *a, const void *b) {
    const struct leat_vocab_token *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static const struct leat_vocab_token *find(const struct leat_vocab *vocab, int32_t id) {
    const struct leat_vocab_token key = {.id = id};

    return bsearch(&key, vocab->tokens, vocab->n_tokens, sizeof(key), compare_ids);
}

/* The number of unknown characters; aborts if the ids are not the text. */
static size_t check_ids(const struct leat_vocab *vocab, const uint8_t *text, size_t n,
                        const int32_t *ids, size_t n_ids) {
    size_t at = 0, n_unknown = 0;

    for (size_t i = 0; i < n_ids; i++) {
        const struct leat_vocab_token *token = find(vocab, ids[i]);

        if (ids[i] == UNK) {
            if (at == n)
                abort();
            n_unknown++;
            at += leat_utf8_length(text + at, n - at);
            continue;
        }
        if (!token || token->n_bytes > n - at || memcmp(token->bytes, text + at, token->n_bytes))
            abort();
        at += token->n_bytes;
    }
    if (at != n)
        abort();
    return n_unknown;
}

/* Aborts if a memory of pieces changes the ids, before or after it knows them. */
static void check_pieces(const struct leat_chartrie *trie, struct blocks *blocks,
                         const struct leat_encoder *plain, const struct leat_encoder_row *row) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chartrie_pieces *pieces;

    if (!leat_chartrie_keeps_pieces(trie) || leat_chartrie_pieces_new(&pieces) < 0)
        return;
    for (int pass = 0; pass < 2; pass++) {
        struct leat_encoder encoder = {
            .memory = {.context = blocks, .allocate = allocate, .reserve = reserve},
            .pieces = pieces};
        struct leat_encoder_row again = *row;

        if (leat_chartrie_encode(trie, &encoder, &again, 1, &err) < 0 ||
            again.n_ids != row->n_ids ||
            (row->n_ids && memcmp(encoder.ids, plain->ids, row->n_ids * sizeof(*plain->ids)) != 0))
            abort();
    }
    leat_chartrie_pieces_free(pieces);
}

static size_t encode(const struct leat_vocab *vocab, enum leat_chartrie_mode mode,
                     const uint8_t *text, size_t n) {
    struct leat_chartrie_options options = {
        .mode = mode, .unknown = LEAT_CHARTRIE_UNK, .unk_id = UNK, .bos_id = -1, .eos_id = -1};
    struct leat_encoder_row row = {.text = text, .n_bytes = (uint32_t)n, .key = n};
    struct blocks blocks = {.n = 0};
    struct leat_encoder encoder = {
        .memory = {.context = &blocks, .allocate = allocate, .reserve = reserve}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chartrie *trie;
    size_t n_unknown;

    if (leat_chartrie_new(vocab, &options, &trie, &err) < 0 ||
        leat_chartrie_encode(trie, &encoder, &row, 1, &err) < 0)
        abort();
    n_unknown = check_ids(vocab, text, n, encoder.ids + row.first_id, row.n_ids);
    check_pieces(trie, &blocks, &encoder, &row);
    while (blocks.n)
        free(blocks.items[--blocks.n]);
    leat_chartrie_free(trie);
    return n_unknown;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *gap = size > 65536 ? NULL : memmem(data, size, "\n\n", 2), *text;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_vocab *vocab;
    size_t n, n_unknown;

    if (!gap || leat_vocab_new((const char *)data, (size_t)(gap - data), LEAT_TOKEN_ENCODING_RAW,
                               "v", &vocab, &err) < 0)
        return 0;
    text = gap + 2;
    n = size - (size_t)(text - data);
    for (size_t i = 0; i < vocab->n_tokens; i++)
        if (vocab->tokens[i].id != (int32_t)i) { /* of JSON: perhaps that of unknown characters */
            leat_vocab_free(vocab);
            return 0;
        }
    n_unknown = encode(vocab, LEAT_CHARTRIE_SHORTEST, text, n);
    if (encode(vocab, LEAT_CHARTRIE_GREEDY, text, n) < n_unknown ||
        encode(vocab, LEAT_CHARTRIE_RANDOM, text, n) != n_unknown)
        abort();
    for (size_t i = 0; i < vocab->n_tokens; i++)
        vocab->tokens[i].cost = (double)(i % 5) - 1;
    vocab->has_costs = true;
    if (encode(vocab, LEAT_CHARTRIE_SHORTEST, text, n) != n_unknown)
        abort();
    leat_vocab_free(vocab);
    return 0;
}
