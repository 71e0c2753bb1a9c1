/* settings.c: the table of settings, and checks that do not fit into a table. */
#include "daemon/config/settings.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config/rights.h"
#include "daemon/net/http_address.h"
#include "pipeline/io/opener.h"
#include "pipeline/plan/faults.h"
#include "pipeline/plan/plan.h"
#include "pipeline/spec/yaml.h"
#include "proto/base/calls.h"

#define STREAMS_KEY  "streams"
#define INCLUDE      "streams.d" /* beside the file */
#define MAX_CONTROLS 160
#define MAX_WEIGHTS  256
#define WEIGHTS_KEY  "user_weights"

static const char *const log_formats[] = {"auto", "text", "json", "journal", NULL};
static const char *const log_levels[] = {"error", "warning", "notice", "info", "debug", NULL};

static const char *const exec_choices[] = {"never", "settings", "trainers", NULL};

static const char *const switches[] = {"off", "on", NULL};

const struct leat_arg leat_settings_args[] = {
    LEAT_ARG(leat_settings, workers, INT,
             "The number of worker threads, which read data and make batches. Default: one for "
             "each CPU.",
             .min = 1, .max = LEAT_SETTINGS_MAX_WORKERS),
    LEAT_ARG(leat_settings, trainer_socket, PATH,
             "The path of the socket for trainers that read batches in shared memory. Default: "
             "trainer.sock in the folder of the sockets (see --socket-dir in leatd(8))."),
    LEAT_ARG(leat_settings, copy_socket, PATH,
             "The path of the socket for trainers that get copies of batches. Default: copy.sock "
             "in the folder of the sockets."),
    LEAT_ARG(
        leat_settings, control_socket, PATH,
        "The path of the socket for leatctl. Default: control.sock in the folder of the sockets."),
    LEAT_ARG(leat_settings, control_groups, TEXTS,
             "A list of groups, by name or number. Members of these groups may look at everything "
             "with leatctl: status, streams, trainers, stats and more. A group that does not exist "
             "is an error.",
             .fallback = "leat-clients", .min = 0, .max = LEAT_RIGHTS_MAX_GROUPS),
    LEAT_ARG(leat_settings, admin_groups, TEXTS,
             "A list of groups, by name or number. Members of these groups may look at everything "
             "with leatctl. They may also run `leatctl drain`, `reload`, `kick`, `trace` and "
             "`log-level`. The daemon's own user and root may always do everything.",
             .fallback = "leat-admin", .min = 0, .max = LEAT_RIGHTS_MAX_GROUPS),
    LEAT_ARG(leat_settings, http_listen, TEXT,
             "The HTTP address that serves metrics and the status page: 127.0.0.1:PORT, "
             "[::1]:PORT, or unix:PATH. Default: none. Every user of this machine can read the "
             "metrics from a port, unless you set http_token_file. From a Unix socket, only "
             "members of control_groups and admin_groups, the daemon's own user and root can read "
             "the metrics. A private daemon (leatctl run, Python) ignores this setting."),
    LEAT_ARG(leat_settings, http_token_file, PATH,
             "The path of a file that contains one line: a token of 16 to 256 characters. HTTP "
             "requests then need `Authorization: Bearer TOKEN` or ?token=TOKEN. Root or the "
             "daemon's user must own the file, and other users must not be able to read it."),
    LEAT_ARG(leat_settings, roots, PATHS,
             "Folders and URLs, such as /srv/data or s3://bucket/folder/. Streams that trainers "
             "describe may read only files and objects below these folders and URLs. Default: "
             "none. Then only trainers of the daemon's own user may describe streams, and their "
             "streams may read any file.",
             .min = 0, .max = 64),
    LEAT_ARG(leat_settings, max_sessions, INT, "The maximum number of connected trainers.",
             .fallback = "1024", .min = 1, .max = LEAT_SETTINGS_MAX_SESSIONS),
    LEAT_ARG(leat_settings, max_user_sessions, INT,
             "The maximum number of connected trainers of one user.", .fallback = "256", .min = 1,
             .max = LEAT_SETTINGS_MAX_SESSIONS),
    LEAT_ARG(leat_settings, memory_limit, BYTES,
             "The limit for all memory of the daemon: rings, blocks, tokenizers, workspaces and "
             "caches of all streams. The daemon refuses a stream that needs more memory than this "
             "limit leaves. Default: three quarters of the control group's limit, or of the "
             "machine's memory if the group has no limit.",
             .min = 32 << 20, .max = 1e15),
    LEAT_ARG(leat_settings, max_user_memory, BYTES,
             "The limit for the memory of one user's trainers. If it equals memory_limit, one user "
             "may take all memory. Otherwise, one or two users get at most half of memory_limit "
             "each, and three or more users get equal parts.",
             .min = 16 << 20, .max = 1e15),
    LEAT_ARG(leat_settings, max_ring_bytes, INT,
             "The limit in bytes for the memory of all batches together: batches in shared memory, "
             "and copies that leatd is sending.",
             .fallback = "8589934592", .min = 1 << 20, .max = 1e15),
    LEAT_ARG(leat_settings, max_user_ring_bytes, INT,
             "The limit in bytes for the memory that the batches of one user's trainers take.",
             .fallback = "4294967296", .min = 1 << 20, .max = 1e15),
    LEAT_ARG(leat_settings, max_streams, INT,
             "The maximum number of open streams whose description came from a trainer.",
             .fallback = "256", .min = 0, .max = LEAT_SETTINGS_MAX_SESSIONS),
    LEAT_ARG(leat_settings, max_user_streams, INT,
             "The maximum number of open streams whose description came from trainers of one user.",
             .fallback = "64", .min = 0, .max = LEAT_SETTINGS_MAX_SESSIONS),
    LEAT_ARG_NAMED(WEIGHTS_KEY, leat_settings, user_weights, MAP,
                   "A map from users (names or uids) to weights from 1 to 1000, for example "
                   "{alice: 3}. Workers spend three times as much time for alice as for a user "
                   "with weight 1. Users that are not listed have weight 1.",
                   .min = 0, .max = MAX_WEIGHTS),
    LEAT_ARG(leat_settings, window, INT,
             "The number of batches that a trainer may hold at once, unless the trainer asks for "
             "another number. If batches are small, leat chooses a larger number.",
             .fallback = "4", .min = 1, .max = LEAT_SETTINGS_MAX_WINDOW),
    LEAT_ARG(leat_settings, max_window, INT,
             "The maximum number of batches that a trainer may ask to hold at once.",
             .fallback = "128", .min = 1, .max = LEAT_SETTINGS_MAX_WINDOW),
    LEAT_ARG(leat_settings, worker_timeout, SECONDS,
             "The longest time that a worker may need for one task. If a task takes longer, leatd "
             "logs that the stream of the task is stalled. If the worker is stopped, dead or "
             "deadlocked, the service manager restarts the daemon. With 0, there is no limit.",
             .fallback = "60s", .min = 0, .max = 30 * 86400),
    LEAT_ARG(leat_settings, exec, CHOICE,
             "The streams that may start programs with the stage `exec`. `never` allows no stream. "
             "`settings` allows the streams of the settings. `trainers` also allows streams that "
             "trainers of the daemon's own user describe. The programs run as the daemon's user.",
             .fallback = "settings", .choices = exec_choices),
    LEAT_ARG(leat_settings, tuner, CHOICE,
             "If on, leatd tunes the options block_bytes, jobs_in_flight, collate_batches and "
             "prefetch_size while streams run. It does not change options that you set for a "
             "stream. Batches stay the same.",
             .fallback = "on", .choices = switches),
    LEAT_ARG(leat_settings, sandbox, CHOICE,
             "If on, leatd cannot make system calls that leat never needs, such as ptrace, mount, "
             "bpf and io_uring, and cannot get new privileges. The same applies to the programs "
             "that leatd starts (exec, leat-fetch). Choose off if your programs need these calls, "
             "as containers and debuggers do.",
             .fallback = "on", .choices = switches),
    LEAT_ARG(leat_settings, writable, PATHS,
             "A list of folders. leatd and its programs can then write only to files below these "
             "folders, and below leatd's own folders for sockets, state and fetched blocks. So put "
             "caches and files for bad records (option `quarantine`) below these folders. Default: "
             "none, so leatd can write wherever its user may. This setting needs sandbox: on, and "
             "a kernel with Landlock.",
             .min = 0, .max = LEAT_SETTINGS_MAX_WRITABLE),
    LEAT_ARG(leat_settings, state_directory, PATH,
             "The folder for files that leatd needs after a restart: the tuner's results, indexes, "
             "digests of files, and descriptions of streams. An error about an outdated position "
             "uses these descriptions to say what has changed. Default: $STATE_DIRECTORY "
             "(systemd), else $XDG_STATE_HOME/leat, else ~/.local/state/leat."),
    LEAT_ARG(leat_settings, log, CHOICE,
             "The form of the log: text on stderr, JSON lines on stderr, or the journal. With "
             "auto, leatd uses the journal if stderr is connected to the journal, otherwise text.",
             .fallback = "auto", .choices = log_formats),
    LEAT_ARG(leat_settings, log_level, CHOICE,
             "leatd logs events of this level and of all more severe levels.", .fallback = "notice",
             .choices = log_levels),
    LEAT_ARG(leat_settings, fetch, GROUP,
             "How leat-fetch reads objects from stores and web servers (s3://, https://).",
             .group = leat_fetch_args),
    LEAT_ARG(leat_settings, include, PATH,
             "A folder that contains more streams in files *.yaml. leatd reads these files in the "
             "order of their names. Default: the folder streams.d beside this file, if it exists."),
    LEAT_ARGS_END,
};

