/* data_digest.h: what the data of a plan is: the number, order, sizes and contents of its files,
 * and which source each is of. Never times, inodes or paths, so that it is the same wherever the
 * same bytes lie.
 *
 * Of a file all bytes count (`verify: full`), or head, tail and samples between: of one of up to
 * 256 KiB these are all. They are hashed (XXH3) in up to 16 ranges, which are kept of the first
 * files, to tell where contents differ. A file that cannot be read counts as one that cannot; what
 * comes through a FIFO has no digest.
 *
 * Owner: the job that makes it, which blocks; immutable then, and shared by reference count, which
 * is touched by one thread (the loop) only.
 */
#pragma once

#include "pipeline/plan/plan.h"

#define LEAT_DATA_RANGES       16
#define LEAT_DATA_DETAILED     4096 /* files whose ranges are kept */
#define LEAT_DATA_DIGEST_BYTES 16   /* of a file */
#define LEAT_DATA_UNREADABLE   UINT64_MAX

/* How a file was when its bytes were looked at: what no clock and no user can set back. */
struct leat_data_identity {
    uint64_t device, inode, n_bytes; /* LEAT_DATA_UNREADABLE: it cannot be opened */
    int64_t modified_ns, changed_ns;
};

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
    struct leat_data_identity *identities;      /* [n_files] */
    uint8_t (*digests)[LEAT_DATA_DIGEST_BYTES]; /* [n_files] */
    uint64_t (*ranges)[LEAT_DATA_RANGES];       /* [n_detailed] */
    uint64_t n_bytes;                           /* of all files together */
    uint8_t digest[LEAT_DIGEST_BYTES];
};

/* Finds out what the plan's data is: plan->data and plan->data_digest, before the plan is shared.
 * known: what it was when somebody looked before, so that only the bytes of files that were touched
 * since are read; may be NULL. Files that cannot be read are no failure. */
int leat_data_identify(struct leat_plan *plan, const struct leat_opener *opener,
                       const struct leat_data *known, struct leat_error *err);
/* How large all of it is, plan->n_data_bytes, and no more. */
void leat_data_measure(struct leat_plan *plan, const struct leat_opener *opener);
struct leat_data *leat_data_ref(struct leat_data *data); /* accepts NULL */
struct leat_data *leat_data_unref(struct leat_data *data);
/* A copy with one reference, which may be altered; NULL: no memory. */
struct leat_data *leat_data_copy(const struct leat_data *data);

/* Which bytes range `index` is of: they lie one behind the other. */
struct leat_data_range leat_data_range(uint64_t n_bytes, bool is_full, size_t index);
/* Opens a regular file, and looks how it is. */
int leat_data_open(const struct leat_opener *opener, const char *path, int *ret_fd,
                   struct leat_data_identity *ret_identity, struct leat_error *err);
/* Hashes an open file of that size. path: for errors. */
int leat_data_hash(int fd, const char *path, uint64_t n_bytes, bool is_full,
                   struct leat_data_hash *ret_hash, struct leat_error *err);
