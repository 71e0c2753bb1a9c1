/* reload.c: the way of a reload, from who asks to what is answered. See reload.h. */
#include "daemon/core/reload.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/core/daemon.h"
#include "daemon/net/notify.h"
#include "proto/base/shown.h"

static void begin(struct leat_reload *reload);

/* ---- the end ---- */

static void reload_free(struct leat_reload *reload) {
    for (size_t i = 0; i < reload->n_looks; i++) {
        reload->looks[i].stream->look = 0;
        leat_spec_free(reload->looks[i].variant);
        leat_streams_unref(&reload->daemon->streams, reload->looks[i].stream);
    }
    free(reload->looks);
    if (reload->streams.last)
        leat_streams_deinit(&reload->streams);
    leat_roots_unref(reload->roots);
    leat_settings_free(reload->settings);
    free(reload);
}

/* Its asker is answered, or has gone; the next one in line begins. */
static void finish(struct leat_reload *reload) {
    struct leat_daemon *daemon = reload->daemon;
    struct leat_control *control = reload->control;

    assert(daemon->reloads == reload);
    daemon->reloads = reload->next;
    if (control)
        control->reload = NULL;
    reload_free(reload);
    if (daemon->reloads)
        begin(daemon->reloads);
    leat_daemon_on_ended(daemon);
    if (control && !control->is_closed)
        leat_channel_pause(&control->channel, false); /* the next request may be a reload, too */
}

static void answer(struct leat_reload *reload, Leat__ReloadReply *report) {
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;

    if (!reload->control)
        return;
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_RELOAD;
    reply.reload = report;
    leat_control_reply(reload->control, &reply);
}

static void log_failure(struct leat_daemon *daemon, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, text, sizeof(text));
    leat_log_write(&daemon->log, LEAT_EVENT_RELOAD_FAILED,
                   (struct leat_log_field[]){LEAT_LOG_T("error", text), LEAT_LOG_FIELDS_END});
}

static void log_success(struct leat_daemon *daemon, const Leat__ReloadReply *report) {
    uint64_t n_changed = 0, n_sessions = 0;

    for (size_t i = 0; i < report->n_streams; i++) {
        n_changed += strcmp(report->streams[i]->change, "unchanged") != 0;
        n_sessions += report->streams[i]->what[0] ? report->streams[i]->n_sessions : 0;
    }
    leat_log_write(&daemon->log, LEAT_EVENT_RELOADED,
                   (struct leat_log_field[]){
                       LEAT_LOG_T("config", daemon->settings->file),
                       LEAT_LOG_N("streams", report->n_streams), LEAT_LOG_N("changed", n_changed),
                       LEAT_LOG_N("sessions", n_sessions),
                       LEAT_LOG_N("settings", report->n_settings),
                       LEAT_LOG_N("at_start", report->n_at_start), LEAT_LOG_FIELDS_END});
}

static void keep_result(struct leat_reload *reload) {
    struct leat_daemon *daemon = reload->daemon;

    if (reload->only_checks)
        return;
    daemon->last_reload_ns = leat_daemon_now_ns();
    daemon->last_reload_ok = reload->error.code == 0;
    leat_service_tell_ready(daemon);
}

static void fail(struct leat_reload *reload) {
    keep_result(reload);
    if (!reload->only_checks && !reload->daemon->is_stopping)
        log_failure(reload->daemon, &reload->error);
    if (reload->control)
        leat_control_fail(reload->control, &reload->error);
    finish(reload);
}

/* What is guaranteed to somebody cannot be taken back. */
static int check_budget(struct leat_reload *reload) {
    const struct leat_budget *budget = &reload->daemon->budget;
    const struct leat_settings *settings = reload->settings;
    struct leat_budget next = *budget;
    char limit[LEAT_SHOW_BYTES_MAX], taken[LEAT_SHOW_BYTES_MAX];

    leat_configuration_fit_budget(settings, false, &next);
    if (next.limit_bytes >= budget->guaranteed_bytes)
        return 0;
    return leat_config_error(&settings->base, "memory_limit", &reload->error,
                             "%s is less than the %s that are guaranteed to what runs now",
                             leat_show_bytes(next.limit_bytes, limit),
                             leat_show_bytes(budget->guaranteed_bytes, taken));
}

static void succeed(struct leat_reload *reload) {
    struct leat_arena arena;
    Leat__ReloadReply *report;

    leat_arena_init(&arena);
    leat_reload_judge(reload);
    report = check_budget(reload) == 0 ? leat_reload_report(reload, &arena) : NULL;
    if (!report) {
        leat_error_oom(&reload->error);
        leat_arena_deinit(&arena);
        fail(reload);
        return;
    }
    if (!reload->only_checks) {
        leat_reload_apply(reload);
        log_success(reload->daemon, report);
    }
    keep_result(reload);
    answer(reload, report);
    leat_arena_deinit(&arena);
    finish(reload);
}

