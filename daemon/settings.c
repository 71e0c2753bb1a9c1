/* settings.c: the table, and what cannot be said in a table. */
#include "daemon/settings.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http_address.h"
#include "pipeline/opener.h"
#include "pipeline/plan.h"
#include "pipeline/yaml.h"

#define STREAMS_KEY  "streams"
#define MAX_CONTROLS 160

static const char *const log_formats[] = {"auto", "text", "json", "journal", NULL};
static const char *const log_levels[] = {"error", "warning", "notice", "info", "debug", NULL};

static const char *const exec_choices[] = {"never", "settings", "trainers", NULL};

static const char *const tuner_choices[] = {"off", "on", NULL};

#define MEMBER(name) offsetof(struct leat_settings, name)

const struct leat_arg leat_settings_args[] = {
    {.name = "workers",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(workers),
     .min = 1,
     .max = LEAT_SETTINGS_MAX_WORKERS,
     .help = "Threads that read, parse and collate; as many as there are CPUs if not given."},
    {.name = "trainer_socket",
     .type = LEAT_ARG_PATH,
     .offset = MEMBER(trainer_socket),
     .help = "Where trainers connect that map batches; trainer.sock in the socket directory."},
    {.name = "copy_socket",
     .type = LEAT_ARG_PATH,
     .offset = MEMBER(copy_socket),
     .help = "Where trainers connect that get copies; copy.sock in the socket directory."},
    {.name = "control_socket",
     .type = LEAT_ARG_PATH,
     .offset = MEMBER(control_socket),
     .help = "Where leatctl connects; control.sock in the socket directory."},
    {.name = "control_groups",
     .type = LEAT_ARG_TEXTS,
     .offset = MEMBER(control_groups),
     .fallback = "leat-clients",
     .min = 0,
     .max = LEAT_SETTINGS_MAX_GROUPS,
     .help = "Groups (names or numbers) whose members may look at all on the control socket: "
             "status, streams, trainers, stats and their like."},
    {.name = "admin_groups",
     .type = LEAT_ARG_TEXTS,
     .offset = MEMBER(admin_groups),
     .fallback = "leat-admin",
     .min = 0,
     .max = LEAT_SETTINGS_MAX_GROUPS,
     .help = "Groups whose members may also change things: drain, reload, kick, log level, trace. "
             "The daemon's own user and root may do all."},
    {.name = "http_listen",
     .type = LEAT_ARG_TEXT,
     .offset = MEMBER(http_listen),
     .help = "Where metrics and a status page are to be had over HTTP: 127.0.0.1:PORT, [::1]:PORT, "
             "or unix:PATH. If not given, nowhere."},
    {.name = "roots",
     .type = LEAT_ARG_PATHS,
     .offset = MEMBER(roots),
     .min = 0,
     .max = 64,
     .help = "Directories below which streams of trainers may name files. If not given, only "
             "trainers of the daemon's own user may describe streams, and may name any file."},
    {.name = "max_sessions",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_sessions),
     .fallback = "1024",
     .min = 1,
     .max = LEAT_SETTINGS_MAX_SESSIONS,
     .help = "Trainers connected at once."},
    {.name = "max_user_sessions",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_user_sessions),
     .fallback = "256",
     .min = 1,
     .max = LEAT_SETTINGS_MAX_SESSIONS,
     .help = "Trainers of one user connected at once."},
    {.name = "memory_limit",
     .type = LEAT_ARG_BYTES,
     .offset = MEMBER(memory_limit),
     .min = 32 << 20,
     .max = 1e15,
     .help =
         "Memory of the daemon: rings, blocks, tokenizers, workspaces and caches of all streams. "
         "A stream for whose least needs there is no room is refused. If not given, any."},
    {.name = "max_ring_bytes",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_ring_bytes),
     .fallback = "8589934592",
     .min = 1 << 20,
     .max = 1e15,
     .help = "Memory of all batches together: shared, and of copies under way."},
    {.name = "max_user_ring_bytes",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_user_ring_bytes),
     .fallback = "4294967296",
     .min = 1 << 20,
     .max = 1e15,
     .help = "The same of one user's trainers."},
    {.name = "max_streams",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_streams),
     .fallback = "256",
     .min = 0,
     .max = LEAT_SETTINGS_MAX_SESSIONS,
     .help = "Open streams that trainers described themselves."},
    {.name = "max_user_streams",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_user_streams),
     .fallback = "64",
     .min = 0,
     .max = LEAT_SETTINGS_MAX_SESSIONS,
     .help = "Open streams that the trainers of one user described themselves."},
    {.name = "window",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(window),
     .fallback = "4",
     .min = 1,
     .max = LEAT_SETTINGS_MAX_WINDOW,
     .help = "Batches that a trainer holds at once unless it asks for another number; more if "
             "they are small."},
    {.name = "max_window",
     .type = LEAT_ARG_INT,
     .offset = MEMBER(max_window),
     .fallback = "128",
     .min = 1,
     .max = LEAT_SETTINGS_MAX_WINDOW,
     .help = "The most batches that a trainer may ask to hold at once."},
    {.name = "worker_timeout",
     .type = LEAT_ARG_SECONDS,
     .offset = MEMBER(worker_timeout),
     .fallback = "60s",
     .min = 0,
     .max = 30 * 86400,
     .help = "How long a worker may be at one task before its stream counts as stalled, which is "
             "logged; one that then is stopped, dead or waits for a lock for good makes the "
             "service manager start the daemon again. 0: never."},
    {.name = "exec",
     .type = LEAT_ARG_CHOICE,
     .offset = MEMBER(exec),
     .fallback = "settings",
     .choices = exec_choices,
     .help = "Whose streams may start programs, which run as the daemon's user: nobody's, those of "
             "this file, or also those that trainers of the daemon's own user describe."},
    {.name = "tuner",
     .type = LEAT_ARG_CHOICE,
     .offset = MEMBER(tuner),
     .fallback = "on",
     .choices = tuner_choices,
     .help = "Whether block size, blocks in flight, batches ahead and batches of a job are turned "
             "while streams run, where these do not say otherwise. Never changes the batches."},
    {.name = "state_directory",
     .type = LEAT_ARG_PATH,
     .offset = MEMBER(state_directory),
     .help = "Where the tuner keeps what it found, for the next run, and descriptions of what was "
             "served, for positions that do not fit any more; if not given, "
             "$STATE_DIRECTORY (systemd), $XDG_STATE_HOME/leat or ~/.local/state/leat."},
    {.name = "log",
     .type = LEAT_ARG_CHOICE,
     .offset = MEMBER(log),
     .fallback = "auto",
     .choices = log_formats,
     .help = "Form of the log: text or JSON lines on stderr, or the journal; auto: the journal if "
             "stderr leads there, else text."},
    {.name = "log_level",
     .type = LEAT_ARG_CHOICE,
     .offset = MEMBER(log_level),
     .fallback = "notice",
     .choices = log_levels,
     .help = "The least important events that are logged."},
    LEAT_ARGS_END,
};

