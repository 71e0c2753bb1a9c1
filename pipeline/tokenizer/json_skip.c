/* json_skip.c: see json_skip.h. In a document without faults brackets match, so their kinds need
 * not be told apart, and every string is closed. */
#include "pipeline/tokenizer/json_skip.h"

#include <stddef.h>

const uint8_t *leat_json_skip_space(const uint8_t *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
        at++;
    return at;
}

static const uint8_t *skip_string(const uint8_t *at) {
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* Numbers, true, false, null: up to what may follow them. */
static const uint8_t *skip_word(const uint8_t *at) {
    while ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') || *at == '-' || *at == '+' ||
           *at == '.' || *at == 'E')
        at++;
    return at;
}

const uint8_t *leat_json_skip_mark(const uint8_t *at, char mark) {
    at = leat_json_skip_space(at);
    return at + (*at == (uint8_t)mark);
}

const uint8_t *leat_json_skip_key(const uint8_t *at) {
    return leat_json_skip_space(leat_json_skip_mark(skip_string(leat_json_skip_space(at)), ':'));
}

const uint8_t *leat_json_skip_value(const uint8_t *at) {
    size_t depth = 0;

    do {
        if (*at == '"') {
            at = skip_string(at);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
        } else {
            return skip_word(at);
        }
    } while (depth > 0);
    return at;
}
