/* address.h: where the daemon's sockets are, and how to connect to them.
 *
 * A folder holds trainer.sock, copy.sock and control.sock. Candidates are the given address alone;
 * else $LEAT_SOCKET alone; else $XDG_RUNTIME_DIR/leat, then /run/leat. An address may also name one
 * of the three sockets (meaning its folder), or a socket of any other name (used as it is).
 */
#pragma once

#include <stdint.h>
#include <sys/un.h>

#include "proto/base/error.h"

#define LEAT_SOCKET_TRAINER "trainer.sock"
#define LEAT_SOCKET_COPY    "copy.sock"
#define LEAT_SOCKET_CONTROL "control.sock"

/* Connects to the daemon's socket of that name; type is SOCK_SEQPACKET or SOCK_STREAM. `address`
 * may be NULL. timeout_ms bounds the wait of this and of each later send; -1: no bound. *ret_fd is
 * blocking and CLOEXEC. ret_place, if not NULL, gets the address that answered. 0, -EACCES,
 * -ECONNREFUSED (no candidate answers), -ETIMEDOUT, -EINTR, other -errno. */
int leat_address_connect(const char *address, const char *socket_name, int type, int timeout_ms,
                         int *ret_fd, struct sockaddr_un *ret_place, struct leat_error *err);

/* Connects to the place that answered before, and to no other: a stream must not continue at
 * another daemon. Does not wait: -EAGAIN if the backlog is full. timeout_ms bounds later sends. 0
 * or -errno.
 */
int leat_address_connect_again(const struct sockaddr_un *place, int type, int timeout_ms,
                               int *ret_fd);
