/* pool.h: the threads of libuv's pool, which libuv makes with the first task. It ends the process
 * if it cannot make one, or its first pipe, so all of that happens when the daemon starts.
 */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"

/* Once in a process, before its first loop; later calls do nothing. 0 or -errno. */
int leat_pool_start(uint32_t n_threads, struct leat_error *err);
