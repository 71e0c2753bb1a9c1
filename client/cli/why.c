/* why.c: `leatctl why`: what bounds a stream of the daemon. */
#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"

static void add_why(struct leat_text *text, const void *reply,
                    const struct leat_cli_arguments *arguments) {
    const Leat__WhyReply *why = reply;

    leat_text_add(text, "%s", arguments->json ? why->json : why->text);
}

static int why_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;

    why.stream = (char *)(uintptr_t)arguments->operand;
    why.interval_ms = arguments->seconds.is_given ? (uint32_t)(arguments->seconds.value * 1000) : 0;
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_WHY,
                                                    .message = &why,
                                                    .add_text = add_why,
                                                    .add_json = add_why},
                        arguments, err);
}

static const struct leat_cli_option why_options[] = {
    LEAT_CLI_OPTION(NUMBER, "seconds", seconds, "number of seconds to look back (default 10)",
                    .value = "S", .min = 1, .max = 30),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_why_command = {
    .name = "why",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show what limits the speed of a stream, and what would help",
    .description =
        "Shows what limits the speed of a STREAM of the running daemon. This may be its\n"
        "trainers, a stage, the disk, memory_limit, the number of workers, the thread that\n"
        "orders rows, or other load on the machine. It names slow trainers (rank, client,\n"
        "process, host) and the trainers that wait for them. It shows how busy each part was.\n"
        "It estimates what you would gain from one more worker or CPU, a cache, files in\n"
        "memory, or an infinitely fast trainer.\n"
        "\n"
        "The daemon samples its counters once a second. The answer covers the last S seconds,\n"
        "or less if the stream's first trainer came later. The estimates assume that the\n"
        "busiest part limits the speed. leat leaves out an estimate that makes no sense for\n"
        "the stream. For a FIFO, for example, it does not estimate the gain of files in\n"
        "memory. If the stream stalls or has failed, the error comes last.",
    .operand = "STREAM",
    .examples = "  leatctl why titanic\n"
                "  leatctl why titanic --seconds 30 --json | jq .gains.worker.low\n",
    .asks_daemon = true,
    .options = why_options,
    .run = why_main,
};
