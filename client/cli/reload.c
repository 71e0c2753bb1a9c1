/* reload.c: `leatctl reload`: the daemon reads its configuration anew, or only says what it thinks
 * of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/options.h"

/* Tokenizers of all streams in use are loaded, one after the other. */
#define TIMEOUT_S 600

static void add_names(struct leat_text *text, const char *words, char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        leat_text_add(text, "%s", i == 0 ? words : ", ");
        leat_text_add_shown(text, names[i]);
        leat_text_add(text, i + 1 == n ? "\n" : "");
    }
}

static void add_text(struct leat_text *text, const Leat__ReloadReply *reply, bool only_checks) {
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
              only_checks ? "settings that would change: " : "settings in force: ", reply->settings,
              reply->n_settings);
    add_names(text, "settings that wait for the next start: ", reply->at_start, reply->n_at_start);
    leat_text_add(text, only_checks ? "the configuration is fine\n" : "reloaded\n");
}

static void add_json_text(struct leat_text *text, const char *value) {
    leat_text_add_json(text, value, strlen(value));
}

static void add_json_names(struct leat_text *text, const char *key, char *const *names, size_t n) {
    leat_text_add(text, ", \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        leat_text_add(text, i > 0 ? ", " : "");
        add_json_text(text, names[i]);
    }
    leat_text_add(text, "]");
}

static void add_json(struct leat_text *text, const Leat__ReloadReply *reply) {
    leat_text_add(text, "{\"streams\": [");
    for (size_t i = 0; i < reply->n_streams; i++) {
        const Leat__StreamChange *stream = reply->streams[i];

        leat_text_add(text, "%s{\"name\": ", i > 0 ? ", " : "");
        add_json_text(text, stream->name);
        leat_text_add(text, ", \"change\": ");
        add_json_text(text, stream->change);
        leat_text_add(text, ", \"n_sessions\": %u, \"what\": ", stream->n_sessions);
        add_json_text(text, stream->what);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]");
    add_json_names(text, "settings", reply->settings, reply->n_settings);
    add_json_names(text, "at_start", reply->at_start, reply->n_at_start);
    leat_text_add(text, "}\n");
}

static int print_text(struct leat_text *text, struct leat_error *err) {
    int r = text->data ? 0 : leat_error_oom(err);

    if (r == 0)
        (void)fwrite(text->data, 1, text->n_bytes, stdout);
    free(text->data);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

static int reload_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__ReloadRequest reload = LEAT__RELOAD_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    reload.only_checks = arguments->check;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_RELOAD;
    request.reload = &reload;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_RELOAD, 1000 * TIMEOUT_S,
                             &status, err);
    if (!reply)
        return status;
    if (arguments->json)
        add_json(&text, reply->reload);
    else
        add_text(&text, reply->reload, arguments->check);
    status = print_text(&text, err);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

static const struct leat_cli_option reload_options[] = {
    {.name = "check",
     .kind = LEAT_CLI_FLAG,
     .offset = LEAT_CLI_AT(check),
     .help = "only say what would happen, or what is wrong"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_reload_command = {
    .name = "reload",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "have the daemon read its configuration anew",
    .description =
        "All of it is read and checked before anything is used: if something is wrong, that is "
        "told with file, line\nand column, the exit status is 3, and all goes on as it was. "
        "Streams whose batches stay the same (by\ntheir digests, the contents of tokenizers "
        "included) and their trainers do not notice. Trainers of a stream\nthat is another one "
        "now "
        "finish the epoch that they are in as it was and go on with the new one, or, with\nthe "
        "stream's option `on_reload: tell`, end at once with an error that says so. Those of a "
        "stream that is\nnot there any more finish their epoch and end. Settings are in force at "
        "once, but for those that are\ntold to wait for the next start.",
    .examples = "  leatctl reload --check && leatctl reload\n"
                "  leatctl reload --json\n",
    .asks_daemon = true,
    .options = reload_options,
    .run = reload_main,
};
