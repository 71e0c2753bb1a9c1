/* state_folder.h: a folder of small files that outlive the process: what it found out and may want
 * to know again, never what it needs.
 *
 * Files are written under a temporary name and renamed, so that there is never half a one; the
 * oldest are removed when there are too many. Each format checks what it reads. Immutable once
 * initialised; reading and writing block, and may be done by any thread, and by several processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proto/base/error.h"

#define LEAT_STATE_NAME_MAX 100 /* bytes of a file's name */

struct leat_state_folder {
    char path[4096];             /* "": there is none, nothing is kept */
    const char *suffix;          /* of its files, ".tuner" */
    size_t max_files, max_bytes; /* of all of them */
};

/* The folder `name` in `directory`; NULL: in $STATE_DIRECTORY, $XDG_STATE_HOME/leat or
 * ~/.local/state/leat. name and suffix are literals. */
void leat_state_folder_init(struct leat_state_folder *folder, const char *directory,
                            const char *name, const char *suffix, size_t max_files,
                            size_t max_bytes);
/* Makes that folder, and those above it: 0 or -errno. */
int leat_state_folder_make(const char *path);
/* What the file holds: malloc'ed, terminated. 0; -ENOENT: there is none; -EFBIG: it has more than
 * max_bytes; else why it cannot be read. Errors name it. */
int leat_state_folder_read(const struct leat_state_folder *folder, const char *name,
                           size_t max_bytes, char **ret_data, size_t *ret_n_bytes,
                           struct leat_error *err);
/* `name` with the suffix: at most LEAT_STATE_NAME_MAX letters, digits and '-'. Makes the folder,
 * too. */
int leat_state_folder_write(const struct leat_state_folder *folder, const char *name,
                            const void *data, size_t n_bytes, struct leat_error *err);
/* Says that the error is of that file. */
void leat_state_folder_locate(const struct leat_state_folder *folder, const char *name,
                              struct leat_error *err);
/* Whether the file is there; from now on it is the youngest. */
bool leat_state_folder_touch(const struct leat_state_folder *folder, const char *name);
