/* pool.h: makes the threads of libuv's pool when the daemon starts. libuv makes them with the first
 * task, and ends the process if it cannot make one, or its first pipe.
 */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"

/* Once in a process, before its first loop; later calls do nothing. 0 or -errno. */
int leat_pool_start(uint32_t n_threads, struct leat_error *err);