/* Sockets and threads are made once, and any thread may write into the state folder. */
const char *const leat_settings_at_start[] = {
    "workers",     "trainer_socket",  "copy_socket",     "control_socket",
    "http_listen", "http_token_file", "state_directory", "log",
    "fetch",       "sandbox",         "writable",        NULL};

static int check_keys(const struct leat_settings *settings, struct leat_error *err) {
    const struct leat_value *document = &settings->document;
    const char *names[LEAT_ARG_MAX];
    size_t n_names = 0;

    if (document->kind != LEAT_VALUE_MAP && document->kind != LEAT_VALUE_NULL) {
        leat_error_set(err, -EINVAL, "this must be a map with settings and `" STREAMS_KEY "`");
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
        leat_error_set(err, -EINVAL, "unknown key \"%.64s\"; %s%s%s", key->name,
                       nearest ? "did you mean \"" : "see leatd.yaml(5) for all settings",
                       nearest ? nearest : "", nearest ? "\"?" : "");
        leat_error_locate(err, settings->file, key->line, key->column);
        return -EINVAL;
    }
    return 0;
}

/* A shallow copy of the document's map without `streams`, for the binder. */
static int split_document(struct leat_settings *settings, struct leat_error *err) {
    const struct leat_value *document = &settings->document;
    struct leat_value *values = &settings->values;
    size_t n = 0, at = document->n_items; /* at: of `streams` */

    *values = *document;
    values->n_items = 0;
    values->items = calloc(document->n_items + 1, sizeof(*values->items));
    values->keys = calloc(document->n_items + 1, sizeof(*values->keys));
    values->sorted = calloc(document->n_items + 1, sizeof(*values->sorted));
    if (!values->items || !values->keys || !values->sorted)
        return leat_error_oom(err);
    for (size_t i = 0; i < document->n_items; i++) {
        if (strcmp(document->keys[i].name, STREAMS_KEY) == 0) {
            at = i;
            continue;
        }
        values->keys[values->n_items] = document->keys[i];
        values->items[values->n_items++] = document->items[i];
    }
    for (size_t i = 0; i < document->n_items; i++)
        if (document->sorted[i] != at)
            values->sorted[n++] = document->sorted[i] - (document->sorted[i] > at);
    return 0;
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

/* Resolves the path of a Unix socket, and keeps "unix:" in front. */
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

static int resolve_list(const struct leat_settings *settings, const struct leat_texts *paths,
                        struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; i < paths->n_items && r == 0; i++) {
        const char *path = paths->items[i];

        r = resolve_path(settings, &path, err);
        if (r == 0)
            paths->items[i] = (char *)(uintptr_t)path;
    }
    return r;
}

