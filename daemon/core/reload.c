/* reload.c: reads the configuration, replaces the present one, and answers. See reload.h. */
#include "daemon/core/reload.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/core/endpoints.h"
#include "daemon/core/service.h"
#include "daemon/net/service_manager.h"
#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"
#include "proto/base/text.h"
#include "proto/exchange.h"

static void begin(struct leat_reload *reload);

/* ---- the end ---- */

static void reload_free(struct leat_reload *reload) {
    for (size_t i = 0; i < reload->n_looks; i++) {
        reload->looks[i].stream->look = 0;
        leat_spec_free(reload->looks[i].variant);
        leat_streams_unref(&reload->reloads->sessions->feeds->streams, reload->looks[i].stream);
    }
    free(reload->looks);
    if (reload->streams.last)
        leat_streams_deinit(&reload->streams);
    leat_roots_unref(reload->roots);
    leat_settings_free(reload->settings);
    free(reload);
}

/* Frees the reload, whose request is answered, and begins the next one. */
static void finish(struct leat_reload *reload) {
    struct leat_reloads *reloads = reload->reloads;
    struct leat_control *control = reload->control;

    assert(reloads->first == reload);
    reloads->first = reload->next;
    if (control)
        control->reload = NULL;
    reload_free(reload);
    if (reloads->first)
        begin(reloads->first);
    leat_env_ended(reloads->env);
    if (control && !control->is_closed)
        leat_channel_pause(&control->channel, false); /* may start a reload at once */
}

static void answer(struct leat_reload *reload, Leat__ReloadReply *report) {
    if (reload->control)
        leat_control_answer(reload->control, LEAT__CONTROL_REPLY__VERB_RELOAD, report);
}

static void log_failure(struct leat_reloads *reloads, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, text, sizeof(text));
    leat_log_write(reloads->env->log, LEAT_EVENT_RELOAD_FAILED,
                   (struct leat_log_field[]){LEAT_LOG_T("error", text), LEAT_LOG_FIELDS_END});
}

static void log_success(struct leat_reloads *reloads, const Leat__ReloadReply *report) {
    uint64_t n_changed = 0, n_sessions = 0;

    for (size_t i = 0; i < report->n_streams; i++) {
        n_changed += strcmp(report->streams[i]->change, "unchanged") != 0;
        n_sessions += report->streams[i]->what[0] ? report->streams[i]->n_sessions : 0;
    }
    leat_log_write(reloads->env->log, LEAT_EVENT_RELOADED,
                   (struct leat_log_field[]){
                       LEAT_LOG_T("config", reloads->env->settings->file),
                       LEAT_LOG_N("streams", report->n_streams), LEAT_LOG_N("changed", n_changed),
                       LEAT_LOG_N("sessions", n_sessions),
                       LEAT_LOG_N("settings", report->n_settings),
                       LEAT_LOG_N("at_start", report->n_at_start), LEAT_LOG_FIELDS_END});
}

static void keep_result(struct leat_reload *reload) {
    struct leat_reloads *reloads = reload->reloads;

    if (reload->only_checks)
        return;
    reloads->env->is_reload_good = reload->error.code == 0;
    leat_service_tell_ready(reloads->service);
}

static void fail(struct leat_reload *reload) {
    keep_result(reload);
    if (!reload->only_checks && !reload->reloads->env->is_stopping)
        log_failure(reload->reloads, &reload->error);
    if (reload->control)
        leat_control_fail(reload->control, &reload->error);
    finish(reload);
}

/* Fails if the new limit is below what is guaranteed to runs, which cannot be taken back. */
static int check_budget(struct leat_reload *reload) {
    const struct leat_budget *budget = reload->reloads->env->budget;
    const struct leat_settings *settings = reload->settings;
    struct leat_budget next = *budget;
    char limit[LEAT_SHOW_BYTES_MAX], taken[LEAT_SHOW_BYTES_MAX];

    leat_configuration_fit_budget(settings, false, &next);
    if (next.limit_bytes >= budget->guaranteed_bytes)
        return 0;
    return leat_config_error(&settings->base, "memory_limit", &reload->error,
                             "%s is too little: running streams need %s",
                             leat_show_bytes(next.limit_bytes, limit),
                             leat_show_bytes(budget->guaranteed_bytes, taken));
}

