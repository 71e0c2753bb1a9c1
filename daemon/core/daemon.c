/* daemon.c: birth, loop and death of the daemon.
 *
 * Crash-only: stopping is crashing with good manners. The stop order stands in begin_stop and
 * settle, and nowhere else: no new clients, sessions told and closed, their feeds' jobs awaited,
 * then the handles that served them all.
 */
#include "daemon/core/daemon.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/core/endpoints.h"
#include "daemon/core/reload.h"
#include "daemon/metrics/look.h"
#include "daemon/schedule/pool.h"
#include "daemon/stream/feed.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "proto/base/shown.h"

#define BASE_BYTES       (UINT64_C(4) << 20) /* sessions, control, log */
#define THREAD_BYTES     (UINT64_C(256) << 10)
#define STOP_MS          900 /* then the system closes what is left */
#define DRAIN_DEFAULT_MS 30000

const char *leat_daemon_index_folder(const struct leat_daemon *daemon) {
    return daemon->indexes.path[0] ? daemon->indexes.path : NULL;
}

uint64_t leat_daemon_now_ns(void) {
    return uv_hrtime();
}

uint64_t leat_daemon_unix_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void leat_daemon_log_client(struct leat_daemon *daemon, uid_t uid, enum leat_event event,
                            const struct leat_log_field *fields) {
    leat_client_log_write(&daemon->client_log, &daemon->log, uid, leat_daemon_now_ns(), event,
                          fields);
}

/* ---- stop and drain ---- */

void leat_daemon_on_ended(struct leat_daemon *daemon) {
    daemon->has_ended_something = true;
}

static void on_deadline(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;

    leat_log_write(&daemon->log, LEAT_EVENT_STOPPED,
                   (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->n_sessions),
                                             LEAT_LOG_N("jobs", daemon->scheduler.n_submitted),
                                             LEAT_LOG_FIELDS_END});
    daemon->is_stuck = true;
    uv_stop(&daemon->loop);
}

void leat_daemon_begin_stop(struct leat_daemon *daemon) {
    struct leat_error why = LEAT_ERROR_INIT;

    if (daemon->is_stopping)
        return;
    daemon->is_stopping = true;
    leat_service_tell(daemon);
    leat_log_write(
        &daemon->log, LEAT_EVENT_STOPPING,
        (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->n_sessions), LEAT_LOG_FIELDS_END});
    leat_endpoints_stop(daemon);
    leat_lifeline_stop(&daemon->lifeline);
    leat_error_set(&why, -ESHUTDOWN, "the daemon is shutting down");
    for (struct leat_session *session = daemon->sessions, *next; session; session = next) {
        next = session->next;
        leat_session_abandon(session, &why);
    }
    for (struct leat_control *control = daemon->controls, *next; control; control = next) {
        next = control->next;
        leat_control_leave(control);
    }
    (void)uv_timer_start(&daemon->deadline, on_deadline,
                         daemon->options.stop_ms ? daemon->options.stop_ms : STOP_MS, 0);
    daemon->has_ended_something = true;
}

void leat_daemon_begin_drain(struct leat_daemon *daemon, uint32_t timeout_ms) {
    struct leat_error why = LEAT_ERROR_INIT;
    uint64_t deadline_ns =
        leat_daemon_now_ns() + UINT64_C(1000000) * (timeout_ms ? timeout_ms : DRAIN_DEFAULT_MS);

    if (!daemon->is_draining)
        leat_log_write(&daemon->log, LEAT_EVENT_DRAINING,
                       (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->n_sessions),
                                                 LEAT_LOG_FIELDS_END});
    daemon->is_draining = true;
    leat_endpoints_leave_trainers(daemon);
    daemon->drain_deadline_ns = deadline_ns;
    leat_service_tell(daemon);
    leat_error_set(&why, -ESHUTDOWN, "the daemon is draining");
    for (struct leat_session *session = daemon->sessions, *next; session; session = next) {
        next = session->next;
        leat_session_leave(session, &why);
        if (session->state == LEAT_SESSION_LEAVING)
            session->deadline_ns = deadline_ns;
    }
    daemon->has_ended_something = true;
}

