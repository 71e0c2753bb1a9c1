/* index_key.h: which index of blocks a plan has, if it may have one (run/index.h). Pure. */
#pragma once

#include "pipeline/cache/file.h"
#include "pipeline/plan/plan.h"

/* Where: the plan's own folder, or the given one (NULL: there is none); NULL: it has none, since it
 * has a cache, is to have none, is mixed, comes through a FIFO, is read in blocks in random order,
 * or has other records each epoch. */
const char *leat_index_folder(const struct leat_plan *plan, const char *given);
/* Whether the order looks at rows, or holds all of them: what it sees is kept. */
bool leat_index_has_columns(const struct leat_plan *plan);
/* What would be the identity of a cache becomes that of the index: another file, and one for an
 * order that looks at no row has less in it. */
void leat_index_key(bool has_columns, struct leat_cache_identity *identity);
