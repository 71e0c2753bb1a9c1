/* shared_grammar.h: the regexes that have scanners, and whether a scanner gives the words that the
 * regex itself does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_grammar {
    const char *pattern;
    bool drops_gaps;
};

extern const struct shared_grammar shared_grammars[];
extern const size_t shared_n_grammars;

/* Cuts a text of valid UTF-8 by the regex and by both forms of the scanner, which are asked for
 * n_max words at a time. Returns NULL if all agree, else what does not. */
const char *shared_grammar_compare(size_t grammar, const uint8_t *text, uint32_t n_bytes,
                                   size_t n_max);
void shared_grammar_free(void); /* what compare keeps from call to call */
