/* daemon.h: the one object that all of the daemon's parts know: the loop and what they share.
 *
 * Owner: loop. leat_daemon_run() is the whole life of it; leat_daemon_stop() may be called from any
 * thread. Nothing is static, so that tests can run several.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "daemon/config/rights.h"
#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "daemon/control/pace.h"
#include "daemon/control/packed.h"
#include "daemon/core/service.h"
#include "daemon/log/log.h"
#include "daemon/metrics/http.h"
#include "daemon/metrics/monitor.h"
#include "daemon/net/lifeline.h"
#include "daemon/net/listener.h"
#include "daemon/net/reaper.h"
#include "daemon/schedule/heap.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/admission.h"
#include "daemon/stream/stream.h"
#include "daemon/stream/tuner_store.h"
#include "daemon/users/client_log.h"
#include "daemon/users/user.h"
#include "pipeline/plan/description.h"
#include "proto/packet.h"

enum leat_endpoint {
    LEAT_ENDPOINT_TRAINER, /* SOCK_SEQPACKET: batches are mapped */
    LEAT_ENDPOINT_COPY,    /* SOCK_STREAM: batches are copied */
    LEAT_ENDPOINT_CONTROL, /* SOCK_STREAM: leatctl */
    LEAT_N_ENDPOINTS,
};

struct leat_daemon_options {
    const char *config_file; /* NULL: there is none, all settings are at their defaults */
    int64_t end_with;        /* the process whose daemon it is, with which it ends; 0: nobody's */
    const char *socket_dir;  /* NULL: as the settings and the environment say */
    int64_t workers;         /* 0: as the settings say */
    bool is_unfused;         /* each per-record stage is a job of its own */
    int log_fd;
    uint64_t stop_ms; /* that a stop waits for work at most; 0: less than a second */
    struct leat_settings_overrides overrides;
};

/* How long the loop was busy with one turn, in which nobody else was heard. */
struct leat_turns {
    uint64_t at_ns, idle_ns, cpu_ns; /* at the beginning of this one */
    uint64_t longest_ns;             /* by the clock on the wall */
    uint64_t longest_cpu_ns;         /* of processor time: what other processes take is not in it */
};

struct leat_session;
struct leat_share;
struct leat_feed;
struct leat_control;

struct leat_daemon {
    uv_loop_t loop;
    struct leat_daemon_options options;
    struct leat_settings *settings;
    uint32_t n_workers;
    uint64_t start_ns, start_unix_ns;
    struct leat_log log;
    struct leat_client_log client_log;
    struct leat_users users;
    struct leat_rights rights; /* on the control socket */
    struct leat_scheduler scheduler;
    struct leat_service service;
    struct leat_reaper reaper;
    struct leat_roots *roots;
    bool has_roots; /* given in the settings */
    struct leat_streams streams;
    struct leat_tuner_store tuners;        /* what they keep */
    struct leat_state_folder indexes;      /* of streams without a cache: its path */
    struct leat_descriptions descriptions; /* of what was served, for positions that do not fit */
    struct leat_listener listeners[LEAT_N_ENDPOINTS];
    struct leat_door door; /* of all of them */

    struct leat_session *sessions;
    struct leat_feed *feeds;
    struct leat_feed *dirty_feeds;
    struct leat_session *dirty_sessions;
    struct leat_share *shares;
    uint32_t n_feeds;
    struct leat_budget budget;               /* of all memory */
    struct leat_account base;                /* of the process itself */
    struct leat_budget_user operator_memory; /* what a reload looks at */
    struct leat_heap heap;
    struct leat_memory_wait *memory_waits;
    struct leat_control *controls;
    struct leat_control_pace pace;
    struct leat_turns turns;
    struct leat_packed_answer answer;
    struct leat_reload *reloads; /* under way, and those that wait for it */
    uint64_t n_reloads, last_reload_ns;
    bool last_reload_ok; /* true before the first one */
    uint32_t n_tracings;
    uint32_t n_sessions; /* closing ones included */
    uint64_t n_batches, n_rows, n_refused;
    uint64_t next_session, next_generation, next_feed;

    struct leat_monitor monitor;
    struct leat_http http;
    struct leat_lifeline lifeline;
    uv_signal_t signals[2], hangup;
    uv_async_t stop_async;
    uv_timer_t tick, deadline;
    uv_prepare_t prepare;
    uv_check_t check;
    bool has_loop, has_handles, are_handles_closed;
    bool is_draining, is_stopping;
    bool is_stuck; /* a stop has waited for long enough */
    uint64_t drain_deadline_ns;
    uint64_t exhausted_ns; /* when the lack of descriptors was last logged */
    bool has_ended_something;

    uint8_t payload[LEAT_PACKET_PAYLOAD_MAX]; /* of the packet being looked at */
};

/* Reads the settings, makes the sockets and starts the pool's threads: only the first daemon of a
 * process can choose its number of workers. An error with a file is the configuration's fault. */
int leat_daemon_new(const struct leat_daemon_options *options, struct leat_daemon **ret_daemon,
                    struct leat_error *err);
/* A stop has waited for long enough for work that hangs: all that is left is to end the process. */
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
/* Something ended: perhaps it was what a stop or a drain waited for. */
void leat_daemon_on_ended(struct leat_daemon *daemon);
uint64_t leat_daemon_now_ns(void);
uint64_t leat_daemon_unix_ns(void); /* since 1970 */
/* An event that a client of that user caused: there may only be so many. */
void leat_daemon_log_client(struct leat_daemon *daemon, uid_t uid, enum leat_event event,
                            const struct leat_log_field *fields);
/* Where indexes of blocks are kept of streams that do not say; NULL: nowhere. */
const char *leat_daemon_index_folder(const struct leat_daemon *daemon);
