/* fuzz_fetch_answer.c: the head of an HTTP answer, line by line. A range that is taken is one;
 * texts have no control characters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_text(const char *text) {
    if (strlen(text) >= LEAT_ANSWER_TEXT_MAX)
        abort();
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    const char *at = (const char *)data, *end = at + n_bytes;
    struct leat_answer answer;

    leat_answer_begin(&answer);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((line_end ? line_end + 1 : end) - at);

        leat_answer_take(&answer, at, n);
        at += n;
    }
    check_text(leat_answer_version(&answer));
    check_text(answer.location);
    if (answer.first != LEAT_ANSWER_UNKNOWN &&
        (answer.first >= answer.end || answer.end > answer.object_size))
        abort();
    return 0;
}
