/* cut.c: see cut.h.
 *
 * A step with a pattern makes a sequence of items, matches and what is between them; the behavior
 * says which items make a word. It needs to see one item ahead at most. An item may be empty (a
 * match of nothing), and then still counts for its neighbours; a word that is empty vanishes.
 */
#include "pipeline/tokenizer/split/cut.h"

#include "pipeline/tokenizer/split/scan_text.h"

void leat_split_cut_begin(struct leat_split_cut *cut, const struct leat_split_step *step,
                          const uint8_t *text, struct leat_range piece) {
    struct leat_regex_context *regex = cut->regex;
    struct leat_error *err = cut->err;

    cut->text = text;
    cut->at = piece.start;
    cut->end = piece.end;
    if (step->kind == LEAT_SPLIT_STEP_SCAN)
        return;
    *cut = (struct leat_split_cut){.text = text,
                                   .at = piece.start,
                                   .end = piece.end,
                                   .is_pending = true,
                                   .base = piece.start,
                                   .regex = regex,
                                   .err = err};
    if (step->kind == LEAT_SPLIT_STEP_REGEX)
        cut->search = (struct leat_regex_search){.text = text + piece.start,
                                                 .n_bytes = piece.end - piece.start};
}

static bool find_string(const struct leat_split_cut *cut, const struct leat_split_step *step,
                        struct leat_range *ret_match) {
    const uint8_t *found =
        memmem(cut->text + cut->at, cut->end - cut->at, step->bytes, step->n_bytes);

    if (!found)
        return false;
    ret_match->start = (uint32_t)(found - cut->text);
    ret_match->end = ret_match->start + step->n_bytes;
    return true;
}

static bool find_class(const struct leat_split_cut *cut, const struct leat_split_step *step,
                       struct leat_range *ret_match) {
    const uint8_t *end = cut->text + cut->end;
    const uint8_t *found = leat_scan_until(cut->text + cut->at, end, step->classes);
    uint32_t n;

    if (found >= end)
        return false;
    (void)leat_scan_classes(found, &n);
    ret_match->start = (uint32_t)(found - cut->text);
    ret_match->end = ret_match->start + n;
    return true;
}

static bool find_regex(struct leat_split_cut *cut, const struct leat_split_step *step,
                       struct leat_range *ret_match) {
    int r = leat_regex_next(step->regex, cut->regex, &cut->search, ret_match, cut->err);

    if (r < 0)
        cut->error = r;
    if (r <= 0)
        return false;
    ret_match->start += cut->base;
    ret_match->end += cut->base;
    return true;
}

static bool find(struct leat_split_cut *cut, const struct leat_split_step *step,
                 struct leat_range *ret_match) {
    if (step->kind == LEAT_SPLIT_STEP_REGEX)
        return find_regex(cut, step, ret_match);
    if (cut->at >= cut->end)
        return false;
    return step->kind == LEAT_SPLIT_STEP_STRING ? find_string(cut, step, ret_match)
                                                : find_class(cut, step, ret_match);
}

/* Makes an item of the bytes up to `end`. */
static void set_item(struct leat_split_cut *cut, uint32_t end, bool is_match,
                     struct leat_split_cut_item *ret_item) {
    *ret_item = (struct leat_split_cut_item){{cut->at, end}, is_match};
    cut->at = end;
}

static bool next_item(struct leat_split_cut *cut, const struct leat_split_step *step,
                      struct leat_split_cut_item *ret_item) {
    if (cut->has_item) {
        cut->has_item = false;
        *ret_item = cut->item;
        return true;
    }
    if (!cut->has_match && !cut->is_searched) {
        cut->has_match = find(cut, step, &cut->match);
        cut->is_searched = !cut->has_match;
    }
    if (cut->has_match && cut->match.start == cut->at) {
        cut->has_match = false;
        set_item(cut, cut->match.end, !step->is_inverted, ret_item);
        return true;
    }
    if (cut->at == cut->end)
        return false;
    set_item(cut, cut->has_match ? cut->match.start : cut->end, step->is_inverted, ret_item);
    return true;
}

/* True if an item belongs to the word of the one before it. */
static bool joins(enum leat_split_step_behavior behavior, const struct leat_split_cut_item *before,
                  const struct leat_split_cut_item *item) {
    switch (behavior) {
    case LEAT_BEHAVIOR_MERGED_WITH_PREVIOUS:
        return item->is_match && !before->is_match;
    case LEAT_BEHAVIOR_MERGED_WITH_NEXT:
        return before->is_match && !item->is_match;
    case LEAT_BEHAVIOR_CONTIGUOUS:
        return before->is_match == item->is_match;
    case LEAT_BEHAVIOR_REMOVED:
    case LEAT_BEHAVIOR_ISOLATED:
        break;
    }
    return false;
}

