/* why.c: `leatctl why`: what bounds a stream of the daemon, which looks at its counters all along;
 * and, if asked for, what a cache would give, by trying it. */
#include <errno.h>
#include <stdio.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"
#include "client/cli/error_json.h"
#include "client/cli/rehearse.h"

static void print(const Leat__WhyReply *why, const struct leat_cli_rehearsal *rehearsal,
                  bool as_json) {
    if (as_json && rehearsal) /* a member more of the object that the daemon wrote */
        printf("{\"rehearsal\": {\"ratio\": %.6g, \"batches_per_s\": %.6g, \"n_records\": %llu, "
               "\"n_trainers\": %u}, %s\n",
               rehearsal->ratio, rehearsal->batches_per_s,
               (unsigned long long)rehearsal->n_records, rehearsal->n_trainers, why->json + 1);
    else if (as_json)
        printf("%s\n", why->json);
    else
        printf("%s", why->text);
    if (rehearsal && !as_json)
        printf("  rehearsed\n    %-32s %.2f times as many: %.4g batches/s, of the first %llu "
               "records\n",
               "reading from a cache", rehearsal->ratio, rehearsal->batches_per_s,
               (unsigned long long)rehearsal->n_records);
}

static int tell(const struct leat_cli_arguments *arguments, const Leat__WhyReply *why,
                struct leat_error *err) {
    struct leat_cli_rehearsal rehearsal;
    int r;

    if (!arguments->rehearse) {
        print(why, NULL, arguments->json);
        return LEAT_CLI_OK;
    }
    r = leat_cli_rehearse(arguments->operand, why, &rehearsal, err);
    if (r == 0)
        print(why, &rehearsal, arguments->json);
    else if (r == -EINTR)
        return LEAT_CLI_INTERRUPTED;
    else
        leat_error_prefix(err, "rehearsal");
    return r == 0 ? LEAT_CLI_OK : leat_cli_error_status(err);
}

int leat_cli_why(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    why.stream = (char *)(uintptr_t)arguments->operand;
    why.interval_ms = arguments->seconds.is_given ? (uint32_t)(arguments->seconds.value * 1000) : 0;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_WHY;
    request.why = &why;
    reply = leat_cli_control_expect(&request, LEAT__CONTROL_REPLY__VERB_WHY,
                                    LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (reply)
        status = tell(arguments, reply->why, err);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}
