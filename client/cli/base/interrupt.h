/* interrupt.h: SIGINT and SIGTERM as a flag that loops read, so that they can clean up. */
#pragma once

#include <stdbool.h>

/* From now on the two signals and SIGPIPE do not end the process, but interrupt waits (EINTR). */
void leat_cli_interrupt_watch(void);
bool leat_cli_interrupt_seen(void);
/* True if it was SIGPIPE: the reader of the output has gone, as with `| head`. */
bool leat_cli_interrupt_was_pipe(void);