/* The next word, which may be empty. False: there is no more. */
static bool next_word(struct leat_split_cut *cut, const struct leat_split_step *step,
                      struct leat_range *ret_word) {
    struct leat_split_cut_item before, item;

    if (!next_item(cut, step, &before))
        return false;
    *ret_word = before.range;
    if (step->behavior == LEAT_BEHAVIOR_REMOVED && before.is_match)
        ret_word->end = ret_word->start;
    if (step->behavior <= LEAT_BEHAVIOR_ISOLATED)
        return true;
    while (next_item(cut, step, &item)) {
        if (!joins(step->behavior, &before, &item)) {
            cut->item = item;
            cut->has_item = true;
            break;
        }
        ret_word->end = item.range.end;
        if (step->behavior != LEAT_BEHAVIOR_CONTIGUOUS)
            break;
    }
    return true;
}

/* The fast way for most steps: matches, and the gaps between them, are words or are dropped, and no
 * item joins another. */
static size_t cut_plainly(struct leat_split_cut *cut, const struct leat_split_step *step,
                          struct leat_range *words, size_t n_max) {
    bool keeps_all = step->behavior == LEAT_BEHAVIOR_ISOLATED;
    bool keeps_gaps = keeps_all || !step->is_inverted;
    bool keeps_matches = keeps_all || step->is_inverted;
    struct leat_range match;
    size_t n = 0;

    while (n + 2 <= n_max && !cut->has_match && !cut->is_searched) {
        cut->is_searched = !find(cut, step, &match);
        if (cut->is_searched)
            break;
        words[n] = (struct leat_range){cut->at, match.start};
        n += keeps_gaps && match.start > cut->at;
        words[n] = match;
        n += keeps_matches && match.end > match.start;
        cut->at = match.end;
    }
    return n;
}

static size_t cut_by_pattern(struct leat_split_cut *cut, const struct leat_split_step *step,
                             struct leat_range *words, size_t n_max) {
    size_t n = 0;

    if (step->behavior <= LEAT_BEHAVIOR_ISOLATED)
        n = cut_plainly(cut, step, words, n_max);
    while (n < n_max && cut->is_pending) {
        cut->is_pending = next_word(cut, step, &words[n]) && cut->error == 0;
        n += cut->is_pending && words[n].end > words[n].start;
    }
    return n;
}

static size_t cut_by_length(struct leat_split_cut *cut, const struct leat_split_step *step,
                            struct leat_range *words, size_t n_max) {
    size_t n = 0;

    for (; n < n_max && cut->at < cut->end; n++) {
        words[n].start = cut->at;
        for (uint32_t i = 0, n_bytes; i < step->n_length && cut->at < cut->end; i++) {
            (void)leat_unicode_decode(cut->text + cut->at, &n_bytes);
            cut->at += n_bytes;
        }
        words[n].end = cut->at;
    }
    cut->is_pending = false;
    return n;
}

/* Blanks and the like belong to any script. A word begins where a script follows another one. What
 * is before the first script belongs to no word. */
static size_t cut_by_script(struct leat_split_cut *cut, struct leat_range *words, size_t n_max) {
    size_t n = 0;

    while (n < n_max && cut->at < cut->end) {
        uint32_t n_bytes;
        uint32_t script =
            leat_unicode_cut_script(leat_unicode_decode(cut->text + cut->at, &n_bytes));
        bool begins = script != 0 && script != cut->script;

        if (begins && cut->has_item)
            words[n++] = (struct leat_range){cut->item.range.start, cut->at};
        if (begins) {
            cut->item.range.start = cut->at;
            cut->has_item = true;
        }
        if (script != 0)
            cut->script = script;
        cut->at += n_bytes;
    }
    if (n < n_max && cut->at == cut->end) {
        if (cut->has_item)
            words[n++] = (struct leat_range){cut->item.range.start, cut->end};
        cut->is_pending = false;
    }
    return n;
}

size_t leat_split_cut_next(struct leat_split_cut *cut, const struct leat_split_step *step,
                           struct leat_range *words, size_t n_max) {
    switch (step->kind) {
    case LEAT_SPLIT_STEP_SCAN:
        return step->scan(cut->text, &cut->at, cut->end, words, n_max);
    case LEAT_SPLIT_STEP_LENGTH:
        return cut_by_length(cut, step, words, n_max);
    case LEAT_SPLIT_STEP_SCRIPTS:
        return cut_by_script(cut, words, n_max);
    default:
        return cut_by_pattern(cut, step, words, n_max);
    }
}
