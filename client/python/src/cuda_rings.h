/* cuda_rings.h: which rings of batches are registered with CUDA, so that a GPU reads them at the
 * full speed of its bus. A ring is registered once, for all devices, and forgotten before it is
 * unmapped (ring.h), on whatever thread that happens.
 *
 * A ring that cannot be registered is remembered too: it is copied from all the same, more slowly.
 */
#pragma once

#include <stdbool.h>

#include "client/leat.h"
#include "client/python/src/cuda_driver.h"

/* Whether the ring is registered: by now, or before. `context` is current. *ret_result: what CUDA
 * said if this call found that it cannot be, else 0. Any thread. */
bool leat_cuda_rings_register(const struct leat_cuda_driver *driver, void *context, unsigned flags,
                              const struct leat_ring *ring, leat_cuda_result *ret_result);
/* As leat_py_ring_watch() wants it. */
void leat_cuda_rings_forget(const struct leat_ring *ring);
/* Registered ones. */
size_t leat_cuda_rings_count(void);
