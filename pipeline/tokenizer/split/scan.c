/* scan.c: which regexes have a scanner. See scan.h. */
#include "pipeline/tokenizer/split/scan.h"
#include "proto/base/simd.h"

#define GPT2_REST  "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define SHORT      "'s|'t|'re|'ve|'m|'ll|'d"
#define SHORT_I    "(?i:" SHORT ")"
#define BLANK      "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SIGNS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define WORD_L     "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define UPPER      "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER      "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define BEFORE     "[^\\r\\n\\p{L}\\p{N}]?"
#define O200K_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" BLANK

static const struct {
    const char *pattern;
    const struct leat_scanner *scanner;
    bool drops_gaps; /* there are gaps, and the words are the matches only */
    bool has_gaps;   /* there are gaps, and they are words too */
} regexes[] = {
    {SHORT GPT2_REST, &leat_scanner_gpt2, false, false},
    {"'(?:[sdmt]|ll|ve|re)" GPT2_REST, &leat_scanner_gpt2, false, false},
    {SHORT_I WORD_L "|\\p{N}{1,3}" SIGNS BLANK, &leat_scanner_cl100k, false, false},
    {"'(?i:[sdmt]|ll|ve|re)" WORD_L "|\\p{N}{1,3}" SIGNS BLANK, &leat_scanner_cl100k, false, false},
    {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]++[\\r\\n]*"
     "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
     &leat_scanner_cl100k, false, false},
    {SHORT_I WORD_L "|\\p{N}" SIGNS BLANK, &leat_scanner_qwen2, false, false},
    {SHORT_I "|" BEFORE "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" BLANK,
     &leat_scanner_qwen35, false, false},
    {BEFORE UPPER "*" LOWER "+" SHORT_I "?|" BEFORE UPPER "+" LOWER "*" SHORT_I
                  "?|\\p{N}{1,3}" O200K_REST,
     &leat_scanner_o200k, false, false},
    {BEFORE UPPER "*" LOWER "+|" BEFORE UPPER "+" LOWER "*|\\p{N}" O200K_REST, &leat_scanner_tekken,
     false, false},
    {"[!\"#$%&'()*+,\\-./"
     ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
     "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
     &leat_scanner_deepseek, false, true},
    {"[一-龥぀-ゟ゠-ヿ]+", &leat_scanner_kana, false, true},
    {"\\p{N}{1,3}", &leat_scanner_numbers3, false, true},
    {"\\p{N}", &leat_scanner_numbers1, false, true},
    {"[0-9][0-9][0-9]", &leat_scanner_digits3, false, true},
    {SHORT "|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", &leat_scanner_clip, true, false},
};

const struct leat_scanner *leat_scanner_find(const char *pattern, size_t n_bytes, bool drops_gaps) {
    for (size_t i = 0; i < sizeof(regexes) / sizeof(regexes[0]); i++) {
        if (strlen(regexes[i].pattern) != n_bytes ||
            memcmp(regexes[i].pattern, pattern, n_bytes) != 0)
            continue;
        if (drops_gaps ? !regexes[i].has_gaps : !regexes[i].drops_gaps)
            return regexes[i].scanner;
    }
    return NULL;
}

leat_scan_fn *leat_scanner_run(const struct leat_scanner *scanner) {
    return leat_simd_is_here() ? scanner->scan_simd : scanner->scan;
}