static int resolve_paths(struct leat_settings *settings, struct leat_error *err) {
    const char **sockets[] = {&settings->trainer_socket, &settings->copy_socket,
                              &settings->control_socket, &settings->state_directory,
                              &settings->include,        &settings->http_token_file};

    for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++)
        if (resolve_path(settings, sockets[i], err) < 0)
            return -ENOMEM;
    if (resolve_list(settings, &settings->roots, err) < 0 ||
        resolve_list(settings, &settings->writable, err) < 0)
        return -ENOMEM;
    return resolve_http(settings, err);
}

static int check_pair(const struct leat_settings *settings, const char *lower_name, int64_t *lower,
                      const char *upper_name, int64_t upper, struct leat_error *err) {
    if (*lower <= upper)
        return 0;
    if (leat_config_given(&settings->base, lower_name))
        return leat_config_error(&settings->base, lower_name, err,
                                 "%lld is larger than %s, which is %lld", (long long)*lower,
                                 upper_name, (long long)upper);
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
    if (r == 0 && settings->memory_limit)
        r = check_pair(settings, "max_user_memory", &settings->max_user_memory, "memory_limit",
                       settings->memory_limit, err);
    if (r == 0)
        r = check_pair(settings, "max_user_streams", &settings->max_user_streams, "max_streams",
                       settings->max_streams, err);
    return r;
}

