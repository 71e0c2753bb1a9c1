/* service.h: reports to the service manager (sd_notify(3)) that the daemon is ready, alive,
 * draining or stopping, with a line of status.
 *
 * Ready means that the sockets are open, the loop runs and a worker has answered. The loop serves
 * the watchdog at least three times in WatchdogSec. If the workers are stuck (heartbeat.h), it asks
 * for a restart at once instead. Owner: loop.
 */
#pragma once

#include "daemon/schedule/heartbeat.h"
#include "daemon/schedule/scheduler.h"

struct leat_env;
struct leat_sessions;

struct leat_service {
    struct leat_env *env;
    const struct leat_sessions *sessions;
    const char *socket; /* of trainers, for the log */
    struct leat_heartbeat heartbeat;
    uint64_t watchdog_ns; /* 0: there is no watchdog */
    uint64_t looked_ns;
    uint64_t said_ns, n_said_batches; /* of the last status */
    struct leat_task first_task;
    bool is_ready, is_told; /* is_told: READY=1 was sent */
    bool is_given_up;       /* the workers are stuck, which was reported */
};

/* n_threads: of the pool. */
int leat_service_init(struct leat_service *service, const struct leat_sessions *sessions,
                      uint32_t n_threads, uint64_t timeout_ns);
void leat_service_deinit(struct leat_service *service);
/* leat_service_tick() must be called at least so often. */
uint64_t leat_service_tick_ms(const struct leat_service *service);

/* The loop starts. socket: where trainers connect, for the log. */
void leat_service_start(struct leat_service *service, const char *socket);
void leat_service_tick(struct leat_service *service, uint64_t now_ns);
/* A stop or a drain begins. */
void leat_service_tell(struct leat_service *service);
/* A reload is over. */
void leat_service_tell_ready(struct leat_service *service);

/* ---- the line that `systemctl status` shows ---- */

#define LEAT_SERVICE_STATUS_MAX 256

struct leat_service_figures {
    uint32_t n_streams, n_streams_used, n_trainers;
    uint32_t n_held; /* batches that trainers hold */
    uint32_t n_stalled;
    uint64_t n_batches, elapsed_ns; /* since the last line */
    bool is_draining, is_stopping, is_stuck;
    uint64_t drain_ns; /* that are left of the drain */
};

/* Prints numbers only, no text that a client has chosen. Returns buffer. */
const char *leat_service_status_print(const struct leat_service_figures *figures,
                                      char buffer[LEAT_SERVICE_STATUS_MAX]);
