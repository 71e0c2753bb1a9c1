/* registry.c: the tables of all sources and stages, from sources.def and stages.def, and
 * from the folders that the build was told of (LEAT_EXTRA_STAGES). */
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