static int check_keys(const struct leat_settings *settings, struct leat_error *err) {
    const struct leat_value *document = &settings->document;
    const char *names[LEAT_ARG_MAX];
    size_t n_names = 0;

    if (document->kind != LEAT_VALUE_MAP && document->kind != LEAT_VALUE_NULL) {
        leat_error_set(err, -EINVAL, "expected a map of settings and `" STREAMS_KEY "`");
        leat_error_locate(err, settings->file, document->line, document->column);
        return -EINVAL;
    }
    names[n_names++] = STREAMS_KEY;
    for (const struct leat_arg *arg = leat_settings_args; arg->name; arg++)
        names[n_names++] = arg->name;
    for (size_t i = 0; i < document->n_items; i++) {
        const struct leat_value_key *key = &document->keys[i];
        const char *nearest;
        size_t j = 0;

        while (j < n_names && strcmp(names[j], key->name) != 0)
            j++;
        if (j < n_names)
            continue;
        nearest = leat_nearest(key->name, names, n_names);
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; %s \"%s\"%s", key->name,
                       nearest ? "did you mean" : "the settings begin with",
                       nearest ? nearest : names[1], nearest ? "?" : "");
        leat_error_locate(err, settings->file, key->line, key->column);
        return -EINVAL;
    }
    return 0;
}

