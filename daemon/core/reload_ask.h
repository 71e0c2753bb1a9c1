/* reload_ask.h: `leatd --reload`, which `systemctl reload` runs: asks the running daemon for a
 * reload and waits for it. `leatctl reload` tells more, but belongs to another package.
 */
#pragma once

#include "proto/base/error.h"

/* directory: of control.sock; NULL: where a daemon would make it. Blocks until the daemon has
 * answered. */
int leat_reload_ask(const char *directory, struct leat_error *err);
