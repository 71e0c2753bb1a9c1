/* json_locate.h: where and why a document is not JSON, or more than the parser holds. Slow: for
 * error messages, and for documents that have oddities. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEAT_JSON_DEPTH_MAX 128

struct leat_json_fault {
    uint32_t line, column; /* in bytes, from 1 */
    char message[96];      /* "expected a ',' or '}' after a member, found 'x'" */
};

/* True and the first fault, or false if none is found. */
bool leat_json_locate(const uint8_t *data, size_t n_bytes, struct leat_json_fault *ret_fault);

/* Line and column (in bytes, from 1) of a place in the data. */
void leat_json_count_lines(const uint8_t *data, const uint8_t *place, uint32_t *ret_line,
                           uint32_t *ret_column);

/* Values that JSON allows, and the parser refuses or does not tell apart. */
enum leat_json_oddity {
    LEAT_JSON_WIDE_NUMBER,    /* beyond its range */
    LEAT_JSON_ROUNDED_NUMBER, /* the same: an integer that no double is */
    LEAT_JSON_MINUS_ZERO,     /* as an integer: -0 */
    LEAT_JSON_HALF_PAIR,      /* in a string: a surrogate without its other half */
};

struct leat_json_odd {
    enum leat_json_oddity oddity;
    uint32_t scalar; /* index among the document's numbers and strings, keys included */
    double value;    /* of a number: the nearest, or an infinite one */
};

struct leat_json_odds {
    struct leat_json_odd *items;
    uint32_t n_items, n_scalars;
    size_t capacity;
    bool is_out_of_memory;
};

/* All oddities of a document; the caller frees the items. Into `copy`, which holds the document
 * once more, it writes values of the same length that the parser takes: 0.0, U+FFFD, and NUL in
 * keys, which no path has. False: there is a fault all the same, or no memory for the list. */
bool leat_json_find_odds(const uint8_t *data, size_t n_bytes, uint8_t *copy,
                         struct leat_json_odds *ret_odds, struct leat_json_fault *ret_fault);
/* In a document without faults: writes \ufffd over each half of a pair. */
void leat_json_mend_pairs(uint8_t *text, size_t n_bytes);

#ifdef __cplusplus
}
#endif
