/* fuzz_splitter.c: on any text the scanners of known grammars give the words that their regexes do.
 *
 * The first byte says how many words are asked for at a time; the rest is the text, in which what
 * is not UTF-8 is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/utf8.h"
#include "tests/pipeline/shared_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *text;
    uint32_t n_bytes = 0;

    if (size < 2 || size > 65536)
        return 0;
    text = malloc(size);
    if (!text)
        return 0;
    for (size_t at = 1, n; at < size; at += n) {
        n = leat_utf8_length(data + at, size - at);
        if (n == 1 && data[at] >= 0x80)
            continue;
        memcpy(text + n_bytes, data + at, n);
        n_bytes += (uint32_t)n;
    }
    for (size_t i = 0; i < shared_n_grammars; i++) {
        const char *wrong = shared_grammar_compare(i, text, n_bytes, 1 + (size_t)data[0] * 4);
        if (wrong) {
            (void)fprintf(stderr, "grammar %zu: %s\n", i, wrong);
            abort();
        }
    }
    free(text);
    return 0;
}
