/* why.c: `leatctl why`: what bounds a stream of the daemon, which looks at its counters all along;
 * and, if asked for, what would help, by trying it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/cli/commands.h"
#include "client/cli/control.h"
#include "client/cli/error_json.h"
#include "client/cli/rehearse.h"
#include "pipeline/render.h"

static void add_rehearsed(struct leat_text *text, const char *name,
                          const struct leat_cli_rehearsed *rehearsed) {
    if (rehearsed->was_tried)
        leat_text_add(text, "\"%s\": {\"ratio\": %.6g, \"batches_per_s\": %.6g}, ", name,
                      rehearsed->ratio, rehearsed->batches_per_s);
    else
        leat_text_add(text, "\"%s\": null, ", name);
}

/* The rehearsal is one more member of the object that the daemon wrote. */
static int print_json(const Leat__WhyReply *why, const struct leat_cli_rehearsal *rehearsal,
                      struct leat_error *err) {
    struct leat_text text = {.data = NULL};

    if (why->json[0] != '{')
        return leat_error_set(err, -EPROTO, "the daemon's answer is no JSON object");
    leat_text_add(&text, "{");
    if (rehearsal) {
        leat_text_add(&text, "\"rehearsal\": {");
        add_rehearsed(&text, "worker", &rehearsal->worker);
        add_rehearsed(&text, "cache", &rehearsal->cache);
        if (rehearsal->sample_bytes < UINT64_MAX)
            leat_text_add(&text, "\"sample_bytes\": %llu, ",
                          (unsigned long long)rehearsal->sample_bytes);
        else
            leat_text_add(&text, "\"sample_bytes\": null, ");
        leat_text_add(&text, "\"n_trainers\": %u}, ", rehearsal->n_trainers);
    }
    leat_text_add(&text, "%s\n", why->json + 1);
    if (text.failed)
        leat_error_oom(err);
    else
        (void)fwrite(text.data, 1, text.n_bytes, stdout);
    free(text.data);
    return err->code;
}

static void print_rehearsed(const char *label, const struct leat_cli_rehearsed *rehearsed) {
    if (rehearsed->was_tried)
        printf("    %-32s %.2f times as many: %.4g batches/s\n", label, rehearsed->ratio,
               rehearsed->batches_per_s);
}

static void print_rehearsal(const struct leat_cli_rehearsal *rehearsal) {
    if (rehearsal->sample_bytes < UINT64_MAX)
        printf("  rehearsed, with the first %llu MiB of its files\n",
               (unsigned long long)(rehearsal->sample_bytes >> 20));
    else
        printf("  rehearsed, with all of its files\n");
    print_rehearsed("one more worker", &rehearsal->worker);
    print_rehearsed("reading from a cache", &rehearsal->cache);
}

static int status_of(int r, const struct leat_error *err) {
    if (r == -EINTR)
        return LEAT_CLI_INTERRUPTED;
    if (r == -EACCES && !err->file[0]) /* no right to hold the stream */
        return LEAT_CLI_UNREACHABLE;
    return r < 0 ? leat_cli_error_status(err) : LEAT_CLI_OK;
}

static int tell(const struct leat_cli_arguments *arguments, const Leat__WhyReply *why,
                struct leat_error *err) {
    struct leat_cli_rehearsal rehearsal;
    int r = 0;

    if (!arguments->json) {
        printf("%s", why->text);
        (void)fflush(stdout);
    }
    if (arguments->rehearse)
        r = leat_cli_rehearse(arguments->operand, why, &rehearsal, err);
    if (r == 0 && arguments->json)
        r = print_json(why, arguments->rehearse ? &rehearsal : NULL, err);
    else if (r == 0 && arguments->rehearse)
        print_rehearsal(&rehearsal);
    return status_of(r, err);
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
