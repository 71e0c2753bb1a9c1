/* fuzz_encode.c: any bytes as a text, through a tokenizer of each kind (the first byte says which,
 * and what is asked for). The ids are the same with offsets and without, in a context that has seen
 * other texts and in a fresh one; they are tokens of the tokenizer; offsets lie within the text,
 * and decoding takes what encoding gave. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ADDED                                                                                      \
    "\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"special\":true,\"normalized\":false,"       \
    "\"lstrip\":true,\"rstrip\":true,\"single_word\":false},{\"id\":1,\"content\":\"  \","         \
    "\"special\":false,\"normalized\":true,\"lstrip\":false,\"rstrip\":false,"                     \
    "\"single_word\":false}],"
#define BYTES_VOCAB                                                                                \
    "\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"\\u0120\":3,\"\\u0120a\":4,\"ab\":5,\"abc\":6,"          \
    "\"\\u00e3\":7,\"\\u0123\":8,\"\\u00e3\\u0123\":9},"                                           \
    "\"merges\":[\"a b\",\"\\u0120 a\",\"ab c\",\"\\u00e3 \\u0123\"]"

static const char *const documents[] = {
    "{\"version\":\"1.0\"," ADDED "\"normalizer\":{\"type\":\"NFC\"},"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true,"
    "\"use_regex\":true},\"post_processor\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
    "\"trim_offsets\":true,\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_"
    "space\":true,\"trim_offsets\":true},"
    "\"model\":{\"type\":\"BPE\"," BYTES_VOCAB "}}",
    "{\"version\":\"1.0\"," ADDED "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
    "{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":"
    "\" \"},\"content\":\"\\u2581\"}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":"
    "\"Replace\",\"pattern\":{\"String\":\"\\u2581\"},\"content\":\" "
    "\"},{\"type\":\"ByteFallback\"},"
    "{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":true,"
    "\"vocab\":{\"<unk>\":0,\"\\u2581\":1,\"a\":2,\"b\":3,\"\\u2581a\":4,\"ab\":5,\"<0x0A>\":6,"
    "\"<0xE3>\":7},\"merges\":[[\"\\u2581\",\"a\"],[\"a\",\"b\"]]}}",
    "{\"version\":\"1.0\"," ADDED "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
    "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":\"WordPiece\","
    "\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,"
    "\"a\":1,\"##b\":2,\"ab\":3,\"##c\":4,\".\":5,\"e\":6}}}",
    "{\"version\":\"1.0\"," ADDED "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
    "\"\\u2581\",\"prepend_scheme\":\"first\",\"split\":true},\"decoder\":{\"type\":\"Metaspace\","
    "\"replacement\":\"\\u2581\",\"prepend_scheme\":\"first\",\"split\":true},\"model\":{\"type\":"
    "\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<unk>\",0],[\"\\u2581\",-2.5],[\"a\",-3.1],[\"b\",-3.2]"
    ","
    "[\"ab\",-4.25],[\"\\u2581a\",-3.5]]}}",
    "{\"version\":\"1.0\"," ADDED "\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":"
    "\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
    "\"[^\\\\r\\\\n\\\\p{L}]?\\\\p{L}+|\\\\p{N}{1,3}|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":"
    "\"Isolated\","
    "\"invert\":false},{\"type\":\"UnicodeScripts\"}]},\"model\":{\"type\":\"WordLevel\","
    "\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"ab\":2,\" \":3}}}",
};
#define N_DOCUMENTS (sizeof(documents) / sizeof(documents[0]))

static struct leat_tokenizer *tokenizers[N_DOCUMENTS];
static struct leat_tokenizer_context *warm[N_DOCUMENTS];

static void load(void) {
    struct leat_error err = LEAT_ERROR_INIT;
    char text[LEAT_ERROR_PRINT_MAX];

    for (size_t i = 0; i < N_DOCUMENTS; i++) {
        if (leat_tokenizer_new(documents[i], strlen(documents[i]), "tokenizer.json", &tokenizers[i],
                               &err) == 0 &&
            leat_tokenizer_context_new(tokenizers[i], &warm[i]) == 0)
            continue;
        leat_error_print(&err, text, sizeof(text));
        fprintf(stderr, "document %zu: %s\n", i, text);
        abort();
    }
}

static const struct leat_encoding *encode(size_t i, struct leat_tokenizer_context *context,
                                          const uint8_t *text, size_t n, uint32_t columns,
                                          bool keeps_special) {
    const struct leat_encode_options options = {
        .adds_special_tokens = true, .encodes_special_tokens = keeps_special, .columns = columns};
    const struct leat_encoding *encodings;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_encodings;

    if (leat_tokenizer_encode(tokenizers[i], context, text, n, NULL, 0, &options, &encodings,
                              &n_encodings, &err) < 0)
        abort();
    return &encodings[0];
}

static void check_ids(size_t i, const struct leat_encoding *encoding) {
    struct leat_error err = LEAT_ERROR_INIT;
    char *text;
    size_t n;
    uint32_t n_token;

    for (size_t k = 0; k < encoding->n; k++)
        if (!leat_tokenizer_token(tokenizers[i], encoding->ids[k], &n_token))
            abort();
    if (leat_tokenizer_decode(tokenizers[i], encoding->ids, encoding->n, false, &text, &n, &err) <
        0)
        abort();
    free(text);
}

static void check_same(const struct leat_encoding *encoding, const int32_t *ids, size_t n,
                       size_t n_text) {
    if (encoding->n != n || (n && memcmp(encoding->ids, ids, n * sizeof(*ids)) != 0))
        abort();
    for (size_t k = 0; encoding->offsets && k < n; k++)
        if (encoding->offsets[k].start > encoding->offsets[k].end ||
            encoding->offsets[k].end > n_text)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_tokenizer_context *fresh;
    const struct leat_encoding *encoding;
    int32_t *ids;
    size_t i, n;
    bool keeps_special;

    if (!tokenizers[0])
        load();
    if (size < 1)
        return 0;
    i = data[0] % N_DOCUMENTS;
    keeps_special = data[0] >> 7;
    encoding = encode(i, warm[i], data + 1, size - 1, 0, keeps_special);
    check_ids(i, encoding);
    n = encoding->n;
    ids = malloc((n + 1) * sizeof(*ids));
    if (!ids || leat_tokenizer_context_new(tokenizers[i], &fresh) < 0)
        abort();
    if (n)
        memcpy(ids, encoding->ids, n * sizeof(*ids));
    check_same(encode(i, warm[i], data + 1, size - 1, LEAT_ENCODING_OFFSETS, keeps_special), ids, n,
               size - 1);
    check_same(encode(i, fresh, data + 1, size - 1, 0, keeps_special), ids, n, size - 1);
    leat_tokenizer_context_free(fresh);
    free(ids);
    return 0;
}
