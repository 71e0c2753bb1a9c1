/* reload.c: `leatctl reload`: the daemon reads its configuration again, or only checks it. */
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"

/* The daemon loads the tokenizers of all streams in use, one after the other. */
#define TIMEOUT_S 600

static void add_names(struct leat_text *text, const char *words, char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        leat_text_add(text, "%s", i == 0 ? words : ", ");
        leat_text_add_shown(text, names[i]);
        leat_text_add(text, i + 1 == n ? "\n" : "");
    }
}

static void add_text(struct leat_text *text, const void *message,
                     const struct leat_cli_arguments *arguments) {
    const Leat__ReloadReply *reply = message;
    size_t n_same = 0;

    for (size_t i = 0; i < reply->n_streams; i++) {
        const Leat__StreamChange *stream = reply->streams[i];

        if (strcmp(stream->change, "unchanged") == 0)
            n_same++;
        else
            leat_text_add_line(text, "%-10s %s%s%s", stream->change, stream->name,
                               stream->what[0] ? ": " : "", stream->what);
    }
    if (n_same > 0)
        leat_text_add(text, "%-10s %zu stream%s\n", "unchanged", n_same, n_same == 1 ? "" : "s");
    add_names(text,
              arguments->check ? "settings that would change: " : "settings that have changed: ",
              reply->settings, reply->n_settings);
    add_names(text, "settings that need a restart: ", reply->at_start, reply->n_at_start);
    leat_text_add(text, arguments->check ? "the configuration has no errors\n" : "reloaded\n");
}

static int reload_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__ReloadRequest reload = LEAT__RELOAD_REQUEST__INIT;

    reload.only_checks = arguments->check;
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_RELOAD,
                                                    .message = &reload,
                                                    .timeout_ms = 1000 * TIMEOUT_S,
                                                    .add_text = add_text},
                        arguments, err);
}

static const struct leat_cli_option reload_options[] = {
    LEAT_CLI_OPTION(FLAG, "check", check, "only check the configuration, and list the changes"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_reload_command = {
    .name = "reload",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "reload the daemon's configuration",
    .description =
        "The daemon reads and checks the whole configuration before it uses any of it. If\n"
        "there is an error, the command prints it with file, line and column. The exit status\n"
        "is then 3, and nothing changes.\n"
        "\n"
        "A stream continues without interruption if its digest and the contents of its\n"
        "tokenizer stay the same. Trainers of a changed stream finish their epoch, and then\n"
        "get the new stream. If the stream has the option `on_reload: tell`, its trainers end\n"
        "at once with an error. Trainers of a removed stream finish their epoch and end. Most\n"
        "settings take effect at once. The command lists the settings that need a restart.",
    .examples = "  leatctl reload --check && leatctl reload\n"
                "  leatctl reload --json\n",
    .asks_daemon = true,
    .options = reload_options,
    .run = reload_main,
};
