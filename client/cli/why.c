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
    LEAT_CLI_OPTION(NUMBER, "seconds", seconds, "seconds to look back (default 10)", .value = "S",
                    .min = 1, .max = 30),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_why_command = {
    .name = "why",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show what bounds a stream, and estimate gains",
    .description =
        "Shows what bounds the rate of a STREAM of the running daemon: its trainers, a stage,\n"
        "the disk, memory_limit, the number of workers, the order, or other load on the\n"
        "machine. It names slow trainers (rank, client, process, host) and the trainers that\n"
        "wait for them. It shows how busy each part was. It estimates the gain from one more\n"
        "worker or processor, a cache, files in memory, or an infinitely fast trainer.\n"
        "\n"
        "The daemon samples its counters once a second. The answer covers the last S seconds,\n"
        "or the time since the stream's first trainer came. A gain is an estimate by a model:\n"
        "the busiest part bounds the rate. Parts without a measurement have no gain: a FIFO\n"
        "has no files in memory, and some caches cannot be tried. If the stream stalls or has\n"
        "failed, the error follows.",
    .operand = "STREAM",
    .examples = "  leatctl why titanic\n"
                "  leatctl why titanic --seconds 30 --json | jq .gains.worker.low\n",
    .asks_daemon = true,
    .options = why_options,
    .run = why_main,
};
