/* interrupt.h: SIGINT and SIGTERM as a question that loops ask, so that what was begun is put away.
 */
#pragma once

#include <stdbool.h>

/* From here on the two signals, and SIGPIPE, end no process, but interrupt waits (EINTR). */
void leat_cli_interrupt_watch(void);
bool leat_cli_interrupt_seen(void);
/* Whether what was seen is that nobody reads on, as behind `| head`. */
bool leat_cli_interrupt_was_pipe(void);
