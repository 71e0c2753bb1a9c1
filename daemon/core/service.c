/* service.c: see service.h. Without a service manager (NOTIFY_SOCKET) what is said is heard by
 * nobody; the log has it all the same. */
#include "daemon/core/service.h"

#include <errno.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "daemon/core/daemon.h"
#include "daemon/core/service_status.h"
#include "daemon/net/notify.h"
#include "daemon/trainer/session.h"

#define TICK_MS          1000
#define STATUS_NS        UINT64_C(5000000000)
#define EXTEND_US        "15000000"             /* of each tick of a drain */
#define STALLED_AGAIN_NS UINT64_C(600000000000) /* when a stream is told of again */
#define NS_A_SECOND      UINT64_C(1000000000)
#define PINGS_A_WATCHDOG 3

int leat_service_init(struct leat_service *service, uint32_t n_threads, uint64_t timeout_ns) {
    uint64_t watchdog_us = 0;

    *service = (struct leat_service){.watchdog_ns = 0};
    if (sd_watchdog_enabled(0, &watchdog_us) > 0)
        service->watchdog_ns = watchdog_us * 1000;
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

static void count_streams(const struct leat_daemon *daemon, struct leat_service_figures *figures) {
    for (const struct leat_daemon_stream *stream = daemon->streams.first; stream;
         stream = stream->next) {
        figures->n_streams++;
        figures->n_streams_used += stream->n_refs > 0;
    }
    for (const struct leat_session *session = daemon->sessions; session; session = session->next)
        figures->n_held += session->hub.n_holds;
}

static void say_status(struct leat_daemon *daemon, uint64_t now_ns) {
    struct leat_service *service = &daemon->service;
    char line[LEAT_SERVICE_STATUS_MAX], text[LEAT_SERVICE_STATUS_MAX + 8];
    struct leat_service_figures figures = {
        .n_trainers = daemon->n_sessions,
        .n_stalled = service->heartbeat.n_stalled,
        .n_batches = daemon->n_batches - service->n_said_batches,
        .elapsed_ns = now_ns - service->said_ns,
        .is_draining = daemon->is_draining,
        .is_stopping = daemon->is_stopping,
        .is_stuck = service->is_given_up,
        .drain_ns = daemon->drain_deadline_ns > now_ns ? daemon->drain_deadline_ns - now_ns : 0,
    };

    count_streams(daemon, &figures);
    service->said_ns = now_ns;
    service->n_said_batches = daemon->n_batches;
    (void)snprintf(text, sizeof(text), "STATUS=%s", leat_service_status_print(&figures, line));
    (void)leat_notify(text);
}

/* If this is the drain of a stop, that may take as long as the drain. */
static void ask_for_time(const struct leat_daemon *daemon) {
    if (daemon->is_draining && !daemon->is_stopping)
        (void)leat_notify("EXTEND_TIMEOUT_USEC=" EXTEND_US);
}

void leat_service_tell(struct leat_daemon *daemon) {
    ask_for_time(daemon);
    if (daemon->is_stopping)
        (void)leat_notify("STOPPING=1");
    say_status(daemon, leat_daemon_now_ns());
}

/* ---- ready ---- */

static void first_work(struct leat_task *task) {
    (void)task;
}

static void log_started(struct leat_daemon *daemon) {
    const struct leat_listener *trainer = &daemon->listeners[LEAT_ENDPOINT_TRAINER];

    leat_log_write(&daemon->log, LEAT_EVENT_STARTED,
                   (struct leat_log_field[]){
                       LEAT_LOG_T("version", LEAT_VERSION),
                       LEAT_LOG_T("config", daemon->settings->file),
                       LEAT_LOG_T("socket", trainer->path ? trainer->path : "(passed)"),
                       LEAT_LOG_N("workers", daemon->n_workers),
                       LEAT_LOG_N("streams", daemon->settings->n_streams),
                       LEAT_LOG_FIELDS_END,
                   });
}

/* Until it was heard. */
static void say_ready(struct leat_service *service) {
    if (service->is_ready && !service->is_told)
        service->is_told = leat_notify("READY=1") != -EAGAIN;
}

void leat_service_tell_ready(struct leat_daemon *daemon) {
    daemon->service.is_told = false;
    if (!daemon->is_stopping)
        say_ready(&daemon->service);
}

static void first_done(struct leat_task *task) {
    struct leat_service *service =
        (struct leat_service *)((char *)task - offsetof(struct leat_service, first_task));
    struct leat_daemon *daemon =
        (struct leat_daemon *)((char *)service - offsetof(struct leat_daemon, service));

    leat_daemon_on_ended(daemon);
    if (daemon->is_stopping)
        return;
    service->is_ready = true;
    log_started(daemon);
    say_ready(service);
    say_status(daemon, leat_daemon_now_ns());
}

void leat_service_start(struct leat_daemon *daemon) {
    struct leat_service *service = &daemon->service;

    service->looked_ns = service->said_ns = leat_daemon_now_ns();
    service->first_task =
        (struct leat_task){.class = LEAT_TASK_URGENT, .work = first_work, .done = first_done};
    leat_scheduler_add(&daemon->scheduler, NULL, &service->first_task);
}

/* ---- stalled and stuck ---- */

static void log_worker(struct leat_daemon *daemon, enum leat_event event,
                       const struct leat_worker_view *view) {
    static const char *const classes[LEAT_N_TASK_CLASSES] = {[LEAT_TASK_URGENT] = "batch",
                                                             [LEAT_TASK_SLOW] = "slow",
                                                             [LEAT_TASK_SCAN] = "scan",
                                                             [LEAT_TASK_MAP] = "map"};
    const struct leat_daemon_stream *stream = view->task->stream;

    leat_log_write(&daemon->log, event,
                   (struct leat_log_field[]){
                       LEAT_LOG_F("stream", stream ? stream->name : ""),
                       LEAT_LOG_T("task", classes[view->task->class]),
                       LEAT_LOG_T("waits", leat_thread_wait_name(view->wait)),
                       LEAT_LOG_N("seconds", view->age_ns / NS_A_SECOND),
                       LEAT_LOG_FIELDS_END,
                   });
}

static void mark_stalled(struct leat_daemon *daemon, const struct leat_worker_view *view,
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
    log_worker(daemon, LEAT_EVENT_STALLED, view);
}

static void look(struct leat_daemon *daemon, uint64_t now_ns) {
    struct leat_service *service = &daemon->service;
    struct leat_heartbeat *heartbeat = &service->heartbeat;

    leat_heartbeat_look(
        heartbeat, now_ns - service->looked_ns,
        leat_scheduler_has_untaken(&daemon->scheduler) ? daemon->scheduler.n_submitted : 0);
    service->looked_ns = now_ns;
    for (struct leat_daemon_stream *stream = daemon->streams.first; stream; stream = stream->next)
        stream->stalled_ns = stream->n_stalled = 0;
    for (uint32_t i = 0; heartbeat->n_stalled > 0 && i < heartbeat->n_threads; i++)
        if (heartbeat->views[i].task)
            mark_stalled(daemon, &heartbeat->views[i], now_ns);
}

/* From now on nothing is said any more that would keep it alive. */
static void give_up(struct leat_daemon *daemon) {
    struct leat_service *service = &daemon->service;
    const struct leat_heartbeat *heartbeat = &service->heartbeat;

    service->is_given_up = true;
    for (uint32_t i = 0; i < heartbeat->n_threads; i++)
        if (heartbeat->views[i].task)
            log_worker(daemon, LEAT_EVENT_STUCK, &heartbeat->views[i]);
    if (heartbeat->n_stalled == 0)
        leat_log_write(&daemon->log, LEAT_EVENT_STUCK,
                       (struct leat_log_field[]){
                           LEAT_LOG_T("waits", "for a worker that takes tasks"),
                           LEAT_LOG_N("tasks", daemon->scheduler.n_submitted),
                           LEAT_LOG_FIELDS_END,
                       });
    say_status(daemon, leat_daemon_now_ns());
}

void leat_service_tick(struct leat_daemon *daemon, uint64_t now_ns) {
    struct leat_service *service = &daemon->service;

    look(daemon, now_ns);
    if (!daemon->is_stopping)
        say_ready(service);
    if (service->heartbeat.is_stuck && !service->is_given_up && !daemon->is_stopping)
        give_up(daemon);
    if (service->watchdog_ns > 0)
        (void)leat_notify(service->is_given_up ? "WATCHDOG=trigger" : "WATCHDOG=1");
    ask_for_time(daemon);
    if (service->is_ready && (daemon->is_draining || now_ns - service->said_ns >= STATUS_NS))
        say_status(daemon, now_ns);
}
