/* control.h: questions to the daemon's control socket, and their answers. */
#pragma once

#include "proto/base/error.h"
#include "proto/frame.h"
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
/* 0 or -errno: what the daemon answers. */
int leat_cli_control_ask(int fd, Leat__ControlRequest__VerbCase verb, void *message, int timeout_ms,
                         Leat__ControlReply **ret_reply, struct leat_error *err);
/* The exit status that an error of the daemon means. */
int leat_cli_control_refusal(const struct leat_error *err);

/* The halves of a question that has several answers: a reply may have an error. */
int leat_cli_control_send(int fd, const Leat__ControlRequest *request, struct leat_error *err);
int leat_cli_control_receive(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
                             Leat__ControlReply **ret_reply, struct leat_error *err);
