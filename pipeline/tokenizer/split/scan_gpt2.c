/* scan_gpt2.c: the regex in ByteLevel:
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 */
#include "pipeline/tokenizer/split/scan_blocks.h"

#define LETTER LEAT_UNICODE_LETTER
#define NUMBER LEAT_UNICODE_NUMBER
#define SPACE  LEAT_UNICODE_SPACE

/* A run of letters, of numbers, or of neither; `classes` are those of its first character. */
LEAT_ALWAYS_INLINE const uint8_t *run(const uint8_t *at, const uint8_t *end, uint32_t classes,
                                      leat_run_fn *letters) {
    if (classes & LETTER)
        return leat_scan_letters(at, end, LETTER, letters);
    if (classes & NUMBER)
        return leat_scan_while(at, end, NUMBER);
    return leat_scan_until(at, end, LETTER | NUMBER | SPACE);
}

LEAT_ALWAYS_INLINE const uint8_t *step(const uint8_t *at, const uint8_t *end,
                                       leat_run_fn *letters) {
    uint32_t n, classes = leat_scan_classes(at, &n);
    const uint8_t *short_end;

    if (*at == ' ' && at + 1 < end) {
        classes = leat_scan_classes(at + 1, &n);
        return classes & SPACE ? leat_scan_blank(at, end, false)
                               : run(at + 1, end, classes, letters);
    }
    if (classes & SPACE)
        return leat_scan_blank(at, end, false);
    if (*at == '\'') {
        short_end = leat_scan_contraction(at, end, false);
        if (short_end)
            return short_end;
    }
    return run(at, end, classes, letters);
}

#define RULES ((struct leat_scan_block_rules){.is_gpt2 = true})

LEAT_DEFINE_SCAN_BLOCKS(gpt2, RULES, step, leat_letters)

const struct leat_scanner leat_scanner_gpt2 = LEAT_SCANNER("GPT-2 grammar", gpt2);
