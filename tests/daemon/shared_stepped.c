/* shared_stepped.c: see shared_stepped.h. */
#include "tests/daemon/shared_stepped.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/control/control.h"
#include "daemon/trainer/session.h"

#define QUIET_TURNS 3

static const struct {
    const char *name, *text;
} files[] = {
    {"numbers.csv", "id\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"},
    {"lists.jsonl", "{\"ids\": [1]}\n{\"ids\": [1, 2, 3]}\n{\"ids\": []}\n{\"ids\": [7, 8]}\n"},
    {"leatd.yaml", "workers: 1\n"
                   "roots: [.]\n"
                   "max_user_ring_bytes: 16777216\n"
                   "streams:\n"
                   "  numbers:\n"
                   "    source: { csv: { paths: [numbers.csv] } }\n"
                   "    stages:\n"
                   "      - cast: { input: id, dtype: int64 }\n"
                   "      - batch: { batch_size: 4 }\n"
                   "  lists:\n"
                   "    source: { jsonl: { paths: [lists.jsonl], fields: { ids: list<int32> } } }\n"
                   "    stages:\n"
                   "      - pad: { input: ids, longest: true, value: 0 }\n"
                   "      - batch: { batch_size: 2 }\n"},
};

static struct leat_daemon *kept;
static char folder[64];
static int null_fd = -1;

static void check(int ok, const char *what) {
    if (ok)
        return;
    perror(what);
    abort();
}

static const char *path_of(const char *name) {
    static char path[sizeof(folder) + 32];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void remove_folder(void) {
    kept = leat_daemon_free(kept);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        (void)unlink(path_of(files[i].name));
    (void)rmdir(folder);
}

static void make_folder(void) {
    (void)snprintf(folder, sizeof(folder), "/tmp/leat-fuzz-XXXXXX");
    check(mkdtemp(folder) != NULL, folder);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        FILE *file = fopen(path_of(files[i].name), "w");

        check(file && fputs(files[i].text, file) >= 0 && fclose(file) == 0, files[i].name);
    }
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    check(null_fd >= 0, "/dev/null");
    check(atexit(remove_folder) == 0, "atexit");
}

struct leat_daemon *test_stepped_daemon(void) {
    struct leat_daemon_options options = {.socket_dir = folder, .log_fd = null_fd};
    struct leat_error err = LEAT_ERROR_INIT;

    if (kept)
        return kept;
    if (!folder[0])
        make_folder();
    options.log_fd = null_fd;
    options.config_file = path_of("leatd.yaml");
    if (leat_daemon_new(&options, &kept, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return kept;
}

void test_stepped_run(struct leat_daemon *daemon) {
    for (int n_quiet = 0; n_quiet < QUIET_TURNS;) {
        (void)uv_run(&daemon->loop, UV_RUN_NOWAIT);
        if (daemon->scheduler.n_submitted > 0 || !leat_socket_closer_is_idle(&daemon->closer))
            n_quiet = 0;
        else
            n_quiet++;
        if (daemon->are_handles_closed)
            return;
    }
}

void test_stepped_end(struct leat_daemon *daemon) {
    struct leat_error why = LEAT_ERROR_INIT;

    leat_error_set(&why, -1, "the input is at its end");
    if (daemon->env.is_draining)
        leat_daemon_begin_stop(daemon);
    for (struct leat_session *session = daemon->sessions.first, *next; session; session = next) {
        next = session->next;
        leat_session_abandon(session, &why);
    }
    for (struct leat_control *control = daemon->controls.first, *next; control; control = next) {
        next = control->next;
        leat_control_close(control);
    }
    while (daemon->sessions.first || daemon->feeds.first || daemon->controls.first)
        test_stepped_run(daemon);
    if (daemon->env.is_stopping) {
        (void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
        kept = leat_daemon_free(daemon);
        return;
    }
    daemon->feeds.n_generations = daemon->sessions.n_made = 0; /* as in a fresh one */
}
