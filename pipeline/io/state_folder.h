/* state_folder.h: a folder of small files that outlive the process. They hold what it found out and
 * may want to know again, never what it needs.
 *
 * Files are written under a temporary name and renamed, so that there is never half a file. The
 * oldest are removed when there are too many. Each format checks what it reads. Immutable once
 * initialised; reading and writing block, and any thread and several processes may do both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_STATE_NAME_MAX 100 /* bytes of a file's name */

struct leat_state_folder {
    char path[4096];             /* "": there is no folder, and nothing is kept */
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
/* Reads the file into memory that is malloc'ed and terminated. 0; -ENOENT: there is no file;
 * -EFBIG: it has more than max_bytes; else why it cannot be read. Errors name the file. */
int leat_state_folder_read(const struct leat_state_folder *folder, const char *name,
                           size_t max_bytes, char **ret_data, size_t *ret_n_bytes,
                           struct leat_error *err);
/* The same for a file that is relied on. -EPERM: it is of another user, who is not root.
 * *ret_written_ns: when it was written, by the clock of its file system. */
int leat_state_folder_read_own(const struct leat_state_folder *folder, const char *name,
                               size_t max_bytes, char **ret_data, size_t *ret_n_bytes,
                               int64_t *ret_written_ns, struct leat_error *err);
/* Writes the file of that name, of at most LEAT_STATE_NAME_MAX letters, digits and '-'. Makes the
 * folder if need be. */
int leat_state_folder_write(const struct leat_state_folder *folder, const char *name,
                            const void *data, size_t n_bytes, struct leat_error *err);
/* Puts the path of that file into the error. */
void leat_state_folder_locate(const struct leat_state_folder *folder, const char *name,
                              struct leat_error *err);
/* Makes the file the youngest. False: it does not exist. */
bool leat_state_folder_touch(const struct leat_state_folder *folder, const char *name);
