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
/* As leat_show() shows it. */
void leat_text_add_shown(struct leat_text *text, const char *value);
/* One line: all that the format makes as it is shown, and a line end. */
__attribute__((format(printf, 2, 3))) void leat_text_add_line(struct leat_text *text,
                                                              const char *format, ...);
/* Frees a text of which `text` was made: where it has failed, `text` has too. */
void leat_text_end_part(struct leat_text *text, struct leat_text *part);
/* As a JSON string with quotes: control characters and invalid UTF-8 are escaped (bytes as U+FFFD).
 */
void leat_text_add_json(struct leat_text *text, const void *bytes, size_t n_bytes);

/* The value of a hexadecimal digit in either case; -1: it is none. */
static inline int leat_hex_digit(int c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Text of clients, files and daemons, as it is shown to people.
 *
 * Such text may hold anything. A terminal obeys control characters in place of showing them (those
 * of ASCII and U+0080 to U+009F), line ends forge lines, and bytes that are no UTF-8 are one or the
 * other, depending on the terminal. Each byte of these is shown as \xNN. */
/* Copies the text as it is shown, cut to the size and terminated. Returns the bytes that all of it
 * takes, as snprintf does. */
size_t leat_show(char *target, size_t size, const char *text);
/* A size with its unit, as 512 B or 1.5 MiB; returns the buffer. */
#define LEAT_SHOW_BYTES_MAX 24
const char *leat_show_bytes(uint64_t n_bytes, char buffer[LEAT_SHOW_BYTES_MAX]);
/* True if the text is shown as it is. */
bool leat_is_shown_as_is(const char *text);
