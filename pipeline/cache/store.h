/* cache/store.h: a folder of caches, shared by all processes that name it.
 *
 *     KEY.leat          complete; never written again
 *     KEY.partial       being built, or left by a builder that was killed
 *     KEY.HOST.partial  the same where another host does not see our locks (FUSE, 9p): each host
 *                       builds its own
 *
 * Shards of a cache (cache/shard.h) are KEY-I-of-N in place of KEY; limits do not count them.
 *
 * Files are locked (flock) through the descriptor that stays open with them: shared by readers,
 * exclusively by the one builder of a key and by a process that removes one. So a file in use
 * stays, and a killed process leaves no lock. A process that finds a key being built reads what is
 * there so far. The time of last access says when a cache was last used.
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
    struct leat_cache_file *file; /* NULL: there is none to use now */
    bool is_builder;              /* only we may add to the file */
};

/* Opens the cache of that key, complete or as far as it goes. With may_build it begins one if there
 * is none, and removes what the limits forbid. The folder is made if need be. */
int leat_cache_store_open(const char *folder, const struct leat_cache_identity *identity,
                          const char *description, const struct leat_cache_limits *limits,
                          bool may_build, struct leat_cache_found *ret_found,
                          struct leat_error *err);

/* Writes the index of the builder's file, waits for the disk, and renames it to KEY.leat; the lock
 * is shared from then on. */
int leat_cache_store_finish(const char *folder, const struct leat_cache_file *file,
                            struct leat_error *err);
/* Ends building: cuts off what is behind `end` and unlocks the file. */
void leat_cache_store_give_up(const struct leat_cache_file *file, uint64_t end);
/* Removes the builder's file, which is not what its key says. */
void leat_cache_store_discard(const char *folder, const struct leat_cache_file *file);

/* Removes what is too old, then the least recently used until n_more bytes fit, but nothing that is
 * in use. -EDQUOT: they do not fit. */
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

/* Lists all caches of the folder, least recently used first; malloc'ed. with_use: finds out
 * is_in_use, by locking each for a moment. */
int leat_cache_store_list(const char *folder, bool with_use, struct leat_cache_entry **ret_entries,
                          size_t *ret_n_entries, struct leat_error *err);
/* -EBUSY: it is in use. */
int leat_cache_store_remove(const char *folder, const char *name, struct leat_error *err);
/* Opens one for a look: it is neither locked nor counted as used. */
int leat_cache_store_peek(const char *folder, const char *name, struct leat_cache_file **ret_file,
                          struct leat_error *err);
