/* rewrite.c: see rewrite.h. Origins are those that `NormalizedString` of Hugging Face `tokenizers`
 * gives: a character put in front has the origin of the one that it is put in front of. */
#include "pipeline/tokenizer/split/rewrite.h"

#include <errno.h>

#include "pipeline/tokenizer/unicode/unicode.h"

/* What a piece gets in front; n_bytes 0: nothing. */
struct prefix {
    const uint8_t *bytes;
    uint32_t n_bytes;
};

static bool begins_with(const struct leat_text_view *source, struct leat_range piece,
                        const uint8_t *bytes, uint32_t n_bytes) {
    return source->bytes[piece.start] == bytes[0] && piece.end - piece.start >= n_bytes &&
           memcmp(source->bytes + piece.start, bytes, n_bytes) == 0;
}

/* Whether blanks become the character before it is looked at: " a" begins with it then. */
static struct prefix prefix_of(const struct leat_split_step *step,
                               const struct leat_text_view *source, struct leat_range piece,
                               bool starts_document) {
    static const uint8_t blank[1] = {' '};
    struct prefix none = {0};

    if (step->kind == LEAT_SPLIT_STEP_BYTES || begins_with(source, piece, blank, 1))
        return none;
    if (step->kind == LEAT_SPLIT_STEP_PREFIX)
        return (struct prefix){blank, 1};
    if (step->scheme == LEAT_SCHEME_NEVER ||
        (step->scheme == LEAT_SCHEME_FIRST && (piece.start > 0 || !starts_document)) ||
        begins_with(source, piece, step->bytes, step->n_bytes))
        return none;
    return (struct prefix){step->bytes, step->n_bytes};
}

static bool is_blank_byte(uint8_t byte) {
    return byte == ' ';
}

/* The bytes that GPT-2's alphabet maps to themselves, as characters of their own. */
static bool is_plain_byte(uint8_t byte) {
    return byte >= 0x21 && byte <= 0x7e;
}

static uint32_t encode_byte(uint8_t byte, uint8_t *bytes) {
    uint32_t code = byte;

    if (byte <= 0x20)
        code = 0x100U + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        code = 0x121U + (byte - 0x7fU);
    else if (byte == 0xad)
        code = 0x143;
    return leat_unicode_encode(code, bytes);
}

/* Whether a character keeps its place; stretches of such are copied at once. */
static bool keeps(const struct leat_split_step *step, uint8_t first) {
    switch (step->kind) {
    case LEAT_SPLIT_STEP_METASPACE:
        return !is_blank_byte(first);
    case LEAT_SPLIT_STEP_BYTES:
        return is_plain_byte(first);
    default:
        return true;
    }
}

static int replace(const struct leat_split_step *step, struct leat_rewrite *rewrite) {
    const uint8_t *at = rewrite->source->bytes + rewrite->at;
    uint32_t n_source, n = 0;
    uint8_t bytes[8];

    if (step->kind == LEAT_SPLIT_STEP_METASPACE)
        return leat_rewrite_replace(rewrite, 1, step->bytes, step->n_bytes);
    (void)leat_unicode_decode(at, &n_source);
    for (uint32_t i = 0; i < n_source; i++)
        n += encode_byte(at[i], bytes + n);
    return leat_rewrite_replace(rewrite, n_source, bytes, n);
}

static uint32_t stretch(const struct leat_split_step *step, const uint8_t *bytes, uint32_t at,
                        uint32_t end) {
    uint32_t start = at;

    if (step->kind == LEAT_SPLIT_STEP_PREFIX)
        return end - start;
    while (at < end && keeps(step, bytes[at]))
        at++;
    return at - start;
}

static int rewrite_piece(const struct leat_split_step *step, struct leat_rewrite *rewrite,
                         uint32_t end, struct prefix prefix) {
    int r = 0;

    if (prefix.n_bytes > 0)
        r = leat_rewrite_prepend(rewrite, prefix.bytes, prefix.n_bytes);
    while (r == 0 && rewrite->at < end) {
        uint32_t n = stretch(step, rewrite->source->bytes, rewrite->at, end);
        r = n > 0 ? leat_rewrite_keep(rewrite, n) : replace(step, rewrite);
    }
    return r;
}

