/* char_table.h: rewritings that look at one character at a time.
 *
 * Such a rewriting is a pure function from a character to characters. Run as it is, it carries
 * origins along; compiled to a table of what each character becomes in UTF-8, it is fast.
 *
 * A table is immutable: any thread.
 */
#pragma once

#include "pipeline/tokenizer/normalize/step.h"

#define LEAT_CHAR_MAX 24 /* characters that one may become */

/* Writes what a character becomes, returns how many (0: it vanishes), or: */
#define LEAT_CHAR_DIFFICULT UINT32_MAX /* it depends on what is around it */
typedef uint32_t leat_char_fn(uint32_t options, uint32_t code_point, uint32_t *ret_code_points);

/* Rewrites a text; the first of several characters takes the place of the one there was, the others
 * are new. The function never says DIFFICULT. */
int leat_char_run(leat_char_fn *function, uint32_t options, struct leat_step_memory *memory,
                  struct leat_text *text);

struct leat_char_table {
    uint16_t *blocks;  /* of 128 characters each: which block of entries */
    uint32_t *entries; /* see char_table.c */
    uint8_t *pool;     /* UTF-8 */
    size_t n_entries, n_pool, n_bytes;
    bool is_lowering; /* ' ' to '~' stay, but for capital letters, which become small */
};

/* The function must map ' ' to '~' as is_lowering says. Above U+FFFF, and if is_by_class below too,
 * it may depend on nothing but what leat_unicode_classes and leat_unicode_form_of say, and on
 * Hangul syllables. 0, -ENOMEM. */
int leat_char_table_init(struct leat_char_table *table, leat_char_fn *function, uint32_t options,
                         bool is_lowering, bool is_by_class);
void leat_char_table_deinit(struct leat_char_table *table);

/* Rewrites a text without origins. 1: done; 0: it holds a difficult character, and is as it was;
 * -ENOMEM, -E2BIG. */
int leat_char_table_run(const struct leat_char_table *table, struct leat_step_memory *memory,
                        struct leat_text *text);
