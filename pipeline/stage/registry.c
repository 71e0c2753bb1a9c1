/* registry.c: the tables of all sources and stages, from sources.def, stages.def and those of the
 * folders in LEAT_EXTRA_STAGES. */
#include <string.h>

#include "pipeline/stage/stage.h"

#define LEAT_STAGE(name)  extern const struct leat_stage_ops leat_stage_##name;
#define LEAT_SOURCE(name) extern const struct leat_stage_ops leat_source_##name;
#include "extra_sources.def"
#include "extra_stages.def"
#include "pipeline/sources/sources.def"
#include "pipeline/stages/stages.def"
#undef LEAT_STAGE
#undef LEAT_SOURCE

#define LEAT_STAGE(name) &leat_stage_##name,
const struct leat_stage_ops *const leat_stages[] = {
#include "pipeline/stages/stages.def"

#include "extra_stages.def"
    NULL};

#define LEAT_SOURCE(name) &leat_source_##name,
const struct leat_stage_ops *const leat_sources[] = {
#include "pipeline/sources/sources.def"

#include "extra_sources.def"
    NULL};

static const struct leat_stage_ops *find(const struct leat_stage_ops *const *table,
                                         const char *name) {
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

const struct leat_stage_ops *leat_stage_find(const char *name) {
    return find(leat_stages, name);
}

const struct leat_stage_ops *leat_source_find(const char *name) {
    return find(leat_sources, name);
}

const struct leat_stage_ops *leat_source_of_file(const char *file,
                                                 const struct leat_source_suffix **ret_suffix) {
    size_t n = strlen(file) - leat_files_compressed_suffix(file);

    for (const struct leat_stage_ops *const *ops = leat_sources; *ops; ops++)
        for (*ret_suffix = (*ops)->suffixes; *ret_suffix && (*ret_suffix)->text; ++*ret_suffix) {
            size_t n_suffix = strlen((*ret_suffix)->text);

            if (n > n_suffix && memcmp(file + n - n_suffix, (*ret_suffix)->text, n_suffix) == 0)
                return *ops;
        }
    return NULL;
}
