/* exec.c: sends records through the operator's programs: a line of JSON to stdin, a line of JSON
 * from stdout.
 *
 * Programs run as leat's user, so the opener says which may be started. An answer must depend on
 * its record alone: which process gets the record, and what that was asked before, is a matter of
 * timing. An answer repeats the tag of its record; its place in the output means nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/stages/exec/pool.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

struct exec {
    struct leat_config base;
    struct leat_texts command;
    struct leat_texts inputs;
    struct leat_text_map schema;
    bool drops;
    int64_t processes;
    double deadline;
    double warm_up;
    int64_t ahead;
    int64_t max_restarts;
    double idle;
    const char *directory;
    struct leat_text_map environment;
    int64_t max_line_bytes;
    int64_t max_memory;
    int64_t max_tasks;

    struct leat_exec_rules rules;
    char *resolved_directory;
    uint8_t contents[LEAT_DIGEST_BYTES]; /* of the files that the command names */
};

static const struct leat_arg args[] = {
    LEAT_ARG(exec, command, TEXTS,
             "the program and its arguments, run without a shell; the program reads each record as "
             "a line of JSON; it must answer each record immediately, in order, with one line that "
             "repeats the record's \"_leat\"; it may get a record twice; leat ignores other lines "
             "on its stdout",
             .is_positional = true, .is_required = true, .min = 1, .max = 64),
    LEAT_ARG(exec, schema, MAP,
             "the fields of an answer and their types, such as `text: text`, `score: float32`, "
             "`ids: int32[]`, `ids: int32[<=512]` or `vector: float32[8]`; the answer {\"_leat\": "
             ".., \"error\": \"reason\"} makes the record bad",
             .is_required = true, .min = 1, .max = 256),
    LEAT_ARG(exec, inputs, FIELDS, "the fields that the program gets; default: all fields",
             .min = 1, .max = 256),
    LEAT_ARG(exec, drops, BOOL,
             "true: an answer {\"_leat\": .., \"_drop\": true} drops the record, as `filter` does",
             .fallback = "false"),
    LEAT_ARG(exec, processes, INT,
             "the maximum number of processes of the program that a stream runs at the same time",
             .is_aside = true, .fallback = "1", .min = 1, .max = LEAT_EXEC_PROCESSES_MAX),
    LEAT_ARG(exec, deadline, FLOAT,
             "seconds that the program may take for one answer; after that, leat kills "
             "the process and sends the record to another process; if that process fails "
             "too, the record is bad",
             .fallback = "60", .min = 0.01, .max = 86400),
    LEAT_ARG(exec, warm_up, FLOAT,
             "extra seconds for the first answer of a process, because its program may "
             "still be loading",
             .fallback = "60", .min = 0, .max = 86400),
    LEAT_ARG(
        exec, ahead, INT,
        "the maximum number of records that leat sends to a process ahead, while the process still "
        "works on an earlier record",
        .is_aside = true, .fallback = "32", .min = 1, .max = 4096),
    LEAT_ARG(exec, max_restarts, INT,
             "the maximum number of failures in a row, without an answer between them; "
             "after more failures, the stream fails; leat tests each new process with a "
             "record that an earlier process has answered",
             .fallback = "10", .min = 0, .max = 1000000),
    LEAT_ARG(exec, idle, FLOAT, "seconds without work after which leat ends the processes",
             .is_aside = true, .fallback = "30", .min = 0.1, .max = 86400),
    LEAT_ARG(exec, directory, PATH,
             "working directory of the program; default: the folder of the file that has "
             "this stage"),
    LEAT_ARG(exec, environment, MAP,
             "additional environment variables; the program gets only these variables, "
             "PYTHONUNBUFFERED=1, and the daemon's PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, "
             "TZ, TMPDIR and CREDENTIALS_DIRECTORY",
             .min = 1, .max = 256),
    LEAT_ARG(exec, max_line_bytes, BYTES,
             "the maximum size of an answer; a process that writes a longer line fails",
             .fallback = "16MiB", .min = 64, .max = 1 << 30),
    LEAT_ARG(exec, max_memory, BYTES,
             "the maximum virtual memory of a process (RLIMIT_AS); 0: no limit", .fallback = "0",
             .min = 0, .max = 1e15),
    LEAT_ARG(exec, max_tasks, INT,
             "the maximum number of processes and threads of the program's user (RLIMIT_NPROC, "
             "which does not limit root); 0: no limit",
             .fallback = "4096", .min = 0, .max = 4194304),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    struct exec *self = (struct exec *)config;

    for (size_t i = 0; i < self->environment.n_items; i++)
        if (!self->environment.keys[i][0] || strchr(self->environment.keys[i], '='))
            return leat_config_error(config, "environment", err,
                                     "\"%.64s\" is not a valid name for an environment variable",
                                     self->environment.keys[i]);
    if (!self->command.items[0][0])
        return leat_config_error(config, "command", err, "the name of the program is empty");
    self->rules.drops = self->drops;
    self->rules.n_processes = (uint32_t)self->processes;
    self->rules.n_pending = (uint32_t)self->ahead + 1;
    self->rules.max_restarts = (uint32_t)self->max_restarts;
    self->rules.deadline_ns = (uint64_t)(self->deadline * 1e9);
    self->rules.warm_up_ns = (uint64_t)(self->warm_up * 1e9);
    self->rules.idle_ns = (uint64_t)(self->idle * 1e9);
    self->rules.how.max_memory_bytes = (uint64_t)self->max_memory;
    self->rules.how.max_tasks = (uint64_t)self->max_tasks;
    self->rules.how.max_line_bytes = (size_t)self->max_line_bytes;
    return leat_exec_schema_declare(&self->rules.schema, config, "schema", &self->schema, err);
}

