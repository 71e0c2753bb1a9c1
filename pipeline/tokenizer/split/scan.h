/* scan.h: scanners of their own for the grammars that known tokenizers cut words by.
 *
 * A scanner goes through a text from `*at` on, writes the words that it finds, n_max at most, and
 * leaves *at behind the last one; it returns how many it wrote, 0 at the end of the text. The text
 * is valid UTF-8 and padded (text.h); its end is the end of a piece in the sense of the regexes.
 * Each gives exactly what Hugging Face `tokenizers` gives for the regexes in its comment (behavior
 * Isolated), with classes of Unicode 16. Pure.
 */
#pragma once

#include "pipeline/tokenizer/text.h"

typedef size_t leat_scan(const struct leat_text *text, uint32_t *at, struct leat_range *words,
                         size_t n_max);

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
leat_scan leat_scan_gpt2;

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
 * \s*[\r\n]+|\s+(?!\S)|\s+          Llama-3, cl100k; Qwen2 and Qwen2.5 have \p{N} alone */
leat_scan leat_scan_cl100k, leat_scan_qwen2;

/* As Qwen2, with [\p{L}\p{M}]+ for \p{L}+ and ` ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*`: Qwen3.5. */
leat_scan leat_scan_qwen35;

/* [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
 * [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:...)?|
 * \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+          o200k
 * Tekken (Mistral): without the contractions, and \p{N} alone. */
leat_scan leat_scan_o200k, leat_scan_tekken;

/* \p{N}{1,3}, then [一-龥぀-ゟ゠-ヿ]+, then
 * [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
 * ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+          DeepSeek-V3: three Splits, one after the
 * other */
leat_scan leat_scan_deepseek3;

/* BertPreTokenizer: words between white space, each punctuation character alone. */
leat_scan leat_scan_bert;

/* WhitespaceSplit: what stands between white space. */
leat_scan leat_scan_whitespace;
