/* delivery.h: how packets and batches travel between a session and its trainer.
 *
 * shared: SOCK_SEQPACKET; a batch is a 64-byte notice, and the trainer maps the ring
 * (delivery_shared.c). copy: SOCK_STREAM; a batch travels whole, LZ4 compressed (delivery_copy.c).
 * The only difference to the session is `keeps_slot`. Owner: loop.
 */
#pragma once

#include "daemon/stream/feed.h"
#include "proto/packet.h"

struct leat_session;
struct leat_session_delivery;

struct leat_delivery_ops {
    const char *name;
    bool keeps_slot; /* a batch's slot is in use until the trainer releases it */

    /* Takes over the socket on success. */
    int (*open)(struct leat_session *session, int take_fd,
                struct leat_session_delivery **ret_delivery);
    /* Sends a packet that is no batch. Never blocks; -EAGAIN: there was no room. */
    int (*send)(struct leat_session_delivery *delivery, const struct leat_packet *packet,
                const void *payload);
    /* Prepares for at most `window` outstanding batches. */
    int (*start)(struct leat_session_delivery *delivery, uint32_t window);
    /* Announces outputs in order. Returns how many were taken, or -errno; the others must be
     * offered again after leat_session_on_writable(). */
    int (*deliver)(struct leat_session_delivery *delivery, const struct leat_feed_output *outputs,
                   size_t n_outputs);
    /* Sends what deliver queued, once the session has accounted for it. May be NULL. */
    void (*flush)(struct leat_session_delivery *delivery);
    /* True if all that was delivered has been sent. NULL: always. */
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

/* Makes the packet of an output. */
void leat_delivery_output_packet(const struct leat_feed_output *output,
                                 struct leat_packet *ret_packet);

/* Sends REFUSE on a fresh connection without a session, if the socket has room. */
void leat_delivery_refuse(int socket, const struct leat_delivery_ops *ops,
                          const struct leat_error *err);
#define LEAT_DELIVERY_ERROR_MAX (LEAT_ERROR_PRINT_MAX + 64) /* bytes of an Error message */
/* Sends a packet with an Error, if the socket has room. */
void leat_delivery_send_error(struct leat_session_delivery *delivery, enum leat_packet_kind kind,
                              const struct leat_error *err);