/* ---- the command ---- */

static char *join(const char *directory, size_t n_directory, const char *name) {
    char *path = NULL;

    return asprintf(&path, "%.*s/%s", (int)n_directory, directory, name) < 0 ? NULL : path;
}

static bool is_program(const char *path) {
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Finds the program in our PATH, as execvp does. NULL: errno is ENOMEM or ENOENT. */
static char *find_on_path(const char *name) {
    const char *path = getenv("PATH");

    for (const char *at = path && path[0] ? path : PATH_DEFAULT, *end;; at = end + 1) {
        char *found;

        end = strchrnul(at, ':');
        found = join(at, (size_t)(end - at), name);
        if (!found || (end > at && is_program(found)))
            return found;
        free(found);
        errno = ENOENT;
        if (!*end)
            return NULL;
    }
}

static int find_program(struct exec *self, struct leat_error *err) {
    const char *name = self->command.items[0];
    char *path;

    if (name[0] == '/')
        path = strdup(name);
    else if (strchr(name, '/'))
        path = join(self->resolved_directory, strlen(self->resolved_directory), name);
    else
        path = find_on_path(name);
    if (!path && errno == ENOMEM)
        return leat_error_oom(err);
    if (!path || !is_program(path)) {
        free(path);
        return leat_config_error(&self->base, "command", err, "there is no program \"%.128s\"%s",
                                 name, strchr(name, '/') ? "" : " on the PATH");
    }
    self->rules.how.command = calloc(self->command.n_items + 1, sizeof(char *));
    if (!self->rules.how.command) {
        free(path);
        return leat_error_oom(err);
    }
    self->rules.how.command[0] = path;
    for (size_t i = 1; i < self->command.n_items; i++)
        self->rules.how.command[i] = self->command.items[i];
    return 0;
}

static int find_directory(struct exec *self, struct leat_error *err) {
    const char *given = self->directory ? self->directory : ".";
    struct stat status;
    char *path = leat_config_path(&self->base, given);
    bool is_out_of_memory;

    self->resolved_directory = path ? realpath(path, NULL) : NULL;
    is_out_of_memory = !path || (!self->resolved_directory && errno == ENOMEM);
    free(path);
    if (is_out_of_memory)
        return leat_error_oom(err);
    if (!self->resolved_directory || stat(self->resolved_directory, &status) < 0 ||
        !S_ISDIR(status.st_mode))
        return leat_config_error(&self->base, "directory", err, "\"%.128s\" is not a directory",
                                 given);
    self->rules.how.directory = self->resolved_directory;
    return 0;
}

/* ---- its environment ---- */

static bool is_passed_on(const char *variable) {
    static const char *const names[] = {
        "PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL=",
        "LANG=", "LC_",   "TZ=",   "TMPDIR=",  "CREDENTIALS_DIRECTORY="};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* True if `environment` has the variable, which then replaces ours. */
static bool is_given(const struct exec *self, const char *variable) {
    size_t n = strcspn(variable, "=");

    for (size_t i = 0; i < self->environment.n_items; i++)
        if (strlen(self->environment.keys[i]) == n &&
            strncmp(self->environment.keys[i], variable, n) == 0)
            return true;
    return false;
}

static int add_variable(struct exec *self, size_t *n, const char *name, const char *value) {
    char **variable = &self->rules.how.environment[*n];

    if (asprintf(variable, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0) {
        *variable = NULL;
        return -ENOMEM;
    }
    ++*n;
    return 0;
}

static int make_environment(struct exec *self, struct leat_error *err) {
    size_t n_ours = 0, n = 0;
    int r = 0;

    while (environ && environ[n_ours])
        n_ours++;
    self->rules.how.environment = calloc(n_ours + self->environment.n_items + 2, sizeof(char *));
    if (!self->rules.how.environment)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < n_ours; i++)
        if (is_passed_on(environ[i]) && !is_given(self, environ[i]))
            r = add_variable(self, &n, environ[i], NULL);
    if (r == 0 && !is_given(self, "PYTHONUNBUFFERED"))
        r = add_variable(self, &n, "PYTHONUNBUFFERED", "1");
    for (size_t i = 0; r == 0 && i < self->environment.n_items; i++)
        r = add_variable(self, &n, self->environment.keys[i], self->environment.values[i]);
    return r < 0 ? leat_error_oom(err) : 0;
}

/* ---- what it is made of ---- */

static int hash_file(struct leat_blake2b *state, const char *path, struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    char buffer[16384];
    ssize_t n = 0;

    if (fd < 0)
        return 0; /* it cannot be read: only its name counts */
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        leat_blake2b_u64(state, (uint64_t)status.st_size);
        while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))
            if (n > 0)
                leat_blake2b_update(state, buffer, (size_t)n);
    }
    if (n < 0)
        leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    (void)close(fd);
    return n < 0 ? err->code : 0;
}

