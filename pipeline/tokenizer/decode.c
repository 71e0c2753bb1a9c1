/* decode.c: ids and tokens back to text. See tokenizer.h. */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/tokenizer_internal.h"

static int join(const struct leat_tokenizer *tokenizer, const struct leat_decoder_token *tokens,
                size_t n_tokens, char **ret_text, size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_text_buffer text = {0};
    int r = leat_text_buffer_reserve(&text, 1, false);

    if (r == 0)
        r = leat_decoder_run(tokenizer->decoder, tokens, n_tokens, &text, err);
    if (r == -ENOMEM)
        leat_error_oom(err);
    if (r < 0) {
        leat_text_buffer_deinit(&text);
        return r;
    }
    text.bytes[text.n_bytes] = '\0';
    *ret_text = (char *)text.bytes;
    *ret_n_bytes = text.n_bytes;
    return 0;
}

int leat_tokenizer_decode(const struct leat_tokenizer *tokenizer, const int32_t *ids, size_t n_ids,
                          bool skips_special, char **ret_text, size_t *ret_n_bytes,
                          struct leat_error *err) {
    struct leat_decoder_token *tokens = calloc(n_ids + 1, sizeof(*tokens));
    size_t n = 0;
    int r;

    if (!tokens)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_ids; i++) {
        tokens[n].bytes = leat_tokenizer_token(tokenizer, ids[i], &tokens[n].n_bytes);
        n += tokens[n].bytes && !(skips_special && leat_tokenizer_is_special(tokenizer, ids[i]));
    }
    r = join(tokenizer, tokens, n, ret_text, ret_n_bytes, err);
    free(tokens);
    return r;
}

int leat_tokenizer_join(const struct leat_tokenizer *tokenizer, const char *const *tokens,
                        const uint32_t *n_bytes, size_t n_tokens, char **ret_text,
                        size_t *ret_n_bytes, struct leat_error *err) {
    struct leat_decoder_token *list = calloc(n_tokens + 1, sizeof(*list));
    int r;

    if (!list)
        return leat_error_oom(err);
    for (size_t i = 0; i < n_tokens; i++)
        list[i] = (struct leat_decoder_token){(const uint8_t *)tokens[i], n_bytes[i]};
    r = join(tokenizer, list, n_tokens, ret_text, ret_n_bytes, err);
    free(list);
    return r;
}
