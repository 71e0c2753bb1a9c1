/* interrupt.h: SIGINT and SIGTERM as a question that loops ask, so that what was begun is put away.
 */
#pragma once

#include <stdbool.h>

/* From here on the two signals end no process, but interrupt waits (EINTR). */
void leat_cli_interrupt_watch(void);
bool leat_cli_interrupt_seen(void);
