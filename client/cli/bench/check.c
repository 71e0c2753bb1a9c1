/* check.c: see check.h. */
#include "client/cli/bench/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/stream_file.h"
#include "pipeline/plan/plan.h"

static int check_plan(const struct leat_spec *spec, const char *file, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    int r = leat_plan_new(spec, &leat_opener_operator, &plan, err);

    if (r == 0 && plan->is_one_pass) {
        r = leat_error_set(err, -EINVAL,
                           "the data comes through a pipe, and so but once; name files to measure "
                           "several runs");
        leat_error_locate(err, file, spec->source.line, spec->source.column);
    }
    leat_plan_unref(plan);
    return r;
}

static int check_stream(const struct leat_bench_case *item, size_t n_overrides,
                        struct leat_error *err) {
    const struct leat_spec *spec = NULL;
    struct leat_cli_streams streams;
    int r = leat_cli_streams_load_with(item->file, (const char *const *)item->overrides,
                                       n_overrides, &streams, err);

    if (r == 0)
        spec = leat_cli_streams_find(&streams, item->file, item->stream, err);
    if (r == 0)
        r = spec ? leat_plan_check(spec, err) : err->code;
    if (r == 0)
        r = check_plan(spec, item->file, err);
    leat_cli_streams_deinit(&streams);
    return r;
}

/* What leatd finds wrong; "": nothing. Without leatd, the first run tells more of that. */
static void ask_leatd(const struct leat_bench_case *item, size_t n_overrides, char *ret_text,
                      size_t size) {
    static const char prefix[] = "leatd: ";
    int status = leat_cli_daemon_check(item->file, (const char *const *)item->overrides,
                                       n_overrides, ret_text, size);
    size_t n = strlen(prefix);

    if (status == 0 || status == 127)
        ret_text[0] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    if (strncmp(ret_text, prefix, n) == 0)
        memmove(ret_text, ret_text + n, strlen(ret_text + n) + 1);
}

static int check_settings(const struct leat_bench_case *item, struct leat_error *err) {
    char text[LEAT_ERROR_MESSAGE_MAX], as_written[LEAT_ERROR_MESSAGE_MAX];
    const char *said = text;
    size_t n = strlen(item->file);

    ask_leatd(item, item->n_overrides, text, sizeof(text));
    if (!text[0])
        return 0;
    ask_leatd(item, 0, as_written, sizeof(as_written));
    if (as_written[0])
        return leat_error_set(err, -EINVAL, "%s", as_written);
    if (strncmp(said, item->file, n) == 0 && said[n] == ':') /* and line and column, or none */
        said += n + 1 + strspn(said + n + 1, "0123456789: ");
    leat_error_set(err, -EINVAL, "%s", said);
    leat_error_locate(err, item->name[0] ? item->name : "--workers", 0, 0);
    return err->code;
}

/* An error of a value that does not stand in the file must not be looked for there. */
static void blame_values(const struct leat_bench_case *item, struct leat_error *err) {
    struct leat_error as_written = LEAT_ERROR_INIT;

    if (item->n_overrides == 0 ||
        (check_stream(item, 0, &as_written) < 0 && strcmp(as_written.message, err->message) == 0))
        return;
    err->line = err->column = 0;
    (void)snprintf(err->file, sizeof(err->file), "%.*s", (int)sizeof(err->file) - 1, item->name);
}

int leat_bench_check(const struct leat_bench_case *item, struct leat_error *err) {
    int r = check_stream(item, item->n_overrides, err);

    if (r == 0)
        return check_settings(item, err);
    blame_values(item, err);
    return r;
}
