#include "daemon/fetch/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MAX 18

void leat_answer_begin(struct leat_answer *answer) {
    *answer = (struct leat_answer){.n_bytes = LEAT_ANSWER_UNKNOWN,
                                   .first = LEAT_ANSWER_UNKNOWN,
                                   .end = LEAT_ANSWER_UNKNOWN,
                                   .object_size = LEAT_ANSWER_UNKNOWN,
                                   .retry_after_s = LEAT_ANSWER_UNKNOWN};
}

/* A number at the start of the text; *ret_rest is what follows. */
static bool read_number(const char *text, uint64_t *ret_number, const char **ret_rest) {
    size_t n = strspn(text, "0123456789");

    if (n == 0 || n > DIGITS_MAX)
        return false;
    *ret_number = strtoull(text, NULL, 10);
    *ret_rest = text + n;
    return true;
}

static void take_number(const char *text, uint64_t *number) {
    const char *rest;
    uint64_t value;

    *number = read_number(text, &value, &rest) && !rest[0] ? value : LEAT_ANSWER_UNKNOWN;
}

/* bytes FIRST-LAST/SIZE */
static void take_range(const char *text, struct leat_answer *answer) {
    uint64_t first, last, size;
    const char *rest;

    answer->first = answer->end = answer->object_size = LEAT_ANSWER_UNKNOWN;
    if (strncasecmp(text, "bytes ", 6) != 0 || !read_number(text + 6, &first, &rest) ||
        rest[0] != '-' || !read_number(rest + 1, &last, &rest) || rest[0] != '/' ||
        !read_number(rest + 1, &size, &rest) || rest[0] || last < first || last >= size)
        return;
    answer->first = first;
    answer->end = last + 1;
    answer->object_size = size;
}

/* Control characters are none of a value. */
static void take_text(const char *text, char *buffer, size_t size) {
    size_t n = strlen(text);

    buffer[0] = '\0';
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return;
    if (n < size)
        memcpy(buffer, text, n + 1);
}

void leat_answer_take(struct leat_answer *answer, const char *line, size_t n) {
    char copy[2 * LEAT_ANSWER_TEXT_MAX], *value;

    while (n > 0 && strchr("\r\n \t", line[n - 1]))
        n--;
    if (n >= sizeof(copy) || memchr(line, '\0', n))
        return;
    memcpy(copy, line, n);
    copy[n] = '\0';
    value = strchr(copy, ':');
    if (!value)
        return;
    *value++ = '\0';
    value += strspn(value, " \t");
    if (strcasecmp(copy, "etag") == 0)
        take_text(value, answer->etag, sizeof(answer->etag));
    else if (strcasecmp(copy, "last-modified") == 0)
        take_text(value, answer->modified, sizeof(answer->modified));
    else if (strcasecmp(copy, "location") == 0)
        take_text(value, answer->location, sizeof(answer->location));
    else if (strcasecmp(copy, "x-amz-bucket-region") == 0)
        take_text(value, answer->region, sizeof(answer->region));
    else if (strcasecmp(copy, "content-length") == 0)
        take_number(value, &answer->n_bytes);
    else if (strcasecmp(copy, "content-range") == 0)
        take_range(value, answer);
    else if (strcasecmp(copy, "retry-after") == 0)
        take_number(value, &answer->retry_after_s);
}

const char *leat_answer_version(const struct leat_answer *answer) {
    return answer->etag[0] ? answer->etag : answer->modified;
}
