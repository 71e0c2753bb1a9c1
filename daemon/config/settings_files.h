/* settings_files.h: the folder of files with more streams, and the streams of all files together.
 *
 * A file of the folder, NAME.yaml, holds `streams` and nothing else. Files are read in the order of
 * their names; those that begin with a dot or have another ending are ignored. A stream that is
 * declared twice is an error at the second place, which names the first.
 */
#pragma once

#include "proto/base/error.h"
#include "proto/spec.h"

#define LEAT_SETTINGS_MAX_FILES   256
#define LEAT_SETTINGS_MAX_BYTES   (16U << 20) /* of all of them */
#define LEAT_SETTINGS_MAX_STREAMS 1024

struct leat_settings_file {
    char *path;
    struct leat_value document;
};

struct leat_settings_files {
    size_t n;
    struct leat_settings_file *items;
};

/* The text of a file of the configuration, malloc'ed and terminated. A file of white space alone is
 * an error, because it was emptied or is being written. May block. */
int leat_settings_read_text(const char *path, size_t max_bytes, char **ret_text,
                            size_t *ret_n_bytes, struct leat_error *err);

/* -errno with an empty error: the folder itself cannot be read; -ENOENT: there is none. `files`
 * must be deinited in any case. May block. */
int leat_settings_files_read(struct leat_settings_files *files, const char *folder,
                             struct leat_error *err);
void leat_settings_files_deinit(struct leat_settings_files *files);

/* The document with the stream of an override (streams.NAME...); `document` if none has it. */
struct leat_value *leat_settings_files_find(struct leat_settings_files *files,
                                            struct leat_value *document, const char *override);

/* The streams of several documents, in order. */
struct leat_settings_streams {
    size_t n;
    struct leat_spec **specs; /* to be freed by the caller, also on failure */
};

int leat_settings_streams_add(struct leat_settings_streams *streams,
                              const struct leat_value *document, const char *file,
                              struct leat_error *err);
/* Checks the lengths of all names, and that none is declared twice. */
int leat_settings_streams_check(const struct leat_settings_streams *streams,
                                struct leat_error *err);
