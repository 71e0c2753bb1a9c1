/* interrupt.h: SIGINT, SIGTERM and the end of another process as a flag that loops read, so that
 * they can clean up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/base/error.h"

/* From now on the two signals and SIGPIPE do not end the process, but interrupt waits (EINTR). */
void leat_cli_interrupt_watch(void);
/* The end of that process is seen as well, however it ends; it interrupts no waits. -ESRCH: it has
 * ended. */
int leat_cli_interrupt_end_with(uint64_t pid, struct leat_error *err);
bool leat_cli_interrupt_seen(void);
/* True if it was SIGPIPE: the reader of the output has gone, as with `| head`. */
bool leat_cli_interrupt_was_pipe(void);
