/* fuzz_regex.c: regexes of a tokenizer.json: whatever the pattern is, it is refused or its matches
 * are in order, within the text and between characters.
 *
 * The input is the pattern, a NUL, and the text.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/split/regex.h"
#include "proto/base/utf8.h"

#define TEXT_BYTES_MAX 256 /* so that a bad pattern does not take all day */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is not UTF-8 becomes a question mark. */
static uint8_t *copy_valid(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + LEAT_TEXT_PADDING);
    uint32_t n;

    if (!copy)
        abort();
    memcpy(copy, data, size);
    memset(copy + size, 'a', LEAT_TEXT_PADDING);
    for (size_t at = 0; at < size; at += n) {
        n = leat_utf8_length(copy + at, size - at);
        if (n == 1 && copy[at] >= 0x80)
            copy[at] = '?';
    }
    return copy;
}

static void search(const struct leat_regex *regex, const uint8_t *text, uint32_t n_bytes) {
    struct leat_regex_search search = {.text = text, .n_bytes = n_bytes};
    struct leat_regex_context *context;
    struct leat_range match;
    uint32_t at = 0, n_matches = 0;

    if (leat_regex_context_new(&context) < 0)
        return;
    while (leat_regex_next(regex, context, &search, &match, LEAT_ERROR_IGNORED) > 0) {
        if (match.start < at || match.end < match.start || match.end > n_bytes ||
            ++n_matches > n_bytes + 1)
            abort();
        if ((match.start < n_bytes && (text[match.start] & 0xc0) == 0x80) ||
            (match.end < n_bytes && (text[match.end] & 0xc0) == 0x80))
            abort();
        at = match.end;
    }
    (void)leat_regex_context_free(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t n_pattern = nul ? (size_t)(nul - data) : size, n_text;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_regex *regex;
    uint8_t *pattern, *text;

    if (n_pattern > 4096)
        return 0;
    n_text = nul ? size - n_pattern - 1 : 0;
    n_text = n_text < TEXT_BYTES_MAX ? n_text : TEXT_BYTES_MAX;
    pattern = copy_valid(data, n_pattern);
    text = copy_valid(data + size - n_text, n_text);
    if (leat_regex_new((const char *)pattern, n_pattern, &regex, &err) == 0)
        search(regex, text, (uint32_t)n_text);
    else if (err.code == 0 || err.message[0] == 0)
        abort();
    (void)leat_regex_free(regex);
    free(pattern);
    free(text);
    return 0;
}
