/* limits.h: what the limits of the settings come to on this machine.
 *
 * Rings are charged to us page by page: what cannot be had must not be promised. So a limit that
 * was written and is too high is an error at its place, and a default gives way.
 */
#pragma once

#include "daemon/settings.h"

/* *ret_is_lowered: max_ring_bytes, which nobody gave, is less than its default. Raises the number
 * of descriptors that the process may have. Any thread. */
int leat_limits_fit(const struct leat_settings *settings, struct leat_limits *ret_limits,
                    bool *ret_is_lowered, struct leat_error *err);
/* The memory that the daemon can have suffices for memory_limit. */
int leat_limits_check_memory(const struct leat_settings *settings, struct leat_error *err);
