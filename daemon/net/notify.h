/* notify.h: messages to the service manager that never block.
 *
 * sd_notify(3) waits while the service manager does not read, which would stop the loop. This is
 * for messages that are repeated soon, or may be lost. Any thread.
 */
#pragma once

/* As sd_notify(0, text). 1: sent; 0: there is no service manager; -errno: not sent. */
int leat_notify(const char *text);
