/* reload_report.c: describes the changes of a reload, for its reply. See reload.h. */
#include <stdio.h>
#include <string.h>

#include "daemon/control/describe.h"
#include "daemon/core/reload.h"
#include "daemon/trainer/sessions.h"
#include "pipeline/memory/arena.h"

#define WHAT_MAX 256

/* ---- settings ---- */

static int report_settings(const struct leat_reload *reload, Leat__ReloadReply *reply,
                           struct leat_arena *arena) {
    size_t size = LEAT_ARG_MAX * sizeof(char *);

    reply->settings = leat_arena_alloc(arena, size);
    reply->at_start = leat_arena_alloc(arena, size);
    if (!reply->settings || !reply->at_start)
        return -1;
    for (const struct leat_arg *arg = leat_settings_args; arg->name; arg++) {
        char *name = (char *)(uintptr_t)arg->name;

        if (leat_reload_keeps(reload, arg))
            continue;
        if (leat_reload_is_at_start(arg))
            reply->at_start[reply->n_at_start++] = name;
        else
            reply->settings[reply->n_settings++] = name;
    }
    return 0;
}

/* ---- streams ---- */

struct fates {
    uint32_t n_all, of[LEAT_N_RELOAD_FATES];
};

/* Counts the sessions of the stream and of all its variants. */
static void count_fates(const struct leat_reload *reload, const char *name, struct fates *ret) {
    *ret = (struct fates){.n_all = 0};
    for (size_t i = 0; i < reload->n_looks; i++) {
        const struct leat_reload_inspection *look = &reload->looks[i];
        const struct leat_daemon_stream *stream = look->stream;

        if (strcmp(stream->origin.name ? stream->origin.name : stream->name, name) != 0)
            continue;
        ret->n_all += look->n_sessions;
        for (int fate = 0; fate < LEAT_N_RELOAD_FATES; fate++)
            ret->of[fate] += look->n_of[fate];
    }
}

static void add_words(char *text, uint32_t n, const char *one, const char *many) {
    size_t used = strlen(text);

    if (n > 0)
        (void)snprintf(text + used, WHAT_MAX - used, "%s%u trainer%s %s", used > 0 ? "; " : "", n,
                       n == 1 ? "" : "s", n == 1 ? one : many);
}

static char *describe(const struct fates *fates, struct leat_arena *arena) {
    char *text = leat_arena_alloc(arena, WHAT_MAX);

    if (!text)
        return NULL;
    text[0] = '\0';
    add_words(text, fates->of[LEAT_RELOAD_FINISHES],
              "finishes its epoch, then continues with the new stream",
              "finish their epochs, then continue with the new stream");
    add_words(text, fates->of[LEAT_RELOAD_ENDS], "finishes its epoch, then ends",
              "finish their epochs, then end");
    add_words(text, fates->of[LEAT_RELOAD_TOLD], "gets an error and ends", "get an error and end");
    return text;
}

static int add_change(Leat__ReloadReply *reply, const char *name, const char *change,
                      const struct fates *fates, struct leat_arena *arena) {
    Leat__StreamChange *message = reply->streams[reply->n_streams++];

    message->name = leat_arena_alloc(arena, strlen(name) + 1);
    message->what = describe(fates, arena);
    if (!message->name || !message->what)
        return -1;
    memcpy(message->name, name, strlen(name) + 1);
    message->change = (char *)(uintptr_t)change;
    message->n_sessions = fates->n_all;
    return 0;
}

static const struct leat_daemon_stream *find_present(const struct leat_reload *reload,
                                                     const char *name) {
    const struct leat_daemon_stream *stream = reload->reloads->sessions->feeds->streams.first;

    while (stream && (stream->is_own || stream->is_removed || strcmp(stream->name, name) != 0))
        stream = stream->next;
    return stream;
}

static const struct leat_spec *find_new(const struct leat_reload *reload, const char *name) {
    for (size_t i = 0; i < reload->settings->n_streams; i++)
        if (strcmp(reload->settings->streams[i]->name, name) == 0)
            return reload->settings->streams[i];
    return NULL;
}

static const char *change_of(const struct leat_daemon_stream *present, const struct leat_spec *spec,
                             const struct fates *fates) {
    if (!present)
        return "added";
    return leat_spec_equal(present->spec, spec) && fates->of[LEAT_RELOAD_FINISHES] == 0 &&
                   fates->of[LEAT_RELOAD_ENDS] == 0 && fates->of[LEAT_RELOAD_TOLD] == 0
               ? "unchanged"
               : "changed";
}

static int report_streams(const struct leat_reload *reload, Leat__ReloadReply *reply,
                          struct leat_arena *arena) {
    const struct leat_settings *settings = reload->settings;
    const struct leat_streams *present = &reload->reloads->sessions->feeds->streams;
    struct fates fates;

    reply->streams = leat_control_messages(arena, &leat__stream_change__descriptor,
                                           settings->n_streams + leat_streams_count(present));
    if (!reply->streams)
        return -1;
    for (size_t i = 0; i < settings->n_streams; i++) {
        const struct leat_spec *spec = settings->streams[i];

        count_fates(reload, spec->name, &fates);
        if (add_change(reply, spec->name, change_of(find_present(reload, spec->name), spec, &fates),
                       &fates, arena) < 0)
            return -1;
    }
    for (const struct leat_daemon_stream *old = present->first; old; old = old->next) {
        if (old->is_own || old->is_removed || find_new(reload, old->name))
            continue;
        count_fates(reload, old->name, &fates);
        if (add_change(reply, old->name, "removed", &fates, arena) < 0)
            return -1;
    }
    return 0;
}

Leat__ReloadReply *leat_reload_report(const struct leat_reload *reload, struct leat_arena *arena) {
    Leat__ReloadReply *reply = leat_arena_alloc(arena, sizeof(*reply));

    if (!reply)
        return NULL;
    leat__reload_reply__init(reply);
    if (report_settings(reload, reply, arena) < 0 || report_streams(reload, reply, arena) < 0)
        return NULL;
    return reply;
}
