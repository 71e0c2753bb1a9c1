/* cache/key.h: what a cache is of: the digest of what is done to each record (plan->record_digest)
 * and of the data that it is done to.
 *
 * Data is the same if each file has the same size, time of change and inode, and the same bytes:
 * head, tail and samples between (`verify: sample`), or all of them (`verify: full`). A cache that
 * was prepared elsewhere has the digests of spec and contents, but a key of that place; `merge`
 * gives it the key of this one. The functions read files: they block. Owner: the job.
 */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/plan/data_digest.h"

/* What is known of the data; kept from one look to the next, so that bytes are read again only if a
 * file was touched. Zeroed before the first. */
struct leat_cache_data {
    struct leat_data_identity *sources; /* [n_sources] */
    size_t n_sources;
    uint64_t n_bytes; /* of all of them */
    uint8_t digest[LEAT_DIGEST_BYTES];
};
void leat_cache_data_deinit(struct leat_cache_data *data);

/* Looks at the data of the plan now. -EINVAL: it is none that can be cached. */
int leat_cache_key(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct leat_cache_data *data, struct leat_cache_identity *ret_identity,
                   struct leat_error *err);

/* -ESTALE: that file was touched since. */
int leat_cache_check_source(const struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_cache_data *data, size_t file,
                            struct leat_error *err);

/* What the head of a cache tells people: JSON, malloc'ed; NULL when memory is out. */
char *leat_cache_describe(const struct leat_plan *plan);
