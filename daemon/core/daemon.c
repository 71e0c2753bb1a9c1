/* daemon.c: starts, runs and stops the daemon.
 *
 * Only leat_daemon_begin_stop() and settle() know the order of a stop: no new clients, sessions
 * are told and closed, jobs of their feeds come back, then all handles are closed.
 */
#include "daemon/core/daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/core/sandbox.h"
#include "daemon/metrics/verdict_samples.h"
#include "daemon/stream/feed.h"
#include "daemon/system/process.h"
#include "daemon/trainer/session.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"
#include "proto/base/text.h"

#define BASE_BYTES       (UINT64_C(4) << 20) /* sessions, control, log */
#define THREAD_BYTES     (UINT64_C(256) << 10)
#define STOP_MS          900 /* then the process ends, and the system closes the rest */
#define DRAIN_DEFAULT_MS 30000
#define SHORT_TURN_NS    UINT64_C(1000000)

/* ---- stop and drain ---- */

static void on_deadline(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;

    leat_log_write(&daemon->log, LEAT_EVENT_STOPPED,
                   (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->sessions.n_sessions),
                                             LEAT_LOG_N("tasks", daemon->scheduler.n_submitted),
                                             LEAT_LOG_FIELDS_END});
    daemon->is_stuck = true;
    uv_stop(&daemon->loop);
}

void leat_daemon_begin_stop(struct leat_daemon *daemon) {
    struct leat_error why = LEAT_ERROR_INIT;

    if (daemon->env.is_stopping)
        return;
    daemon->env.is_stopping = true;
    leat_service_tell(&daemon->service);
    leat_log_write(&daemon->log, LEAT_EVENT_STOPPING,
                   (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->sessions.n_sessions),
                                             LEAT_LOG_FIELDS_END});
    leat_endpoints_stop(&daemon->endpoints);
    leat_parent_watch_stop(&daemon->parent);
    leat_error_set(&why, -ESHUTDOWN, "the daemon is shutting down");
    for (struct leat_session *session = daemon->sessions.first, *next; session; session = next) {
        next = session->next;
        leat_session_abandon(session, &why);
    }
    for (struct leat_control *control = daemon->controls.first, *next; control; control = next) {
        next = control->next;
        leat_control_leave(control);
    }
    (void)uv_timer_start(&daemon->deadline, on_deadline,
                         daemon->options.stop_ms ? daemon->options.stop_ms : STOP_MS, 0);
    daemon->env.has_ended = true;
}

void leat_daemon_begin_drain(struct leat_daemon *daemon, uint32_t timeout_ms) {
    struct leat_error why = LEAT_ERROR_INIT;
    uint64_t deadline_ns =
        leat_now_ns() + UINT64_C(1000000) * (timeout_ms ? timeout_ms : DRAIN_DEFAULT_MS);

    if (!daemon->env.is_draining)
        leat_log_write(
            &daemon->log, LEAT_EVENT_DRAINING,
            (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->sessions.n_sessions),
                                      LEAT_LOG_FIELDS_END});
    daemon->env.is_draining = true;
    leat_endpoints_leave_trainers(&daemon->endpoints);
    daemon->env.drain_deadline_ns = deadline_ns;
    leat_service_tell(&daemon->service);
    leat_error_set(&why, -ESHUTDOWN, "the daemon is draining");
    for (struct leat_session *session = daemon->sessions.first, *next; session; session = next) {
        next = session->next;
        leat_session_leave(session, &why);
        if (session->state == LEAT_SESSION_LEAVING)
            session->deadline_ns = deadline_ns;
    }
    daemon->env.has_ended = true;
}

static void stop_parts(struct leat_daemon *daemon) {
    leat_scheduler_stop(&daemon->scheduler);
    leat_socket_closer_stop(&daemon->closer);
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
    leat_controls_close(&daemon->controls);
    stop_parts(daemon);
}