/* ---- streams in use ---- */

static void look_work(struct leat_task *task) {
    leat_reload_look((struct leat_reload *)task);
}

static void go_on(struct leat_reload *reload);

static void look_done(struct leat_task *task) {
    struct leat_reload *reload = (struct leat_reload *)task;
    struct leat_daemon *daemon = reload->daemon;

    if (leat_loading_again(daemon, &reload->loading)) {
        reload->error = LEAT_ERROR_INIT;
        return;
    }
    leat_loading_release(&reload->loading);
    if (reload->looks[reload->next_look++].may_fail)
        reload->error = LEAT_ERROR_INIT;
    go_on(reload);
}

/* Trainers may have come while others' streams were looked at: until all were. */
static void go_on(struct leat_reload *reload) {
    struct leat_daemon *daemon = reload->daemon;

    if (daemon->is_stopping && !reload->error.code)
        leat_error_set(&reload->error, -ESHUTDOWN, "the daemon is shutting down");
    if (!reload->error.code && reload->next_look == reload->n_looks &&
        leat_reload_find_streams(reload) < 0)
        leat_error_oom(&reload->error);
    if (reload->error.code) {
        fail(reload);
    } else if (reload->next_look < reload->n_looks) {
        reload->task.work = look_work;
        reload->task.done = look_done;
        leat_loading_start(daemon, &reload->loading, NULL, &reload->task);
    } else {
        succeed(reload);
    }
}

/* ---- reading ---- */

static void read_work(struct leat_task *task) {
    struct leat_reload *reload = (struct leat_reload *)task;
    const struct leat_daemon_options *options = &reload->daemon->options;
    struct leat_error *err = &reload->error;
    struct leat_configuration configuration;

    if (leat_configuration_read(options->config_file, &options->overrides, &configuration, err) < 0)
        return;
    reload->settings = configuration.settings;
    reload->limits = configuration.limits;
    reload->roots = configuration.roots;
    leat_rights_init(&reload->rights, reload->settings);
    if (leat_streams_init(&reload->streams, reload->settings->streams,
                          reload->settings->n_streams) < 0)
        leat_error_oom(err);
}

static void read_done(struct leat_task *task) {
    go_on((struct leat_reload *)task);
}

static void begin(struct leat_reload *reload) {
    if (!reload->only_checks && reload->daemon->service.is_ready)
        (void)leat_notify("RELOADING=1");
    reload->task.class = LEAT_TASK_SLOW;
    reload->task.work = read_work;
    reload->task.done = read_done;
    leat_scheduler_add(&reload->daemon->scheduler, NULL, &reload->task);
}

/* ---- who asks ---- */

static struct leat_reload *add(struct leat_daemon *daemon, bool only_checks) {
    struct leat_reload *reload = calloc(1, sizeof(*reload)), **last = &daemon->reloads;

    if (!reload)
        return NULL;
    reload->daemon = daemon;
    reload->only_checks = only_checks;
    while (*last)
        last = &(*last)->next;
    *last = reload;
    return reload;
}

void leat_reload_start(struct leat_control *control, bool only_checks) {
    struct leat_daemon *daemon = control->daemon;
    struct leat_reload *reload = add(daemon, only_checks);

    if (!reload) {
        leat_control_fail_memory(control);
        return;
    }
    reload->control = control;
    control->reload = reload;
    leat_channel_pause(&control->channel, true);
    if (daemon->reloads == reload)
        begin(reload);
}

/* One that nobody waits for and that has not begun would find the same. */
static bool is_in_line(const struct leat_daemon *daemon) {
    const struct leat_reload *reload = daemon->reloads ? daemon->reloads->next : NULL;

    while (reload && (reload->control || reload->only_checks))
        reload = reload->next;
    return reload != NULL;
}

void leat_reload_by_signal(struct leat_daemon *daemon) {
    struct leat_reload *reload;

    if (daemon->is_stopping || is_in_line(daemon))
        return;
    reload = add(daemon, false);
    if (!reload) {
        struct leat_error err = LEAT_ERROR_INIT;

        leat_error_oom(&err);
        log_failure(daemon, &err);
    } else if (daemon->reloads == reload) {
        begin(reload);
    }
}

void leat_reload_abandon(struct leat_control *control) {
    if (control->reload)
        control->reload->control = NULL;
    control->reload = NULL;
}
