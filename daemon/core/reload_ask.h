/* reload_ask.h: `leatd --reload`, which `systemctl reload` runs: the daemon that serves is asked to
 * read its configuration anew, and waited for. `leatctl reload` tells more, but is another
 * package's.
 */
#pragma once

#include "proto/base/error.h"

/* directory: where control.sock is; NULL: where a daemon would make it. Blocks until the daemon has
 * loaded it, or says what is wrong. */
int leat_reload_ask(const char *directory, struct leat_error *err);
