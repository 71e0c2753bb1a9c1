/* http_library.h: libmicrohttpd, loaded when there is an HTTP listener, not linked: with what it
 * needs in turn (GnuTLS among it) it takes 2.4 MiB, which most daemons would have for nothing.
 * LEAT_HTTP_LINKED links it nevertheless: wheels have it inside, without GnuTLS. */
#pragma once

#include <microhttpd.h>

#include "proto/base/error.h"

#define LEAT_HTTP_LIBRARY "libmicrohttpd.so.12" /* its ABI since 0.9.60, 2018 */

/* The functions that leat calls: X(name), without MHD_. */
#define LEAT_HTTP_FUNCTIONS(X)                                                                     \
    X(add_connection)                                                                              \
    X(add_response_header)                                                                         \
    X(create_response_from_buffer)                                                                 \
    X(create_response_from_buffer_with_free_callback)                                              \
    X(destroy_response)                                                                            \
    X(get_connection_info)                                                                         \
    X(get_daemon_info)                                                                             \
    X(get_timeout)                                                                                 \
    X(lookup_connection_value)                                                                     \
    X(queue_response)                                                                              \
    X(run)                                                                                         \
    X(start_daemon)                                                                                \
    X(stop_daemon)

struct leat_http_library {
#define MEMBER(name) __typeof__(MHD_##name) *name;
    LEAT_HTTP_FUNCTIONS(MEMBER)
#undef MEMBER
};

extern struct leat_http_library leat_mhd; /* all NULL until it is loaded */

/* Loads it, unless it is loaded. On the loop, before the listener's thread starts. 0 or
 * -EOPNOTSUPP. */
int leat_http_library_load(struct leat_error *err);
