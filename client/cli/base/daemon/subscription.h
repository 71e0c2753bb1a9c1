/* subscription.h: the daemon's updates, one each interval until the subscription ends. Owner: the
 * one thread. */
#pragma once

#include <stdint.h>

#include "proto/base/error.h"
#include "proto/frame.h"
#include "proto/leat.pb-c.h"

struct leat_cli_subscription {
    int fd;
    int timeout_ms;
    struct leat_frame_decoder decoder;
};

/* stream NULL: all streams. An exit status; end the subscription only if it is LEAT_CLI_OK. */
int leat_cli_subscription_begin(struct leat_cli_subscription *subscription, const char *stream,
                                uint32_t interval_ms, struct leat_error *err);
/* Waits for the next update, which the caller frees. NULL: an exit status in *ret_status;
 * LEAT_CLI_INTERRUPTED after a signal (interrupt.h). */
Leat__ControlReply *leat_cli_subscription_next(struct leat_cli_subscription *subscription,
                                               int *ret_status, struct leat_error *err);
void leat_cli_subscription_end(struct leat_cli_subscription *subscription);
