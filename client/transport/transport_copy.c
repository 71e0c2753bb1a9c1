/* transport_copy.c: batches through the socket. See transport.h.
 *
 * A batch is one LZ4 block, and its size after decompression was announced. LZ4 makes at most 255
 * bytes of one, which bounds the memory that a wrong announcement can cost.
 */
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "client/transport/address.h"
#include "client/transport/transport.h"

#define LZ4_MAX_RATIO 255

static int add_ring(struct leat_transport *transport, const struct leat_packet *packet, int fd,
                    struct leat_error *err) {
    (void)transport;
    (void)packet;
    (void)fd;
    return leat_error_set(err, -EPROTO, "the daemon sent a ring without memory");
}

static int reserve_memory(struct leat_content *content, size_t n_bytes) {
    size_t rounded = leat_slot_align(n_bytes);

    if (rounded <= content->memory_bytes)
        return 0;
    free(content->memory);
    content->memory = aligned_alloc(LEAT_SLOT_ALIGN, rounded);
    content->memory_bytes = content->memory ? rounded : 0;
    return content->memory ? 0 : -ENOMEM;
}

static int take_batch(struct leat_transport *transport, const struct leat_packet *packet,
                      const void *payload, struct leat_content *content, struct leat_error *err) {
    uint64_t n_bytes = packet->batch.used_bytes;

    (void)transport;
    if (n_bytes == 0 || n_bytes > LZ4_MAX_INPUT_SIZE ||
        n_bytes > (uint64_t)packet->payload_bytes * LZ4_MAX_RATIO)
        return leat_error_set(
            err, -EPROTO,
            "the daemon sent %u bytes of LZ4, which cannot hold a batch of %llu bytes",
            packet->payload_bytes, (unsigned long long)n_bytes);
    if (reserve_memory(content, (size_t)n_bytes) < 0)
        return leat_error_oom(err);
    if (LZ4_decompress_safe(payload, content->memory, (int)packet->payload_bytes, (int)n_bytes) !=
        (int)n_bytes)
        return leat_error_set(err, -EPROTO,
                              "the daemon sent a batch of %llu bytes that is not valid LZ4",
                              (unsigned long long)n_bytes);
    return leat_content_read(content, packet, content->memory, err);
}

const struct leat_transport_ops leat_transport_copy = {
    .socket_name = LEAT_SOCKET_COPY,
    .socket_type = SOCK_STREAM,
    .add_ring = add_ring,
    .take = take_batch,
};
