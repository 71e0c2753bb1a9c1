/* launcher_hosts.h: the size of the world by mlx.launch's host file, a JSON list with an item for
 * each rank. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

/* Counts the items of the list in that text. 0; -EINVAL: it is not a list of at least one. */
int leat_launcher_count_hosts(const char *text, size_t n_bytes, uint32_t *ret_n_hosts);
/* The same for a file. 0 or -errno. */
int leat_launcher_read_hosts(const char *path, uint32_t *ret_n_hosts, struct leat_error *err);