/* ---- weights ---- */

static int weight_error(const struct leat_settings *settings, size_t i, bool is_key,
                        const char *text, const char *what, struct leat_error *err) {
    const struct leat_value *map = leat_value_get(&settings->values, WEIGHTS_KEY);

    leat_error_set(err, -EINVAL, "\"%.64s\" %s", text, what);
    leat_error_locate(err, settings->file, is_key ? map->keys[i].line : map->items[i].line,
                      is_key ? map->keys[i].column : map->items[i].column);
    leat_error_prefix(err, WEIGHTS_KEY);
    return -EINVAL;
}

/* A number is a uid, anything else a name: 0 or -ENOENT. */
static int find_user(const char *name, uid_t *ret_uid) {
    struct passwd passwd, *found = NULL;
    char buffer[4096];
    int64_t number;

    if (leat_parse_int(name, strlen(name), &number) == 0) {
        *ret_uid = (uid_t)number;
        return number >= 0 && number < UINT32_MAX ? 0 : -ENOENT; /* (uid_t)-1 is no user */
    }
    if (getpwnam_r(name, &passwd, buffer, sizeof(buffer), &found) != 0 || !found)
        return -ENOENT;
    *ret_uid = found->pw_uid;
    return 0;
}

static int take_weight(struct leat_settings *settings, size_t i, struct leat_error *err) {
    const char *name = settings->user_weights.keys[i], *text = settings->user_weights.values[i];
    struct leat_weight *weight = &settings->weights[i];
    int64_t number;

    if (find_user(name, &weight->uid) < 0)
        return weight_error(settings, i, true, name,
                            "is not a user of this machine; give a name or a uid", err);
    for (size_t j = 0; j < i; j++)
        if (settings->weights[j].uid == weight->uid)
            return weight_error(settings, i, true, name, "already has a weight", err);
    if (leat_parse_int(text, strlen(text), &number) < 0 || number < 1 ||
        number > LEAT_FAIR_WEIGHT_MAX)
        return weight_error(settings, i, false, text,
                            "is not a weight; give a whole number from 1 to 1000", err);
    weight->weight = (uint32_t)number;
    return 0;
}

