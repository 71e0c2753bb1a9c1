/* shown.h: text of clients, files and daemons, as it is shown to people.
 *
 * Such text may hold anything. A terminal obeys control characters in place of showing them (those
 * of ASCII and U+0080 to U+009F), line ends forge lines, and bytes that are no UTF-8 are one or the
 * other, depending on the terminal. Each byte of these is shown as \xNN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the text as it is shown, cut to the size and terminated. Returns the bytes that all of it
 * takes, as snprintf does. */
size_t leat_show(char *target, size_t size, const char *text);
/* A size with its unit, as 512 B or 1.5 MiB; returns the buffer. */
#define LEAT_SHOW_BYTES_MAX 24
const char *leat_show_bytes(uint64_t n_bytes, char buffer[LEAT_SHOW_BYTES_MAX]);
/* True if the text is shown as it is. */
bool leat_is_shown_as_is(const char *text);
