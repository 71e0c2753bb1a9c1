/* scan_text.c: the classes of ASCII. See scan_text.h. */
#include "pipeline/tokenizer/split/scan_text.h"

#define SPACES (LEAT_UNICODE_SPACE | LEAT_UNICODE_RUST_SPACE | LEAT_UNICODE_BERT_SEPARATOR)
#define SIGN   (LEAT_UNICODE_BERT_PUNCTUATION | LEAT_UNICODE_BERT_SEPARATOR)
#define MARK   (LEAT_UNICODE_PUNCTUATION | SIGN)
#define SYMBOL (LEAT_UNICODE_SYMBOL | SIGN)
#define DIGIT  (LEAT_UNICODE_NUMBER | LEAT_UNICODE_RUST_NUMERIC | LEAT_UNICODE_RUST_WORD)

const uint32_t leat_scan_ascii[128] = {
    ['\t' ... '\r'] = SPACES,
    [' '] = SPACES,
    ['!' ... '#'] = MARK,
    ['$'] = SYMBOL,
    ['%' ... '*'] = MARK,
    ['+'] = SYMBOL,
    [',' ... '/'] = MARK,
    ['0' ... '9'] = DIGIT,
    [':' ... ';'] = MARK,
    ['<' ... '>'] = SYMBOL,
    ['?' ... '@'] = MARK,
    ['A' ... 'Z'] = LEAT_UNICODE_LU | LEAT_UNICODE_RUST_WORD,
    ['[' ... ']'] = MARK,
    ['^'] = SYMBOL,
    ['_'] = MARK | LEAT_UNICODE_RUST_WORD,
    ['`'] = SYMBOL,
    ['a' ... 'z'] = LEAT_UNICODE_LL | LEAT_UNICODE_RUST_WORD,
    ['{'] = MARK,
    ['|'] = SYMBOL,
    ['}'] = MARK,
    ['~'] = SYMBOL,
};
