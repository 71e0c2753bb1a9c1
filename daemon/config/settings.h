/* settings.h: the configuration of the daemon: its settings and the operator's streams.
 *
 * One YAML document: the keys of leat_settings_args, and `streams`. More streams stand in the files
 * of a folder (settings_files.h). Values are checked against the table by the same binder as the
 * arguments of stages; everything is checked before anything is used. Relative paths are relative
 * to the file that names them. Immutable once loaded; may be read by any thread.
 *
 * A reload (reload.h) replaces these settings. The loop reads a value from env->settings when it is
 * needed, or the reload hands it over. Settings for which neither is possible are named in
 * leat_settings_at_start.
 */
#pragma once

#include "daemon/config/fetch_settings.h"
#include "daemon/config/settings_files.h"
#include "daemon/users/user.h"
#include "pipeline/spec/bind.h"
#include "pipeline/spec/override.h"
#include "proto/spec.h"

#define LEAT_SETTINGS_MAX_WORKERS  1024
#define LEAT_SETTINGS_MAX_SESSIONS 16384
#define LEAT_SETTINGS_MAX_WRITABLE 64
#define LEAT_SETTINGS_MAX_WINDOW   128 /* this many notices always fit into a socket's buffer */

/* Whose streams may start programs (the stage `exec`). */
enum leat_settings_exec {
    LEAT_SETTINGS_EXEC_NEVER,
    LEAT_SETTINGS_EXEC_SETTINGS, /* those of the settings */
    LEAT_SETTINGS_EXEC_TRAINERS, /* also those that trainers of the daemon's own user describe */
};

enum leat_settings_tuner { LEAT_SETTINGS_TUNER_OFF, LEAT_SETTINGS_TUNER_ON };
enum leat_settings_sandbox { LEAT_SETTINGS_SANDBOX_OFF, LEAT_SETTINGS_SANDBOX_ON };

struct leat_settings {
    struct leat_config base;
    int64_t workers;
    const char *trainer_socket, *copy_socket, *control_socket; /* NULL: not given */
    const char *http_listen;     /* see http_address.h; a path in it is resolved. NULL: not given */
    const char *http_token_file; /* NULL: not given */
    struct leat_texts control_groups, admin_groups; /* see rights.h */
    struct leat_texts roots;
    int64_t max_sessions, max_user_sessions;
    int64_t max_ring_bytes, max_user_ring_bytes;
    int64_t memory_limit, max_user_memory; /* 0: not given */
    int64_t max_streams, max_user_streams;
    struct leat_text_map user_weights; /* as written; what it says: */
    struct leat_weight *weights;
    size_t n_weights;
    int64_t window, max_window;
    int64_t worker_timeout;      /* in seconds; 0: never */
    int exec;                    /* enum leat_settings_exec */
    int tuner;                   /* enum leat_settings_tuner */
    int sandbox;                 /* enum leat_settings_sandbox */
    struct leat_texts writable;  /* none: not given */
    const char *state_directory; /* NULL: not given */
    int log;                     /* enum leat_log_format */
    int log_level;               /* index into error, warning, notice, info, debug */
    struct leat_fetch_settings fetch;
    const char *include; /* the folder of files with more streams; NULL: none */

    char *file;
    struct leat_value document; /* what the configs refer to */
    struct leat_settings_files files;
    struct leat_value values; /* the document's keys without `streams`; its items are borrowed */
    size_t n_streams;
    struct leat_spec **streams;
};

extern const struct leat_arg leat_settings_args[];
/* The names of settings that a reload does not change; ends with NULL. */
extern const char *const leat_settings_at_start[];

/* Values that replace those of the file: see pipeline/spec/override.h. */
struct leat_settings_overrides {
    size_t n_items;
    const char *items[LEAT_OVERRIDES_MAX];
    size_t n_dropped; /* keys of the file that are ignored, to find further faults */
    const char *dropped[LEAT_ARG_MAX + 1];
    bool is_alone; /* the folder beside the file is only read if the file names it */
};

/* Reads and checks a file. file NULL: all defaults. overrides may be NULL. May block. */
int leat_settings_load(const char *file, const struct leat_settings_overrides *overrides,
                       struct leat_settings **ret_settings, struct leat_error *err);
/* The same from a text; reads no folder unless the text names one. */
int leat_settings_parse(const char *text, size_t n_bytes, const char *file,
                        const struct leat_settings_overrides *overrides,
                        struct leat_settings **ret_settings, struct leat_error *err);
struct leat_settings *leat_settings_free(struct leat_settings *settings);

/* Checks the stages and arguments of every stream, without reading data. */
int leat_settings_check_streams(const struct leat_settings *settings, struct leat_error *err);

void leat_settings_limits(const struct leat_settings *settings, struct leat_limits *ret_limits);
