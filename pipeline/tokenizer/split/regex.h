/* regex.h: the regular expressions of a tokenizer.json.
 *
 * They are written in Ruby's syntax, for Oniguruma with the tables of Unicode 16. Here they run on
 * PCRE2 with JIT, but with neither its syntax nor its tables: the pattern is parsed, every class,
 * shorthand and letter without case becomes a set of code points from our tables, and what is
 * matched are strings of the few kinds of characters that these sets tell apart, or, for a regex
 * with backreferences, the text itself. Constructs that cannot be had alike are refused at load,
 * with the reason.
 *
 * A regex is immutable: any thread. A context is one job's memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pipeline/tokenizer/text.h"
#include "proto/base/error.h"

#define LEAT_REGEX_BYTES_MAX (64 * 1024) /* of a pattern */

struct leat_regex;
struct leat_regex_context;

/* Compiles a pattern of valid UTF-8. 0, -ENOMEM, or -EINVAL with err saying what is wrong where; no
 * path is set. */
int leat_regex_new(const char *pattern, size_t n_bytes, struct leat_regex **ret_regex,
                   struct leat_error *err);
struct leat_regex *leat_regex_free(struct leat_regex *regex);

/* Memory for searches, for any number of regexes. */
int leat_regex_context_new(struct leat_regex_context **ret_context);
struct leat_regex_context *leat_regex_context_free(struct leat_regex_context *context);

/* A search for all matches in a text of valid UTF-8. Assertions (^, \b, lookarounds) see the text
 * begin and end where it does. Set text and n_bytes, zero the rest. A context serves one search at
 * a time, from its first call of leat_regex_next to its last. */
struct leat_regex_search {
    const uint8_t *text;
    uint32_t n_bytes;
    /* the search's own: */
    bool has_begun;
    bool has_match;       /* there was one, */
    uint32_t last_letter; /* which ended before this character */
    uint32_t next_letter; /* where the search goes on */
    uint32_t at, letter;  /* a place in the text: its byte, its character */
    uint32_t n_letters;   /* characters of the text */
};

/* The next match. Matches do not overlap; one that is empty is found unless the match before ended
 * there. 1: *ret_match is set; 0: there are no more; -EINVAL: the search exceeds its limits, with
 * err set; -ENOMEM. */
int leat_regex_next(const struct leat_regex *regex, struct leat_regex_context *context,
                    struct leat_regex_search *search, struct leat_range *ret_match,
                    struct leat_error *err);

size_t leat_regex_n_bytes(const struct leat_regex *regex); /* of memory */
