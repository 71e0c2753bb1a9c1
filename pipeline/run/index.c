/* run/index.c: see run/index.h. */
#include "pipeline/run/index.h"

#include "pipeline/cache/index_key.h"
#include "pipeline/run/run_internal.h"

const char *leat_run_index_folder(const struct leat_run *run) {
    return leat_index_folder(run->plan, run->options.index_folder);
}

/* Without memory for it, there is none. */
void leat_run_index_init(struct leat_run *run) {
    if (run->options.cache_folder || run->options.only_builds || !leat_run_index_folder(run))
        return;
    run->cache.is_index = leat_bare_schema_init(&run->cache.bare_schema, run->plan,
                                                leat_index_has_columns(run->plan)) == 0;
}

bool leat_run_index_is_read(const struct leat_run *run) {
    return !run->cache.is_index || run->residents.max_bytes > 0 || leat_run_is_passing(run);
}
