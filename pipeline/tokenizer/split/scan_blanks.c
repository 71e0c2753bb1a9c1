/* scan_blanks.c: words between white space: BertPreTokenizer, WhitespaceSplit. See scan.h.
 *
 * What counts as white space is Rust's; for ASCII a table says it.
 */
#include "pipeline/tokenizer/split/scan.h"
#include "pipeline/tokenizer/split/scan_classes.h"

#define SPACES    LEAT_UNICODE_RUST_SPACE
#define SEPARATOR LEAT_UNICODE_BERT_PUNCTUATION

static inline uint32_t classes_at(const struct leat_text *text, uint32_t at, uint32_t *ret_n) {
    return leat_unicode_classes(leat_unicode_decode(text->bytes + at, ret_n));
}

static inline uint32_t skip_spaces(const struct leat_text *text, uint32_t at) {
    uint32_t n;

    while (at < text->n_bytes && classes_at(text, at, &n) & SPACES)
        at += n;
    return at;
}

/* Letters and digits of ASCII, which end no word, 16 at a time. */
static inline uint32_t skip_plain(const struct leat_text *text, uint32_t at) {
#ifdef __SSE2__
    for (;;) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text->bytes + at));
        __m128i letter = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
        __m128i digit = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        __m128i is_plain =
            _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter),
                         _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
        uint32_t others = ~(uint32_t)_mm_movemask_epi8(is_plain) & 0xffff;

        if (others) {
            at += (uint32_t)__builtin_ctz(others);
            return at < text->n_bytes ? at : text->n_bytes;
        }
        at += 16;
        if (at >= text->n_bytes)
            return text->n_bytes;
    }
#else
    return at;
#endif
}

static inline __attribute__((always_inline)) size_t scan_words(const struct leat_text *text,
                                                               uint32_t *at,
                                                               struct leat_range *words,
                                                               size_t n_max, uint32_t ends) {
    uint32_t start = skip_spaces(text, *at), n_bytes;
    size_t n = 0;

    while (n < n_max && start < text->n_bytes) {
        uint32_t end = start;

        if (ends & SEPARATOR && classes_at(text, start, &n_bytes) & SEPARATOR)
            end = start + n_bytes; /* a punctuation character by itself */
        else
            while ((end = skip_plain(text, end)) < text->n_bytes &&
                   !(classes_at(text, end, &n_bytes) & ends))
                end += n_bytes;
        words[n++] = (struct leat_range){.start = start, .end = end};
        start = skip_spaces(text, end);
    }
    *at = start;
    return n;
}

size_t leat_scan_bert(const struct leat_text *text, uint32_t *at, struct leat_range *words,
                      size_t n_max) {
    return scan_words(text, at, words, n_max, SPACES | SEPARATOR);
}

size_t leat_scan_whitespace(const struct leat_text *text, uint32_t *at, struct leat_range *words,
                            size_t n_max) {
    return scan_words(text, at, words, n_max, SPACES);
}