/* A shallow copy of the document's map without `streams`, for the binder. */
static int split_document(struct leat_settings *settings, struct leat_error *err) {
    const struct leat_value *document = &settings->document;
    struct leat_value *values = &settings->values;

    *values = *document;
    values->n_items = 0;
    values->items = calloc(document->n_items + 1, sizeof(*values->items));
    values->keys = calloc(document->n_items + 1, sizeof(*values->keys));
    if (!values->items || !values->keys)
        return leat_error_oom(err);
    for (size_t i = 0; i < document->n_items; i++) {
        if (strcmp(document->keys[i].name, STREAMS_KEY) == 0)
            continue;
        values->keys[values->n_items] = document->keys[i];
        values->items[values->n_items++] = document->items[i];
    }
    return 0;
}

static int64_t count_cpus(void) {
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 1)
        return 1;
    return CPU_COUNT(&cpus);
}

static int resolve_path(const struct leat_settings *settings, const char **path,
                        struct leat_error *err) {
    char *resolved;

    if (!*path)
        return 0;
    resolved = leat_config_path(&settings->base, *path);
    if (!resolved)
        return leat_error_oom(err);
    free((char *)(uintptr_t)*path);
    *path = resolved;
    return 0;
}

/* Beside the path, "unix:" is kept. */
static int resolve_http(struct leat_settings *settings, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;
    struct leat_http_address address;
    char *path, *text;
    int n;

    if (!settings->http_listen)
        return 0;
    if (leat_http_address_parse(settings->http_listen, &address, &why) < 0)
        return leat_config_error(&settings->base, "http_listen", err, "%s", why.message);
    if (!address.path)
        return 0;
    path = leat_config_path(&settings->base, address.path);
    n = path ? asprintf(&text, "unix:%s", path) : -1;
    free(path);
    if (n < 0)
        return leat_error_oom(err);
    free((char *)(uintptr_t)settings->http_listen);
    settings->http_listen = text;
    return 0;
}

static int resolve_paths(struct leat_settings *settings, struct leat_error *err) {
    const char **sockets[] = {&settings->trainer_socket, &settings->copy_socket,
                              &settings->control_socket, &settings->state_directory};

    for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
        if (resolve_path(settings, sockets[i], err) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < settings->roots.n_items; i++) {
        const char *path = settings->roots.items[i];
        int r = resolve_path(settings, &path, err);

        if (r < 0)
            return r;
        settings->roots.items[i] = (char *)(uintptr_t)path;
    }
    return resolve_http(settings, err);
}

static int check_pair(const struct leat_settings *settings, const char *lower_name, int64_t *lower,
                      const char *upper_name, int64_t upper, struct leat_error *err) {
    if (*lower <= upper)
        return 0;
    if (leat_config_given(&settings->base, lower_name))
        return leat_config_error(&settings->base, lower_name, err, "%lld is more than %s, %lld",
                                 (long long)*lower, upper_name, (long long)upper);
    *lower = upper; /* a default gives way */
    return 0;
}

static int check_values(struct leat_settings *settings, struct leat_error *err) {
    int r =
        check_pair(settings, "window", &settings->window, "max_window", settings->max_window, err);

    if (r == 0)
        r = check_pair(settings, "max_user_sessions", &settings->max_user_sessions, "max_sessions",
                       settings->max_sessions, err);
    if (r == 0)
        r = check_pair(settings, "max_user_ring_bytes", &settings->max_user_ring_bytes,
                       "max_ring_bytes", settings->max_ring_bytes, err);
    if (r == 0)
        r = check_pair(settings, "max_user_streams", &settings->max_user_streams, "max_streams",
                       settings->max_streams, err);
    return r;
}

static int check_stream_names(const struct leat_settings *settings, struct leat_error *err) {
    for (size_t i = 0; i < settings->n_streams; i++) {
        const struct leat_spec *spec = settings->streams[i];
        size_t n = strlen(spec->name);

        if (n >= 1 && n <= LEAT_NAME_MAX)
            continue;
        leat_error_set(err, -EINVAL, "a stream's name of %zu bytes is outside 1..%d", n,
                       LEAT_NAME_MAX);
        leat_error_locate(err, settings->file, spec->line, spec->column);
        return -EINVAL;
    }
    return 0;
}

