/* daemon.h: the daemon with all of its parts. Only the files of core include it.
 *
 * Nothing is static, so that tests can run several. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/config/settings.h"
#include "daemon/control/control.h"
#include "daemon/core/endpoints.h"
#include "daemon/core/reload.h"
#include "daemon/core/service.h"
#include "daemon/log/log.h"
#include "daemon/metrics/http.h"
#include "daemon/metrics/monitor.h"
#include "daemon/net/parent_watch.h"
#include "daemon/net/socket_closer.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/feeds.h"
#include "daemon/system/env.h"
#include "daemon/trainer/sessions.h"
#include "daemon/users/client_log.h"
#include "daemon/users/user.h"
#include "pipeline/memory/budget.h"

struct leat_daemon_options {
    const char *config_file; /* NULL: all settings have their defaults */
    int64_t end_with;        /* the process with which the daemon ends; 0: none */
    const char *socket_dir;  /* NULL: as the settings and the environment say */
    int64_t workers;         /* 0: as the settings say */
    bool is_unfused;         /* each per-record stage is a job of its own */
    bool is_sandboxed;       /* the process is the daemon's: it gives up what the settings say */
    int log_fd;
    uint64_t stop_ms; /* how long a stop waits for work; 0: less than a second */
    struct leat_settings_overrides overrides;
};

struct leat_daemon {
    struct leat_daemon_options options;
    struct leat_env env;
    struct leat_feeds feeds;
    struct leat_sessions sessions;
    struct leat_controls controls;
    struct leat_monitor monitor;
    struct leat_http http;
    struct leat_endpoints endpoints;
    struct leat_service service;
    struct leat_reloads reloads;

    uv_loop_t loop; /* what env points to: */
    struct leat_log log;
    struct leat_client_log client_log;
    struct leat_users users;
    struct leat_scheduler scheduler;
    struct leat_budget budget;
    struct leat_socket_closer closer;

    struct leat_account base; /* of the process itself */
    struct leat_parent_watch parent;
    uv_signal_t signals[2], hangup;
    uv_async_t stop_async;
    uv_timer_t tick, deadline;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_poll_t widest; /* closed at once */
    bool has_loop, has_handles, are_handles_closed;
    bool is_stuck; /* a stop has waited for long enough */
};

/* Reads the settings, makes the sockets and starts the pool's threads. Only the first daemon of a
 * process can choose the number of workers. An error with a file is one of the configuration. */
int leat_daemon_new(const struct leat_daemon_options *options, struct leat_daemon **ret_daemon,
                    struct leat_error *err);
/* Work hangs that a stop has waited for: the process has to end without it. */
#define LEAT_DAEMON_STUCK 1
/* Serves until SIGTERM, SIGINT, leat_daemon_stop() or the end of a drain. 0, LEAT_DAEMON_STUCK or
 * -errno. */
int leat_daemon_run(struct leat_daemon *daemon, struct leat_error *err);
struct leat_daemon *leat_daemon_free(struct leat_daemon *daemon);

/* Any thread. */
void leat_daemon_stop(struct leat_daemon *daemon);

/* For the daemon's parts. */
void leat_daemon_begin_stop(struct leat_daemon *daemon);
void leat_daemon_begin_drain(struct leat_daemon *daemon, uint32_t timeout_ms);
