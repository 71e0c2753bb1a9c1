/* transport.h: how the tensors of a batch come into this process.
 *
 * shared: the socket is a SOCK_SEQPACKET, a batch lies in a slot of a ring that this process maps
 * (transport_shared.c). copy: the socket is a SOCK_STREAM, a batch follows its announcement as LZ4
 * and is decompressed into memory of this process (transport_copy.c). Only these two files know the
 * difference. Owner: the connection; of the content: the batch.
 */
#pragma once

#include "client/leat.h"
#include "client/transport/mapping.h"
#include "client/transport/view.h"
#include "proto/packet.h"

struct leat_transport_ops;

struct leat_transport {
    const struct leat_transport_ops *ops;
    struct leat_mapping_options options; /* of shared */
    struct leat_mapping *rings; /* of shared, newest first; the rings of held batches stay mapped */
};

/* The tensors of one batch, and what keeps them in memory. */
struct leat_content {
    const struct leat_transport_ops *ops;
    struct leat_packet packet; /* the announcement; a release repeats it */
    struct leat_view view;
    struct leat_mapping *mapping; /* of shared: the ring of the slot, which it holds */
    bool may_be_written;          /* of shared, by the trainer */
    void *memory;                 /* of copy; kept from batch to batch */
    size_t memory_bytes;
};

struct leat_transport_ops {
    const char *socket_name; /* the daemon's endpoint (address.h) */
    int socket_type;
    /* Takes a ring that the daemon announced; `fd` is its memory or -1, and stays the caller's. */
    int (*add_ring)(struct leat_transport *transport, const struct leat_packet *packet, int fd,
                    struct leat_error *err);
    /* Takes the batch that was announced, with the payload behind the announcement. */
    int (*take)(struct leat_transport *transport, const struct leat_packet *packet,
                const void *payload, struct leat_content *content, struct leat_error *err);
    /* 0 or -EROFS. NULL: the content may be written as it is. */
    int (*let_write)(struct leat_content *content);
    /* Lets go of the slot. May be NULL. */
    void (*drop)(struct leat_content *content);
};

extern const struct leat_transport_ops leat_transport_shared;
extern const struct leat_transport_ops leat_transport_copy;

/* `delivery` is of enum leat_delivery. */
void leat_transport_init(struct leat_transport *transport, int32_t delivery,
                         const struct leat_mapping_options *options);

/* Takes an announced batch into the content. 0, -EPROTO, -ENOMEM. */
static inline int leat_content_take(struct leat_content *content, struct leat_transport *transport,
                                    const struct leat_packet *packet, const void *payload,
                                    struct leat_error *err) {
    content->ops = transport->ops;
    return transport->ops->take(transport, packet, payload, content, err);
}
/* Reads the tensors at `slot`, where the announced bytes lie. 0, -EPROTO, -ENOMEM. */
int leat_content_read(struct leat_content *content, const struct leat_packet *packet,
                      const void *slot, struct leat_error *err);
/* 0; -EROFS: it lies in memory that is mapped read-only. */
int leat_content_let_write(struct leat_content *content);
/* Lets go of the tensors, and keeps memory for the next batch. */
void leat_content_drop(struct leat_content *content);
void leat_content_deinit(struct leat_content *content);
