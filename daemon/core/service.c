/* service.c: see service.h. Without a service manager (NOTIFY_SOCKET) messages go nowhere; the log
 * has them, too. */
#include "daemon/core/service.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/log/log.h"
#include "daemon/net/service_manager.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"
#include "proto/base/container_of.h"

#define TICK_MS          1000
#define STATUS_NS        UINT64_C(5000000000)
#define EXTEND_US        "15000000"             /* asked for at each tick of a drain */
#define STALLED_AGAIN_NS UINT64_C(600000000000) /* until the same stream is logged again */
#define NS_A_SECOND      UINT64_C(1000000000)
#define PINGS_A_WATCHDOG 3

int leat_service_init(struct leat_service *service, const struct leat_sessions *sessions,
                      uint32_t n_threads, uint64_t timeout_ns) {
    *service = (struct leat_service){
        .env = sessions->env, .sessions = sessions, .watchdog_ns = leat_watchdog_us() * 1000};
    return leat_heartbeat_init(&service->heartbeat, n_threads, timeout_ns);
}

void leat_service_deinit(struct leat_service *service) {
    leat_heartbeat_deinit(&service->heartbeat);
}

uint64_t leat_service_tick_ms(const struct leat_service *service) {
    uint64_t ms = service->watchdog_ns / 1000000 / PINGS_A_WATCHDOG + 1;

    return service->watchdog_ns > 0 && ms < TICK_MS ? ms : TICK_MS;
}

/* ---- the line of status ---- */

static const char *plural(uint32_t n) {
    return n == 1 ? "" : "s";
}

static void add_stalled(const struct leat_service_figures *figures, char *buffer) {
    size_t n = strlen(buffer);

    if (figures->n_stalled > 0)
        (void)snprintf(buffer + n, LEAT_SERVICE_STATUS_MAX - n, "; %u task%s stalled",
                       figures->n_stalled, plural(figures->n_stalled));
}

static void print_serving(const struct leat_service_figures *figures, char *buffer) {
    double rate = figures->elapsed_ns > 0
                      ? (double)figures->n_batches / ((double)figures->elapsed_ns / 1e9)
                      : 0;

    if (figures->n_trainers == 0)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "ready: %u stream%s, no trainers",
                       figures->n_streams, plural(figures->n_streams));
    else
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX,
                       "%u stream%s, %u in use; %u trainer%s; %.1f batches/s", figures->n_streams,
                       plural(figures->n_streams), figures->n_streams_used, figures->n_trainers,
                       plural(figures->n_trainers), rate);
}

const char *leat_service_status_print(const struct leat_service_figures *figures,
                                      char buffer[LEAT_SERVICE_STATUS_MAX]) {
    if (figures->is_stuck)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "stuck: workers cannot continue");
    else if (figures->is_stopping)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX, "stopping: %u trainer%s",
                       figures->n_trainers, plural(figures->n_trainers));
    else if (figures->is_draining)
        (void)snprintf(buffer, LEAT_SERVICE_STATUS_MAX,
                       "draining: %u trainer%s, %u batch%s held, %.0f s left", figures->n_trainers,
                       plural(figures->n_trainers), figures->n_held,
                       figures->n_held == 1 ? "" : "es", (double)figures->drain_ns / 1e9);
    else
        print_serving(figures, buffer);
    if (!figures->is_stuck)
        add_stalled(figures, buffer);
    return buffer;
}

static void count_streams(const struct leat_service *service,
                          struct leat_service_figures *figures) {
    for (const struct leat_daemon_stream *stream = service->sessions->feeds->streams.first; stream;
         stream = stream->next) {
        figures->n_streams++;
        figures->n_streams_used += stream->n_refs > 0;
    }
    for (const struct leat_session *session = service->sessions->first; session;
         session = session->next)
        figures->n_held += session->consumer.reader.n_holds;
}

static void say_status(struct leat_service *service, uint64_t now_ns) {
    char line[LEAT_SERVICE_STATUS_MAX], text[LEAT_SERVICE_STATUS_MAX + 8];
    struct leat_service_figures figures = {
        .n_trainers = service->sessions->n_sessions,
        .n_stalled = service->heartbeat.n_stalled,
        .n_batches = service->sessions->n_batches - service->n_said_batches,
        .elapsed_ns = now_ns - service->said_ns,
        .is_draining = service->env->is_draining,
        .is_stopping = service->env->is_stopping,
        .is_stuck = service->is_given_up,
        .drain_ns =
            service->env->drain_deadline_ns > now_ns ? service->env->drain_deadline_ns - now_ns : 0,
    };

    count_streams(service, &figures);
    service->said_ns = now_ns;
    service->n_said_batches = service->sessions->n_batches;
    (void)snprintf(text, sizeof(text), "STATUS=%s", leat_service_status_print(&figures, line));
    (void)leat_notify(text);
}

/* The drain may be part of a stop by the service manager, whose timeout it then extends. */
static void ask_for_time(const struct leat_service *service) {
    if (service->env->is_draining && !service->env->is_stopping)
        (void)leat_notify("EXTEND_TIMEOUT_USEC=" EXTEND_US);
}

void leat_service_tell(struct leat_service *service) {
    ask_for_time(service);
    if (service->env->is_stopping)
        (void)leat_notify("STOPPING=1");
    say_status(service, leat_now_ns());
}

/* ---- ready ---- */

static void first_work(struct leat_task *task) {
    (void)task;
}

