/* transport_shared.c: batches in rings of shared memory. See transport.h.
 *
 * Rings come in order, and so do the batches in them: once a batch lies in a newer ring, no further
 * one lies in an older ring.
 */
#include <errno.h>
#include <sys/socket.h>

#include "client/transport/address.h"
#include "client/transport/transport.h"

#define MAX_RINGS 16

static int add_ring(struct leat_transport *transport, const struct leat_packet *packet, int fd,
                    struct leat_error *err) {
    struct leat_mapping *mapping = NULL;
    size_t n_rings = 0;
    int r;

    for (const struct leat_mapping *known = transport->rings; known; known = known->older) {
        n_rings++;
        if (known->generation == packet->ring.generation)
            return leat_error_set(err, -EPROTO, "the daemon sent ring %llu twice",
                                  (unsigned long long)packet->ring.generation);
    }
    if (n_rings >= MAX_RINGS)
        return leat_error_set(err, -EPROTO, "the daemon sent too many rings");
    if (fd < 0)
        return leat_error_set(err, -EPROTO, "the daemon sent a ring without memory");
    r = leat_mapping_new(fd, packet->ring.generation, packet->ring.slot_bytes, packet->ring.n_slots,
                         &transport->options, &mapping, err);
    if (r == 0)
        leat_mapping_prepend(mapping, &transport->rings);
    return r;
}

static int check_slot(const struct leat_mapping *mapping, const struct leat_packet *packet,
                      struct leat_error *err) {
    uint32_t slot = packet->batch.slot;

    if (slot >= mapping->n_slots || packet->batch.used_bytes > mapping->slot_bytes)
        return leat_error_set(
            err, -EPROTO,
            "the daemon announced slot %u with %llu bytes, but its ring has %u slots of %llu bytes",
            slot, (unsigned long long)packet->batch.used_bytes, mapping->n_slots,
            (unsigned long long)mapping->slot_bytes);
    if (mapping->is_held[slot])
        return leat_error_set(err, -EPROTO,
                              "the daemon announced slot %u, but the trainer still holds it", slot);
    return 0;
}

static int take_batch(struct leat_transport *transport, const struct leat_packet *packet,
                      const void *payload, struct leat_content *content, struct leat_error *err) {
    struct leat_mapping *mapping = transport->rings;
    const void *slot;
    int r;

    (void)payload;
    while (mapping && mapping->generation != packet->batch.generation)
        mapping = mapping->older;
    if (!mapping)
        return leat_error_set(err, -EPROTO, "the daemon announced a batch in an unknown ring");
    r = check_slot(mapping, packet, err);
    if (r < 0)
        return r;
    slot = leat_mapping_slot(mapping, packet->batch.slot);
    r = leat_content_read(content, packet, slot, err);
    if (r < 0)
        return r;
    leat_view_move(&content->view, slot, leat_mapping_memory(mapping, packet->batch.slot));
    leat_mapping_hold(mapping, packet->batch.slot);
    content->mapping = mapping;
    leat_mapping_drop_older(mapping);
    return 0;
}

static int let_write(struct leat_content *content) {
    if (!leat_mapping_is_writable(content->mapping))
        return -EROFS;
    content->may_be_written = true;
    return 0;
}

static void drop_slot(struct leat_content *content) {
    if (content->may_be_written)
        leat_mapping_restore(content->mapping, content->packet.batch.slot,
                             (size_t)content->packet.batch.used_bytes);
    content->may_be_written = false;
    leat_mapping_unhold(content->mapping, content->packet.batch.slot);
    content->mapping = NULL;
}

const struct leat_transport_ops leat_transport_shared = {
    .socket_name = LEAT_SOCKET_TRAINER,
    .socket_type = SOCK_SEQPACKET,
    .add_ring = add_ring,
    .take = take_batch,
    .let_write = let_write,
    .drop = drop_slot,
};
