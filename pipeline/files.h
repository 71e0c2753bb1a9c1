/* files.h: lists of paths and globs to files, in stable order.
 *
 * Each entry of the list is a path or a glob (*, ?, [..] in any component; ** is not special).
 * Relative entries are relative to base_directory. The matches of one glob are sorted by bytes; the
 * order of the list is kept; a file that is named twice is read twice. A glob without a match and a
 * file that is not there are errors that name the entry. A leading dot is matched only by a dot.
 */
#pragma once

#include "pipeline/bind.h"
#include "pipeline/opener.h"

#define LEAT_FILES_MAX 1000000

struct leat_files {
    char **paths;
    size_t n_paths;
};

int leat_files_expand(struct leat_files *ret_files, const char *const *entries, size_t n_entries,
                      const char *base_directory, const struct leat_opener *opener,
                      struct leat_error *err);
void leat_files_deinit(struct leat_files *files);

/* base_directory/path, or path if it is absolute or base_directory is NULL; malloc'ed, NULL when
 * memory is out. */
char *leat_files_join(const char *base_directory, const char *path);

/* The directory of a file's path ("." if it has none); malloc'ed. */
char *leat_files_directory(const char *path);
