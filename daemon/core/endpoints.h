/* endpoints.h: the daemon's sockets: passed by a service manager under their names (never by
 * position), or made at paths from the command line, the settings or the environment. Owner: loop.
 */
#pragma once

#include "daemon/control/control.h"
#include "daemon/metrics/http.h"
#include "daemon/net/listener.h"
#include "daemon/net/rate_limit.h"

enum leat_endpoint {
    LEAT_ENDPOINT_TRAINER, /* SOCK_SEQPACKET: batches are mapped */
    LEAT_ENDPOINT_COPY,    /* SOCK_STREAM: batches are copied */
    LEAT_ENDPOINT_CONTROL, /* SOCK_STREAM: leatctl */
    LEAT_N_ENDPOINTS,
};

/* The first members are set before leat_endpoints_init(). */
struct leat_endpoints {
    struct leat_env *env;
    struct leat_sessions *sessions;
    struct leat_controls *controls;
    struct leat_http *http;
    const char *directory; /* of the sockets; NULL: as settings and environment say */
    bool is_of_process;    /* the daemon belongs to another process */
    struct leat_listener listeners[LEAT_N_ENDPOINTS];
    struct leat_rate_limit limit;
    uint64_t exhausted_ns; /* when the lack of descriptors was last logged */
};

/* Where sockets are made if no directory is given: $RUNTIME_DIRECTORY, /run/leat or
 * $XDG_RUNTIME_DIR/leat. */
int leat_endpoints_directory(char *buffer, size_t size, struct leat_error *err);

void leat_endpoints_init(struct leat_endpoints *endpoints);
/* Makes all listeners, without accepting yet. May block. */
int leat_endpoints_open(struct leat_endpoints *endpoints, struct leat_error *err);
/* Accepts connections from now on. */
int leat_endpoints_start(struct leat_endpoints *endpoints, struct leat_error *err);
/* Sets who may connect to the control socket, after the settings have changed. */
void leat_endpoints_fit_control(struct leat_endpoints *endpoints);
/* Accepts again, if descriptors were short. */
void leat_endpoints_resume(struct leat_endpoints *endpoints);
/* Stops accepting trainers on sockets that a service manager keeps: there they wait for the next
 * daemon. On the daemon's own sockets they are refused. */
void leat_endpoints_leave_trainers(struct leat_endpoints *endpoints);
void leat_endpoints_stop(struct leat_endpoints *endpoints);

/* True if only one user can connect trainers. */
bool leat_endpoints_are_private(const struct leat_endpoints *endpoints);