static int override(struct leat_settings *settings, const struct leat_settings_overrides *overrides,
                    struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; overrides && r == 0 && i < overrides->n_items; i++)
        r = leat_override_apply(&settings->document, overrides->items[i], err);
    return r;
}

static int parse(struct leat_settings *settings, const char *text, size_t n_bytes,
                 const struct leat_settings_overrides *overrides, struct leat_error *err) {
    int r = leat_yaml_parse(text, n_bytes, settings->file, &settings->document, err);

    if (r == 0)
        r = override(settings, overrides, err);
    if (r == 0)
        r = check_keys(settings, err);
    if (r == 0)
        r = split_document(settings, err);
    if (r == 0)
        r = leat_config_bind(&settings->base, leat_settings_args, &settings->values, settings->file,
                             0, 0, err);
    if (r == 0 && settings->workers == 0)
        settings->workers = count_cpus();
    if (r == 0)
        r = check_values(settings, err);
    if (r == 0)
        r = resolve_paths(settings, err);
    if (r == 0 && leat_value_get(&settings->document, STREAMS_KEY))
        r = leat_yaml_streams(&settings->document, settings->file, &settings->streams,
                              &settings->n_streams, err);
    return r == 0 ? check_stream_names(settings, err) : r;
}

int leat_settings_parse(const char *text, size_t n_bytes, const char *file,
                        const struct leat_settings_overrides *overrides,
                        struct leat_settings **ret_settings, struct leat_error *err) {
    struct leat_settings *settings = calloc(1, sizeof(*settings));
    int r;

    if (!settings)
        return leat_error_oom(err);
    settings->file = strdup(file);
    r = settings->file ? parse(settings, text, n_bytes, overrides, err) : leat_error_oom(err);
    if (r < 0) {
        leat_settings_free(settings);
        return r;
    }
    *ret_settings = settings;
    return 0;
}

int leat_settings_load(const char *file, const struct leat_settings_overrides *overrides,
                       struct leat_settings **ret_settings, struct leat_error *err) {
    char *text;
    size_t n_bytes;
    int r;

    if (!file)
        return leat_settings_parse("", 0, "(defaults)", overrides, ret_settings, err);
    r = leat_opener_read(&leat_opener_any, file, LEAT_YAML_MAX_BYTES, &text, &n_bytes, err);
    if (r < 0)
        return r;
    r = leat_settings_parse(text, n_bytes, file, overrides, ret_settings, err);
    free(text);
    return r;
}

struct leat_settings *leat_settings_free(struct leat_settings *settings) {
    if (!settings)
        return NULL;
    leat_config_deinit(&settings->base);
    for (size_t i = 0; i < settings->n_streams; i++)
        leat_spec_free(settings->streams[i]);
    free(settings->streams);
    free(settings->values.items);
    free(settings->values.keys);
    leat_value_deinit(&settings->document);
    free(settings->file);
    free(settings);
    return NULL;
}

int leat_settings_check_streams(const struct leat_settings *settings, struct leat_error *err) {
    for (size_t i = 0; i < settings->n_streams; i++) {
        int r = leat_plan_check(settings->streams[i], err);

        if (r < 0)
            return r;
    }
    return 0;
}

void leat_settings_limits(const struct leat_settings *settings, struct leat_limits *ret_limits) {
    *ret_limits = (struct leat_limits){
        .user = {[LEAT_CHARGE_SESSIONS] = (uint64_t)settings->max_user_sessions,
                 [LEAT_CHARGE_RING_BYTES] = (uint64_t)settings->max_user_ring_bytes,
                 [LEAT_CHARGE_STREAMS] = (uint64_t)settings->max_user_streams,
                 [LEAT_CHARGE_CONTROLS] = MAX_CONTROLS / 2},
        .total = {[LEAT_CHARGE_SESSIONS] = (uint64_t)settings->max_sessions,
                  [LEAT_CHARGE_RING_BYTES] = (uint64_t)settings->max_ring_bytes,
                  [LEAT_CHARGE_STREAMS] = (uint64_t)settings->max_streams,
                  [LEAT_CHARGE_CONTROLS] = MAX_CONTROLS},
    };
}
