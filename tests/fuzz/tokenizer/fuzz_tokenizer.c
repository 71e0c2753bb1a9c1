/* fuzz_tokenizer.c: any bytes as a tokenizer.json. Whatever loads encodes some awkward texts, with
 * and without offsets to the same ids, and decodes what it gave. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/tokenizer.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(0, mutate_text(data, size, max_size, seed))

static const char *const texts[] = {
    "",
    "Hello, world!  It's  2026\n\n\tx = [1, 2];",
    ("\xe3\x81\x82\xe6\xbc\xa2 na\xc3\xafve e\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb "
     "\xff\xc3"),
    "<s>[CLS] <unk></s>[MASK]   <|endoftext|> \xe2\x96\x81 a",
};

static void check_text(const struct leat_tokenizer *tokenizer,
                       struct leat_tokenizer_context *context, const char *text) {
    struct leat_encode_options options = {.adds_special_tokens = true};
    const struct leat_encoding *encodings;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_encodings, n, n_decoded;
    int32_t *ids;
    char *decoded;

    if (leat_tokenizer_encode(tokenizer, context, text, strlen(text), NULL, 0, &options, &encodings,
                              &n_encodings, &err) < 0)
        return;
    n = encodings[0].n;
    ids = malloc((n + 1) * sizeof(*ids));
    if (!ids)
        abort();
    if (n)
        memcpy(ids, encodings[0].ids, n * sizeof(*ids));
    options.columns = LEAT_ENCODING_OFFSETS | LEAT_ENCODING_TYPE_IDS;
    if (leat_tokenizer_encode(tokenizer, context, text, strlen(text), NULL, 0, &options, &encodings,
                              &n_encodings, &err) < 0 ||
        encodings[0].n != n || (n && memcmp(encodings[0].ids, ids, n * sizeof(*ids)) != 0))
        abort();
    for (size_t i = 0; i < n; i++)
        if (encodings[0].offsets[i].start > encodings[0].offsets[i].end ||
            encodings[0].offsets[i].end > strlen(text))
            abort();
    if (leat_tokenizer_decode(tokenizer, ids, n, true, &decoded, &n_decoded, &err) == 0)
        free(decoded);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_tokenizer *tokenizer;
    struct leat_tokenizer_context *context;
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_tokenizer_new((const char *)data, size, "tokenizer.json", &tokenizer, &err) < 0) {
        if (err.message[0] == '\0')
            abort();
        return 0;
    }
    if (leat_tokenizer_context_new(tokenizer, &context) < 0)
        abort();
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_text(tokenizer, context, texts[i]);
    leat_tokenizer_context_free(context);
    leat_tokenizer_free(tokenizer);
    return 0;
}
