/* descriptor.h: a packet of a Unix socket that may bring a file descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct iovec;

/* Sends the parts as one packet; fd: -1 for none. flags: as of send(2). 0 or -errno. */
int leat_descriptor_send(int socket, struct iovec *parts, size_t n_parts, int fd, int flags);
/* Bytes of a packet, 0 at the end, -errno. *ret_fd: what came with it, which the caller owns; -1:
 * none. The kernel closes further ones. flags: as of recv(2). */
ssize_t leat_descriptor_receive(int socket, void *data, size_t size, int *ret_fd, int flags);
