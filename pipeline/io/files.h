/* files.h: lists of paths to files, in stable order.
 *
 * Each entry of the list is a path, a glob (*, ?, [..] in any component; ** is not special), a
 * directory, which stands for all files below it, or "-", the standard input. {000..127} in an
 * entry stands for each of these numbers, as wide as they are written if one of them begins with a
 * zero; the last such range turns fastest. Relative entries are relative to base_directory. The
 * matches of one glob are sorted by bytes, so are the names in each directory; the order of the
 * list is kept; a file that is named twice is read twice. A glob without a match, an empty
 * directory and a file that is not there are errors that name the entry. A leading dot is matched
 * only by a dot. Symbolic links to directories are not followed within a directory.
 *
 * An entry may also name objects (object.h), of s3:// as if keys were paths: a glob, or a folder,
 * which ends with a slash; and single ones of https:// and http://.
 */
#pragma once

#include "pipeline/io/opener.h"
#include "proto/base/error.h"
#include "proto/base/texts.h"

#define LEAT_FILES_MAX 1000000

struct leat_files {
    char **paths;
    const char *
        *names; /* within `paths`, without the base directory: as the entry would name the file */
    size_t n_paths, capacity;
};

/* Bytes of the suffix of a compressed file, such as .gz, at the end of a name; 0: it has none. */
size_t leat_files_compressed_suffix(const char *name);
/* suffixes: files of directories must end with one of them, or with it and that of a compressed
 * file (.jsonl stands for .jsonl.zst too); NULL or none: any file. */
int leat_files_expand(struct leat_files *ret_files, const char *const *entries, size_t n_entries,
                      const char *base_directory, const struct leat_texts *suffixes,
                      const struct leat_opener *opener, struct leat_error *err);
/* Appends one file, as base_directory names it. */
int leat_files_add(struct leat_files *files, const char *base_directory, const char *name,
                   struct leat_error *err);
/* Appends the files of `more`. */
int leat_files_append(struct leat_files *files, const struct leat_files *more,
                      struct leat_error *err);
void leat_files_deinit(struct leat_files *files);

/* base_directory/path, or path if it is absolute or base_directory is NULL; malloc'ed, NULL when
 * memory is out. */
char *leat_files_join(const char *base_directory, const char *path);

/* The directory of a file's path ("." if it has none); malloc'ed. */
char *leat_files_directory(const char *path);

/* A path as a file names it, which is relative to the file's directory; file may be NULL;
 * malloc'ed, NULL when memory is out. */
char *leat_files_beside(const char *file, const char *path);