/* ---- settings ---- */

static bool is_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_list(char *const *a, char *const *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(a[i], b[i]) != 0)
            return false;
    return true;
}

static bool is_same_map(const struct leat_text_map *a, const struct leat_text_map *b) {
    return a->n_items == b->n_items && is_same_list(a->keys, b->keys, a->n_items) &&
           is_same_list(a->values, b->values, a->n_items);
}

/* Compares two values of a setting, however they were written. */
static bool is_same_value(const struct leat_arg *arg, const void *a, const void *b) {
    const struct leat_texts *texts_a = a, *texts_b = b;

    switch (arg->type) {
    case LEAT_ARG_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case LEAT_ARG_INT:
    case LEAT_ARG_BYTES:
    case LEAT_ARG_SECONDS:
        return *(const int64_t *)a == *(const int64_t *)b;
    case LEAT_ARG_FLOAT:
        return memcmp(a, b, sizeof(double)) == 0;
    case LEAT_ARG_CHOICE:
    case LEAT_ARG_DTYPE:
        return *(const int *)a == *(const int *)b;
    case LEAT_ARG_TEXT:
    case LEAT_ARG_FIELD:
    case LEAT_ARG_PATH:
        return is_same_text(*(const char *const *)a, *(const char *const *)b);
    case LEAT_ARG_TEXTS:
    case LEAT_ARG_FIELDS:
    case LEAT_ARG_PATHS:
        return texts_a->n_items == texts_b->n_items &&
               is_same_list(texts_a->items, texts_b->items, texts_a->n_items);
    case LEAT_ARG_MAP:
        return is_same_map(a, b);
    case LEAT_ARG_TOKEN:
    case LEAT_ARG_GROUP:
    case LEAT_ARG_SOURCES: /* no setting has such a type */
        break;
    }
    return true;
}

bool leat_reload_keeps(const struct leat_reload *reload, const struct leat_arg *arg) {
    return is_same_value(arg, (const char *)reload->reloads->env->settings + arg->offset,
                         (const char *)reload->settings + arg->offset);
}

bool leat_reload_is_at_start(const struct leat_arg *arg) {
    for (size_t i = 0; leat_settings_at_start[i]; i++)
        if (strcmp(leat_settings_at_start[i], arg->name) == 0)
            return true;
    return false;
}

/* ---- replacing ---- */

/* Chooses the epoch from which the sessions of a share get the new stream. It never moves back, as
 * some sessions may have changed already. */
static void choose_epochs(struct leat_reloads *reloads) {
    struct leat_session *session;

    for (session = reloads->sessions->first; session; session = session->next)
        if (session->consumer.share)
            session->consumer.share->change_epoch = 0;
    for (session = reloads->sessions->first; session; session = session->next) {
        struct leat_share *share = session->consumer.share;
        uint64_t own;

        if (!share || session->state >= LEAT_SESSION_LEAVING)
            continue;
        own = leat_session_fresh_epoch(session);
        if (session->change.is_set && session->change.epoch > own)
            own = session->change.epoch;
        if (own > share->change_epoch)
            share->change_epoch = own;
    }
}

static void change_sessions(struct leat_reloads *reloads) {
    struct leat_session *session;

    choose_epochs(reloads);
    for (session = reloads->sessions->first; session; session = session->next) {
        if (session->reload_fate == LEAT_RELOAD_FINISHES ||
            session->reload_fate == LEAT_RELOAD_ENDS)
            leat_session_set_change(session, session->consumer.share->change_epoch);
        else if (session->change.is_set && session->reload_fate == LEAT_RELOAD_STAYS)
            leat_session_clear_change(session);
    }
}

