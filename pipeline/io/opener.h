/* opener.h: opens files and programs for the pipeline, which does not know who may use what.
 *
 * The daemon gives one opener for streams of the operator (any path) and one for streams of
 * trainers (only below configured roots). Immutable once made; the functions run on any thread and
 * may block.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

struct leat_opener {
    /* A descriptor of the regular file (CLOEXEC, read-only), or -errno with a message that names
     * the path. Any file type but a regular one is refused, except FIFOs if the implementation
     * allows them. */
    int (*open_file)(const struct leat_opener *opener, const char *path, struct leat_error *err);
    /* A descriptor of the directory, for globs. */
    int (*open_directory)(const struct leat_opener *opener, const char *path,
                          struct leat_error *err);
    /* The same as open_file for data that is read once from front to back: it may also be a FIFO
     * (opened with O_NONBLOCK), or "-" for the standard input. NULL: only regular files. */
    int (*open_stream)(const struct leat_opener *opener, const char *path, struct leat_error *err);
    /* 0 if the object (object.h), or all whose URLs begin so, may be read: then only from public
     * hosts. NULL: any, from anywhere. */
    int (*allow_object)(const struct leat_opener *opener, const char *url, struct leat_error *err);
    /* `exec` may start programs, as the user of this process */
    bool may_execute;
};

/* Opens whatever this process can read; starts no program. */
extern const struct leat_opener leat_opener_any;
/* The same, and starts programs: for specs of the operator. */
extern const struct leat_opener leat_opener_operator;

/* Reads a whole file of at most limit_bytes through the opener; *ret_data is malloc'ed and
 * terminated by '\0'. */
int leat_opener_read(const struct leat_opener *opener, const char *path, size_t limit_bytes,
                     char **ret_data, size_t *ret_size, struct leat_error *err);
/* The same, but -ENOENT sets no error: the file may be missing. */
int leat_opener_read_optional(const struct leat_opener *opener, const char *path,
                              size_t limit_bytes, char **ret_data, size_t *ret_size,
                              struct leat_error *err);
