/* fuzz_vocab.c: any bytes as a vocabulary in each encoding (the first byte says which, and whether
 * the file is called .json) and as a file of costs: whatever loads makes a trie in which every
 * token that did not give way is found by itself. */
#include <stdlib.h>

#include "pipeline/tokenizer/chartrie/chartrie.h"

#define BLOCKS_MAX 64

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

static void check_token(const struct leat_chartrie *trie, const struct leat_vocab_token *token) {
    struct blocks blocks = {.n = 0};
    struct leat_encoder encoder = {
        .memory = {.context = &blocks, .allocate = allocate, .reserve = reserve}};
    struct leat_encoder_row row = {.text = token->bytes, .n_bytes = token->n_bytes};
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_chartrie_encode(trie, &encoder, &row, 1, &err) < 0 || row.n_ids != 1 ||
        encoder.ids[row.first_id] != token->id)
        abort();
    while (blocks.n)
        free(blocks.items[--blocks.n]);
}

static void check_trie(const struct leat_vocab *vocab) {
    struct leat_chartrie_options options = {
        .mode = LEAT_CHARTRIE_GREEDY, .unk_id = -1, .bos_id = -1, .eos_id = -1};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chartrie *trie;

    if (leat_chartrie_new(vocab, &options, &trie, &err) < 0)
        abort();
    for (size_t i = 0; i < vocab->n_tokens; i++)
        if (!vocab->tokens[i].is_hidden)
            check_token(trie, &vocab->tokens[i]);
    leat_chartrie_free(trie);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_vocab *vocab;

    if (size < 1 || size > 4096)
        return 0;
    if (leat_vocab_new((const char *)data + 1, size - 1, (enum leat_token_encoding)(data[0] % 3),
                       data[0] & 4 ? "v.json" : "v", &vocab, &err) < 0) {
        if (!err.code || !err.message[0])
            abort();
        return 0;
    }
    check_trie(vocab);
    (void)leat_vocab_read_costs(vocab, (const char *)data, size, "costs", &err);
    leat_vocab_free(vocab);
    return 0;
}
