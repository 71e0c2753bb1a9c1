/* char_table.h: rewritings that look at one character at a time.
 *
 * Such a rewriting is a pure function from a character to characters. Run as it is, it carries
 * origins along; compiled to a table of what each character becomes in UTF-8, it is fast.
 *
 * A table is immutable: any thread.
 */
#pragma once

#include "pipeline/tokenizer/normalize/ascii.h"
#include "pipeline/tokenizer/normalize/step.h"

#define LEAT_CHAR_MAX 24 /* characters that one may become */

/* Writes what a character becomes, returns how many (0: it vanishes), or: */
#define LEAT_CHAR_DIFFICULT UINT32_MAX /* it depends on what is around it */
typedef uint32_t leat_char_fn(const void *context, uint32_t code_point, uint32_t *ret_code_points);

/* Rewrites a text; the first of several characters takes the place of the one there was, the others
 * are new. The function never says DIFFICULT. */
int leat_char_run(leat_char_fn *function, const void *context,
                  struct leat_normalize_step_memory *memory, struct leat_text_view *text);

struct leat_char_table {
    uint16_t *blocks;  /* of 128 characters each: which block of entries */
    uint32_t *entries; /* see char_table.c */
    uint8_t *pool;     /* UTF-8 */
    size_t n_entries, n_pool, n_bytes;
    struct leat_ascii_map ascii; /* what the table does to ASCII, as far as such a map can say */
    bool maps_ascii;             /* it says all but what is special */
};

/* A table is made from this function. */
struct leat_char_source {
    leat_char_fn *function;
    const void *context;
    /* The function depends on nothing but what leat_unicode_classes and leat_unicode_form_of say,
     * and on Hangul syllables. */
    bool is_by_class;
    /* True if all 64 characters from that one on stay; NULL: not known. */
    bool (*is_kept)(const void *context, uint32_t first);
};

/* Special values of an entry; smaller ones are lengths in the pool. */
enum leat_char_kind {
    LEAT_CHAR_KIND_KEEP = 0xff,
    LEAT_CHAR_KIND_DIFFICULT = 0xfe,
    LEAT_CHAR_KIND_SPACED = 0xfd, /* stands between blanks */
    LEAT_CHAR_KIND_HANGUL = 0xfc, /* decomposes by arithmetic */
};

/* An entry: the kind or the length in the low 8 bits, the place in the pool above. */
static inline uint32_t leat_char_table_entry(const struct leat_char_table *table, uint32_t c) {
    return table->entries[(uint32_t)table->blocks[c >> 7] << 7 | (c & 127)];
}

/* 0, -ENOMEM. */
int leat_char_table_init(struct leat_char_table *table, const struct leat_char_source *source);
void leat_char_table_deinit(struct leat_char_table *table);

/* Rewrites a text without origins. 1: done; 0: it holds a difficult character, and is as it was;
 * -ENOMEM, -E2BIG. */
int leat_char_table_run(const struct leat_char_table *table,
                        struct leat_normalize_step_memory *memory, struct leat_text_view *text);
