/* service.h: what the service manager hears (sd_notify(3)): ready, a line of status, that the
 * daemon is alive, that it drains or stops.
 *
 * Ready: sockets are open, the loop turns and a worker has answered. Alive: the loop says so at
 * least three times in WatchdogSec, unless the workers are stuck (heartbeat.h); then it asks to be
 * restarted at once. Owner: loop.
 */
#pragma once

#include "daemon/schedule/heartbeat.h"
#include "daemon/schedule/scheduler.h"

struct leat_daemon;

struct leat_service {
    struct leat_heartbeat heartbeat;
    uint64_t watchdog_ns; /* 0: nobody watches */
    uint64_t looked_ns;
    uint64_t said_ns, n_said_batches; /* of the last status */
    struct leat_task first_task;
    bool is_ready, is_told; /* that it is */
    bool is_given_up;       /* the workers are stuck, and that was said */
};

/* n_threads: of the pool. */
int leat_service_init(struct leat_service *service, uint32_t n_threads, uint64_t timeout_ns);
void leat_service_deinit(struct leat_service *service);
/* How often leat_service_tick() is to be called: so often, or more often. */
uint64_t leat_service_tick_ms(const struct leat_service *service);

/* The loop begins to turn. */
void leat_service_start(struct leat_daemon *daemon);
void leat_service_tick(struct leat_daemon *daemon, uint64_t now_ns);
/* A stop or a drain begins. */
void leat_service_tell(struct leat_daemon *daemon);
/* It serves again, a reload being over. */
void leat_service_tell_ready(struct leat_daemon *daemon);
