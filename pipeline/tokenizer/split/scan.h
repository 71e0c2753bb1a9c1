/* scan.h: scanners for known grammars: what the generic steps find with a regex or a test of each
 * character, found by code that is written for it.
 *
 * A scanner goes over a piece of text and writes the words in it, as many as fit, and comes back
 * for more: *at is where it is. Pieces begin and end between characters; after the end there are
 * LEAT_TEXT_PADDING readable bytes that mean nothing. A scanner does not know what was before the
 * piece, or after it.
 *
 * Each is compiled twice, for any machine and for vectors (proto/base/simd.h); leat_scanner_run
 * takes what the machine has. Pure: any thread.
 */
#pragma once

#include "pipeline/tokenizer/text.h"

/* 0: the piece is done. n_max at least 1. */
typedef size_t leat_scan_fn(const uint8_t *text, uint32_t *at, uint32_t end,
                            struct leat_range *words, size_t n_max);

struct leat_scanner {
    const char *name;
    leat_scan_fn *scan, *scan_simd;
};

extern const struct leat_scanner leat_scanner_gpt2;
extern const struct leat_scanner leat_scanner_cl100k;   /* numbers of three digits */
extern const struct leat_scanner leat_scanner_qwen2;    /* the same, of one digit */
extern const struct leat_scanner leat_scanner_qwen35;   /* the same, marks are letters */
extern const struct leat_scanner leat_scanner_o200k;    /* words by case */
extern const struct leat_scanner leat_scanner_tekken;   /* the same without contractions */
extern const struct leat_scanner leat_scanner_deepseek; /* the third regex of DeepSeek-V3 */
extern const struct leat_scanner leat_scanner_kana;     /* its second: runs of Kana and Han */
extern const struct leat_scanner leat_scanner_numbers3; /* its first: \p{N}{1,3} */
extern const struct leat_scanner leat_scanner_numbers1; /* \p{N} */
extern const struct leat_scanner leat_scanner_digits3;  /* [0-9][0-9][0-9] */
extern const struct leat_scanner leat_scanner_clip;
extern const struct leat_scanner leat_scanner_words;          /* Whitespace */
extern const struct leat_scanner leat_scanner_bert;           /* BertPreTokenizer */
extern const struct leat_scanner leat_scanner_nonspace;       /* WhitespaceSplit */
extern const struct leat_scanner leat_scanner_numeric_runs;   /* Digits, contiguous */
extern const struct leat_scanner leat_scanner_numeric_single; /* Digits, individual */
extern const struct leat_scanner leat_scanner_punctuation;    /* Punctuation, contiguous */
extern const struct leat_scanner leat_scanner_metaspace;      /* Metaspace, for U+2581 */
/* Digits, contiguous and individual, of a text in GPT-2's byte alphabet whose map is not carried
 * out. */
extern const struct leat_scanner leat_scanner_mapped_numeric_runs;
extern const struct leat_scanner leat_scanner_mapped_numeric_single;

/* The scanner for the words that a regex makes: its matches and what is between them, or only its
 * matches (drops_gaps). NULL: there is none. */
const struct leat_scanner *leat_scanner_find(const char *pattern, size_t n_bytes, bool drops_gaps);

leat_scan_fn *leat_scanner_run(const struct leat_scanner *scanner);
