/* core/sandbox.h: the settings `sandbox` and `writable`. */
#pragma once

#include "daemon/core/endpoints.h"

/* Gives up what the settings say, for this process and all that it starts. The sockets exist, and
 * no second thread. state: a folder in the state directory. Fails only for a folder of `writable`.
 */
int leat_sandbox_enter(const struct leat_endpoints *endpoints, const char *state,
                       struct leat_error *err);
