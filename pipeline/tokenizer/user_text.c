/* user_text.c: see user_text.h. */
#include "pipeline/tokenizer/user_text.h"

#include "pipeline/tokenizer/utf8.h"

/* How many bytes from `at` on one U+FFFD stands for: the longest that begins a valid character, as
 * Unicode 3.9 ("substitution of maximal subparts") has it. */
static uint32_t invalid_length(const uint8_t *text, size_t n) {
    static const uint8_t tail[3] = {0x80, 0x80, 0x80};
    uint8_t trial[7];
    uint32_t n_taken = 1;

    for (; n_taken < 4 && n_taken < n; n_taken++) { /* would it be valid with more behind it? */
        bool is_prefix = false;

        for (uint32_t low = 0x80; low < 0xc0 && !is_prefix; low += 0x10) {
            memcpy(trial, text, n_taken + 1);
            memcpy(trial + n_taken + 1, tail, sizeof(tail));
            trial[n_taken + 1] = (uint8_t)low;
            is_prefix = leat_utf8_length(trial, sizeof(trial)) > n_taken + 1;
        }
        if (!is_prefix)
            break;
    }
    return n_taken;
}

static int copy_character(struct leat_text_buffer *buffer, const uint8_t *text, size_t at, size_t n,
                          bool has_origins, uint32_t *ret_n) {
    static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd};
    const uint8_t *bytes = text + at;
    uint32_t n_bytes = leat_utf8_length(bytes, n - at);
    int r;

    *ret_n = n_bytes;
    if (n_bytes == 1 && bytes[0] >= 0x80) {
        *ret_n = invalid_length(bytes, n - at);
        bytes = replacement;
        n_bytes = sizeof(replacement);
    }
    r = leat_text_buffer_reserve(buffer, n_bytes, has_origins);
    if (r < 0)
        return r;
    memcpy(buffer->bytes + buffer->n_bytes, bytes, n_bytes);
    if (has_origins)
        for (uint32_t i = 0; i < n_bytes; i++)
            buffer->origins[buffer->n_bytes + i] =
                (struct leat_range){.start = (uint32_t)at, .end = (uint32_t)at + *ret_n};
    buffer->n_bytes += n_bytes;
    return 0;
}

int leat_user_text_copy(struct leat_text_buffer *buffer, const uint8_t *text, size_t n,
                        bool has_origins) {
    uint32_t n_bytes;
    int r = 0;

    for (size_t at = 0; r == 0 && at < n; at += n_bytes)
        r = copy_character(buffer, text, at, n, has_origins, &n_bytes);
    return r;
}

static void walk_to(const struct leat_char_count *count, struct leat_char_place *place,
                    uint32_t offset) {
    while (place->at < offset && place->at < count->n_bytes) {
        const uint8_t *bytes = count->text + place->at;
        uint32_t n = leat_utf8_length(bytes, count->n_bytes - place->at);

        place->at +=
            n == 1 && bytes[0] >= 0x80 ? invalid_length(bytes, count->n_bytes - place->at) : n;
        place->n_chars++;
    }
}

struct leat_range leat_char_count_range(struct leat_char_count *count, struct leat_range range) {
    struct leat_char_place *start = &count->start, *end = &count->end;

    if (range.end == 0)
        return range;
    if (range.start >= end->at)
        *start = *end;
    else if (range.start < start->at)
        *start = (struct leat_char_place){0};
    walk_to(count, start, range.start);
    if (range.end < end->at || start->at > end->at)
        *end = *start;
    walk_to(count, end, range.end);
    return (struct leat_range){.start = start->n_chars, .end = end->n_chars};
}
