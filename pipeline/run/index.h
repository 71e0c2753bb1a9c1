/* run/index.h: an index of the blocks of a source, for streams without a cache: what the order of
 * rows needs of each block (bare_schema.h), in a file of the form of a cache.
 *
 * It is built like a cache, by the first run that reads all of the source, and is of use where
 * blocks are not to be made:
 *   - before the first step of a run that starts in mid-epoch: they go through the order bare
 *     (run/bare.h);
 *   - in a full shuffle, which holds all of a pass: they are evicted from the start
 *     (run/resident.h).
 * Elsewhere the source is read as if there were none. The key of an index is that of a cache, so it
 * is never taken for other data or other stages; a damaged block of it is made from the source.
 * Streams whose records differ from epoch to epoch, that are mixed, read in blocks in random order,
 * or that come through a FIFO have none. Part of run/cache.c's inside.
 */
#pragma once

#include <stdbool.h>

struct leat_run;

#define LEAT_INDEX_WRITE_BYTES 16384 /* that are written at a time */

/* Decides whether the run has one. */
void leat_run_index_init(struct leat_run *run);
const char *leat_run_index_folder(const struct leat_run *run);
/* Whether frames are put in line now: those of a cache are. */
bool leat_run_index_is_read(const struct leat_run *run);
