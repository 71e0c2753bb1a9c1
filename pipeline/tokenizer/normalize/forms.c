/* forms.c: NFC, NFD, NFKC, NFKD (Unicode Standard Annex 15), with the origins that the crate
 * unicode-normalization-alignments gives.
 *
 * Most of a text is stable: characters that stay as they are whatever is before them. Only what
 * lies between is normalized: decomposed, its marks sorted, composed again. Each character has a
 * change (see text.h): 0 for the first of a decomposition, 1 for the others, and two that compose
 * add up theirs, less one. A segment consumes just its own part of the source, so segments are
 * independent of each other.
 */
#include "pipeline/tokenizer/normalize/step.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/ascii.h"
#include "pipeline/tokenizer/unicode/unicode.h"

#define SORT_BY_INSERTION_MAX 32

struct leat_form_item {
    uint32_t code_point;
    int16_t change;
    uint8_t class;
};

static bool is_composing(enum leat_form form) {
    return form == LEAT_FORM_NFC || form == LEAT_FORM_NFKC;
}

/* Finding what is not stable. */

static bool is_stable(enum leat_form form, uint32_t c) {
    return leat_unicode_form_of(c)->stable >> form & 1;
}

/* From this byte on characters may be unstable: U+0300 for NFC, U+0080 for the others. */
static uint8_t first_byte(enum leat_form form) {
    return form == LEAT_FORM_NFC ? 0xcc : 0x80;
}

/* From a character on that is not ASCII: the first one that is not stable or is ASCII before
 * another of ASCII, or the end. */
static uint32_t skip_stable_nfc(const uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t n_bytes;

    for (; at < end; at += n_bytes) {
        if (bytes[at] < 0x80) {
            if (bytes[at + 1] < 0x80)
                break;
            n_bytes = 1;
        } else if (bytes[at] < 0xf0) {
            if (!leat_unicode_has_bit(leat_unicode_u16_nfc_stable, bytes + at, &n_bytes))
                break;
        } else if (!is_stable(LEAT_FORM_NFC, leat_unicode_decode(bytes + at, &n_bytes))) {
            break;
        }
    }
    return at;
}

static uint32_t skip_stable(enum leat_form form, const uint8_t *bytes, uint32_t at, uint32_t end) {
    uint32_t n_bytes;

    if (form == LEAT_FORM_NFC)
        return skip_stable_nfc(bytes, at, end);
    for (; at < end && bytes[at] >= 0x80; at += n_bytes)
        if (!is_stable(form, leat_unicode_decode(bytes + at, &n_bytes)))
            break;
    return at;
}

/* The first place from `at` on, where a character begins, that is not stable, or the end;
 * *ret_last is where the stable character before it begins, if there is one, else the place. */
static uint32_t find_unstable(enum leat_form form, const struct leat_text_view *text, uint32_t at,
                              uint32_t *ret_last) {
    uint32_t start = at;

    for (;;) {
        at = leat_ascii_find_high(text->bytes, at, text->n_bytes, first_byte(form));
        at = skip_stable(form, text->bytes, at, text->n_bytes);
        if (at == text->n_bytes || text->bytes[at] >= 0x80)
            break;
    }
    *ret_last = at;
    if (at > start)
        while ((text->bytes[--*ret_last] & 0xc0) == 0x80)
            ;
    return at;
}

/* Behind the character at `at`, where the next one begins that has nothing to do with those before
 * it, or the end. */
static uint32_t find_boundary(enum leat_form form, const struct leat_text_view *text, uint32_t at) {
    uint32_t n_bytes;

    leat_unicode_decode(text->bytes + at, &n_bytes);
    for (at += n_bytes; at < text->n_bytes; at += n_bytes) {
        uint32_t c = leat_unicode_decode(text->bytes + at, &n_bytes);

        if (leat_unicode_form_of(c)->boundary >> form & 1)
            break;
    }
    return at;
}

/* Normalizing a segment. */

/* Room for `need` items, of which the first n are kept, and for as many after them. */
static int reserve(struct leat_normalize_step_memory *memory, size_t n, size_t need) {
    size_t capacity = need + need / 2 + 256;
    struct leat_form_item *items;

    if (need <= memory->forms_capacity)
        return 0;
    items = malloc(2 * capacity * sizeof(*items));
    if (!items)
        return -ENOMEM;
    if (n > 0)
        memcpy(items, memory->forms, n * sizeof(*items));
    free(memory->forms);
    memory->forms = items;
    memory->forms_capacity = capacity;
    return 0;
}

static int decompose(enum leat_form form, const uint8_t *bytes, uint32_t n_bytes,
                     struct leat_normalize_step_memory *memory, size_t *ret_n_items) {
    bool is_compatible = form == LEAT_FORM_NFKC || form == LEAT_FORM_NFKD;
    size_t n_items = 0;
    int r = 0;

    for (uint32_t at = 0, n_char; at < n_bytes && r == 0; at += n_char) {
        uint32_t to[LEAT_UNICODE_DECOMPOSITION_MAX], c = leat_unicode_decode(bytes + at, &n_char);
        uint32_t n = leat_unicode_decompose(c, is_compatible, to);

        r = reserve(memory, n_items, n_items + n);
        for (uint32_t i = 0; i < n && r == 0; i++)
            memory->forms[n_items++] =
                (struct leat_form_item){.code_point = to[i],
                                        .change = i > 0,
                                        .class = leat_unicode_form_of(to[i])->combining_class};
    }
    *ret_n_items = n_items;
    return r;
}

