/* text.h: text that grows, and JSON strings in it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text. Owner: the caller; free(text.data). */
struct leat_text {
    char *data; /* terminated, or NULL while empty */
    size_t n_bytes, capacity;
    int failed; /* 1: memory ran out; what is there is cut */
};
__attribute__((format(printf, 2, 3))) void leat_text_add(struct leat_text *text, const char *format,
                                                         ...);
void leat_text_add_bytes(struct leat_text *text, const void *bytes, size_t n_bytes);
/* Room for n_more bytes at text->data + text->n_bytes, to be written there and counted by the
 * caller. False: memory ran out. */
bool leat_text_reserve(struct leat_text *text, size_t n_more);
/* As it is shown to people: see proto/base/shown.h. */
void leat_text_add_shown(struct leat_text *text, const char *value);
/* One line: all that the format makes as it is shown, and a line end. */
__attribute__((format(printf, 2, 3))) void leat_text_add_line(struct leat_text *text,
                                                              const char *format, ...);
/* As a JSON string with quotes: control characters and invalid UTF-8 are escaped (bytes as U+FFFD).
 */
void leat_text_add_json(struct leat_text *text, const void *bytes, size_t n_bytes);
