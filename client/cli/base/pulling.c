#include "client/cli/base/pulling.h"

#include <errno.h>
#include <stdio.h>

#include "client/cli/base/checkpoint.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/interrupt.h"
#include "client/cli/base/output.h"
#include "client/cli/base/stream_file.h"

/* The ranks of the arguments; the launcher completes them. */
static struct leat_ranks given_ranks(const struct leat_cli_arguments *arguments) {
    bool is_sized = arguments->world_size.is_given;

    return (struct leat_ranks){
        .rank = is_sized && !arguments->rank.is_given ? LEAT_RANK_LAUNCHER
                                                      : (uint32_t)arguments->rank.value,
        .world_size = (uint32_t)arguments->world_size.value,
    };
}

static int check_ranks(const struct leat_cli_arguments *arguments, struct leat_ranks *ret_ranks,
                       struct leat_error *err) {
    *ret_ranks = given_ranks(arguments);
    if (arguments->rank.is_given && !arguments->world_size.is_given) {
        leat_error_set(err, -EINVAL, "with --rank %llu, also give --world-size",
                       (unsigned long long)arguments->rank.value);
        return LEAT_CLI_USAGE;
    }
    return leat_launcher_complete(ret_ranks, err) < 0 ? LEAT_CLI_USAGE : LEAT_CLI_OK;
}

int leat_cli_pulling_check(struct leat_cli_pulling *pulling, struct leat_error *err) {
    int status = check_ranks(pulling->arguments, &pulling->ranks, err);

    if (status == LEAT_CLI_OK &&
        leat_cli_checkpoint_read(pulling->arguments, pulling->position, err) < 0)
        status = err->file[0] ? leat_cli_error_status(err) : LEAT_CLI_USAGE;
    return status;
}

static void on_reconnect(void *user, const struct leat_reconnect_event *event) {
    struct leat_cli_pulling *pulling = user;
    struct leat_text text = {.data = NULL};

    pulling->was_lost = true;
    if (event->kind == LEAT_RECONNECT_LOST)
        leat_text_add_line(&text, "leatctl: the connection is lost; retrying: %s", event->reason);
    else if (event->kind == LEAT_RECONNECT_BACK)
        leat_text_add_line(&text, "leatctl: connected again after %.1f s (attempt %u)",
                           (double)event->waited_ns / 1e9, event->attempt);
    leat_cli_print_to(&text, stderr);
}

static void on_notice(void *user, const char *text) {
    struct leat_text line = {.data = NULL};

    (void)user;
    leat_text_add_line(&line, "leatctl: warning: %s", text);
    leat_cli_print_to(&line, stderr);
}

static int32_t reconnect_timeout_ms(const struct leat_cli_pulling *pulling) {
    const struct leat_cli_number *seconds = &pulling->arguments->reconnect;

    if (pulling->is_private || (seconds->is_given && seconds->value == 0))
        return LEAT_NO_RECONNECT;
    return (int32_t)seconds->value * 1000; /* 0: the library's default */
}

static void fill_options(struct leat_cli_pulling *pulling, struct leat_open_options *options) {
    const struct leat_cli_arguments *arguments = pulling->arguments;
    struct leat_ranks ranks = given_ranks(arguments);

    leat_open_options_init(options);
    options->reconnect_timeout_ms = reconnect_timeout_ms(pulling);
    options->on_reconnect = on_reconnect;
    options->on_reconnect_user = pulling;
    options->on_notice = on_notice;
    options->delivery = (int32_t)arguments->delivery;
    options->rank = ranks.rank;
    options->world_size = ranks.world_size;
    options->window = (uint32_t)arguments->window.value;
    options->first_epoch = arguments->epoch.value;
    options->first_step = arguments->step.value;
    options->n_epochs = arguments->epochs.is_given ? arguments->epochs.value : 1;
    options->n_steps = arguments->batches.value;
    options->has_seed = arguments->seed.is_given;
    options->seed = arguments->seed.value;
    options->client_name = "leatctl";
    options->position = pulling->position[0] ? pulling->position : NULL;
    options->accept_changes = arguments->accept_changes;
}

int leat_cli_pulling_open(struct leat_cli_pulling *pulling, struct leat_client *client,
                          struct leat_stream **ret_stream, struct leat_error *err) {
    struct leat_open_options options;
    int r = -EINTR;

    fill_options(pulling, &options);
    if (!leat_cli_interrupt_seen())
        r = leat_client_open(client, pulling->stream, &options, ret_stream);
    if (r < 0 && leat_cli_interrupt_seen())
        return leat_error_set(err, -EINTR, "interrupted");
    if (r < 0)
        *err = *leat_client_error(client);
    return r;
}

int leat_cli_pulling_file(struct leat_cli_pulling *pulling,
                          int (*pull)(struct leat_cli_pulling *pulling, struct leat_error *err),
                          struct leat_error *err) {
    const struct leat_cli_arguments *arguments = pulling->arguments;
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    struct leat_cli_daemon daemon;
    int status;

    if (!spec)
        return leat_cli_error_status(err);
    if (leat_cli_daemon_start(&daemon, arguments, err) < 0) {
        status = leat_cli_pulling_status(err->code, err, true);
    } else {
        pulling->stream = spec->name;
        pulling->address = daemon.directory;
        pulling->is_private = true;
        status = pull(pulling, err);
        leat_cli_daemon_stop(&daemon);
    }
    leat_spec_free(spec);
    return status;
}

int leat_cli_pulling_status(int r, const struct leat_error *err, bool was_opened) {
    if (r == 0)
        return LEAT_CLI_OK;
    if (leat_cli_interrupt_seen())
        return leat_cli_interrupt_was_pipe() ? LEAT_CLI_OK : LEAT_CLI_INTERRUPTED;
    if (!was_opened && (r == -ECONNREFUSED || r == -EACCES) && !err->file[0])
        return r == -EACCES ? LEAT_CLI_NO_RIGHT : LEAT_CLI_NO_DAEMON;
    return leat_cli_error_status(err);
}
