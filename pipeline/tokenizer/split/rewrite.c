/* rewrite.c: the steps that rewrite each piece of the text. Origins are those that
 * `NormalizedString` of Hugging Face `tokenizers` gives: a character put in front has the origin of
 * the one that it is put in front of. */

#include "pipeline/tokenizer/byte_level.h"
#include "pipeline/tokenizer/split/step.h"
#include "pipeline/tokenizer/unicode/unicode.h"

/* The bytes in front of each piece; n_bytes 0: none. */
struct prefix {
    const uint8_t *bytes;
    uint32_t n_bytes;
};

static bool begins_with(const struct leat_text_view *source, struct leat_range piece,
                        const uint8_t *bytes, uint32_t n_bytes) {
    return source->bytes[piece.start] == bytes[0] && piece.end - piece.start >= n_bytes &&
           memcmp(source->bytes + piece.start, bytes, n_bytes) == 0;
}

/* Blanks count as the replacement already: " a" begins with it. */
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

/* True if a character keeps its place; stretches of such are copied at once. */
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

static int replace(const struct leat_split_step *step, struct leat_writer *writer) {
    const uint8_t *at = writer->source.bytes + writer->at;
    uint32_t n_source, n = 0;
    uint8_t bytes[8];

    if (step->kind == LEAT_SPLIT_STEP_METASPACE)
        return leat_writer_replace(writer, 1, step->bytes, step->n_bytes);
    (void)leat_unicode_decode(at, &n_source);
    for (uint32_t i = 0; i < n_source; i++)
        n += leat_byte_level_map(at[i], bytes + n);
    return leat_writer_replace(writer, n_source, bytes, n);
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

static int rewrite_piece(const struct leat_split_step *step, struct leat_writer *writer,
                         uint32_t end, struct prefix prefix) {
    int r = 0;

    if (prefix.n_bytes > 0)
        r = leat_writer_replace(writer, 0, prefix.bytes, prefix.n_bytes);
    while (r == 0 && writer->at < end) {
        uint32_t n = stretch(step, writer->source.bytes, writer->at, end);

        if (n == 0)
            r = replace(step, writer);
        leat_writer_keep(writer, n);
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
 * among them, its bit 7 is the lowest that is set. Up to 8 bytes after the result may be written.
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

int leat_split_step_rewrite(const struct leat_split_step *step, struct leat_range *pieces,
                            size_t n_pieces, bool starts_document,
                            struct leat_writer_memory *memory, struct leat_text_view *text) {
    struct leat_writer writer;
    int r = 0;

    if (changes_nothing(step, text, pieces, n_pieces, starts_document))
        return 0;
    leat_writer_begin(&writer, memory, text);
    if (step->kind == LEAT_SPLIT_STEP_METASPACE && !text->origins) {
        r = replace_blanks(step, text, pieces, n_pieces, starts_document, writer.target);
        *text = leat_text_buffer_view(writer.target, false);
        return r;
    }
    for (size_t i = 0; i < n_pieces && r == 0; i++) {
        struct prefix prefix = prefix_of(step, &writer.source, pieces[i], starts_document);
        uint32_t end = pieces[i].end;

        leat_writer_keep(&writer, pieces[i].start - writer.at);
        pieces[i].start = leat_writer_position(&writer);
        r = rewrite_piece(step, &writer, end, prefix);
        pieces[i].end = leat_writer_position(&writer);
    }
    return r < 0 ? r : leat_writer_end(&writer, text);
}
