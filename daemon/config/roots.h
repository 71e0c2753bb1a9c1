/* roots.h: an opener that reaches only files below configured directories, and objects below
 * configured URLs.
 *
 * Trainers name files that the daemon opens, perhaps with more rights than the trainer has. So the
 * kernel resolves each name beneath a root (openat2), without symbolic links and the magic links of
 * /proc, and only regular files are opened. If a filter of system calls denies openat2, as in the
 * shipped unit, each directory is opened by its bare name in the one before, with the same results.
 * No path is checked first and opened afterwards. Objects are read by leat-fetch, which connects to
 * no host of this machine or its link for them. An absolute path must begin with a root, as it
 * was configured or as it resolves; a relative one is tried below each root in order. Immutable
 * after init; the opener's functions run on any thread and may block.
 */
#pragma once

#include "pipeline/io/opener.h"

struct leat_root {
    char *path; /* as configured, made absolute, without a slash at the end; or a URL */
    char *real; /* without symbolic links; NULL: of a URL */
    int fd;     /* O_PATH; -1: of a URL */
};

struct leat_roots {
    struct leat_opener opener;
    uint32_t n_refs; /* of those of leat_roots_new; on the loop only */
    struct leat_root *items;
    size_t n_items;
};

/* All paths must be directories or URLs of objects. Without any, every name is refused. */
int leat_roots_init(struct leat_roots *roots, const char *const *paths, size_t n_paths,
                    struct leat_error *err);
void leat_roots_deinit(struct leat_roots *roots);

/* On the heap, shared by all plans whose files were opened through them. Returns a reference. */
int leat_roots_new(const char *const *paths, size_t n_paths, struct leat_roots **ret_roots,
                   struct leat_error *err);
struct leat_roots *leat_roots_ref(struct leat_roots *roots);   /* accepts NULL */
struct leat_roots *leat_roots_unref(struct leat_roots *roots); /* accepts NULL */
