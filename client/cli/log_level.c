/* log_level.c: `leatctl log-level`: what the daemon logs, by room. */
#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"

static void add_levels(struct leat_text *text, const void *reply,
                       const struct leat_cli_arguments *arguments) {
    const Leat__LogLevelReply *levels = reply;

    (void)arguments;
    for (size_t i = 0; i < levels->n_rooms; i++)
        leat_text_add_line(text, "  %-14s %s", levels->rooms[i]->room, levels->rooms[i]->level);
}

static int log_level_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__LogLevelRequest log_level = LEAT__LOG_LEVEL_REQUEST__INIT;

    if (arguments->room)
        log_level.room = (char *)(uintptr_t)arguments->room;
    if (arguments->operand)
        log_level.level = (char *)(uintptr_t)arguments->operand;
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_LOG_LEVEL,
                                                    .message = &log_level,
                                                    .add_text = add_levels,
                                                    .is_list = true},
                        arguments, err);
}

static const struct leat_cli_option log_level_options[] = {
    LEAT_CLI_OPTION(STRING, "room", room, "show or set only this room (default: all)",
                    .value = "ROOM"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_log_level_command = {
    .name = "log-level",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show or set what the daemon logs",
    .description =
        "LEVEL is error, warning, notice, info or debug. If you give a LEVEL, leatd logs\n"
        "events of this level and of all more severe levels. The change lasts until leatd\n"
        "ends. A room is a part of the daemon that has its own log level. The rooms are daemon\n"
        "(start, stop, the machine), control (requests of operators), session (trainers that\n"
        "connect, leave or are refused), stream, cache and tuner. Only operators\n"
        "(admin_groups) may use this command.",
    .operand = "[LEVEL]",
    .examples = "  leatctl log-level\n"
                "  leatctl log-level info --room session\n",
    .asks_daemon = true,
    .options = log_level_options,
    .run = log_level_main,
};
