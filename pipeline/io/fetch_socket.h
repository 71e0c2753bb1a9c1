/* fetch_socket.h: a connection to leat-fetch. See object.h and proto/fetch.h. Any thread. */
#pragma once

#include "proto/base/error.h"
#include "proto/fetch.h"

/* A connected socket, or -errno with a message. is_private: to a leat-fetch of this process. */
int leat_fetch_connect(bool is_private, struct leat_error *err);
/* Sends a request and waits for its reply; fd: goes with the request, -1: none. *ret_fd is the
 * descriptor of the reply, -1: none. A reply with an error is none. -ECONNRESET without a message:
 * leat-fetch has ended. */
int leat_fetch_ask(int socket, const struct leat_fetch_request *request, int fd,
                   struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err);
