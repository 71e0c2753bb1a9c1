/* answer.h: the head of an HTTP answer, as far as objects need it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_ANSWER_TEXT_MAX 512
#define LEAT_ANSWER_UNKNOWN  UINT64_MAX

struct leat_answer {
    char etag[LEAT_ANSWER_TEXT_MAX], modified[LEAT_ANSWER_TEXT_MAX];
    char location[LEAT_ANSWER_TEXT_MAX], region[64];
    uint64_t n_bytes;                 /* Content-Length; UNKNOWN: not said */
    uint64_t first, end, object_size; /* Content-Range; UNKNOWN: not said */
    uint64_t retry_after_s;           /* UNKNOWN: not said */
};

/* Forgets earlier answers. */
void leat_answer_begin(struct leat_answer *answer);
/* Reads one line of the head, with or without its end. Unknown and malformed lines are ignored. */
void leat_answer_take(struct leat_answer *answer, const char *line, size_t n);
/* The version of the object: its ETag, else its time of modification; "" if there is neither. */
const char *leat_answer_version(const struct leat_answer *answer);
