/* exchange.h: a question on the daemon's control socket and its answer, each a frame. It blocks the
 * calling thread. */
#pragma once

#include "proto/frame.h"
#include "proto/leat.pb-c.h"

/* Asks one question. message: of the verb, as Leat__StatsRequest; NULL: an empty one. timeout_ms:
 * of each wait for bytes; -1: no limit. The reply is the verb's, and is to be freed with
 * leat__control_reply__free_unpacked(). 0 or -errno: what the daemon answers. */
int leat_exchange_ask(int fd, Leat__ControlRequest__VerbCase verb, void *message, int timeout_ms,
                      Leat__ControlReply **ret_reply, struct leat_error *err);
/* The halves of a question that has several answers: a reply may have an error. */
int leat_exchange_send(int fd, const Leat__ControlRequest *request, struct leat_error *err);
int leat_exchange_receive(int fd, struct leat_frame_decoder *decoder, int timeout_ms,
                          Leat__ControlReply **ret_reply, struct leat_error *err);
