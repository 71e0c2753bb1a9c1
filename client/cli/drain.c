/* drain.c: `leatctl drain`: trainers move to the next daemon, then this one stops. */
#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"

#define DRAIN_TIMEOUT_S 30

static void add_drained(struct leat_text *text, const void *reply,
                        const struct leat_cli_arguments *arguments) {
    (void)reply;
    leat_text_add(text, arguments->json ? "{\"ok\": true}" : "drained\n");
}

static int drain_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__DrainRequest drain = LEAT__DRAIN_REQUEST__INIT;

    drain.timeout_ms =
        1000 * (uint32_t)(arguments->timeout.is_given ? arguments->timeout.value : DRAIN_TIMEOUT_S);
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_DRAIN,
                                                    .message = &drain,
                                                    .timeout_ms = (int)drain.timeout_ms +
                                                                  LEAT_CLI_CONTROL_TIMEOUT_MS,
                                                    .add_text = add_drained,
                                                    .add_json = add_drained},
                        arguments, err);
}

static const struct leat_cli_option drain_options[] = {
    LEAT_CLI_OPTION(NUMBER, "timeout", timeout,
                    "stop the daemon after at most S seconds (default 30)", .value = "S",
                    .max = 86400),
    LEAT_CLI_OPTION_END,
};

const struct leat_cli_command leat_cli_drain_command = {
    .name = "drain",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "stop the daemon when its trainers have returned their batches",
    .description =
        "The daemon sends no new batches. It stops when its trainers have returned their\n"
        "batches, or when the time of --timeout has passed. The trainers wait until another\n"
        "daemon answers at the same address. Then they continue with their next batch.",
    .examples = "  leatctl drain --timeout 60\n",
    .asks_daemon = true,
    .options = drain_options,
    .run = drain_main,
};
