/* delivery.h: how packets and batches travel between a session and its trainer.
 *
 * shared: SOCK_SEQPACKET; a batch is a 64-byte notice, the trainer maps the ring
 * (delivery_shared.c). copy: SOCK_STREAM; a batch travels whole, LZ4 compressed (delivery_copy.c).
 * The session knows no difference but `keeps_slot`. Owner: loop.
 */
#pragma once

#include "daemon/stream/feed.h"
#include "proto/packet.h"

struct leat_session;
struct leat_session_delivery;

struct leat_delivery_ops {
    const char *name;
    bool keeps_slot; /* a batch's slot is in use until the trainer releases it */

    /* Takes over the socket, unless it fails. */
    int (*open)(struct leat_session *session, int take_fd,
                struct leat_session_delivery **ret_delivery);
    /* A packet that is no batch. Never blocks; -EAGAIN: there was no room. */
    int (*send)(struct leat_session_delivery *delivery, const struct leat_packet *packet,
                const void *payload);
    /* At most so many batches will be outstanding. */
    int (*start)(struct leat_session_delivery *delivery, uint32_t window);
    /* Announces outputs in order. How many were taken (the others must be offered again, after
     * leat_session_on_writable), or -errno. */
    int (*deliver)(struct leat_session_delivery *delivery, const struct leat_feed_output *outputs,
                   size_t n_outputs);
    /* Sends what deliver only put in line; the session has accounted for it by then. May be NULL.
     */
    void (*flush)(struct leat_session_delivery *delivery);
    /* Whether all that was delivered has left. NULL: always. */
    bool (*is_idle)(const struct leat_session_delivery *delivery);
    /* Ends in leat_session_on_delivery_closed, which frees it. */
    void (*close)(struct leat_session_delivery *delivery);
    void (*free)(struct leat_session_delivery *delivery);
};

struct leat_session_delivery {
    const struct leat_delivery_ops *ops;
    struct leat_session *session;
};

extern const struct leat_delivery_ops leat_delivery_shared;
extern const struct leat_delivery_ops leat_delivery_copy;

/* The packets of outputs. */
void leat_delivery_batch_packet(const struct leat_feed_output *output,
                                struct leat_packet *ret_packet);
void leat_delivery_end_packet(const struct leat_feed_output *output,
                              struct leat_packet *ret_packet);

/* REFUSE on a fresh connection without a session, if it takes it at once. */
void leat_delivery_refuse(int socket, const struct leat_delivery_ops *ops,
                          const struct leat_error *err);
/* A packet with an Error; -EMSGSIZE if it does not fit. */
#define LEAT_DELIVERY_ERROR_MAX (LEAT_ERROR_PRINT_MAX + 64)
int leat_delivery_error_packet(enum leat_packet_kind kind, const struct leat_error *err,
                               struct leat_packet *ret_packet,
                               uint8_t ret_payload[LEAT_DELIVERY_ERROR_MAX]);
