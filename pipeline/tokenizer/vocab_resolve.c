/* vocab_resolve.c: two sorts, by id and by bytes; within each group of equals the token of the
 * highest rank stays, and two of that rank are an error. */
#include "pipeline/tokenizer/vocab_resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/token_text.h"

struct resolver {
    struct leat_vocab *vocab;
    bool is_lines;
    const char *file;
};

/* By id; of equal ids the token that stays comes first. */
static int compare_ids(const void *a, const void *b) {
    const struct leat_vocab_token *x = a, *y = b;

    if (x->id != y->id)
        return (x->id > y->id) - (x->id < y->id);
    return (int)y->rank - (int)x->rank;
}

/* By bytes; of equal bytes the token that stays comes first, then by id. */
static int compare_bytes(const void *a, const void *b) {
    const struct leat_vocab_token *x = *(struct leat_vocab_token *const *)a;
    const struct leat_vocab_token *y = *(struct leat_vocab_token *const *)b;
    uint32_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
    int r = memcmp(x->bytes, y->bytes, n);

    if (r || x->n_bytes != y->n_bytes)
        return r ? r : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
    if (x->rank != y->rank)
        return (int)y->rank - (int)x->rank;
    return (x->id > y->id) - (x->id < y->id);
}

static bool same_bytes(const struct leat_vocab_token *a, const struct leat_vocab_token *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0;
}

/* An added token repeats the model's of its id, perhaps in another encoding, so it takes its place;
 * two tokens of one rank on one id are a mistake, unless they are the same. */
static int resolve_ids(const struct resolver *resolver, struct leat_error *err) {
    struct leat_vocab_token *tokens = resolver->vocab->tokens, *kept = &tokens[0];
    char a[LEAT_TOKEN_TEXT_MAX], b[LEAT_TOKEN_TEXT_MAX];

    for (size_t i = 1; i < resolver->vocab->n_tokens; i++) {
        struct leat_vocab_token *token = &tokens[i];

        if (token->id != kept->id) {
            kept = token;
            continue;
        }
        if (token->rank == kept->rank && !same_bytes(token, kept))
            return leat_error_set(err, -EINVAL, "id %d is given to two tokens, \"%s\" and \"%s\"",
                                  token->id, leat_token_text(kept->bytes, kept->n_bytes, a),
                                  leat_token_text(token->bytes, token->n_bytes, b));
        if (kept->rank == LEAT_VOCAB_ADDED && token->rank != LEAT_VOCAB_ADDED)
            kept->cost = token->cost;
        token->is_hidden = true;
    }
    return 0;
}

static int report_duplicate(const struct resolver *resolver, const struct leat_vocab_token *a,
                            const struct leat_vocab_token *b, struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX];

    leat_token_text(a->bytes, a->n_bytes, shown);
    if (!resolver->is_lines)
        return leat_error_set(err, -EINVAL, "duplicate token: ids %d and %d both stand for \"%s\"",
                              a->id, b->id, shown);
    leat_error_set(err, -EINVAL, "duplicate token: lines %d and %d both stand for \"%s\"",
                   a->id + 1, b->id + 1, shown);
    leat_error_locate(err, resolver->file, (uint32_t)b->id + 1, 0);
    return -EINVAL;
}

static int resolve_bytes(const struct resolver *resolver, struct leat_vocab_token **order, size_t n,
                         struct leat_error *err) {
    const struct leat_vocab_token *kept = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!kept || !same_bytes(kept, order[i]))
            kept = order[i];
        else if (order[i]->rank == kept->rank)
            return report_duplicate(resolver, kept, order[i], err);
        else
            order[i]->is_hidden = true;
    }
    return 0;
}

int leat_vocab_resolve(struct leat_vocab *vocab, bool is_lines, const char *file,
                       struct leat_error *err) {
    struct resolver resolver = {.vocab = vocab, .is_lines = is_lines, .file = file};
    struct leat_vocab_token **order;
    size_t n = 0;
    int r;

    qsort(vocab->tokens, vocab->n_tokens, sizeof(*vocab->tokens), compare_ids);
    r = resolve_ids(&resolver, err);
    if (r < 0)
        return r;
    order = malloc(vocab->n_tokens * sizeof(struct leat_vocab_token *));
    if (!order)
        return leat_error_oom(err);
    for (size_t i = 0; i < vocab->n_tokens; i++)
        if (!vocab->tokens[i].is_hidden)
            order[n++] = &vocab->tokens[i];
    qsort(order, n, sizeof(struct leat_vocab_token *), compare_bytes);
    r = resolve_bytes(&resolver, order, n, err);
    free(order);
    return r;
}
