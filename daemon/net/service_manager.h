/* service_manager.h: what a service manager passes in the environment: sockets and a watchdog; and
 * messages to it.
 *
 * These are sd_listen_fds_with_names(3) and sd_watchdog_enabled(3) without libsystemd, which the
 * daemon needs for nothing else: log/journal.h writes datagrams, too. Not thread-safe, but for
 * messages.
 */
#pragma once

#include <stdint.h>

#define LEAT_PASSED_FD   3 /* the first passed socket; the others follow */
#define LEAT_PASSED_MAX  16
#define LEAT_PASSED_NAME 256 /* with the NUL; systemd allows 255 characters */

struct leat_passed_sockets {
    int n;
    char names[LEAT_PASSED_MAX][LEAT_PASSED_NAME]; /* FileDescriptorName= of each */
};

/* Takes the sockets, closes them on exec, and removes $LISTEN_PID, $LISTEN_FDS and $LISTEN_FDNAMES
 * from the environment. Without names each is "unknown". n is 0 if none is passed to this process.
 * 0; -EINVAL: the environment is damaged; -E2BIG: there are more than LEAT_PASSED_MAX; -EBADF: a
 * descriptor is not open. */
int leat_passed_sockets_take(struct leat_passed_sockets *sockets);

/* Within how many microseconds WATCHDOG=1 is expected; 0 if there is no watchdog. */
uint64_t leat_watchdog_us(void);

/* Messages to the service manager that never block.
 *
 * sd_notify(3) waits while the service manager does not read, which would stop the loop. This is
 * for messages that are repeated soon, or may be lost. Any thread. */
/* As sd_notify(0, text). 1: sent; 0: there is no service manager; -errno: not sent. */
int leat_notify(const char *text);
