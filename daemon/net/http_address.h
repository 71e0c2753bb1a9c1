/* http_address.h: where the HTTP listener is: the setting http_listen.
 *
 * Whoever reaches it may look, so it is for this machine alone: a loopback address and port, or
 * unix:PATH, whose file says who may. Pure; any thread.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "proto/base/error.h"

struct leat_http_address {
    const char *path; /* of a Unix socket, in the text that was parsed; NULL: none */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } ip;
    socklen_t n_ip;
};

int leat_http_address_parse(const char *text, struct leat_http_address *ret_address,
                            struct leat_error *err);
/* Whether a request that came by TCP names this machine: a browser that was led here by a foreign
 * name does not. host: the header's value, or NULL. */
int leat_http_host_is_local(const char *host);
