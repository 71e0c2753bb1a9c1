/* data_digest.h: what data is: the number, order, sizes and contents of its files, and which source
 * each is of. Never times, inodes or paths, so that it is the same wherever the same bytes lie.
 *
 * A file counts by all of its bytes (`verify: full`), or by its head, its tail and samples between
 * them, which is all of a file of up to 256 KiB. An object counts by its ETag. The bytes are hashed
 * (XXH3) in up to 16 ranges, whose hashes are kept of the first files, to tell where contents
 * differ. A file that cannot be read counts as such.
 *
 * Owner: the job that makes it, which blocks. It is immutable then, and shared by reference count,
 * which one thread (the loop) touches. */
#pragma once

#include "pipeline/io/files.h"
#include "pipeline/stage/stage.h"
#include "proto/base/blake2b.h"
#include "proto/base/file.h"

#define LEAT_DATA_RANGES       16
#define LEAT_DATA_DETAILED     4096 /* files whose ranges are kept */
#define LEAT_DATA_DIGEST_BYTES 16   /* of a file */
#define LEAT_DATA_UNREADABLE   UINT64_MAX

struct leat_data_range {
    uint64_t offset, n_bytes;
};

/* Hashes of a file: of each range, and of all of them. */
struct leat_data_hash {
    uint8_t digest[LEAT_DATA_DIGEST_BYTES];
    uint64_t ranges[LEAT_DATA_RANGES];
};

struct leat_data {
    uint32_t n_refs;
    bool is_full; /* all bytes count */
    size_t n_files, n_detailed;
    struct leat_file_state *states;             /* [n_files]; n_bytes may be LEAT_DATA_UNREADABLE */
    uint8_t (*digests)[LEAT_DATA_DIGEST_BYTES]; /* [n_files] */
    uint64_t (*ranges)[LEAT_DATA_RANGES];       /* [n_detailed] */
    uint64_t n_bytes;                           /* of all files together */
    uint64_t n_read_bytes;                      /* of files that were not known */
    uint8_t digest[LEAT_DIGEST_BYTES];
};

/* Which files to look at, and how. */
struct leat_data_scope {
    const struct leat_files *files;
    size_t n_sources, first_files[LEAT_SOURCES_MAX]; /* where the files of each source begin */
    bool is_full;
    bool must_read; /* a file that cannot be read is an error */
};

/* Looks at the files. The bytes of those that are as they were in `known` (NULL: nothing is known),
 * but for the number of the device, are not read again. */
int leat_data_new(const struct leat_data_scope *scope, const struct leat_opener *opener,
                  const struct leat_data *known, struct leat_data **ret_data,
                  struct leat_error *err);
/* Data without contents yet; NULL: no memory. leat_data_digest() ends it. */
struct leat_data *leat_data_alloc(size_t n_files, bool is_full);
void leat_data_digest(const struct leat_data_scope *scope, struct leat_data *data);
struct leat_data *leat_data_ref(struct leat_data *data); /* accepts NULL */
struct leat_data *leat_data_unref(struct leat_data *data);
/* A copy with one reference, which may be altered; NULL: no memory. */
struct leat_data *leat_data_copy(const struct leat_data *data);

/* The bytes of range `index`: ranges lie one behind the other. */
struct leat_data_range leat_data_range(uint64_t n_bytes, bool is_full, size_t index);
/* The bytes between which a file of that size differs, by the hashes of its ranges; none: it does
 * not. */
struct leat_data_range leat_data_difference(const uint64_t old[LEAT_DATA_RANGES],
                                            const uint64_t new[LEAT_DATA_RANGES], uint64_t n_bytes,
                                            bool is_full);
/* A regular file, open, and its state; or an object, which has no descriptor (-1), and whose state
 * is its identity. */
struct leat_data_file {
    int fd;
    struct leat_file_state state;
};

/* 0, to be closed, or -errno. */
int leat_data_open(const struct leat_opener *opener, const char *path,
                   struct leat_data_file *ret_file, struct leat_error *err);
void leat_data_close(struct leat_data_file *file);
/* The state alone. */
int leat_data_look(const struct leat_opener *opener, const char *path,
                   struct leat_file_state *ret_state, struct leat_error *err);
/* Hashes the first n_bytes of an open file, or takes the identity of an object, of which nothing is
 * read. path: for errors. */
int leat_data_hash(const struct leat_data_file *file, const char *path, uint64_t n_bytes,
                   bool is_full, struct leat_data_hash *ret_hash, struct leat_error *err);