static void stop_parts(struct leat_daemon *daemon) {
    leat_scheduler_stop(&daemon->scheduler);
    leat_reaper_stop(&daemon->reaper);
}

static void close_handles(struct leat_daemon *daemon) {
    daemon->are_handles_closed = true;
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    uv_close((uv_handle_t *)&daemon->hangup, NULL);
    uv_close((uv_handle_t *)&daemon->stop_async, NULL);
    uv_close((uv_handle_t *)&daemon->tick, NULL);
    uv_close((uv_handle_t *)&daemon->deadline, NULL);
    uv_close((uv_handle_t *)&daemon->prepare, NULL);
    uv_close((uv_handle_t *)&daemon->check, NULL);
    leat_control_pace_close(daemon);
    stop_parts(daemon);
}

/* Something ended: was it the last thing that a drain or a stop waited for? */
static void settle(struct leat_daemon *daemon) {
    if (!daemon->has_ended_something && !daemon->is_stopping)
        return;
    daemon->has_ended_something = false;
    if (daemon->is_draining && !daemon->sessions)
        leat_daemon_begin_stop(daemon);
    if (daemon->is_stopping && !daemon->are_handles_closed && !daemon->sessions && !daemon->feeds &&
        !daemon->controls && !daemon->reloads && leat_reaper_is_idle(&daemon->reaper) &&
        daemon->scheduler.n_submitted == 0)
        close_handles(daemon);
}

/* ---- the loop ---- */

/* Runs after every turn's events and before the loop sleeps: what the events changed is driven
 * once, however many there were. */
static void drive(struct leat_daemon *daemon) {
    leat_packed_forget(daemon);
    leat_feeds_flush(daemon);
    leat_memory_waits_check(daemon);
    leat_feeds_flush(daemon);
    settle(daemon);
}

/* A turn goes from one wait for events to the next. */
static void time_turn(struct leat_daemon *daemon) {
    struct leat_turns *turns = &daemon->turns;
    uint64_t at_ns = leat_daemon_now_ns(), idle_ns = uv_metrics_idle_time(&daemon->loop);
    uint64_t cpu_ns = leat_control_pace_now_ns();
    uint64_t taken_ns = at_ns - turns->at_ns - (idle_ns - turns->idle_ns);

    if (turns->at_ns > 0 && taken_ns > turns->longest_ns)
        turns->longest_ns = taken_ns;
    if (turns->at_ns > 0 && cpu_ns - turns->cpu_ns > turns->longest_cpu_ns)
        turns->longest_cpu_ns = cpu_ns - turns->cpu_ns;
    turns->at_ns = at_ns;
    turns->idle_ns = idle_ns;
    turns->cpu_ns = cpu_ns;
}

static void on_prepare(uv_prepare_t *prepare) {
    drive(prepare->data);
    time_turn(prepare->data);
}

static void on_check(uv_check_t *check) {
    drive(check->data);
}

static void on_signal(uv_signal_t *handle, int number) {
    (void)number;
    leat_daemon_begin_stop(handle->data);
}

static void on_hangup(uv_signal_t *handle, int number) {
    (void)number;
    leat_reload_by_signal(handle->data);
}

static void on_end(struct leat_lifeline *lifeline) {
    leat_daemon_begin_stop(lifeline->owner);
}

static void on_stop(uv_async_t *async) {
    leat_daemon_begin_stop(async->data);
}

static void on_tick(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;
    uint64_t now_ns = leat_daemon_now_ns();

    for (struct leat_session *session = daemon->sessions, *next; session; session = next) {
        next = session->next;
        leat_session_tick(session, now_ns);
    }
    leat_feeds_tick(daemon);
    leat_client_log_tick(&daemon->client_log, &daemon->log, now_ns);
    leat_log_tell_lost(&daemon->log);
    leat_looks_tick(daemon, now_ns);
    leat_monitor_tick(&daemon->monitor, daemon);
    if (daemon->budget.limit_bytes != UINT64_MAX && !daemon->is_stopping)
        leat_heap_tick(&daemon->heap, &daemon->scheduler);
    leat_service_tick(daemon, now_ns);
    if (daemon->is_draining && now_ns >= daemon->drain_deadline_ns)
        leat_daemon_begin_stop(daemon);
    daemon->has_ended_something = true;
}

