/* fuzz_charsmap.c: any charsmap and any text: the result is valid UTF-8, the same with origins and
 * without, and the origins lie within the text.
 *
 * Input: 2 bytes of length, a charsmap of that many bytes, the text. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/normalize/normalizer.h"
#include "proto/base/utf8.h"

#define TEXT_MAX     4096
#define CHARSMAP_MAX 65535

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *put_base64(char *at, const uint8_t *bytes, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (i + 2 < n ? bytes[i + 2] : 0U);

        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        *at++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
        *at++ = i + 2 < n ? digits[bits & 63] : '=';
    }
    return at;
}

static int make_normalizer(const uint8_t *charsmap, size_t n, struct leat_normalizer **ret) {
    static char text[CHARSMAP_MAX * 2];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_component component;
    struct leat_json_node node;
    struct leat_json *json;
    char *end;
    int r;

    end = put_base64(stpcpy(text, "{\"precompiled_charsmap\":\""), charsmap, n);
    end = stpcpy(end, "\"}");
    if (leat_json_new(0, &json) < 0 ||
        leat_json_parse(json, text, (size_t)(end - text), (size_t)(end - text), &node, &err) < 0)
        abort();
    component = leat_component_root(NULL, node);
    r = leat_normalizer_new(&component, ret, &err);
    leat_json_free(json);
    return r;
}

/* What of the bytes is UTF-8; each character's origin is its place. */
static uint32_t make_text(const uint8_t *bytes, size_t n, uint8_t *text,
                          struct leat_range *origins) {
    uint32_t n_text = 0, n_char;

    for (size_t at = 0; at < n && n_text + 4 <= TEXT_MAX; at += n_char) {
        n_char = leat_utf8_length(bytes + at, n - at);
        if (n_char == 1 && bytes[at] >= 0x80)
            continue;
        memcpy(text + n_text, bytes + at, n_char);
        for (uint32_t i = 0; i < n_char; i++)
            origins[n_text + i] = (struct leat_range){n_text, n_text + n_char};
        n_text += n_char;
    }
    return n_text;
}

static void check(const struct leat_text_view *with, const struct leat_text_view *without,
                  uint32_t n_text) {
    if (with->n_bytes != without->n_bytes ||
        memcmp(with->bytes, without->bytes, with->n_bytes) != 0)
        abort();
    for (uint32_t at = 0, n_char; at < with->n_bytes; at += n_char) {
        n_char = leat_utf8_length(with->bytes + at, with->n_bytes - at);
        if ((n_char == 1 && with->bytes[at] >= 0x80) ||
            with->origins[at].start > with->origins[at].end || with->origins[at].end > n_text)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t text[TEXT_MAX + LEAT_TEXT_PADDING];
    static struct leat_range origins[TEXT_MAX];
    size_t n = size < 2 ? 0 : (size_t)(data[0] | data[1] << 8);
    struct leat_text_view source = {.bytes = text, .origins = origins}, with, without;
    struct leat_normalizer_context *contexts[2];
    struct leat_normalizer *normalizer;
    struct leat_error err = LEAT_ERROR_INIT;

    if (size < 2 || n > size - 2 || make_normalizer(data + 2, n, &normalizer) < 0)
        return 0;
    source.n_bytes = make_text(data + 2 + n, size - 2 - n, text, origins);
    contexts[0] = leat_normalizer_context_new();
    contexts[1] = leat_normalizer_context_new();
    if (!contexts[0] || !contexts[1] ||
        leat_normalizer_run(normalizer, contexts[0], &source, &with, &err) < 0)
        abort();
    source.origins = NULL;
    if (leat_normalizer_run(normalizer, contexts[1], &source, &without, &err) < 0)
        abort();
    check(&with, &without, source.n_bytes);
    leat_normalizer_context_free(contexts[0]);
    leat_normalizer_context_free(contexts[1]);
    leat_normalizer_free(normalizer);
    return 0;
}