static bool changes_nothing(const struct leat_split_step *step, const struct leat_text_view *source,
                            const struct leat_range *pieces, size_t n_pieces,
                            bool starts_document) {
    for (size_t i = 0; i < n_pieces; i++) {
        uint32_t start = pieces[i].start, end = pieces[i].end;
        if (prefix_of(step, source, pieces[i], starts_document).n_bytes > 0 ||
            stretch(step, source->bytes, start, end) < end - start)
            return false;
    }
    return true;
}

/* The bytes of a piece with another character for each blank, eight at a time: where a blank is
 * among them, its bit 7 is the lowest that is set. Up to 8 bytes behind the result may be written.
 */
static uint8_t *copy_blanks(const struct leat_split_step *step, const uint8_t *at,
                            const uint8_t *end, uint8_t *out) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t eight, differs, blanks;

    while (at < end) {
        memcpy(&eight, at, 8);
        memcpy(out, &eight, 8);
        differs = eight ^ ' ' * ones;
        blanks = (differs - ones) & ~differs & ones << 7;
        if (!blanks || at + __builtin_ctzll(blanks) / 8 >= end) {
            out += end - at < 8 ? end - at : 8;
            at += 8;
            continue;
        }
        at += __builtin_ctzll(blanks) / 8 + 1;
        out += __builtin_ctzll(blanks) / 8;
        memcpy(out, step->bytes, 4);
        out += step->n_bytes;
    }
    return out;
}

static size_t count_blanks(const struct leat_text_view *text) {
    size_t n = 0;

    for (uint32_t i = 0; i < text->n_bytes; i++)
        n += text->bytes[i] == ' ';
    return n;
}

/* METASPACE of a text without origins, which needs no account of what becomes of each byte. */
static int replace_blanks(const struct leat_split_step *step, const struct leat_text_view *source,
                          struct leat_range *pieces, size_t n_pieces, bool starts_document,
                          struct leat_text_buffer *target) {
    size_t n_max = source->n_bytes + count_blanks(source) * (size_t)(step->n_bytes - 1) +
                   n_pieces * (size_t)step->n_bytes;
    const uint8_t *at = source->bytes;
    uint8_t *out;
    int r;

    target->n_bytes = 0;
    r = leat_text_buffer_reserve(target, n_max, false);
    if (r < 0)
        return r;
    out = target->bytes;
    for (size_t i = 0; i < n_pieces; i++) {
        struct prefix prefix = prefix_of(step, source, pieces[i], starts_document);
        const uint8_t *start = source->bytes + pieces[i].start,
                      *end = source->bytes + pieces[i].end;

        memcpy(out, at, (size_t)(start - at));
        out += start - at;
        pieces[i].start = (uint32_t)(out - target->bytes);
        memcpy(out, step->bytes, 4);
        out = copy_blanks(step, start, end, out + prefix.n_bytes);
        pieces[i].end = (uint32_t)(out - target->bytes);
        at = end;
    }
    target->n_bytes = (uint32_t)(out - target->bytes);
    return 0;
}

int leat_split_step_rewrite(const struct leat_split_step *step, const struct leat_text_view *source,
                            struct leat_range *pieces, size_t n_pieces, bool starts_document,
                            struct leat_text_buffer *target, struct leat_text_view *ret_text) {
    struct leat_rewrite rewrite;
    int r;

    if (changes_nothing(step, source, pieces, n_pieces, starts_document))
        return 0;
    if (step->kind == LEAT_SPLIT_STEP_METASPACE && !source->origins) {
        r = replace_blanks(step, source, pieces, n_pieces, starts_document, target);
        *ret_text = leat_text_buffer_view(target, false);
        return r < 0 ? r : 1;
    }
    r = leat_rewrite_begin(&rewrite, source, target);
    for (size_t i = 0; i < n_pieces && r == 0; i++) {
        struct prefix prefix = prefix_of(step, source, pieces[i], starts_document);
        uint32_t end = pieces[i].end;

        if (pieces[i].start > rewrite.at)
            r = leat_rewrite_keep(&rewrite, pieces[i].start - rewrite.at);
        pieces[i].start = target->n_bytes;
        if (r == 0)
            r = rewrite_piece(step, &rewrite, end, prefix);
        pieces[i].end = target->n_bytes;
    }
    if (r < 0)
        return r;
    *ret_text = leat_rewrite_end(&rewrite);
    return 1;
}
