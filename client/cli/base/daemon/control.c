#include "client/cli/base/daemon/control.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/cli/base/interrupt.h"
#include "client/cli/base/message_json.h"
#include "client/cli/base/output.h"
#include "client/transport/address.h"
#include "proto/message.h"

int leat_cli_control_open(const char *address, int *ret_fd, struct leat_error *err) {
    int r = leat_address_connect(address, LEAT_SOCKET_CONTROL, SOCK_STREAM,
                                 LEAT_CLI_CONTROL_TIMEOUT_MS, ret_fd, NULL, err);

    return r == 0 ? LEAT_CLI_OK : r == -EACCES ? LEAT_CLI_NO_RIGHT : LEAT_CLI_NO_DAEMON;
}

int leat_cli_control_refusal(const struct leat_error *err) {
    bool is_refused = err->code == -EACCES && !err->file[0]; /* not a file that cannot be read */

    return is_refused ? LEAT_CLI_NO_RIGHT : leat_cli_error_status(err);
}

Leat__ControlReply *leat_cli_control(const char *address, Leat__ControlRequest__VerbCase verb,
                                     void *message, int timeout_ms, int *ret_status,
                                     struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    int fd;

    *ret_status = leat_cli_control_open(address, &fd, err);
    if (*ret_status != LEAT_CLI_OK)
        return NULL;
    if (leat_exchange_ask(fd, verb, message, timeout_ms, &reply, err) < 0)
        *ret_status = leat_cli_control_refusal(err);
    (void)close(fd);
    return reply;
}

/* ---- one question of a command ---- */

int leat_cli_ask(const struct leat_cli_question *question,
                 const struct leat_cli_arguments *arguments, struct leat_error *err) {
    int timeout_ms = question->timeout_ms ? question->timeout_ms : LEAT_CLI_CONTROL_TIMEOUT_MS;
    struct leat_text text = {.data = NULL};
    int status;
    Leat__ControlReply *reply =
        leat_cli_control(NULL, question->verb, question->message, timeout_ms, &status, err);

    if (!reply)
        return status;
    /* The verbs' replies are a union of pointers. */
    if (!arguments->json)
        question->add_text(&text, reply->status, arguments);
    else if (question->add_json)
        question->add_json(&text, reply->status, arguments);
    else if (question->is_list)
        leat_cli_message_list_json(&text, reply->status);
    else
        leat_cli_message_json(&text, NULL, reply->status);
    if (arguments->json)
        leat_text_add(&text, "\n");
    if (text.failed)
        status = leat_error_oom(err) < 0 ? LEAT_CLI_FAILURE : status;
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}

/* ---- subscriptions ---- */

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
    r = leat_exchange_send(subscription->fd, &request, err);
    if (r < 0)
        leat_cli_subscription_end(subscription);
    return r < 0 ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}

Leat__ControlReply *leat_cli_subscription_next(struct leat_cli_subscription *subscription,
                                               int *ret_status, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;

    *ret_status = LEAT_CLI_FAILURE;
    if (leat_exchange_receive(subscription->fd, &subscription->decoder, subscription->timeout_ms,
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
        leat_error_set(err, -EPROTO,
                       "the daemon sent an unexpected answer: check that leatd and leatctl have "
                       "the same version");
    leat__control_reply__free_unpacked(reply, NULL);
    *ret_status = leat_cli_control_refusal(err);
    return NULL;
}

void leat_cli_subscription_end(struct leat_cli_subscription *subscription) {
    leat_frame_decoder_deinit(&subscription->decoder);
    (void)close(subscription->fd);
    subscription->fd = -1;
}