static void replace_streams(struct leat_reload *reload) {
    leat_streams_replace(&reload->reloads->sessions->feeds->streams, &reload->streams);
    for (size_t i = 0; i < reload->n_looks; i++) {
        struct leat_reload_inspection *look = &reload->looks[i];
        struct leat_daemon_stream *stream = look->stream;

        if (!stream->origin.name)
            continue;
        stream->is_removed = !look->variant;
        if (look->variant)
            leat_daemon_stream_set_spec(stream, look->variant);
        look->variant = NULL;
    }
}

static bool has_changed(const struct leat_reload *reload, const char *name) {
    for (const struct leat_arg *arg = leat_settings_args; arg->name; arg++)
        if (strcmp(arg->name, name) == 0)
            return !leat_reload_keeps(reload, arg);
    return false;
}

/* Levels that the verb log-level set stay, unless the level in the file has changed. */
static void replace_log_level(const struct leat_reload *reload) {
    struct leat_log *log = reload->reloads->env->log;

    for (int room = 0; room < LEAT_N_LOG_ROOMS && has_changed(reload, "log_level"); room++)
        log->levels[room] = (enum leat_log_level)(LEAT_LOG_ERROR + reload->settings->log_level);
}

/* Plans that opened files through the old roots keep a reference to them. */
static void replace_settings(struct leat_reload *reload) {
    struct leat_reloads *reloads = reload->reloads;
    struct leat_settings *old = reloads->env->settings;

    replace_log_level(reload);
    if (has_changed(reload, "roots")) {
        struct leat_roots *roots = reloads->env->roots;

        reloads->env->roots = reload->roots;
        reload->roots = roots;
    }
    reloads->controls->rights = reload->rights;
    reloads->service->heartbeat.timeout_ns =
        (uint64_t)reload->settings->worker_timeout * UINT64_C(1000000000);
    reloads->env->users->limits = reload->limits;
    leat_users_set_weights(reloads->env->users, reload->settings->weights,
                           reload->settings->n_weights);
    leat_configuration_fit_budget(reload->settings, leat_endpoints_are_private(reloads->endpoints),
                                  reloads->env->budget);
    reloads->env->settings = reload->settings;
    reload->settings = old;
}

static void apply(struct leat_reload *reload) {
    struct leat_reloads *reloads = reload->reloads;

    change_sessions(reloads);
    replace_streams(reload);
    replace_settings(reload);
    leat_endpoints_fit_control(reloads->endpoints);
    reloads->env->n_reloads++;
    for (struct leat_session *session = reloads->sessions->first, *next; session; session = next) {
        next = session->next;
        if (session->reload_fate == LEAT_RELOAD_TOLD)
            leat_session_tell_now(session);
    }
    leat_endpoints_resume(reloads->endpoints);
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
        apply(reload);
        log_success(reload->reloads, report);
    }
    keep_result(reload);
    answer(reload, report);
    leat_arena_deinit(&arena);
    finish(reload);
}

/* ---- streams in use ---- */

static void look_work(struct leat_task *task) {
    leat_reload_inspect((struct leat_reload *)task);
}

static void go_on(struct leat_reload *reload);

static void look_done(struct leat_task *task) {
    struct leat_reload *reload = (struct leat_reload *)task;
    struct leat_reloads *reloads = reload->reloads;

    if (leat_loading_again(reloads->sessions->feeds, &reload->loading)) {
        reload->error = LEAT_ERROR_INIT;
        return;
    }
    leat_loading_release(&reload->loading);
    if (reload->looks[reload->next_look++].may_fail)
        reload->error = LEAT_ERROR_INIT;
    go_on(reload);
}

/* Trainers may have opened further streams while others were looked at, so all are searched again.
 */
static void go_on(struct leat_reload *reload) {
    struct leat_reloads *reloads = reload->reloads;

    if (reloads->env->is_stopping && !reload->error.code)
        leat_error_set(&reload->error, -ESHUTDOWN, "the daemon is shutting down");
    if (!reload->error.code && reload->next_look == reload->n_looks &&
        leat_reload_find_streams(reload) < 0)
        leat_error_oom(&reload->error);
    if (reload->error.code) {
        fail(reload);
    } else if (reload->next_look < reload->n_looks) {
        reload->task.work = look_work;
        reload->task.done = look_done;
        leat_loading_start(reloads->sessions->feeds, &reload->loading, NULL, &reload->task);
    } else {
        succeed(reload);
    }
}

