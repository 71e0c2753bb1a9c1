/* cache/key.h: the identity of a cache: the digest of what is done to each record
 * (plan->record_digest) and that of the data.
 *
 * Data is the same if each file has the same size, time of change and inode, and the same bytes:
 * head, tail and samples between (`verify: sample`), or all of them (`verify: full`). A cache that
 * was prepared elsewhere has the same digests but a key of that place; `merge` gives it the key of
 * this one. The functions read files: they block. Owner: the job.
 */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/plan/plan.h"

/* Looks at the data of the plan now. *data: what it was when it was last looked at (NULL: never),
 * so that bytes are read again only of files that were touched; replaced by what it is now.
 * -EINVAL: it is not in regular files. */
int leat_cache_key(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct leat_data **data, struct leat_cache_identity *ret_identity,
                   struct leat_error *err);

/* -ESTALE: that file was touched since. */
int leat_cache_check_source(const struct leat_plan *plan, const struct leat_opener *opener,
                            const struct leat_data *data, size_t file, struct leat_error *err);

/* The description in the head of a cache, for people: JSON, malloc'ed; NULL when memory is out. */
char *leat_cache_describe(const struct leat_plan *plan);