/* Goes on with a drain or a stop, if the last thing that it waited for has ended. */
static void settle(struct leat_daemon *daemon) {
    if (!daemon->env.has_ended && !daemon->env.is_stopping)
        return;
    daemon->env.has_ended = false;
    leat_endpoints_resume(&daemon->endpoints);
    if (daemon->env.is_draining && !daemon->sessions.first)
        leat_daemon_begin_stop(daemon);
    if (daemon->env.is_stopping && !daemon->are_handles_closed && !daemon->sessions.first &&
        !daemon->feeds.first && !daemon->controls.first && !daemon->reloads.first &&
        leat_socket_closer_is_idle(&daemon->closer) && daemon->scheduler.n_submitted == 0)
        close_handles(daemon);
}

/* ---- the loop ---- */

/* Runs after each turn's events and before the loop sleeps, so that many events together drive
 * feeds and sessions once. */
static void drive(struct leat_daemon *daemon) {
    leat_packed_forget(&daemon->controls.answer);
    leat_feeds_flush(&daemon->feeds);
    leat_memory_waits_check(&daemon->feeds);
    leat_feeds_flush(&daemon->feeds);
    settle(daemon);
}

/* A turn goes from one wait for events to the next. The clock of processor time is a system call,
 * so short turns are timed together. */
static void time_turn(struct leat_daemon *daemon) {
    struct leat_turns *turns = &daemon->env.turns;
    uint64_t at_ns = leat_now_ns(), idle_ns = uv_metrics_idle_time(&daemon->loop);
    uint64_t taken_ns = at_ns - turns->at_ns - (idle_ns - turns->idle_ns);
    if (turns->at_ns > 0 && taken_ns > turns->longest_ns)
        turns->longest_ns = taken_ns;
    if (at_ns - turns->cpu_at_ns > SHORT_TURN_NS) {
        uint64_t cpu_ns = leat_thread_ns(), used_ns = cpu_ns - turns->cpu_ns;

        used_ns = used_ns < taken_ns ? used_ns : taken_ns;
        if (turns->at_ns > 0 && used_ns > turns->longest_cpu_ns)
            turns->longest_cpu_ns = used_ns;
        turns->cpu_ns = cpu_ns;
        turns->cpu_at_ns = at_ns;
    }
    turns->at_ns = at_ns;
    turns->idle_ns = idle_ns;
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
    leat_reload_by_signal(&((struct leat_daemon *)handle->data)->reloads);
}

static void on_end(struct leat_parent_watch *parent) {
    leat_daemon_begin_stop(parent->owner);
}

static void on_stop(uv_async_t *async) {
    leat_daemon_begin_stop(async->data);
}

static void on_tick(uv_timer_t *timer) {
    struct leat_daemon *daemon = timer->data;
    uint64_t now_ns = leat_now_ns();

    for (struct leat_session *session = daemon->sessions.first, *next; session; session = next) {
        next = session->next;
        leat_session_tick(session, now_ns);
    }
    leat_feeds_tick(&daemon->feeds);
    leat_client_log_tick(&daemon->client_log, &daemon->log, now_ns);
    leat_log_tell_lost(&daemon->log);
    leat_verdict_samples_tick(&daemon->sessions, now_ns);
    leat_monitor_tick(&daemon->monitor);
    if (daemon->budget.limit_bytes != UINT64_MAX && !daemon->env.is_stopping)
        leat_heap_tick(&daemon->feeds.heap, &daemon->scheduler);
    leat_service_tick(&daemon->service, now_ns);
    if (daemon->env.is_draining && now_ns >= daemon->env.drain_deadline_ns)
        leat_daemon_begin_stop(daemon);
    daemon->env.has_ended = true;
}

void leat_daemon_stop(struct leat_daemon *daemon) {
    (void)uv_async_send(&daemon->stop_async);
}

static void on_widest(uv_poll_t *poll, int status, int events) {
    (void)poll, (void)status, (void)events;
}

/* libuv ends the process if it lacks memory for a larger table of descriptors. So the table gets
 * its full size at the start, by a descriptor with the highest number. */