static int take_weights(struct leat_settings *settings, struct leat_error *err) {
    size_t n = settings->user_weights.n_items;
    int r = 0;

    settings->weights = calloc(n + 1, sizeof(*settings->weights));
    if (!settings->weights)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = take_weight(settings, i, err);
    settings->n_weights = n;
    return r;
}

/* ---- groups ---- */

static int group_error(const struct leat_settings *settings, const char *key, size_t i,
                       const char *name, struct leat_error *err) {
    const struct leat_value *value = leat_value_get(&settings->values, key);
    const struct leat_value *item = value->kind == LEAT_VALUE_LIST ? &value->items[i] : value;

    leat_error_set(err, -EINVAL, "\"%.64s\" is not a group of this machine; give a name or a gid",
                   name);
    leat_error_locate(err, settings->file, item->line, item->column);
    if (item == value)
        leat_error_prefix(err, "%s", key);
    else
        leat_error_prefix(err, "%s[%zu]", key, i);
    return -EINVAL;
}

/* Groups in the file must exist; the default ones, which the package makes, need not. */
static int check_groups(const struct leat_settings *settings, const char *key,
                        const struct leat_texts *names, struct leat_error *err) {
    gid_t gid;

    if (!leat_config_given(&settings->base, key))
        return 0;
    for (size_t i = 0; i < names->n_items; i++)
        if (leat_rights_find_group(names->items[i], &gid) < 0)
            return group_error(settings, key, i, names->items[i], err);
    return 0;
}

/* ---- streams ---- */

static bool is_of_stream(const char *override) {
    return strncmp(override, STREAMS_KEY ".", strlen(STREAMS_KEY ".")) == 0;
}

/* Applies the overrides: of settings before anything is checked, of streams once all files are
 * read. */
static int override(struct leat_settings *settings, const struct leat_settings_overrides *overrides,
                    bool of_streams, struct leat_error *err) {
    int r = 0;

    for (size_t i = 0; overrides && r == 0 && i < overrides->n_items; i++) {
        const char *text = overrides->items[i];

        if (is_of_stream(text) == of_streams)
            r = leat_override_apply(
                of_streams ? leat_settings_files_find(&settings->files, &settings->document, text)
                           : &settings->document,
                text, err);
    }
    return r;
}

/* A folder that the file names must exist; the default one need not. */
static int read_files(struct leat_settings *settings, bool has_folder, struct leat_error *err) {
    char *folder;
    int r;

    if (settings->include) {
        r = leat_settings_files_read(&settings->files, settings->include, err);
        return r < 0 && !err->code ? leat_config_error(&settings->base, "include", err, "%s: %s",
                                                       settings->include, strerror(-r))
                                   : r;
    }
    if (!has_folder)
        return 0;
    folder = leat_config_path(&settings->base, INCLUDE);
    if (!folder)
        return leat_error_oom(err);
    r = leat_settings_files_read(&settings->files, folder, err);
    if (r < 0 && r != -ENOENT && !err->code)
        leat_error_set(err, r, "%s: %s", folder, strerror(-r));
    free(folder);
    return err->code;
}

static int read_streams(struct leat_settings *settings,
                        const struct leat_settings_overrides *overrides, bool has_folder,
                        struct leat_error *err) {
    struct leat_settings_streams streams = {.n = 0};
    int r = read_files(settings, has_folder, err);

    if (r == 0)
        r = override(settings, overrides, true, err);
    if (r == 0)
        r = leat_settings_streams_add(&streams, &settings->document, settings->file, err);
    for (size_t i = 0; r == 0 && i < settings->files.n; i++)
        r = leat_settings_streams_add(&streams, &settings->files.items[i].document,
                                      settings->files.items[i].path, err);
    if (r == 0)
        r = leat_settings_streams_check(&streams, err);
    settings->streams = streams.specs;
    settings->n_streams = streams.n;
    return r;
}

