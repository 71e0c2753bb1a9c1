/* json_string.h: texts of Arrow files as JSON strings. Pure; any thread. */
#pragma once

#include <string.h>

#include "proto/base/text.h"

/* leat_text_add_bytes(), inline since it runs for each bracket and comma. */
static inline void leat_arrow_json_add(struct leat_text *text, const void *bytes, size_t n) {
    if (text->n_bytes + n >= text->capacity && !leat_text_reserve(text, n))
        return;
    memcpy(text->data + text->n_bytes, bytes, n);
    text->n_bytes += n;
    text->data[text->n_bytes] = '\0';
}

/* Appends the text with quotes. Bytes that are not UTF-8 stay as they are. It may stop in the
 * middle once there are more than max_bytes. */
void leat_arrow_json_string(struct leat_text *text, const uint8_t *bytes, uint64_t n,
                            size_t max_bytes);
