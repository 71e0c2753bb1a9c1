/* reload_apply.c: which settings have changed, and the moment when all is replaced. See reload.h.
 */
#include <string.h>

#include "daemon/config/configuration.h"
#include "daemon/core/daemon.h"
#include "daemon/core/endpoints.h"
#include "daemon/core/reload.h"
#include "daemon/stream/share.h"
#include "daemon/trainer/session.h"

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

/* Values of one setting, however they were written. */
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
    case LEAT_ARG_SOURCES: /* no setting is one */
        break;
    }
    return true;
}

bool leat_reload_keeps(const struct leat_reload *reload, const struct leat_arg *arg) {
    return is_same_value(arg, (const char *)reload->daemon->settings + arg->offset,
                         (const char *)reload->settings + arg->offset);
}

bool leat_reload_is_at_start(const struct leat_arg *arg) {
    for (size_t i = 0; leat_settings_at_start[i]; i++)
        if (strcmp(leat_settings_at_start[i], arg->name) == 0)
            return true;
    return false;
}

/* ---- for good ---- */

/* No earlier one than was said before: some may have gone over already. */
static void choose_epochs(struct leat_daemon *daemon) {
    struct leat_session *session;

    for (session = daemon->sessions; session; session = session->next)
        if (session->share)
            session->share->change_epoch = 0;
    for (session = daemon->sessions; session; session = session->next) {
        struct leat_share *share = session->share;
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

static void change_sessions(struct leat_daemon *daemon) {
    struct leat_session *session;

    choose_epochs(daemon);
    for (session = daemon->sessions; session; session = session->next) {
        if (session->reload_fate == LEAT_RELOAD_FINISHES ||
            session->reload_fate == LEAT_RELOAD_ENDS)
            leat_session_set_change(session, session->share->change_epoch);
        else if (session->change.is_set && session->reload_fate == LEAT_RELOAD_STAYS)
            leat_session_clear_change(session);
    }
}

static void replace_streams(struct leat_reload *reload) {
    leat_streams_replace(&reload->daemon->streams, &reload->streams);
    for (size_t i = 0; i < reload->n_looks; i++) {
        struct leat_reload_look *look = &reload->looks[i];
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

/* Levels that were set by hand stay, unless the file says another one than before. */
static void replace_log_level(const struct leat_reload *reload) {
    struct leat_log *log = &reload->daemon->log;

    for (int room = 0; room < LEAT_N_LOG_ROOMS && has_changed(reload, "log_level"); room++)
        log->levels[room] = (enum leat_log_level)(LEAT_LOG_ERROR + reload->settings->log_level);
}

/* Who has opened files through the roots that there were keeps them until it ends. */
static void replace_settings(struct leat_reload *reload) {
    struct leat_daemon *daemon = reload->daemon;
    struct leat_settings *old = daemon->settings;

    replace_log_level(reload);
    if (has_changed(reload, "roots")) {
        struct leat_roots *roots = daemon->roots;

        daemon->roots = reload->roots;
        daemon->has_roots = reload->settings->roots.n_items > 0;
        reload->roots = roots;
    }
    daemon->rights = reload->rights;
    daemon->service.heartbeat.timeout_ns =
        (uint64_t)reload->settings->worker_timeout * UINT64_C(1000000000);
    daemon->users.limits = reload->limits;
    leat_users_set_weights(&daemon->users, reload->settings->weights, reload->settings->n_weights);
    leat_configuration_fit_budget(reload->settings, leat_endpoints_are_private(daemon),
                                  &daemon->budget);
    daemon->settings = reload->settings;
    reload->settings = old;
}

void leat_reload_apply(struct leat_reload *reload) {
    struct leat_daemon *daemon = reload->daemon;

    change_sessions(daemon);
    replace_streams(reload);
    replace_settings(reload);
    leat_endpoints_fit_control(daemon);
    daemon->n_reloads++;
    for (struct leat_session *session = daemon->sessions, *next; session; session = next) {
        next = session->next;
        if (session->reload_fate == LEAT_RELOAD_TOLD)
            leat_session_tell_now(session);
    }
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        leat_listener_resume(&daemon->listeners[i]);
}
