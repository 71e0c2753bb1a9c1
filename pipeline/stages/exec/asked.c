/* exec/asked.c: see exec/asked.h. A tag is the number of the question times an odd
 * constant: no two of 2^32 are equal, and a helper that counts lines does not hit one. */
#include "pipeline/stages/exec/asked.h"

#include <errno.h>
#include <stdlib.h>

#define TAG_FACTOR UINT32_C(2654435769) /* 2^32 over the golden ratio (Knuth 6.4) */

int leat_exec_asked_init(struct leat_exec_asked *asked, uint32_t capacity) {
    *asked = (struct leat_exec_asked){.capacity = capacity};
    asked->ring = calloc(capacity, sizeof(*asked->ring));
    return asked->ring ? 0 : -ENOMEM;
}

void leat_exec_asked_deinit(struct leat_exec_asked *asked) {
    free(asked->ring);
    *asked = (struct leat_exec_asked){.ring = NULL};
}

void leat_exec_asked_clear(struct leat_exec_asked *asked) {
    asked->n = 0;
    asked->has_last = false;
}

uint32_t leat_exec_asked_add(struct leat_exec_asked *asked, uint32_t row) {
    uint32_t tag = ++asked->n_ever * TAG_FACTOR;

    asked->ring[(asked->first + asked->n++) % asked->capacity] =
        (struct leat_exec_question){.row = row, .tag = tag};
    return tag;
}

struct leat_exec_question leat_exec_asked_take(struct leat_exec_asked *asked, bool is_answered) {
    struct leat_exec_question question = asked->ring[asked->first];

    asked->first = (asked->first + 1) % asked->capacity;
    asked->n--;
    asked->has_last = is_answered;
    asked->last = question;
    return question;
}

struct leat_exec_question leat_exec_asked_take_back(struct leat_exec_asked *asked) {
    return asked->ring[(asked->first + --asked->n) % asked->capacity];
}

/* ---- tags ---- */

void leat_exec_tag_write(char text[LEAT_EXEC_TAG_BYTES], uint32_t tag) {
    for (int i = 0; i < LEAT_EXEC_TAG_BYTES; i++)
        text[i] = "0123456789abcdef"[tag >> (28 - 4 * i) & 15];
}

static bool read_tag(struct leat_json_node node, uint32_t *ret_tag) {
    const char *text;
    size_t n;

    if (leat_json_kind(node) != LEAT_JSON_STRING)
        return false;
    text = leat_json_string(node, &n);
    if (n != LEAT_EXEC_TAG_BYTES)
        return false;
    *ret_tag = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';

        if (!is_digit && !(text[i] >= 'a' && text[i] <= 'f'))
            return false;
        *ret_tag = *ret_tag << 4 | (uint32_t)(is_digit ? text[i] - '0' : text[i] - 'a' + 10);
    }
    return true;
}

enum leat_exec_match leat_exec_asked_match(const struct leat_exec_asked *asked,
                                           struct leat_json_node line, uint32_t *ret_place) {
    struct leat_json_node node;
    uint32_t tag;

    if (leat_json_kind(line) != LEAT_JSON_OBJECT ||
        !leat_json_find(line, LEAT_EXEC_TAG, sizeof(LEAT_EXEC_TAG) - 1, &node))
        return LEAT_EXEC_STRAY;
    if (!read_tag(node, &tag))
        return LEAT_EXEC_MISTAGGED;
    for (uint32_t i = 0; i < asked->n; i++)
        if (asked->ring[(asked->first + i) % asked->capacity].tag == tag) {
            *ret_place = i;
            return LEAT_EXEC_ANSWER;
        }
    return asked->has_last && asked->last.tag == tag ? LEAT_EXEC_AGAIN : LEAT_EXEC_MISTAGGED;
}
