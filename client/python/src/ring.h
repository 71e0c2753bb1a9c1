/* ring.h: who wants to know that a ring of batches is about to be unmapped: whoever registered it
 * with a device.
 */
#pragma once

#include "client/leat.h"

/* Of struct leat_open_options, for every stream. Calls the one below. */
void leat_py_ring_unmapped(void *user, const struct leat_ring *ring);

/* Has `forget` called with every ring before it is unmapped: on any thread, with or without the
 * GIL, which it must not take; it must not call libleat. Once, while the module is made. */
void leat_py_ring_watch(void (*forget)(const struct leat_ring *ring));