static void log_started(const struct leat_service *service) {
    leat_log_write(service->env->log, LEAT_EVENT_STARTED,
                   (struct leat_log_field[]){
                       LEAT_LOG_T("version", LEAT_VERSION),
                       LEAT_LOG_T("config", service->env->settings->file),
                       LEAT_LOG_T("socket", service->socket),
                       LEAT_LOG_N("workers", service->env->n_workers),
                       LEAT_LOG_N("streams", service->env->settings->n_streams),
                       LEAT_LOG_T("sandbox", service->env->sandbox),
                       LEAT_LOG_FIELDS_END,
                   });
}

/* Repeated until the message was sent. */
static void say_ready(struct leat_service *service) {
    if (service->is_ready && !service->is_told)
        service->is_told = leat_notify("READY=1") != -EAGAIN;
}

void leat_service_tell_ready(struct leat_service *service) {
    service->is_told = false;
    if (!service->env->is_stopping)
        say_ready(service);
}

static void first_done(struct leat_task *task) {
    struct leat_service *service = LEAT_CONTAINER_OF(task, struct leat_service, first_task);

    leat_env_ended(service->env);
    if (service->env->is_stopping)
        return;
    service->is_ready = true;
    log_started(service);
    say_ready(service);
    say_status(service, leat_now_ns());
}

void leat_service_start(struct leat_service *service, const char *socket) {
    service->socket = socket;
    service->looked_ns = service->said_ns = leat_now_ns();
    service->first_task =
        (struct leat_task){.class = LEAT_TASK_URGENT, .work = first_work, .done = first_done};
    leat_scheduler_add(service->env->scheduler, NULL, &service->first_task);
}

/* ---- stalled and stuck ---- */

static void log_worker(struct leat_service *service, enum leat_event event,
                       const struct leat_worker_view *view) {
    static const char *const classes[LEAT_N_TASK_CLASSES] = {[LEAT_TASK_URGENT] = "batch",
                                                             [LEAT_TASK_SLOW] = "slow",
                                                             [LEAT_TASK_SCAN] = "scan",
                                                             [LEAT_TASK_MAP] = "map"};
    const struct leat_daemon_stream *stream = view->task->stream;

    leat_log_write(service->env->log, event,
                   (struct leat_log_field[]){
                       LEAT_LOG_F("stream", stream ? stream->name : ""),
                       LEAT_LOG_T("task", classes[view->task->class]),
                       LEAT_LOG_T("waits", leat_thread_wait_name(view->wait)),
                       LEAT_LOG_N("seconds", view->age_ns / NS_A_SECOND),
                       LEAT_LOG_FIELDS_END,
                   });
}

static void mark_stalled(struct leat_service *service, const struct leat_worker_view *view,
                         uint64_t now_ns) {
    struct leat_daemon_stream *stream = view->task->stream;

    if (!stream)
        return;
    stream->n_stalled++;
    if (view->age_ns > stream->stalled_ns)
        stream->stalled_ns = view->age_ns;
    if (stream->stall_told_ns && now_ns - stream->stall_told_ns < STALLED_AGAIN_NS)
        return;
    stream->stall_told_ns = now_ns;
    log_worker(service, LEAT_EVENT_STALLED, view);
}

static void look(struct leat_service *service, uint64_t now_ns) {
    struct leat_heartbeat *heartbeat = &service->heartbeat;

    leat_heartbeat_check(heartbeat, now_ns - service->looked_ns,
                         leat_scheduler_has_untaken(service->env->scheduler)
                             ? service->env->scheduler->n_submitted
                             : 0);
    service->looked_ns = now_ns;
    for (struct leat_daemon_stream *stream = service->sessions->feeds->streams.first; stream;
         stream = stream->next)
        stream->stalled_ns = stream->n_stalled = 0;
    for (uint32_t i = 0; heartbeat->n_stalled > 0 && i < heartbeat->n_threads; i++)
        if (heartbeat->views[i].task)
            mark_stalled(service, &heartbeat->views[i], now_ns);
}

/* From now on the watchdog is not served, so that the service manager restarts the daemon. */
static void give_up(struct leat_service *service) {
    const struct leat_heartbeat *heartbeat = &service->heartbeat;

    service->is_given_up = true;
    for (uint32_t i = 0; i < heartbeat->n_threads; i++)
        if (heartbeat->views[i].task)
            log_worker(service, LEAT_EVENT_STUCK, &heartbeat->views[i]);
    if (heartbeat->n_stalled == 0)
        leat_log_write(service->env->log, LEAT_EVENT_STUCK,
                       (struct leat_log_field[]){
                           LEAT_LOG_T("waits", "waiting until a worker takes tasks"),
                           LEAT_LOG_N("tasks", service->env->scheduler->n_submitted),
                           LEAT_LOG_FIELDS_END,
                       });
    say_status(service, leat_now_ns());
}

void leat_service_tick(struct leat_service *service, uint64_t now_ns) {
    look(service, now_ns);
    if (!service->env->is_stopping)
        say_ready(service);
    if (service->heartbeat.is_stuck && !service->is_given_up && !service->env->is_stopping)
        give_up(service);
    if (service->watchdog_ns > 0)
        (void)leat_notify(service->is_given_up ? "WATCHDOG=trigger" : "WATCHDOG=1");
    ask_for_time(service);
    if (service->is_ready && (service->env->is_draining || now_ns - service->said_ns >= STATUS_NS))
        say_status(service, now_ns);
}
