#include "pipeline/tokenizer/user_text.h"

#include "proto/base/utf8.h"

static int copy_character(struct leat_text_buffer *buffer, const uint8_t *text, size_t at, size_t n,
                          bool has_origins, uint32_t *ret_n) {
    static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd};
    const uint8_t *bytes = text + at;
    uint32_t n_bytes = leat_utf8_length(bytes, n - at);
    int r;

    *ret_n = n_bytes;
    if (n_bytes == 1 && bytes[0] >= 0x80) {
        *ret_n = (uint32_t)leat_utf8_broken(bytes, n - at);
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
        size_t n_left = count->n_bytes - place->at;
        uint32_t n = leat_utf8_character(bytes, n_left);

        place->at += n ? n : (uint32_t)leat_utf8_broken(bytes, n_left);
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

/* ---- marks ---- */

void leat_marks_begin(struct leat_marks *marks, const struct leat_range *ranges, size_t n) {
    *marks = (struct leat_marks){.ranges = ranges, .n = n};
}

uint32_t leat_marks_of(struct leat_marks *marks, struct leat_range token) {
    if (token.start >= token.end)
        return marks->current;
    while (marks->at < marks->n && marks->ranges[marks->at].end <= token.start)
        marks->at++;
    marks->current = marks->at < marks->n && marks->ranges[marks->at].start < token.end
                         ? (uint32_t)marks->at + 1
                         : 0;
    return marks->current;
}

bool leat_marks_enter(struct leat_marks *marks, struct leat_range part) {
    const struct leat_range *range;

    if (leat_marks_of(marks, part) == 0 || part.start >= part.end)
        return true;
    range = &marks->ranges[marks->at];
    return range->start <= part.start && part.end <= range->end;
}
