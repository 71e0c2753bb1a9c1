/* control.h: questions to the daemon's control socket, and their answers. */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"
#include "proto/frame.h"
#include "proto/leat.pb-c.h"

#define LEAT_CLI_CONTROL_TIMEOUT_MS 10000

/* address as for libleat (NULL: search). *ret_reply has no error set, and is to be freed with
 * leat__control_reply__free_unpacked(). 0; -ENOENT, -ECONNREFUSED, -EACCES if no daemon was
 * reached, or it gives no right to that; what the daemon answers; *ret_is_unreachable tells the two
 * apart. */
int leat_cli_control(const char *address, Leat__ControlRequest *request, int timeout_ms,
                     Leat__ControlReply **ret_reply, bool *ret_is_unreachable,
                     struct leat_error *err);

/* The same for several questions on one connection: fd is to be closed. */
int leat_cli_control_open(const char *address, int *ret_fd, struct leat_error *err);
int leat_cli_control_ask(int fd, Leat__ControlRequest *request, int timeout_ms,
                         Leat__ControlReply **ret_reply, struct leat_error *err);

/* As leat_cli_control() at the address that is searched for; the reply is of that kind. NULL: an
 * exit status in *ret_status. */
Leat__ControlReply *leat_cli_control_expect(Leat__ControlRequest *request,
                                            Leat__ControlReply__VerbCase expected, int timeout_ms,
                                            int *ret_status, struct leat_error *err);

/* The halves of a question, where there are several answers: a reply may have an error. */
int leat_cli_control_send(int fd, const Leat__ControlRequest *request, struct leat_error *err);
int leat_cli_control_receive(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
                             Leat__ControlReply **ret_reply, struct leat_error *err);
