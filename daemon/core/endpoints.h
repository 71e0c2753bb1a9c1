/* endpoints.h: where the daemon's three sockets come from: a service manager that passed them, by
 * name (never by position), or paths from the command line, the settings or the environment. */
#pragma once

#include "daemon/core/daemon.h"

/* Where sockets are made if nobody says where: $RUNTIME_DIRECTORY, /run/leat or
 * $XDG_RUNTIME_DIR/leat. */
int leat_endpoints_directory(char *buffer, size_t size, struct leat_error *err);
/* Makes all listeners, without accepting yet. May block. */
int leat_endpoints_open(struct leat_daemon *daemon, struct leat_error *err);
/* Accepts from here on. */
int leat_endpoints_start(struct leat_daemon *daemon, struct leat_error *err);
/* After the settings have changed: who may connect to the control socket. */
void leat_endpoints_fit_control(struct leat_daemon *daemon);
/* Leaves trainers that connect from now on to the next daemon, where a service manager keeps the
 * sockets: they wait. Of sockets of our own they are told. */
void leat_endpoints_leave_trainers(struct leat_daemon *daemon);
void leat_endpoints_stop(struct leat_daemon *daemon);

/* Whether there is one user only who may send trainers. */
bool leat_endpoints_are_private(const struct leat_daemon *daemon);
