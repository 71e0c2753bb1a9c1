/* http_address.h: the address of the HTTP listener, from the setting http_listen.
 *
 * Any client that reaches the port may look, so only a loopback address and port is accepted, or
 * unix:PATH, whose file mode decides. Pure; any thread.
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
/* True if a request over TCP names this machine, which that of a browser does not if another name
 * led it here. host: the value of the header Host, or NULL. */
int leat_http_host_is_local(const char *host);
