/* why.c: `leatctl why`: what bounds a stream of the daemon, which looks at its counters all along.
 */
#include <stdio.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/options.h"

static int why_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    why.stream = (char *)(uintptr_t)arguments->operand;
    why.interval_ms = arguments->seconds.is_given ? (uint32_t)(arguments->seconds.value * 1000) : 0;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_WHY;
    request.why = &why;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_WHY,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (reply)
        printf(arguments->json ? "%s\n" : "%s",
               arguments->json ? reply->why->json : reply->why->text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

static const struct leat_cli_option why_options[] = {
    {.name = "seconds",
     .kind = LEAT_CLI_NUMBER,
     .offset = LEAT_CLI_AT(seconds),
     .value = "S",
     .min = 1,
     .max = 30,
     .help = "how long to look back (default 10)"},
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_why_command = {
    .name = "why",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "tell what bounds a stream, and what it would gain",
    .description =
        "Of a STREAM that the running daemon feeds: whether its trainers, a stage, the disk, "
        "memory_limit, the\nnumber of workers, the order, or others on the machine bound its "
        "rate; which trainer is slow (its\nrank, client, process and host) and which ones wait, "
        "and "
        "for what; how much of the time each part was\nbusy; and between how many times as many "
        "batches there would be with one more worker, one more\nprocessor, a cache, files in "
        "memory, or a trainer that takes no time.\n\nThe daemon looks at its counters once a "
        "second; what is "
        "told is of the last S seconds, or of the time\nsince the stream's first trainer came. "
        "Gains are those of a model: each part was busy for so long for each\nbatch, and the one "
        "that is busiest bounds. What was not measured is not told: of a FIFO there are no\nfiles "
        "in memory, and a cache that could not be tried has no gain. Of a stream that stalls "
        "or has failed the error is\ntold as well.",
    .operand = "STREAM",
    .examples = "  leatctl why titanic\n"
                "  leatctl why titanic --seconds 30 --json | jq .gains.worker.low\n",
    .asks_daemon = true,
    .options = why_options,
    .run = why_main,
};
