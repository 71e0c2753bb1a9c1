#include "client/cli/base/daemon/subscription.h"

#include <errno.h>
#include <unistd.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/exit_status.h"
#include "client/cli/base/interrupt.h"
#include "proto/error_message.h"

int leat_cli_subscription_begin(struct leat_cli_subscription *subscription, const char *stream,
                                uint32_t interval_ms, struct leat_error *err) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__SubscribeRequest subscribe = LEAT__SUBSCRIBE_REQUEST__INIT;
    int r, status;

    *subscription = (struct leat_cli_subscription){
        .fd = -1, .timeout_ms = (int)interval_ms + LEAT_CLI_CONTROL_TIMEOUT_MS};
    status = leat_cli_control_open(NULL, &subscription->fd, err);
    if (status != LEAT_CLI_OK)
        return status;
    if (stream)
        subscribe.stream = (char *)(uintptr_t)stream;
    subscribe.interval_ms = interval_ms;
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SUBSCRIBE;
    request.subscribe = &subscribe;
    leat_frame_decoder_init(&subscription->decoder, LEAT_CONTROL_FRAME_MAX);
    r = leat_cli_control_send(subscription->fd, &request, err);
    if (r < 0)
        leat_cli_subscription_end(subscription);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

Leat__ControlReply *leat_cli_subscription_next(struct leat_cli_subscription *subscription,
                                               int *ret_status, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;

    *ret_status = LEAT_CLI_FAILURE;
    if (leat_cli_control_receive(subscription->fd, &subscription->decoder, subscription->timeout_ms,
                                 &reply, err) < 0) {
        if (!leat_cli_interrupt_seen())
            return NULL;
        *err = LEAT_ERROR_INIT;
        *ret_status = LEAT_CLI_INTERRUPTED;
        return NULL;
    }
    if (!reply->error && reply->verb_case == LEAT__CONTROL_REPLY__VERB_UPDATE) {
        *ret_status = LEAT_CLI_OK;
        return reply;
    }
    if (reply->error)
        leat_error_from_message(err, reply->error);
    else
        leat_error_set(err, -EPROTO, "the daemon sent an unexpected answer");
    leat__control_reply__free_unpacked(reply, NULL);
    *ret_status = leat_cli_control_refusal(err);
    return NULL;
}

void leat_cli_subscription_end(struct leat_cli_subscription *subscription) {
    leat_frame_decoder_deinit(&subscription->decoder);
    (void)close(subscription->fd);
    subscription->fd = -1;
}
