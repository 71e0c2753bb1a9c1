/* core/sandbox.c: see sandbox.h. */
#include "daemon/core/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/configuration.h"
#include "daemon/log/log.h"
#include "daemon/system/sandbox.h"
#include "pipeline/io/state_folder.h"

#define OWN_FOLDERS (LEAT_N_ENDPOINTS + 4) /* HTTP, runtime, state and fetched blocks */

struct folders {
    size_t n;
    char *paths[LEAT_SETTINGS_MAX_WRITABLE + OWN_FOLDERS];
};

/* Adds a folder of the daemon itself, and makes it. What cannot be made cannot be written. */
static void add_own(struct folders *folders, char *take_path) {
    if (take_path && take_path[0] && leat_state_folder_make(take_path) == 0)
        folders->paths[folders->n++] = take_path;
    else
        free(take_path);
}

/* The same for the folder that has this in it. */
static void add_above(struct folders *folders, const char *path) {
    const char *end = path ? strrchr(path, '/') : NULL;

    if (end && end > path)
        add_own(folders, strndup(path, (size_t)(end - path)));
}

static void add_all_own(const struct leat_endpoints *endpoints, const char *state,
                        struct folders *folders) {
    const struct leat_settings *settings = endpoints->env->settings;
    const char *runtime = getenv("RUNTIME_DIRECTORY");

    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        add_above(folders, endpoints->listeners[i].path);
    add_above(folders, endpoints->http->listener.path);
    add_above(folders, state);
    if (runtime)
        add_own(folders, strndup(runtime, strcspn(runtime, ":")));
    add_own(folders,
            settings->fetch.path ? strdup(settings->fetch.path) : leat_fetch_default_path());
}

static void log_missing(const struct leat_env *env, const char *what, int r) {
    leat_log_write(env->log, LEAT_EVENT_SANDBOX,
                   (struct leat_log_field[]){LEAT_LOG_T("what", what),
                                             LEAT_LOG_T("error", strerror(-r)),
                                             LEAT_LOG_FIELDS_END});
}

/* 1: the limit is in force; 0: the kernel has none; or -errno for a folder of the settings. */
static int limit_writes(const struct leat_endpoints *endpoints, const char *state,
                        struct leat_error *err) {
    const struct leat_settings *settings = endpoints->env->settings;
    struct folders folders = {.n = settings->writable.n_items};
    size_t failed;
    int r;

    for (size_t i = 0; i < folders.n; i++)
        folders.paths[i] = settings->writable.items[i];
    add_all_own(endpoints, state, &folders);
    r = leat_sandbox_limit_writes((const char *const *)folders.paths, folders.n,
                                  endpoints->is_of_process ? endpoints->directory : NULL, &failed);
    for (size_t i = settings->writable.n_items; i < folders.n; i++)
        free(folders.paths[i]);
    if (r < 0 && failed < settings->writable.n_items)
        return leat_config_error(&settings->base, "writable", err, "%s: %s",
                                 settings->writable.items[failed], strerror(-r));
    if (r < 0)
        log_missing(endpoints->env, "writable (Landlock)", r);
    return r == 0;
}

int leat_sandbox_enter(const struct leat_endpoints *endpoints, const char *state,
                       struct leat_error *err) {
    static const char *const words[2][2] = {{"none", "writes"}, {"calls", "calls, writes"}};
    struct leat_env *env = endpoints->env;
    int r_calls, r_writes = 0;

    env->sandbox = "off";
    if (env->settings->sandbox == LEAT_SETTINGS_SANDBOX_OFF)
        return 0;
    if (env->settings->writable.n_items > 0)
        r_writes = limit_writes(endpoints, state, err);
    if (r_writes < 0)
        return r_writes;
    r_calls = leat_sandbox_refuse_calls();
    if (r_calls < 0)
        log_missing(env, "sandbox (seccomp)", r_calls);
    env->sandbox = words[r_calls == 0][r_writes];
    return 0;
}
