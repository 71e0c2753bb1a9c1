/* source.c: see source.h. */
#include "client/cli/top/source.h"

#include <poll.h>
#include <unistd.h>

#include "client/cli/base/daemon/control.h"

int leat_top_source_open(struct leat_top_source *source, uint32_t interval_ms, int answer_ms,
                         struct leat_error *err) {
    int status;

    *source = (struct leat_top_source){
        .subscription.fd = -1, .questions = -1, .interval_ms = interval_ms, .answer_ms = answer_ms};
    status = leat_cli_control_open(NULL, &source->questions, err);
    if (status != LEAT_CLI_OK)
        return status;
    return leat_cli_subscription_begin(&source->subscription, NULL, interval_ms, err);
}

void leat_top_source_close(struct leat_top_source *source) {
    if (source->subscription.fd >= 0)
        leat_cli_subscription_end(&source->subscription);
    if (source->questions >= 0)
        (void)close(source->questions);
    source->questions = -1;
}

void leat_top_sample_deinit(struct leat_top_sample *sample) {
    if (sample->update)
        leat__control_reply__free_unpacked(sample->update, NULL);
    if (sample->trainers)
        leat__control_reply__free_unpacked(sample->trainers, NULL);
    *sample = (struct leat_top_sample){.update = NULL};
}

static bool is_readable(int fd) {
    struct pollfd item = {.fd = fd, .events = POLLIN};

    return poll(&item, 1, 0) > 0;
}

/* The last of those that are there: who was stopped for a while is not to lag behind. */
static int take_update(struct leat_top_source *source, Leat__ControlReply **ret_reply,
                       struct leat_error *err) {
    Leat__ControlReply *reply;
    int status;

    source->subscription.timeout_ms = (int)source->interval_ms + source->answer_ms;
    do {
        reply = leat_cli_subscription_next(&source->subscription, &status, err);
        if (reply && *ret_reply)
            leat__control_reply__free_unpacked(*ret_reply, NULL);
        if (reply)
            *ret_reply = reply;
    } while (reply && is_readable(source->subscription.fd));
    return status;
}

int leat_top_source_take(struct leat_top_source *source, struct leat_top_sample *ret_sample,
                         struct leat_error *err) {
    int status;

    *ret_sample = (struct leat_top_sample){.update = NULL};
    status = take_update(source, &ret_sample->update, err);
    if (status == LEAT_CLI_OK &&
        leat_exchange_ask(source->questions, LEAT__CONTROL_REQUEST__VERB_TRAINERS, NULL,
                          source->answer_ms, &ret_sample->trainers, err) < 0)
        status = LEAT_CLI_FAILURE;
    if (status != LEAT_CLI_OK)
        leat_top_sample_deinit(ret_sample);
    return status;
}