static void sort_by_insertion(struct leat_form_item *items, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct leat_form_item item = items[i];
        size_t k = i;

        for (; k > 0 && items[k - 1].class > item.class; k--)
            items[k] = items[k - 1];
        items[k] = item;
    }
}

static void sort_by_counting(struct leat_form_item *items, size_t n,
                             struct leat_form_item *scratch) {
    size_t starts[257] = {0};

    for (size_t i = 0; i < n; i++)
        starts[items[i].class + 1]++;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < n; i++)
        scratch[starts[items[i].class]++] = items[i];
    memcpy(items, scratch, n * sizeof(*items));
}

/* Puts marks in the order of their classes; they do not move across a starter. */
static void sort(struct leat_form_item *items, size_t n, struct leat_form_item *scratch) {
    for (size_t start = 0, end; start < n; start = end + 1) {
        for (end = start; end < n && items[end].class; end++)
            ;
        if (end - start > SORT_BY_INSERTION_MAX)
            sort_by_counting(items + start, end - start, scratch);
        else
            sort_by_insertion(items + start, end - start);
    }
}

/* Composes in place; returns how many are left. items[starter] takes in what follows it, unless
 * a mark of the same class or a higher one, that stayed, is between. */
static size_t compose(struct leat_form_item *items, size_t n) {
    size_t n_out = 0, starter = SIZE_MAX;
    uint32_t last_class = 0;
    bool has_mark = false;

    for (size_t i = 0; i < n; i++) {
        struct leat_form_item item = items[i];
        bool is_blocked = starter == SIZE_MAX || (has_mark && last_class >= item.class);
        uint32_t composed =
            is_blocked ? 0 : leat_unicode_compose(items[starter].code_point, item.code_point);

        if (composed) {
            items[starter].code_point = composed;
            items[starter].change = (int16_t)(items[starter].change + item.change - 1);
            continue;
        }
        if (item.class == 0) {
            starter = n_out;
            has_mark = false;
        } else if (starter != SIZE_MAX) {
            has_mark = true;
            last_class = item.class;
        }
        items[n_out++] = item;
    }
    return n_out;
}

static int put_bytes(struct leat_writer *writer, const struct leat_form_item *items, size_t n) {
    struct leat_text_buffer *target = writer->target;
    int r = leat_writer_flush(writer, 4 * n);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        target->n_bytes +=
            leat_unicode_encode(items[i].code_point, target->bytes + target->n_bytes);
    return 0;
}

static int put_items(struct leat_writer *writer, const struct leat_form_item *items, size_t n,
                     uint32_t n_source) {
    int r = 0;

    if (!writer->source.origins) {
        r = put_bytes(writer, items, n);
        return r < 0 ? r : leat_writer_skip(writer, n_source);
    }
    for (size_t i = 0; i < n && r == 0; i++)
        r = leat_writer_put(writer, items[i].code_point, items[i].change);
    return r;
}

static bool is_same(const struct leat_form_item *items, size_t n, const uint8_t *bytes,
                    uint32_t n_bytes) {
    uint32_t at = 0, n_char;

    for (size_t i = 0; i < n; i++, at += n_char)
        if (at == n_bytes || leat_unicode_decode(bytes + at, &n_char) != items[i].code_point ||
            items[i].change != 0)
            return false;
    return at == n_bytes;
}

static int put_segment(enum leat_form form, struct leat_normalize_step_memory *memory,
                       struct leat_writer *writer, uint32_t end) {
    const uint8_t *bytes = writer->source.bytes + writer->at;
    uint32_t n_bytes = end - writer->at;
    size_t n;
    int r;

    r = decompose(form, bytes, n_bytes, memory, &n);
    if (r < 0)
        return r;
    sort(memory->forms, n, memory->forms + memory->forms_capacity);
    if (is_composing(form))
        n = compose(memory->forms, n);
    if (is_same(memory->forms, n, bytes, n_bytes)) {
        leat_writer_keep(writer, n_bytes);
        return 0;
    }
    return put_items(writer, memory->forms, n, n_bytes);
}

int leat_form_run(enum leat_form form, struct leat_normalize_step_memory *memory,
                  struct leat_text_view *text) {
    struct leat_writer writer;
    int r = 0;

    leat_writer_begin(&writer, &memory->writer, text);
    while (r == 0) {
        uint32_t last, at = find_unstable(form, text, writer.at, &last);

        if (at == text->n_bytes)
            break;
        leat_writer_keep(&writer, (is_composing(form) ? last : at) - writer.at);
        r = put_segment(form, memory, &writer, find_boundary(form, text, at));
    }
    if (r < 0)
        return r;
    leat_writer_keep(&writer, text->n_bytes - writer.at);
    return leat_writer_end(&writer, text);
}

/* The steps. */

static int run_form(const struct leat_normalize_step *step,
                    struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                    struct leat_error *err) {
    (void)err;
    return leat_form_run((enum leat_form)step->kind->variant, memory, text);
}

#define KIND(name, form)                                                                           \
    { name, sizeof(struct leat_normalize_step), NULL, run_form, NULL, form }

const struct leat_normalize_step_kind leat_normalize_step_nfc = KIND("NFC", LEAT_FORM_NFC);
const struct leat_normalize_step_kind leat_normalize_step_nfd = KIND("NFD", LEAT_FORM_NFD);
const struct leat_normalize_step_kind leat_normalize_step_nfkc = KIND("NFKC", LEAT_FORM_NFKC);
const struct leat_normalize_step_kind leat_normalize_step_nfkd = KIND("NFKD", LEAT_FORM_NFKD);
