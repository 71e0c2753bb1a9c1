/* saved_file.h: a file that is there whole, or not at all.
 *
 * What is written goes to a temporary name in the same folder; leat_saved_file_commit() makes sure
 * that it is on the disk and gives it its name. The first failure is kept and what is written after
 * it is dropped, so that callers check once, at the end. Owner: the one thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_SAVED_FILE_BUFFER 65536

struct leat_saved_file {
    int fd;
    char *path;
    char *temporary;  /* NULL: fd is the caller's, and written to as it is */
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
/* At a place that was written already; not of a caller's descriptor. */
void leat_saved_file_patch(struct leat_saved_file *file, uint64_t offset, const void *data,
                           size_t n_bytes);
/* Hands over what is in the buffer. 0, or what failed. */
int leat_saved_file_flush(struct leat_saved_file *file, struct leat_error *err);

/* Flushes, syncs, names; frees in any case. 0 or -errno; then nothing is left behind, and what had
 * the name before still has it. */
int leat_saved_file_commit(struct leat_saved_file *take_file, struct leat_error *err);
/* Gives it up. Accepts NULL, returns NULL. */
struct leat_saved_file *leat_saved_file_free(struct leat_saved_file *file);
