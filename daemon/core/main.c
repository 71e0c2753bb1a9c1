/* main.c: leatd. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/core/daemon.h"
#include "daemon/core/options.h"
#include "daemon/core/reference.h"
#include "daemon/core/reload.h"
#include "daemon/core/retry.h"
#include "daemon/net/service_manager.h"
#include "daemon/schedule/heap.h"
#include "daemon/system/process.h"
#include "proto/fetch.h"

#define EXIT_STUCK EXIT_SUCCESS /* a job that hangs on its storage does not make a stop fail */
#define EXIT_GIVEN_UP                                                                              \
    6 /* EXIT_NOTCONFIGURED, see systemd.exec(5): RestartPreventExitStatus= of the unit */

/* Bytes of a text about the next start, which may be empty. */
#define THEN_MAX 64

static int complain(const struct leat_error *err, const char *then) {
    char text[LEAT_ERROR_PRINT_MAX];
    struct leat_log log;

    (void)leat_error_print(err, text, sizeof(text));
    leat_log_init(&log, STDERR_FILENO, LEAT_LOG_AUTO, LEAT_LOG_ERROR);
    if (log.format == LEAT_LOG_JOURNAL)
        leat_log_write(&log, LEAT_EVENT_FAILED,
                       (struct leat_log_field[]){LEAT_LOG_T("error", text),
                                                 LEAT_LOG_T("then", then[0] ? then : "it ends"),
                                                 LEAT_LOG_FIELDS_END});
    else
        (void)fprintf(stderr, "leatd: %s%s%s\n", text, then[0] ? "; " : "", then);
    return err->file[0] ? EX_CONFIG : EXIT_FAILURE;
}

static void tell_status(const struct leat_error *err, const char *then) {
    char text[LEAT_ERROR_PRINT_MAX], line[LEAT_ERROR_PRINT_MAX + THEN_MAX + 32];

    (void)leat_error_print(err, text, sizeof(text));
    (void)snprintf(line, sizeof(line), "STATUS=cannot start: %s; %s", text, then);
    (void)leat_notify(line);
}

/* The daemon cannot start; reports whether and when it is started again. */
static int fail(const struct leat_error *err) {
    char then[THEN_MAX] = "";
    struct leat_retry retry;
    int status;

    leat_retry_begin(&retry, !err->file[0]);
    if (retry.is_given_up)
        (void)snprintf(then, sizeof(then),
                       "leatd gives up after %d s: correct the error, then start leatd",
                       LEAT_RETRY_S);
    else if (retry.is_managed && retry.pause_s > 0)
        (void)snprintf(then, sizeof(then), "next attempt in %u s", retry.pause_s);
    else if (retry.is_managed)
        (void)snprintf(then, sizeof(then), "next attempt at once");
    status = complain(err, then);
    if (retry.is_managed)
        tell_status(err, then);
    if (!leat_retry_wait(&retry))
        return EXIT_SUCCESS;
    return retry.is_given_up ? EXIT_GIVEN_UP : status;
}

static void tell_fault(void *data, const struct leat_error *err) {
    int *status = data;

    *status = complain(err, "");
}

static int check_config(const struct leat_daemon_options *options) {
    const char *file = options->config_file;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_configuration configuration;
    int status = EXIT_SUCCESS;
    size_t n_streams;

    if (leat_configuration_faults(file, &options->overrides, tell_fault, &status) > 0)
        return status;
    if (leat_configuration_read(file, &options->overrides, &configuration, &err) < 0)
        return complain(&err, "");
    n_streams = configuration.settings->n_streams;
    (void)printf("%s: no errors, %zu stream%s\n", file, n_streams, n_streams == 1 ? "" : "s");
    leat_configuration_deinit(&configuration);
    return EXIT_SUCCESS;
}

/* Prints the error, but does not log it, as the daemon does so. */
static int complain_reload(const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, text, sizeof(text));
    (void)fprintf(stderr, "leatd: %s\n", text);
    return err->file[0] ? EX_CONFIG : EXIT_FAILURE;
}

static int print_reference(void) {
    struct leat_text text = {.data = NULL};
    bool is_whole;

    leat_reference_json(&text);
    is_whole = !text.failed && fwrite(text.data, 1, text.n_bytes, stdout) == text.n_bytes;
    free(text.data);
    return is_whole && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int serve(const struct leat_daemon_options *options) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_daemon *daemon;
    int r;

    leat_heap_limit();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)umask(0077);
    leat_process_reserve_descriptors();
    if (options->config_file) /* for a leat-fetch of this process */
        (void)setenv(LEAT_FETCH_CONFIG_NAME, options->config_file, 0);
    r = leat_daemon_new(options, &daemon, &err);
    if (r < 0)
        return fail(&err);
    leat_retry_forget();
    r = leat_daemon_run(daemon, &err);
    if (r == LEAT_DAEMON_STUCK)
        _exit(EXIT_STUCK);
    leat_daemon_free(daemon);
    return r < 0 ? complain(&err, "") : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_options options;

    if (leat_options_parse(&options, argc, argv, &err) < 0)
        return complain(&err, "");
    if (options.wants_help) {
        (void)fputs(leat_options_help(), stdout);
        return EXIT_SUCCESS;
    }
    if (options.wants_version) {
        (void)puts("leatd " LEAT_VERSION);
        return EXIT_SUCCESS;
    }
    if (options.wants_events) {
        leat_log_reference_print(options.form, stdout);
        return EXIT_SUCCESS;
    }
    if (options.wants_reference)
        return print_reference();
    if (options.asks_reload)
        return leat_reload_ask(options.daemon.socket_dir, &err) < 0 ? complain_reload(&err)
                                                                    : EXIT_SUCCESS;
    return options.checks_config ? check_config(&options.daemon) : serve(&options.daemon);
}
