/* chars.c: the steps that take each character by itself: Lowercase, StripAccents, Nmt, and, but for
 * the order of marks, BertNormalizer. See char_table.h.
 *
 * BertNormalizer cleans, sets blanks around Chinese characters, decomposes and drops accents, and
 * turns to lower case, in this order. All of this is one table, unless a mark stays that would
 * have to be put in order: then it is done in passes, as it is where origins are wanted.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/tokenizer/normalize/char_table.h"
#include "pipeline/tokenizer/unicode/form.h"
#include "pipeline/tokenizer/unicode/unicode.h"

enum bert_option {
    BERT_CLEAN = 1 << 0,
    BERT_CHINESE = 1 << 1,
    BERT_STRIP = 1 << 2,
    BERT_LOWER = 1 << 3,
};

struct chars {
    struct leat_normalize_step base;
    leat_char_fn *function;
    uint32_t options;
    struct leat_char_table table;
};

static uint32_t same(uint32_t c, uint32_t *ret_code_points) {
    ret_code_points[0] = c;
    return 1;
}

static uint32_t lower(const void *context, uint32_t c, uint32_t *ret_code_points) {
    (void)context;
    return leat_unicode_lower(c, ret_code_points);
}

static uint32_t strip_accent(const void *context, uint32_t c, uint32_t *ret_code_points) {
    (void)context;
    if (leat_unicode_classes(c) & LEAT_UNICODE_COMBINING_MARK)
        return 0;
    return same(c, ret_code_points);
}

/* Maps a character as the NMT normalization of SentencePiece. */
static uint32_t nmt(const void *context, uint32_t c, uint32_t *ret_code_points) {
    (void)context;
    if ((c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f)
        return 0;
    if (c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
        (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
        c == 0xfffd)
        return same(' ', ret_code_points);
    return same(c, ret_code_points);
}

static bool is_nmt_kept(const void *context, uint32_t first) {
    (void)context;
    return first > UINT16_MAX;
}

/* The passes of BertNormalizer. */

static uint32_t clean(const void *context, uint32_t c, uint32_t *ret_code_points) {
    uint32_t classes = leat_unicode_classes(c);

    (void)context;
    if (classes & LEAT_UNICODE_BERT_REMOVED)
        return 0;
    return same(classes & LEAT_UNICODE_BERT_BLANK ? ' ' : c, ret_code_points);
}

static uint32_t space_chinese(const void *context, uint32_t c, uint32_t *ret_code_points) {
    (void)context;
    if (!(leat_unicode_classes(c) & LEAT_UNICODE_BERT_CHINESE))
        return same(c, ret_code_points);
    ret_code_points[0] = ret_code_points[2] = ' ';
    ret_code_points[1] = c;
    return 3;
}

static uint32_t strip_mark(const void *context, uint32_t c, uint32_t *ret_code_points) {
    (void)context;
    if (leat_unicode_classes(c) & LEAT_UNICODE_BERT_MARK)
        return 0;
    return same(c, ret_code_points);
}

/* Decomposed, without marks, in lower case. Appends to what there is; returns how many. */
static uint32_t bert_rest(uint32_t options, uint32_t c, uint32_t *ret_code_points) {
    uint32_t to[LEAT_UNICODE_DECOMPOSITION_MAX], n = 1, n_out = 0;

    to[0] = c;
    if (options & BERT_STRIP)
        n = leat_unicode_decompose(c, false, to);
    for (uint32_t i = 0; i < n; i++) {
        if (options & BERT_STRIP && leat_unicode_classes(to[i]) & LEAT_UNICODE_BERT_MARK)
            continue;
        if (options & BERT_STRIP && leat_unicode_form_of(to[i])->combining_class)
            return LEAT_CHAR_DIFFICULT;
        if (options & BERT_LOWER)
            n_out += leat_unicode_lower(to[i], ret_code_points + n_out);
        else
            ret_code_points[n_out++] = to[i];
    }
    return n_out;
}

#define BERT_CLASSES                                                                               \
    (LEAT_UNICODE_BERT_REMOVED | LEAT_UNICODE_BERT_BLANK | LEAT_UNICODE_BERT_CHINESE |             \
     LEAT_UNICODE_BERT_MARK)

/* True if the character stays with all options. Most do, and making the table takes less time. */
static bool is_plain(uint32_t c) {
    const struct leat_unicode_form *form = leat_unicode_form_of(c);

    return form->n_canonical == 0 && form->n_lower == 0 && form->combining_class == 0 &&
           !(leat_unicode_classes(c) & BERT_CLASSES) && !leat_unicode_is_hangul(c);
}

/* A Chinese character that decomposes (to another one) is no case for the table's SPACED. */
static uint32_t bert(const void *context, uint32_t c, uint32_t *ret_code_points) {
    uint32_t options = *(const uint32_t *)context, n;

    if (is_plain(c))
        return same(c, ret_code_points);
    if (options & BERT_CLEAN && clean(NULL, c, &c) == 0)
        return 0;
    if (!(options & BERT_CHINESE) || !(leat_unicode_classes(c) & LEAT_UNICODE_BERT_CHINESE))
        return bert_rest(options, c, ret_code_points);
    ret_code_points[0] = ' ';
    n = bert_rest(options, c, ret_code_points + 1);
    if (n == LEAT_CHAR_DIFFICULT)
        return n;
    ret_code_points[1 + n] = ' ';
    return n + 2;
}

static int run_bert_passes(uint32_t options, struct leat_normalize_step_memory *memory,
                           struct leat_text_view *text) {
    int r = 0;

    if (options & BERT_CLEAN)
        r = leat_char_run(clean, NULL, memory, text);
    if (options & BERT_CHINESE && r == 0)
        r = leat_char_run(space_chinese, NULL, memory, text);
    if (options & BERT_STRIP && r == 0)
        r = leat_form_run(LEAT_FORM_NFD, memory, text);
    if (options & BERT_STRIP && r == 0)
        r = leat_char_run(strip_mark, NULL, memory, text);
    if (options & BERT_LOWER && r == 0)
        r = leat_char_run(lower, NULL, memory, text);
    return r;
}

static int run_chars(const struct leat_normalize_step *step,
                     struct leat_normalize_step_memory *memory, struct leat_text_view *text,
                     struct leat_error *err) {
    const struct chars *chars = (const struct chars *)step;

    (void)err;
    if (!text->origins) {
        int r = leat_char_table_run(&chars->table, memory, text);

        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (chars->function == bert)
        return run_bert_passes(chars->options, memory, text);
    return leat_char_run(chars->function, &chars->options, memory, text);
}

static void deinit_chars(struct leat_normalize_step *step) {
    leat_char_table_deinit(&((struct chars *)step)->table);
}

static int init_chars(struct chars *chars, leat_char_fn *function, uint32_t options) {
    int r;

    chars->function = function;
    chars->options = options;
    r = leat_char_table_init(
        &chars->table, &(struct leat_char_source){.function = function,
                                                  .context = &options,
                                                  .is_by_class = function != nmt,
                                                  .is_kept = function == nmt ? is_nmt_kept : NULL});
    chars->base.n_bytes += chars->table.n_bytes;
    return r;
}

enum { LOWERCASE, STRIP_ACCENTS, NMT };

static int load_chars(struct leat_normalize_step *step, const struct leat_component *component,
                      struct leat_error *err) {
    static leat_char_fn *const functions[] = {
        [LOWERCASE] = lower, [STRIP_ACCENTS] = strip_accent, [NMT] = nmt};

    (void)component;
    (void)err;
    return init_chars((struct chars *)step, functions[step->kind->variant], 0);
}

static int load_bert(struct leat_normalize_step *step, const struct leat_component *component,
                     struct leat_error *err) {
    bool is_clean, is_chinese, is_strip, is_lower;
    int r = leat_component_bool(component, "clean_text", -1, &is_clean, err);

    if (r == 0)
        r = leat_component_bool(component, "handle_chinese_chars", -1, &is_chinese, err);
    if (r == 0)
        r = leat_component_bool(component, "lowercase", -1, &is_lower, err);
    if (r == 0)
        r = leat_component_bool(component, "strip_accents", is_lower, &is_strip, err);
    if (r < 0)
        return r;
    leat_normalize_step_describe(step, "BertNormalizer(%s%s%s%s )", is_clean ? " clean" : "",
                                 is_chinese ? " chinese" : "", is_strip ? " strip" : "",
                                 is_lower ? " lower" : "");
    return init_chars((struct chars *)step, bert,
                      (is_clean ? BERT_CLEAN : 0U) | (is_chinese ? BERT_CHINESE : 0U) |
                          (is_strip ? BERT_STRIP : 0U) | (is_lower ? BERT_LOWER : 0U));
}

#define KIND(name, load, variant)                                                                  \
    { name, sizeof(struct chars), load, run_chars, deinit_chars, variant }

const struct leat_normalize_step_kind leat_normalize_step_lowercase =
    KIND("Lowercase", load_chars, LOWERCASE);
const struct leat_normalize_step_kind leat_normalize_step_strip_accents =
    KIND("StripAccents", load_chars, STRIP_ACCENTS);
const struct leat_normalize_step_kind leat_normalize_step_nmt = KIND("Nmt", load_chars, NMT);
const struct leat_normalize_step_kind leat_normalize_step_bert =
    KIND("BertNormalizer", load_bert, 0);
