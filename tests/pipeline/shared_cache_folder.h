/* shared_cache_folder.h: the caches in the folder of a test (shared_stream.h), by streams with
 * `cache: {path: .}`.
 */
#pragma once

#include "pipeline/cache/store.h"

/* The name of the only cache; NULL: there is none, or more than one. Valid until the next call. */
const char *cache_name(void);
void remove_caches(void);
/* All of a file; free it. */
uint8_t *read_bytes(const char *name, size_t *ret_n_bytes);
