/* cache/store.h: a folder of caches, shared by all who name it.
 *
 *     KEY.leat     complete; never written again
 *     KEY.partial  being built, or left by a builder that was killed
 *
 * Shards of a cache are KEY-I-of-N in place of KEY; limits do not count them.
 *
 * Files are locked (flock) through the descriptor that is kept open with them: shared by readers,
 * exclusively by the one builder of a key and by whoever removes one. So what is in use stays, and
 * the locks of a process that was killed are gone with it. Whoever finds a key being built reads
 * what is there so far. The time of last access says when a cache was last used.
 *
 * All functions block: they run in jobs.
 */
#pragma once

#include "pipeline/cache/file.h"

#define LEAT_CACHE_NAME_MAX 128

struct leat_cache_limits {
    int64_t max_size;   /* bytes of the folder; 0: any */
    int64_t max_age;    /* seconds since the last use; 0: any */
    uint64_t max_files; /* 0: any number */
};

struct leat_cache_found {
    struct leat_cache_file *file; /* NULL: none that can be used now */
    bool is_builder;              /* the file may be added to, by us alone */
};

/* The cache of that key: complete, or as far as it goes; with may_build one is begun if there is
 * none, and what the limits forbid is removed. The folder is made if it is not there. */
int leat_cache_store_open(const char *folder, const struct leat_cache_identity *identity,
                          const char *description, const struct leat_cache_limits *limits,
                          bool may_build, struct leat_cache_found *ret_found,
                          struct leat_error *err);

/* The builder's file gets its index, reaches the disk, and becomes KEY.leat; the lock is shared
 * from then on. */
int leat_cache_store_finish(const char *folder, const struct leat_cache_file *file,
                            struct leat_error *err);
/* The builder builds no more: what is behind `end` is cut off, and the lock is given back. */
void leat_cache_store_give_up(const struct leat_cache_file *file, uint64_t end);
/* The builder's file is not what its key says: it goes. */
void leat_cache_store_discard(const char *folder, const struct leat_cache_file *file);

/* Removes what is too old, then the least recently used until n_more bytes fit, but nothing that is
 * in use. -EDQUOT: they do not. */
int leat_cache_store_make_room(const char *folder, const struct leat_cache_limits *limits,
                               uint64_t n_more, struct leat_error *err);

/* ---- for people ---- */

/* KEY.leat */
void leat_cache_store_name(const struct leat_cache_identity *identity,
                           char ret_name[LEAT_CACHE_NAME_MAX]);

struct leat_cache_entry {
    char name[LEAT_CACHE_NAME_MAX]; /* of the file */
    bool is_complete, is_in_use;
    uint64_t n_bytes;
    int64_t used_ns, made_ns; /* since 1970 */
};

/* All caches of the folder, least recently used first; malloc'ed. with_use: is_in_use is looked at,
 * by locking each for a moment. */
int leat_cache_store_list(const char *folder, bool with_use, struct leat_cache_entry **ret_entries,
                          size_t *ret_n_entries, struct leat_error *err);
/* -EBUSY: it is in use. */
int leat_cache_store_remove(const char *folder, const char *name, struct leat_error *err);
/* Opens one for a look: it is not locked, and not counted as used. */
int leat_cache_store_peek(const char *folder, const char *name, struct leat_cache_file **ret_file,
                          struct leat_error *err);
