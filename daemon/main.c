/* main.c: leatd. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/heap.h"
#include "daemon/options.h"
#include "daemon/process.h"
#include "daemon/reference.h"

#define EXIT_STUCK EXIT_SUCCESS /* a job hangs on its storage: that is no reason to fail a stop */

static int complain(const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];
    struct leat_log log;

    (void)leat_error_print(err, text, sizeof(text));
    leat_log_init(&log, STDERR_FILENO, LEAT_LOG_AUTO, LEAT_LOG_ERROR);
    if (log.format == LEAT_LOG_JOURNAL)
        leat_log_write(&log, LEAT_EVENT_FAILED,
                       (struct leat_log_field[]){LEAT_LOG_T("error", text), LEAT_LOG_FIELDS_END});
    else
        (void)fprintf(stderr, "leatd: %s\n", text);
    return EXIT_FAILURE;
}

static int check_config(const struct leat_daemon_options *options) {
    const char *file = options->config_file;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_settings *settings = NULL;
    int r = leat_settings_load(file, &options->overrides, &settings, &err);

    if (r == 0)
        r = leat_settings_check_streams(settings, &err);
    if (r == 0)
        (void)printf("%s: fine, %zu stream%s\n", file, settings->n_streams,
                     settings->n_streams == 1 ? "" : "s");
    leat_settings_free(settings);
    return r < 0 ? complain(&err) : EXIT_SUCCESS;
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
    r = leat_daemon_new(options, &daemon, &err);
    if (r < 0)
        return complain(&err);
    r = leat_daemon_run(daemon, &err);
    if (r == LEAT_DAEMON_STUCK)
        _exit(EXIT_STUCK);
    leat_daemon_free(daemon);
    return r < 0 ? complain(&err) : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_options options;

    if (leat_options_parse(&options, argc, argv, &err) < 0)
        return complain(&err);
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
    return options.checks_config ? check_config(&options.daemon) : serve(&options.daemon);
}