/* Hashes the files among the arguments, and the program if it is named by its path. A program on
 * the PATH is the machine's, and not hashed. */
static int hash_command(struct exec *self, struct leat_error *err) {
    const char *directory = self->resolved_directory;
    struct leat_blake2b state;
    int r = 0;

    leat_blake2b_init(&state);
    for (size_t i = strchr(self->command.items[0], '/') ? 0 : 1;
         r == 0 && i < self->command.n_items; i++) {
        const char *item = self->command.items[i];
        char *path = item[0] == '/' ? strdup(item) : join(directory, strlen(directory), item);

        r = path ? hash_file(&state, path, err) : leat_error_oom(err);
        leat_blake2b_u64(&state, i);
        free(path);
    }
    leat_blake2b_final(&state, self->contents);
    return r;
}

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct exec *self = (struct exec *)config;
    int r;

    if (!opener->may_execute) {
        (void)leat_config_error(
            config, "command", err,
            "this stream may not start programs: allow it with the daemon's setting `exec`");
        err->code = -EACCES;
        return -EACCES;
    }
    r = find_directory(self, err);
    if (r == 0)
        r = find_program(self, err);
    if (r == 0)
        r = make_environment(self, err);
    return r == 0 ? hash_command(self, err) : r;
}

static void unload(struct leat_config *config) {
    struct exec *self = (struct exec *)config;

    leat_exec_schema_deinit(&self->rules.schema);
    if (self->rules.how.command)
        free(self->rules.how.command[0]);
    free(self->rules.how.command);
    for (char **variable = self->rules.how.environment; variable && *variable; variable++)
        free(*variable);
    free(self->rules.how.environment);
    free(self->resolved_directory);
}

static void digest(const struct leat_config *config, struct leat_blake2b *state) {
    leat_blake2b_update(state, ((const struct exec *)config)->contents, LEAT_DIGEST_BYTES);
}

/* ---- the stage ---- */

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct exec *self = (struct exec *)config;

    return leat_exec_schema_plan(&self->rules.schema, config, &self->inputs, planner, err);
}

static bool filters(const struct leat_config *config) {
    return ((const struct exec *)config)->drops;
}

static uint32_t max_jobs(const struct leat_config *config) {
    return ((const struct exec *)config)->rules.n_processes;
}

static int workspace_new(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err) {
    struct leat_exec_pool *pool = NULL;
    int r = leat_exec_pool_new(&((const struct exec *)config)->rules, &pool, err);

    *ret_workspace = pool;
    return r;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    (void)config;
    return map->block->n_rows ? leat_exec_pool_map(map->workspace, map, err) : 0;
}

const struct leat_stage_ops leat_stage_exec = {
    LEAT_STAGE_BASE("exec", exec, MAP),
    .summary = "sends each record to your own program and reads fields from the answers",
    .example = "{ command: [python3, clean.py], inputs: [text], schema: { text: text, score: "
               "float32 }, processes: 4, deadline: 10 }",
    .check = check,
    .load = load,
    .unload = unload,
    .digest = digest,
    .plan = plan,
    .filters = filters,
    .map = map_rows,
    .max_jobs = max_jobs,
    .workspace_new = workspace_new,
    .workspace_free = leat_exec_pool_free,
    .workspace_idle = leat_exec_pool_idle,
};
