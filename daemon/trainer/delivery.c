/* delivery.c: the packets that both deliveries send. */
#include "daemon/trainer/delivery.h"

#include <errno.h>
#include <sys/socket.h>

#include "proto/frame.h"
#include "proto/message.h"

void leat_delivery_output_packet(const struct leat_feed_output *output,
                                 struct leat_packet *ret_packet) {
    if (output->is_end)
        *ret_packet = (struct leat_packet){
            .kind = LEAT_PACKET_END,
            .end = {.epoch = output->epoch, .n_steps = output->step, .is_last = output->is_last},
        };
    else
        *ret_packet = (struct leat_packet){
            .kind = LEAT_PACKET_BATCH,
            .batch = {.generation = output->item->base.generation,
                      .epoch = output->epoch,
                      .step = output->step,
                      .used_bytes = output->item->used_bytes,
                      .slot = output->item->base.slot},
        };
}

static int make_error(enum leat_packet_kind kind, const struct leat_error *err,
                      struct leat_packet *ret_packet,
                      uint8_t ret_payload[LEAT_DELIVERY_ERROR_MAX]) {
    Leat__Error message;

    leat_error_to_message(err, &message);
    if (leat__error__get_packed_size(&message) > LEAT_DELIVERY_ERROR_MAX)
        return -EMSGSIZE;
    *ret_packet = (struct leat_packet){
        .kind = (uint16_t)kind,
        .payload_bytes = (uint32_t)leat__error__pack(&message, ret_payload),
    };
    return 0;
}

void leat_delivery_send_error(struct leat_session_delivery *delivery, enum leat_packet_kind kind,
                              const struct leat_error *err) {
    uint8_t payload[LEAT_DELIVERY_ERROR_MAX];
    struct leat_packet packet;

    if (make_error(kind, err, &packet, payload) == 0)
        (void)delivery->ops->send(delivery, &packet, payload);
}

void leat_delivery_refuse(int socket, const struct leat_delivery_ops *ops,
                          const struct leat_error *err) {
    uint8_t head[LEAT_FRAME_HEAD_BYTES], payload[LEAT_DELIVERY_ERROR_MAX];
    struct leat_packet packet;
    struct iovec parts[3] = {
        {.iov_base = head, .iov_len = sizeof(head)},
        {.iov_base = &packet, .iov_len = sizeof(packet)},
        {.iov_base = payload},
    };
    bool is_framed = ops == &leat_delivery_copy;
    struct msghdr message = {.msg_iov = is_framed ? parts : parts + 1,
                             .msg_iovlen = is_framed ? 3 : 2};

    if (make_error(LEAT_PACKET_REFUSE, err, &packet, payload) < 0)
        return;
    leat_frame_head(head, (uint32_t)sizeof(packet) + packet.payload_bytes);
    parts[2].iov_len = packet.payload_bytes;
    (void)sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
