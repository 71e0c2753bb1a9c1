/* control.h: questions to the daemon's control socket, and their answers. */
#pragma once

#include <stdint.h>

#include "client/cli/base/arguments.h"
#include "proto/base/error.h"
#include "proto/base/text.h"
#include "proto/exchange.h"
#include "proto/leat.pb-c.h"

#define LEAT_CLI_CONTROL_TIMEOUT_MS 10000

/* Asks one question on a connection of its own. address as for libleat (NULL: search); message: of
 * the verb, as Leat__StatsRequest; NULL: an empty one. The reply is the verb's and is to be freed
 * with leat__control_reply__free_unpacked(). NULL: an exit status in *ret_status, with err set. */
Leat__ControlReply *leat_cli_control(const char *address, Leat__ControlRequest__VerbCase verb,
                                     void *message, int timeout_ms, int *ret_status,
                                     struct leat_error *err);

/* The same for several questions on one connection. An exit status; the caller closes fd. */
int leat_cli_control_open(const char *address, int *ret_fd, struct leat_error *err);
/* The exit status that an error of the daemon means. */
int leat_cli_control_refusal(const struct leat_error *err);

/* A command that asks the daemon one question and prints its answer. */
/* reply: the message of the verb, as Leat__StatusReply. */
typedef void leat_cli_answer(struct leat_text *text, const void *reply,
                             const struct leat_cli_arguments *arguments);

struct leat_cli_question {
    Leat__ControlRequest__VerbCase verb;
    void *message;             /* of the verb; NULL: an empty one */
    int timeout_ms;            /* 0: LEAT_CLI_CONTROL_TIMEOUT_MS */
    leat_cli_answer *add_text; /* for people */
    leat_cli_answer *add_json; /* for --json; NULL: the message's fields */
    bool is_list;              /* --json prints only the message's first field, an array */
};

/* An exit status; err says what failed. */
int leat_cli_ask(const struct leat_cli_question *question,
                 const struct leat_cli_arguments *arguments, struct leat_error *err);

/* The daemon's updates, one each interval until the subscription ends. Owner: the
 * one thread. */
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