void leat_daemon_stop(struct leat_daemon *daemon) {
    (void)uv_async_send(&daemon->stop_async);
}

static int init_handles(struct leat_daemon *daemon) {
    static const int numbers[2] = {SIGTERM, SIGINT};
    uint64_t tick_ms = leat_service_tick_ms(&daemon->service);
    uv_loop_t *loop = &daemon->loop;
    int r = uv_async_init(loop, &daemon->stop_async, on_stop);

    if (r < 0)
        return r;
    daemon->has_handles = true;
    for (int i = 0; i < 2; i++) {
        (void)uv_signal_init(loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
    }
    (void)uv_signal_init(loop, &daemon->hangup);
    daemon->hangup.data = daemon;
    (void)uv_timer_init(loop, &daemon->tick);
    (void)uv_timer_init(loop, &daemon->deadline);
    leat_control_pace_init(daemon);
    (void)uv_prepare_init(loop, &daemon->prepare);
    (void)uv_check_init(loop, &daemon->check);
    daemon->tick.data = daemon->deadline.data = daemon;
    daemon->prepare.data = daemon->check.data = daemon;
    daemon->stop_async.data = daemon;
    (void)uv_prepare_start(&daemon->prepare, on_prepare);
    (void)uv_check_start(&daemon->check, on_check);
    (void)uv_timer_start(&daemon->tick, on_tick, tick_ms, tick_ms);
    for (int i = 0; i < 2 && r == 0; i++)
        r = uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
    if (r == 0)
        r = uv_signal_start(&daemon->hangup, on_hangup, SIGHUP);
    daemon->lifeline.owner = daemon;
    daemon->lifeline.on_end = on_end;
    return r == 0 ? leat_lifeline_watch(&daemon->lifeline, loop) : r;
}

int leat_daemon_run(struct leat_daemon *daemon, struct leat_error *err) {
    int r = leat_endpoints_start(daemon, err);

    if (r < 0)
        return r;
    leat_monitor_tick(&daemon->monitor, daemon); /* with which the first second begins */
    leat_service_start(daemon);
    (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    if (daemon->is_stuck)
        return LEAT_DAEMON_STUCK;
    assert(daemon->are_handles_closed);
    leat_log_write(
        &daemon->log, LEAT_EVENT_STOPPED,
        (struct leat_log_field[]){LEAT_LOG_N("batches", daemon->n_batches), LEAT_LOG_FIELDS_END});
    return 0;
}

/* ---- birth and death ---- */

static void log_lowered(struct leat_daemon *daemon, const struct leat_limits *limits) {
    leat_log_write(&daemon->log, LEAT_EVENT_MEMORY,
                   (struct leat_log_field[]){
                       LEAT_LOG_N("max_ring_bytes", limits->total[LEAT_CHARGE_RING_BYTES]),
                       LEAT_LOG_N("memory", leat_process_memory_limit()), LEAT_LOG_FIELDS_END});
}

static uint32_t choose_workers(const struct leat_daemon *daemon) {
    return (uint32_t)(daemon->options.workers ? daemon->options.workers
                                              : daemon->settings->workers);
}

/* Something of the process itself, which lives as long as that. */
static int claim(struct leat_daemon *daemon, uint64_t n_bytes, struct leat_error *err) {
    uint64_t bytes = daemon->base.guaranteed_bytes + n_bytes;
    char limit[LEAT_SHOW_BYTES_MAX], own[LEAT_SHOW_BYTES_MAX];

    if (leat_account_guarantee(&daemon->base, bytes) < 0)
        return leat_config_error(&daemon->settings->base, "memory_limit", err,
                                 "%s is less than the %s that the daemon takes itself",
                                 leat_show_bytes(daemon->budget.limit_bytes, limit),
                                 leat_show_bytes(bytes, own));
    leat_account_change(&daemon->base, LEAT_MEMORY_PROCESS, 0, n_bytes);
    return 0;
}

/* What the process has before the first stream, with the stacks of its threads, is claimed too. */
static int init_budget(struct leat_daemon *daemon, struct leat_error *err) {
    const struct leat_settings *settings = daemon->settings;
    uint32_t n_workers = choose_workers(daemon);
    struct leat_process process;

    leat_budget_init(&daemon->budget, UINT64_MAX);
    leat_configuration_fit_budget(settings, true, &daemon->budget);
    leat_budget_user_init(&daemon->operator_memory, &daemon->budget);
    daemon->operator_memory.is_operator = true;
    (void)leat_account_open(&daemon->base, &daemon->budget, 0);
    leat_process_read(&process);
    return claim(daemon,
                 process.rss_bytes + BASE_BYTES +
                     (n_workers + leat_scheduler_n_beside(n_workers)) * THREAD_BYTES +
                     leat_monitor_bytes(daemon->budget.limit_bytes),
                 err);
}

/* Its socket may have been passed, so this is known only when that is open. */
static int claim_http(struct leat_daemon *daemon, struct leat_error *err) {
    uint64_t bytes = LEAT_HTTP_BYTES + leat_monitor_bytes(daemon->budget.limit_bytes);

    return leat_http_is_open(&daemon->http) ? claim(daemon, bytes, err) : 0;
}

static void end_budget(struct leat_daemon *daemon) {
    leat_account_change(&daemon->base, LEAT_MEMORY_PROCESS,
                        daemon->base.pools[LEAT_MEMORY_PROCESS].current_bytes, 0);
    leat_account_close(&daemon->base);
    assert(daemon->budget.used_bytes == 0 && daemon->budget.claimed_bytes == 0);
}

static int init_parts(struct leat_daemon *daemon, const struct leat_configuration *configuration,
                      struct leat_error *err) {
    const struct leat_settings *settings = daemon->settings;
    int r;

    leat_log_init(&daemon->log, daemon->options.log_fd, (enum leat_log_format)settings->log,
                  (enum leat_log_level)(LEAT_LOG_ERROR + settings->log_level));
    if (configuration->is_lowered)
        log_lowered(daemon, &configuration->limits);
    r = init_budget(daemon, err);
    if (r < 0)
        return r;
    if (leat_monitor_init(&daemon->monitor, leat_monitor_bytes(daemon->budget.limit_bytes)) < 0)
        return leat_error_oom(err);
    leat_users_init(&daemon->users, &configuration->limits, &daemon->budget);
    leat_rights_init(&daemon->rights, settings);
    leat_users_set_weights(&daemon->users, settings->weights, settings->n_weights);
    daemon->n_workers = choose_workers(daemon);
    r = leat_pool_start(leat_scheduler_n_threads(daemon->n_workers), err);
    if (r < 0)
        return r;
    r = leat_streams_init(&daemon->streams, settings->streams, settings->n_streams);
    if (r < 0)
        return leat_error_set(err, r, "%s", strerror(-r));
    leat_tuner_store_init(&daemon->tuners, settings->state_directory, daemon->n_workers,
                          (uint64_t)settings->memory_limit);
    leat_descriptions_init(&daemon->descriptions, settings->state_directory);
    leat_state_folder_init(&daemon->indexes, settings->state_directory, "index", ".leat", 0, 0);
    r = leat_service_init(&daemon->service,
                          leat_scheduler_n_threads(daemon->n_workers) +
                              leat_scheduler_n_beside(daemon->n_workers),
                          (uint64_t)settings->worker_timeout * UINT64_C(1000000000));
    return r < 0 ? leat_error_oom(err) : 0;
}

static int init_loop(struct leat_daemon *daemon, struct leat_error *err) {
    int r = uv_loop_init(&daemon->loop);

    if (r < 0)
        return leat_error_set(err, r, "event loop: %s", uv_strerror(r));
    daemon->has_loop = true;
    (void)uv_loop_configure(&daemon->loop, UV_METRICS_IDLE_TIME);
    r = leat_scheduler_init(&daemon->scheduler, &daemon->loop, daemon->n_workers);
    daemon->scheduler.heartbeat = &daemon->service.heartbeat;
    if (r == 0)
        r = leat_reaper_init(&daemon->reaper, &daemon->loop);
    if (r == 0)
        r = init_handles(daemon);
    return r < 0 ? leat_error_set(err, r, "event loop: %s", uv_strerror(r)) : 0;
}

static int init(struct leat_daemon *daemon, struct leat_error *err) {
    struct leat_configuration configuration;
    int r = leat_lifeline_open(&daemon->lifeline, daemon->options.end_with,
                               daemon->options.socket_dir, err);

    if (r == 0)
        r = leat_configuration_read(daemon->options.config_file, &daemon->options.overrides,
                                    &configuration, err);
    if (r < 0)
        return r;
    daemon->settings = configuration.settings;
    daemon->roots = configuration.roots;
    daemon->has_roots = daemon->settings->roots.n_items > 0;
    r = init_parts(daemon, &configuration, err);
    if (r == 0)
        r = init_loop(daemon, err);
    if (r == 0)
        r = leat_endpoints_open(daemon, err);
    if (r < 0)
        return r;
    leat_configuration_fit_budget(daemon->settings, leat_endpoints_are_private(daemon),
                                  &daemon->budget);
    return claim_http(daemon, err);
}

int leat_daemon_new(const struct leat_daemon_options *options, struct leat_daemon **ret_daemon,
                    struct leat_error *err) {
    struct leat_daemon *daemon = calloc(1, sizeof(*daemon));
    int r;

    if (!daemon)
        return leat_error_oom(err);
    daemon->options = *options;
    daemon->start_ns = leat_daemon_now_ns();
    daemon->start_unix_ns = leat_daemon_unix_ns();
    daemon->last_reload_ok = true;
    daemon->reaper = (struct leat_reaper){.to_thread = {-1, -1}, .from_thread = {-1, -1}};
    daemon->lifeline = LEAT_LIFELINE_INIT;
    leat_http_init(&daemon->http);
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        daemon->listeners[i].fd = daemon->listeners[i].reserve_fd = -1;
    r = init(daemon, err);
    if (r < 0) {
        leat_daemon_free(daemon);
        return r;
    }
    *ret_daemon = daemon;
    return 0;
}

/* Closes what a daemon that never ran has open. */
static void end_loop(struct leat_daemon *daemon) {
    int r;

    if (!daemon->are_handles_closed && daemon->has_handles)
        close_handles(daemon);
    else if (!daemon->are_handles_closed)
        stop_parts(daemon);
    (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    leat_scheduler_deinit(&daemon->scheduler);
    r = uv_loop_close(&daemon->loop);
    assert(r == 0); /* every handle was closed */
    (void)r;
}

struct leat_daemon *leat_daemon_free(struct leat_daemon *daemon) {
    if (!daemon)
        return NULL;
    assert(!daemon->sessions && !daemon->feeds && !daemon->controls && !daemon->reloads);
    leat_packed_forget(daemon);
    leat_endpoints_stop(daemon);
    leat_lifeline_stop(&daemon->lifeline);
    if (daemon->has_loop)
        end_loop(daemon);
    leat_service_deinit(&daemon->service);
    leat_http_deinit(&daemon->http);
    leat_monitor_deinit(&daemon->monitor);
    leat_reaper_deinit(&daemon->reaper);
    leat_roots_unref(daemon->roots);
    leat_streams_deinit(&daemon->streams);
    leat_users_deinit(&daemon->users);
    if (daemon->base.budget)
        end_budget(daemon);
    leat_settings_free(daemon->settings);
    free(daemon);
    return NULL;
}
