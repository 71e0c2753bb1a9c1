/* files_text.h: a text that grows, lines of a file, and paths of files beside each other: what
 * making a tokenizer.json takes. Owner: the thread that loads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first failure sticks: puts need not be checked one by one. */
struct leat_files_text {
    char *data;
    size_t n, capacity;
    int failure; /* -ENOMEM, -E2BIG above LEAT_JSON_BYTES_MAX */
};

void leat_files_text_put(struct leat_files_text *text, const void *bytes, size_t n);
void leat_files_text_puts(struct leat_files_text *text, const char *string);
void leat_files_text_put_uint(struct leat_files_text *text, uint64_t value);
void leat_files_text_put_bool(struct leat_files_text *text, bool value);
/* As a JSON string; the bytes are valid UTF-8. */
void leat_files_text_put_string(struct leat_files_text *text, const char *bytes, size_t n);

/* Lines end with LF or CR LF; the last one need not. */
struct leat_files_lines {
    const char *at, *end;
    uint32_t line; /* number of the one that was returned, from 1 */
};
bool leat_files_lines_next(struct leat_files_lines *lines, const char **ret_line, size_t *ret_n);

bool leat_files_is_utf8(const char *text, size_t n);

/* "DIRECTORY/name", and the path of a file of that name in the same directory as `path`; malloc'ed,
 * NULL when memory is out. */
char *leat_files_path_in(const char *directory, const char *name);
char *leat_files_path_beside(const char *path, const char *name);