static int widen_table(struct leat_daemon *daemon) {
    int fd = leat_process_widest_descriptor(), r;

    if (fd < 0)
        return 0;
    r = uv_poll_init(&daemon->loop, &daemon->widest, fd);
    if (r == 0) {
        r = uv_poll_start(&daemon->widest, UV_READABLE, on_widest);
        uv_close((uv_handle_t *)&daemon->widest, NULL);
    }
    (void)close(fd);
    return r;
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
    leat_controls_init(&daemon->controls);
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
    daemon->parent.owner = daemon;
    daemon->parent.on_end = on_end;
    if (r == 0)
        r = leat_parent_watch_start(&daemon->parent, loop);
    return r == 0 ? widen_table(daemon) : r;
}

int leat_daemon_run(struct leat_daemon *daemon, struct leat_error *err) {
    const struct leat_listener *trainers = &daemon->endpoints.listeners[LEAT_ENDPOINT_TRAINER];
    int r = leat_endpoints_start(&daemon->endpoints, err);

    if (r < 0)
        return r;
    leat_monitor_tick(&daemon->monitor); /* the first reading, from which rates are counted */
    leat_service_start(&daemon->service, trainers->path ? trainers->path : "(passed)");
    (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
    if (daemon->is_stuck)
        return LEAT_DAEMON_STUCK;
    assert(daemon->are_handles_closed);
    leat_log_write(&daemon->log, LEAT_EVENT_STOPPED,
                   (struct leat_log_field[]){LEAT_LOG_N("batches", daemon->sessions.n_batches),
                                             LEAT_LOG_FIELDS_END});
    return 0;
}

/* ---- making and freeing ---- */

static void log_lowered(struct leat_daemon *daemon, const struct leat_limits *limits) {
    leat_log_write(&daemon->log, LEAT_EVENT_MEMORY,
                   (struct leat_log_field[]){
                       LEAT_LOG_N("max_ring_bytes", limits->total[LEAT_CHARGE_RING_BYTES]),
                       LEAT_LOG_N("memory", leat_process_memory_limit()), LEAT_LOG_FIELDS_END});
}

static uint32_t choose_workers(const struct leat_daemon *daemon) {
    return (uint32_t)(daemon->options.workers ? daemon->options.workers
                                              : daemon->env.settings->workers);
}

/* Claims memory of the process itself, for as long as it lives. */
static int claim(struct leat_daemon *daemon, uint64_t n_bytes, struct leat_error *err) {
    uint64_t bytes = daemon->base.guaranteed_bytes + n_bytes;
    char limit[LEAT_SHOW_BYTES_MAX], own[LEAT_SHOW_BYTES_MAX];

    if (leat_account_guarantee(&daemon->base, bytes) < 0)
        return leat_config_error(&daemon->env.settings->base, "memory_limit", err,
                                 "%s is too little: the daemon itself needs %s",
                                 leat_show_bytes(daemon->budget.limit_bytes, limit),
                                 leat_show_bytes(bytes, own));
    leat_account_change(&daemon->base, LEAT_MEMORY_PROCESS, 0, n_bytes);
    return 0;
}

/* Claims what the process has before the first stream, with the stacks of its threads. */
static int init_budget(struct leat_daemon *daemon, struct leat_error *err) {
    const struct leat_settings *settings = daemon->env.settings;
    uint32_t n_workers = choose_workers(daemon);
    struct leat_process process;

    leat_budget_init(&daemon->budget, UINT64_MAX);
    leat_configuration_fit_budget(settings, true, &daemon->budget);
    leat_budget_user_init(&daemon->feeds.operator_memory, &daemon->budget);
    daemon->feeds.operator_memory.is_operator = true;
    (void)leat_account_open(&daemon->base, &daemon->budget, 0);
    leat_process_read(&process);
    return claim(daemon,
                 process.rss_bytes + BASE_BYTES +
                     (n_workers + leat_scheduler_n_overflow(n_workers)) * THREAD_BYTES +
                     leat_monitor_bytes(daemon->budget.limit_bytes),
                 err);
}

/* Called once the sockets are open, as that for HTTP may have been passed. */
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

static void begin_samples(void *user, struct leat_daemon_stream *stream) {
    leat_verdict_samples_begin(user, stream);
}

static int init_parts(struct leat_daemon *daemon, const struct leat_configuration *configuration,
                      struct leat_error *err) {
    const struct leat_settings *settings = daemon->env.settings;
    int r;

    leat_log_init(&daemon->log, daemon->options.log_fd, (enum leat_log_format)settings->log,
                  (enum leat_log_level)(LEAT_LOG_ERROR + settings->log_level));
    if (configuration->is_lowered)
        log_lowered(daemon, &configuration->limits);
    r = init_budget(daemon, err);
    if (r < 0)
        return r;
    if (leat_monitor_init(&daemon->monitor, &daemon->sessions, &daemon->http,
                          leat_monitor_bytes(daemon->budget.limit_bytes)) < 0)
        return leat_error_oom(err);
    leat_users_init(&daemon->users, &configuration->limits, &daemon->budget);
    leat_rights_init(&daemon->controls.rights, &settings->control_groups, &settings->admin_groups);
    leat_users_set_weights(&daemon->users, settings->weights, settings->n_weights);
    daemon->env.n_workers = choose_workers(daemon);
    r = leat_streams_init(&daemon->feeds.streams, settings->streams, settings->n_streams);
    if (r < 0)
        return leat_error_set(err, r, "%s", strerror(-r));
    daemon->feeds.streams.on_run = begin_samples;
    daemon->feeds.streams.user = &daemon->sessions;
    leat_tuner_store_init(&daemon->feeds.tuners, settings->state_directory, daemon->env.n_workers,
                          (uint64_t)settings->memory_limit);
    leat_descriptions_init(&daemon->sessions.descriptions, settings->state_directory);
    leat_data_kept_init(&daemon->sessions.kept_data, settings->state_directory);
    leat_state_folder_init(&daemon->feeds.indexes, settings->state_directory, "index", ".leat", 0,
                           0);
    r = leat_service_init(&daemon->service, &daemon->sessions,
                          leat_scheduler_n_threads(daemon->env.n_workers) +
                              leat_scheduler_n_overflow(daemon->env.n_workers),
                          (uint64_t)settings->worker_timeout * UINT64_C(1000000000));
    return r < 0 ? leat_error_oom(err) : 0;
}

/* libuv ends the process if it cannot make its first pipe. */
static int try_pipe(struct leat_error *err) {
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return leat_error_set(err, -errno, "the daemon cannot create a pipe: %s", strerror(errno));
    (void)close(ends[0]);
    (void)close(ends[1]);
    return 0;
}

static int init_loop(struct leat_daemon *daemon, struct leat_error *err) {
    int r = uv_loop_init(&daemon->loop);

    if (r < 0)
        return leat_error_set(err, r, "the daemon cannot start its event loop: %s", uv_strerror(r));
    daemon->has_loop = true;
    (void)uv_loop_configure(&daemon->loop, UV_METRICS_IDLE_TIME);
    r = leat_scheduler_init(&daemon->scheduler, &daemon->loop, daemon->env.n_workers, err);
    daemon->scheduler.heartbeat = &daemon->service.heartbeat;
    if (r < 0)
        return r;
    r = leat_socket_closer_init(&daemon->closer, &daemon->loop);
    if (r == 0)
        r = init_handles(daemon);
    return r < 0 ? leat_error_set(err, r, "the daemon cannot start its event loop: %s",
                                  uv_strerror(r))
                 : 0;
}

static int init(struct leat_daemon *daemon, struct leat_error *err) {
    struct leat_configuration configuration;
    int r = leat_parent_watch_open(&daemon->parent, daemon->options.end_with,
                                   daemon->options.socket_dir, err);

    if (r == 0)
        r = leat_configuration_read(daemon->options.config_file, &daemon->options.overrides,
                                    &configuration, err);
    if (r < 0)
        return r;
    daemon->env.settings = configuration.settings;
    daemon->env.roots = configuration.roots;
    r = init_parts(daemon, &configuration, err);
    if (r == 0)
        r = leat_endpoints_open(&daemon->endpoints, err);
    if (r == 0 && daemon->options.is_sandboxed)
        r = leat_sandbox_enter(&daemon->endpoints, daemon->feeds.indexes.path, err);
    if (r == 0)
        r = try_pipe(err);
    if (r == 0) /* threads begin here */
        r = init_loop(daemon, err);
    if (r < 0)
        return r;
    leat_configuration_fit_budget(daemon->env.settings,
                                  leat_endpoints_are_private(&daemon->endpoints), &daemon->budget);
    return claim_http(daemon, err);
}

static struct leat_daemon *daemon_of(struct leat_controls *controls) {
    return LEAT_CONTAINER_OF(controls, struct leat_daemon, controls);
}

static void on_drain(struct leat_controls *controls, uint32_t timeout_ms) {
    leat_daemon_begin_drain(daemon_of(controls), timeout_ms);
}

static void on_reload(struct leat_control *control, bool only_checks) {
    leat_reload_start(&daemon_of(control->controls)->reloads, control, only_checks);
}

/* Gives each part the other parts that it may know. */
static void link_parts(struct leat_daemon *daemon) {
    static const struct leat_control_ops control_ops = {
        .drain = on_drain, .reload = on_reload, .abandon_reload = leat_reload_abandon};
    struct leat_env *env = &daemon->env;

    *env = (struct leat_env){.loop = &daemon->loop,
                             .log = &daemon->log,
                             .client_log = &daemon->client_log,
                             .users = &daemon->users,
                             .scheduler = &daemon->scheduler,
                             .budget = &daemon->budget,
                             .closer = &daemon->closer,
                             .is_unfused = daemon->options.is_unfused,
                             .start_ns = leat_now_ns(),
                             .start_unix_ns = leat_unix_ns(),
                             .sandbox = "",
                             .is_reload_good = true};
    daemon->feeds.env = env;
    daemon->sessions.env = env;
    daemon->sessions.feeds = &daemon->feeds;
    daemon->controls.env = env;
    daemon->controls.feeds = &daemon->feeds;
    daemon->controls.sessions = &daemon->sessions;
    daemon->controls.monitor = &daemon->monitor;
    daemon->controls.ops = &control_ops;
    daemon->endpoints.env = env;
    daemon->endpoints.sessions = &daemon->sessions;
    daemon->endpoints.controls = &daemon->controls;
    daemon->endpoints.http = &daemon->http;
    daemon->endpoints.directory = daemon->options.socket_dir;
    daemon->endpoints.is_of_process = daemon->options.end_with != 0;
    daemon->reloads = (struct leat_reloads){.env = env,
                                            .sessions = &daemon->sessions,
                                            .controls = &daemon->controls,
                                            .endpoints = &daemon->endpoints,
                                            .service = &daemon->service,
                                            .config_file = daemon->options.config_file,
                                            .overrides = &daemon->options.overrides};
}

int leat_daemon_new(const struct leat_daemon_options *options, struct leat_daemon **ret_daemon,
                    struct leat_error *err) {
    struct leat_daemon *daemon = calloc(1, sizeof(*daemon));
    int r;

    if (!daemon)
        return leat_error_oom(err);
    daemon->options = *options;
    link_parts(daemon);
    daemon->closer = (struct leat_socket_closer){.to_thread = {-1, -1}, .from_thread = {-1, -1}};
    daemon->parent = LEAT_PARENT_WATCH_INIT;
    leat_endpoints_init(&daemon->endpoints);
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
    assert(!daemon->sessions.first && !daemon->feeds.first && !daemon->controls.first &&
           !daemon->reloads.first);
    leat_packed_forget(&daemon->controls.answer);
    leat_endpoints_stop(&daemon->endpoints);
    leat_parent_watch_stop(&daemon->parent);
    if (daemon->has_loop)
        end_loop(daemon);
    leat_service_deinit(&daemon->service);
    leat_http_deinit(&daemon->http);
    leat_monitor_deinit(&daemon->monitor);
    leat_socket_closer_deinit(&daemon->closer);
    leat_roots_unref(daemon->env.roots);
    leat_streams_deinit(&daemon->feeds.streams);
    leat_users_deinit(&daemon->users);
    if (daemon->base.budget)
        end_budget(daemon);
    leat_settings_free(daemon->env.settings);
    free(daemon);
    return NULL;
}
