/* kick.c: `leatctl kick`: ends sessions of trainers. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "pipeline/spec/bind.h"

static int take_number(const char *text, const char *what, int64_t max, uint64_t *ret_number,
                       struct leat_error *err) {
    int64_t number;

    if (leat_parse_int(text, strlen(text), &number) < 0 || number < 0 || number > max)
        return leat_error_set(err, -EINVAL, "leatctl kick: \"%.64s\" is not the %s", text, what);
    *ret_number = (uint64_t)number;
    return 0;
}

static int take_user(const char *name, Leat__KickRequest *kick, struct leat_error *err) {
    const struct passwd *entry = getpwnam(name);
    uint64_t uid = entry ? entry->pw_uid : 0;

    if (!entry && take_number(name, "name or number of a user", UINT32_MAX - 1, &uid, err) < 0)
        return err->code;
    kick->has_uid = true;
    kick->uid = (uint32_t)uid;
    return 0;
}

static int fill_request(const struct leat_cli_arguments *arguments, Leat__KickRequest *kick,
                        struct leat_error *err) {
    if (arguments->operand &&
        take_number(arguments->operand, "number of a session", INT64_MAX, &kick->session, err) < 0)
        return LEAT_CLI_USAGE;
    if (arguments->user && take_user(arguments->user, kick, err) < 0)
        return LEAT_CLI_USAGE;
    kick->pid = (uint32_t)arguments->pid.value;
    if (arguments->stream)
        kick->stream = (char *)(uintptr_t)arguments->stream;
    if (arguments->reason)
        kick->reason = (char *)(uintptr_t)arguments->reason;
    if (kick->session || kick->has_uid || kick->pid || kick->stream[0])
        return LEAT_CLI_OK;
    leat_error_set(err, -EINVAL,
                   "leatctl kick: say which sessions to end: give SESSION, --pid, --user or "
                   "--stream (leatctl kick --help)");
    return LEAT_CLI_USAGE;
}

static void add_kicked(struct leat_text *text, const void *reply,
                       const struct leat_cli_arguments *arguments) {
    const Leat__KickReply *kick = reply;

    (void)arguments;
    for (size_t i = 0; i < kick->n_sessions; i++)
        leat_text_add(text, "session %" PRIu64 " ended\n", kick->sessions[i]);
}

static int kick_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__KickRequest kick = LEAT__KICK_REQUEST__INIT;
    int status = fill_request(arguments, &kick, err);

    if (status != LEAT_CLI_OK)
        return status;
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_KICK,
                                                    .message = &kick,
                                                    .add_text = add_kicked},
                        arguments, err);
}

static const struct leat_cli_option kick_options[] = {
    LEAT_CLI_OPTION(NUMBER, "pid", pid, "end the sessions of this process", .value = "N", .min = 1,
                    .max = INT32_MAX),
    LEAT_CLI_OPTION(STRING, "user", user, "end the sessions of this user, by name or number",
                    .value = "USER"),
    LEAT_CLI_OPTION(STRING, "stream", stream, "end the sessions of this stream", .value = "NAME"),
    LEAT_CLI_OPTION(STRING, "reason", reason,
                    "the reason, which the trainer's error and the log show", .value = "TEXT"),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_kick_command = {
    .name = "kick",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "end sessions of trainers",
    .description =
        "A session is one trainer's connection. SESSION is the number that `leatctl streams\n"
        "--trainers` shows. The command ends the sessions that match SESSION and all options\n"
        "that you give. The trainer gets an error with the reason, and does not reconnect by\n"
        "itself. Its user can start it again. Only operators (admin_groups) may use this\n"
        "command.",
    .operand = "[SESSION]",
    .examples = "  leatctl kick 17 --reason 'the disk is needed'\n"
                "  leatctl kick --user alice --stream titanic\n",
    .asks_daemon = true,
    .options = kick_options,
    .run = kick_main,
};
