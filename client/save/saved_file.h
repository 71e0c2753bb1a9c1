/* saved_file.h: a file that appears whole, or not at all.
 *
 * It is written under a temporary name in the same folder; leat_saved_file_commit() syncs it to the
 * disk and renames it. The first failure is kept and later writes are dropped, so that callers
 * check once, at the end. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_SAVED_FILE_BUFFER 65536

struct leat_saved_file {
    int fd;
    char *path;
    char *temporary;  /* NULL: fd is the caller's, and is written directly */
    uint64_t n_bytes; /* so far, with those in the buffer */
    size_t n_buffered;
    struct leat_error error; /* the first failure */
    uint8_t buffer[LEAT_SAVED_FILE_BUFFER];
};

/* For `path`, which may exist if it is a regular file. 0 or -errno. */
int leat_saved_file_new(const char *path, struct leat_saved_file **ret_file,
                        struct leat_error *err);
/* Writes to a descriptor, which stays the caller's; `path` is what errors call it. */
int leat_saved_file_of(int fd, const char *path, struct leat_saved_file **ret_file,
                       struct leat_error *err);

void leat_saved_file_write(struct leat_saved_file *file, const void *data, size_t n_bytes);
void leat_saved_file_text(struct leat_saved_file *file, const char *text);
/* Overwrites bytes that were written already; not on a caller's descriptor. */
void leat_saved_file_patch(struct leat_saved_file *file, uint64_t offset, const void *data,
                           size_t n_bytes);
/* Writes the buffer out. 0, or the first failure. */
int leat_saved_file_flush(struct leat_saved_file *file, struct leat_error *err);

/* Flushes, syncs and renames; frees the struct in any case. 0; or -errno, and a former file of that
 * name is unchanged. */
int leat_saved_file_commit(struct leat_saved_file *take_file, struct leat_error *err);
/* Discards the file. Accepts NULL, returns NULL. */
struct leat_saved_file *leat_saved_file_free(struct leat_saved_file *file);
