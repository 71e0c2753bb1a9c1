/* rings.h: the rings of batches that are registered with CUDA, so that a GPU reads them at the
 * full speed of its bus. A ring is registered once, for all devices, and unregistered before it is
 * unmapped, on any thread. A ring that CUDA refuses is remembered too: copies from it are slower.
 */
#pragma once

#include <stdbool.h>

#include "client/leat.h"
#include "client/python/src/cuda/driver.h"

/* Registers the ring unless that was done before. True if it is registered. `context` is current.
 * Any thread. */
bool leat_cuda_rings_register(const struct leat_cuda_driver *driver, void *context,
                              const struct leat_ring *ring);
/* on_unmap of struct leat_open_options. With or without the GIL, which it does not take. */
void leat_cuda_rings_forget(void *user, const struct leat_ring *ring);
/* The number of registered rings. */
size_t leat_cuda_rings_count(void);
