#include "pipeline/sources/arrow/json_string.h"

#include <stdio.h>

static const bool is_escaped[256] = {
    [0] = true,  [1] = true,  [2] = true,  [3] = true,  [4] = true,   [5] = true,    [6] = true,
    [7] = true,  [8] = true,  [9] = true,  [10] = true, [11] = true,  [12] = true,   [13] = true,
    [14] = true, [15] = true, [16] = true, [17] = true, [18] = true,  [19] = true,   [20] = true,
    [21] = true, [22] = true, [23] = true, [24] = true, [25] = true,  [26] = true,   [27] = true,
    [28] = true, [29] = true, [30] = true, [31] = true, ['"'] = true, ['\\'] = true,
};

static void add_escape(struct leat_text *text, uint8_t byte) {
    static const char names[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"'};
    char name = byte == '\\' ? '\\' : byte < sizeof(names) ? names[byte] : '\0', code[8];

    if (name)
        leat_arrow_json_add(text, (char[]){'\\', name}, 2);
    else
        leat_arrow_json_add(text, code, (size_t)snprintf(code, sizeof(code), "\\u%04x", byte));
}

/* True if one of 8 bytes is a control character, a quote or a backslash. The usual test for a zero
 * byte may also hit a byte above such a one, or one above 0x7f. */
static bool may_be_escaped(const uint8_t *bytes) {
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t word, quote, backslash, control;

    memcpy(&word, bytes, sizeof(word));
    quote = word ^ (ones * '"');
    backslash = word ^ (ones * '\\');
    control = word - ones * 0x20;
    return ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | (control & ~word)) &
            highs) != 0;
}

static uint64_t clean_bytes(const uint8_t *bytes, uint64_t n) {
    uint64_t i = 0;

    while (i + 8 <= n && !may_be_escaped(bytes + i))
        i += 8;
    while (i < n && !is_escaped[bytes[i]])
        i++;
    return i;
}

void leat_arrow_json_string(struct leat_text *text, const uint8_t *bytes, uint64_t n,
                            size_t max_bytes) {
    leat_arrow_json_add(text, "\"", 1);
    while (n > 0 && text->n_bytes <= max_bytes && !text->failed) {
        uint64_t n_clean = clean_bytes(bytes, n);

        leat_arrow_json_add(text, (const char *)bytes, (size_t)n_clean);
        if (n_clean < n)
            add_escape(text, bytes[n_clean++]);
        bytes += n_clean;
        n -= n_clean;
    }
    leat_arrow_json_add(text, "\"", 1);
}
