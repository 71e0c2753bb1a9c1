/* subscription.h: what the daemon tells each interval, until nobody wants it any more. Owner: the
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

/* stream: NULL: all. An exit status; to be ended only if it is LEAT_CLI_OK. */
int leat_cli_subscription_begin(struct leat_cli_subscription *subscription, const char *stream,
                                uint32_t interval_ms, struct leat_error *err);
/* The next update, to be freed; NULL: an exit status, LEAT_CLI_INTERRUPTED after a signal that
 * interrupt.h watches for. */
Leat__ControlReply *leat_cli_subscription_next(struct leat_cli_subscription *subscription,
                                               int *ret_status, struct leat_error *err);
void leat_cli_subscription_end(struct leat_cli_subscription *subscription);
