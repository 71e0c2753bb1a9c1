/* log_level.c: `leatctl log-level`: what the daemon logs, by room. */
#include <stdio.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/base/options.h"

static void add_levels(struct leat_text *text, const Leat__LogLevelReply *levels, bool as_json) {
    for (size_t i = 0; i < levels->n_rooms; i++) {
        const Leat__RoomLevel *of = levels->rooms[i];

        if (as_json)
            leat_text_add(text, "%s\"%s\": \"%s\"", i ? ", " : "{", of->room, of->level);
        else
            leat_text_add_line(text, "  %-14s %s", of->room, of->level);
    }
    leat_text_add(text, as_json ? "}\n" : "");
}

static int log_level_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__LogLevelRequest log_level = LEAT__LOG_LEVEL_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    if (arguments->room)
        log_level.room = (char *)(uintptr_t)arguments->room;
    if (arguments->operand)
        log_level.level = (char *)(uintptr_t)arguments->operand;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_LOG_LEVEL;
    request.log_level = &log_level;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_LOG_LEVEL,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    add_levels(&text, reply->log_level, arguments->json);
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return LEAT_CLI_OK;
}

static const struct leat_cli_option log_level_options[] = {
    {.name = "room",
     .kind = LEAT_CLI_STRING,
     .offset = LEAT_CLI_AT(room),
     .value = "ROOM",
     .help = "only of that room (default: of all)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_log_level_command = {
    .name = "log-level",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show and set what the daemon logs, by room",
    .description =
        "LEVEL is error, warning, notice, info or debug: the least important events that are "
        "logged. It holds until the\ndaemon ends. Rooms: daemon (start, stop, the machine), "
        "control (what operators asked for), session (trainers\nthat come, go and are refused), "
        "stream, cache, tuner. For operators (admin_groups).",
    .operand = "[LEVEL]",
    .examples = "  leatctl log-level\n"
                "  leatctl log-level info --room session\n",
    .asks_daemon = true,
    .options = log_level_options,
    .run = log_level_main,
};
