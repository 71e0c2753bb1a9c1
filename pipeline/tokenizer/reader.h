/* reader.h: where the files of a tokenizer come from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_TOKENIZER_FILE_BYTES_MAX (UINT32_C(256) << 20)

/* Reads a whole file: *ret_data is malloc'ed, terminated by a NUL that does not count. 0, -ENOENT
 * if there is no such file (err not set), or another negative errno with err set. is_directory
 * tells whether a path names a directory. */
struct leat_tokenizer_reader {
    void *context;
    const char *name; /* the tokenizer as the user names it, for errors; NULL: its path */
    int (*read)(void *context, const char *path, size_t max_bytes, char **ret_data, size_t *ret_n,
                struct leat_error *err);
    bool (*is_directory)(void *context, const char *path);
};