static int read_values(struct leat_settings *settings, struct leat_error *err) {
    int r = check_keys(settings, err);

    if (r == 0)
        r = split_document(settings, err);
    if (r == 0)
        r = leat_config_bind(&settings->base, leat_settings_args, &settings->values, settings->file,
                             0, 0, err);
    if (r == 0 && settings->workers == 0)
        settings->workers = leat_n_cpus();
    if (r == 0)
        r = check_values(settings, err);
    if (r == 0)
        r = take_weights(settings, err);
    if (r == 0)
        r = check_groups(settings, "control_groups", &settings->control_groups, err);
    if (r == 0)
        r = check_groups(settings, "admin_groups", &settings->admin_groups, err);
    return r == 0 ? resolve_paths(settings, err) : r;
}

static int drop_keys(struct leat_value *document, const struct leat_settings_overrides *overrides,
                     struct leat_error *err) {
    for (size_t i = 0; overrides && i < overrides->n_dropped; i++)
        for (size_t j = document->n_items; j > 0; j--)
            if (strcmp(document->keys[j - 1].name, overrides->dropped[i]) == 0) {
                if (leat_faults_drop_key(document, j - 1) < 0)
                    return leat_error_oom(err);
                break;
            }
    return 0;
}

static int parse(struct leat_settings *settings, const char *text, size_t n_bytes,
                 const struct leat_settings_overrides *overrides, bool has_folder,
                 struct leat_error *err) {
    int r = leat_yaml_parse(text, n_bytes, settings->file, &settings->document, err);

    if (r == 0)
        r = drop_keys(&settings->document, overrides, err);
    if (r == 0)
        r = override(settings, overrides, false, err);
    if (r == 0)
        r = read_values(settings, err);
    return r == 0 ? read_streams(settings, overrides, has_folder, err) : r;
}

static int settings_new(const char *text, size_t n_bytes, const char *file,
                        const struct leat_settings_overrides *overrides, bool has_folder,
                        struct leat_settings **ret_settings, struct leat_error *err) {
    struct leat_settings *settings = calloc(1, sizeof(*settings));
    int r;

    if (!settings)
        return leat_error_oom(err);
    settings->file = strdup(file);
    r = settings->file ? parse(settings, text, n_bytes, overrides, has_folder, err)
                       : leat_error_oom(err);
    if (r < 0) {
        leat_settings_free(settings);
        return r;
    }
    *ret_settings = settings;
    return 0;
}

int leat_settings_parse(const char *text, size_t n_bytes, const char *file,
                        const struct leat_settings_overrides *overrides,
                        struct leat_settings **ret_settings, struct leat_error *err) {
    return settings_new(text, n_bytes, file, overrides, false, ret_settings, err);
}

int leat_settings_load(const char *file, const struct leat_settings_overrides *overrides,
                       struct leat_settings **ret_settings, struct leat_error *err) {
    char *text;
    size_t n_bytes;
    int r;

    if (!file)
        return leat_settings_parse("", 0, "(defaults)", overrides, ret_settings, err);
    r = leat_settings_read_text(file, LEAT_YAML_MAX_BYTES, &text, &n_bytes, err);
    if (r < 0)
        return r;
    r = settings_new(text, n_bytes, file, overrides, !overrides || !overrides->is_alone,
                     ret_settings, err);
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
    free(settings->weights);
    free(settings->values.items);
    free(settings->values.keys);
    free(settings->values.sorted);
    leat_settings_files_deinit(&settings->files);
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
    for (int i = 0; i < LEAT_N_CHARGES; i++)
        ret_limits->is_shared[i] = ret_limits->user[i] < ret_limits->total[i];
}
