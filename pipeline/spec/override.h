/* override.h: puts one value of a configuration in place of what is written there: `PATH=VALUE`.
 *
 * The value goes into the tree of the parsed document, before types are known: what follows
 * (binder, planner, settings) checks it as if it had been written. VALUE is YAML, `[1, 2]` too.
 * PATH is
 *
 *     SETTING                          of the daemon: workers
 *     streams.NAME.OPTION              of a stream: streams.titanic.block_bytes
 *     streams.NAME.source.ARG          of its source
 *     streams.NAME.STAGE.ARG           of its only stage of that name
 *     streams.NAME.STAGE[2].ARG        of the second of that name
 *
 * and goes deeper where values are maps: streams.titanic.cache.max_size. Any thread.
 */
#pragma once

#include "proto/base/error.h"
#include "proto/value.h"

#define LEAT_OVERRIDE_MAX_BYTES 65536
#define LEAT_OVERRIDES_MAX      64 /* of one document */
#define LEAT_OVERRIDE_MAX_NAMES 8  /* in what follows the stage */

/* Puts one override into the document, at the place of what it replaces or belongs to. 0; -EINVAL
 * with what is wrong (and the nearest stream or stage), its path "--set"; -ENOMEM. After a failure
 * the document is of no use. */
int leat_override_apply(struct leat_value *document, const char *text, struct leat_error *err);