/* ---- reading ---- */

static void read_work(struct leat_task *task) {
    struct leat_reload *reload = (struct leat_reload *)task;
    const struct leat_reloads *reloads = reload->reloads;
    struct leat_error *err = &reload->error;
    struct leat_configuration configuration;

    if (leat_configuration_read(reloads->config_file, reloads->overrides, &configuration, err) < 0)
        return;
    reload->settings = configuration.settings;
    reload->limits = configuration.limits;
    reload->roots = configuration.roots;
    leat_rights_init(&reload->rights, &reload->settings->control_groups,
                     &reload->settings->admin_groups);
    if (leat_streams_init(&reload->streams, reload->settings->streams,
                          reload->settings->n_streams) < 0)
        leat_error_oom(err);
}

static void read_done(struct leat_task *task) {
    go_on((struct leat_reload *)task);
}

static void begin(struct leat_reload *reload) {
    if (!reload->only_checks && reload->reloads->service->is_ready)
        (void)leat_notify("RELOADING=1");
    reload->task.class = LEAT_TASK_SLOW;
    reload->task.work = read_work;
    reload->task.done = read_done;
    leat_scheduler_add(reload->reloads->env->scheduler, NULL, &reload->task);
}

/* ---- requests ---- */

static struct leat_reload *add(struct leat_reloads *reloads, bool only_checks) {
    struct leat_reload *reload = calloc(1, sizeof(*reload)), **last = &reloads->first;

    if (!reload)
        return NULL;
    reload->reloads = reloads;
    reload->only_checks = only_checks;
    while (*last)
        last = &(*last)->next;
    *last = reload;
    return reload;
}

void leat_reload_start(struct leat_reloads *reloads, struct leat_control *control,
                       bool only_checks) {
    struct leat_reload *reload = add(reloads, only_checks);

    if (!reload) {
        leat_control_fail_memory(control);
        return;
    }
    reload->control = control;
    control->reload = reload;
    leat_channel_pause(&control->channel, true);
    if (reloads->first == reload)
        begin(reload);
}

/* True if a reload is queued already that no request waits for: it would find the same. */
static bool is_in_line(const struct leat_reloads *reloads) {
    const struct leat_reload *reload = reloads->first ? reloads->first->next : NULL;

    while (reload && (reload->control || reload->only_checks))
        reload = reload->next;
    return reload != NULL;
}

void leat_reload_by_signal(struct leat_reloads *reloads) {
    struct leat_reload *reload;

    if (reloads->env->is_stopping || is_in_line(reloads))
        return;
    reload = add(reloads, false);
    if (!reload) {
        struct leat_error err = LEAT_ERROR_INIT;

        leat_error_oom(&err);
        log_failure(reloads, &err);
    } else if (reloads->first == reload) {
        begin(reload);
    }
}

void leat_reload_abandon(struct leat_control *control) {
    control->reload->control = NULL;
    control->reload = NULL;
}

/* ---- asking ---- */

static int open_socket(const char *directory, struct leat_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char fallback[4096];
    int fd;

    if (!directory && leat_endpoints_directory(fallback, sizeof(fallback), err) < 0)
        return err->code;
    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock",
                         directory ? directory : fallback) >= sizeof(address.sun_path))
        return leat_error_set(err, -ENAMETOOLONG, "the path of the control socket is too long");
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    leat_error_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return err->code;
}

int leat_reload_ask(const char *directory, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    int fd = open_socket(directory, err), r;

    if (fd < 0)
        return fd;
    r = leat_exchange_ask(fd, LEAT__CONTROL_REQUEST__VERB_RELOAD, NULL, -1, &reply, err);
    if (r == 0)
        leat__control_reply__free_unpacked(reply, NULL);
    (void)close(fd);
    return r;
}
