/* delivery_copy.c: a packet is a frame of a SOCK_STREAM socket; a batch is a frame of the notice
 * and the slot's used bytes, one LZ4 block.
 *
 * Batches are compressed on the pool, several at a time, and leave in order. A slot is free again
 * as soon as its bytes are compressed. The window still bounds what is under way: an entry is in
 * use until the trainer's socket took the frame, and a hold lasts until its release. The memory of
 * copies is charged like a ring's.
 */
#include <assert.h>
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/channel.h"
#include "daemon/stream/share.h"
#include "daemon/trainer/delivery.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/container_of.h"

#define CONTROL_BYTES_MAX (4U * LEAT_PACKET_PAYLOAD_MAX) /* of packets that are no batches */

/* An output on its way to the trainer. */
struct entry {
    struct leat_task task;
    struct leat_outgoing outgoing;
    struct copy *copy;
    enum { ENTRY_FREE, ENTRY_COMPRESSING, ENTRY_FAILED, ENTRY_READY, ENTRY_SENDING } state;
    struct leat_packet packet;
    struct leat_feed_item *item; /* pinned while it is compressed */
    const char *source;
    size_t source_bytes;
    char *buffer; /* kept for the next batch */
    size_t buffer_bytes;
    int error;
};

struct copy {
    struct leat_session_delivery base;
    struct leat_channel channel;
    bool is_closing, is_channel_closed;
    uint32_t n_tasks;    /* on the pool */
    struct entry *queue; /* [queue_size], a ring: first .. first + n_used */
    uint32_t queue_size, first, n_used;
    uint32_t n_sending;     /* entries at the front that are being sent */
    uint64_t charged_bytes; /* all buffers */
};

static struct copy *copy_of(struct leat_channel *channel) {
    return LEAT_CONTAINER_OF(channel, struct copy, channel);
}

static void finish_if_closed(struct copy *copy) {
    if (copy->is_channel_closed && copy->n_tasks == 0)
        leat_session_on_delivery_closed(copy->base.session);
}

/* ---- in ---- */

static void on_frame(struct leat_channel *channel, const uint8_t *frame, size_t n_bytes) {
    struct leat_session *session = copy_of(channel)->base.session;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_packet packet;

    if (n_bytes >= sizeof(packet)) {
        memcpy(&packet, frame, sizeof(packet));
        if (packet.payload_bytes == n_bytes - sizeof(packet) &&
            (packet.payload_bytes == 0 || leat_session_expects_payload(session))) {
            leat_session_on_packet(session, &packet, frame + sizeof(packet));
            return;
        }
    }
    leat_error_set(&err, -EPROTO, "a frame of %zu bytes is not a packet", n_bytes);
    leat_session_on_end(session, &err);
}

static void on_end(struct leat_channel *channel, const struct leat_error *err) {
    leat_session_on_end(copy_of(channel)->base.session, err);
}

static void on_drained(struct leat_channel *channel) {
    (void)channel;
}

static void on_closed(struct leat_channel *channel) {
    struct copy *copy = copy_of(channel);

    copy->is_channel_closed = true;
    finish_if_closed(copy);
}

static const struct leat_channel_ops channel_ops = {
    .on_frame = on_frame, .on_end = on_end, .on_drained = on_drained, .on_closed = on_closed};

static int copy_open(struct leat_session *session, int take_fd,
                     struct leat_session_delivery **ret_delivery) {
    struct copy *copy = calloc(1, sizeof(*copy));
    int r;

    if (!copy)
        return -ENOMEM;
    copy->base = (struct leat_session_delivery){.ops = &leat_delivery_copy, .session = session};
    r = leat_channel_open(&copy->channel, session->sessions->env->loop,
                          session->sessions->env->closer, take_fd,
                          sizeof(struct leat_packet) + LEAT_PACKET_PAYLOAD_MAX, &channel_ops);
    if (r < 0) {
        free(copy);
        return r;
    }
    *ret_delivery = &copy->base;
    return 0;
}

/* ---- out: packets ---- */

static void on_packet_sent(struct leat_outgoing *outgoing) {
    free(outgoing);
}

static int copy_send(struct leat_session_delivery *delivery, const struct leat_packet *packet,
                     const void *payload) {
    struct copy *copy = (struct copy *)delivery;
    struct leat_outgoing *outgoing;
    uint8_t *bytes;

    if (copy->n_used == 0 && copy->channel.queued_bytes > CONTROL_BYTES_MAX)
        return -EAGAIN;
    outgoing = malloc(sizeof(*outgoing) + packet->payload_bytes);
    if (!outgoing)
        return -ENOMEM;
    bytes = (uint8_t *)(outgoing + 1);
    if (packet->payload_bytes > 0)
        memcpy(bytes, payload, packet->payload_bytes);
    *outgoing = (struct leat_outgoing){
        .payload = bytes, .payload_bytes = packet->payload_bytes, .on_sent = on_packet_sent};
    leat_channel_send(&copy->channel, outgoing, packet, sizeof(*packet));
    return 0;
}

/* ---- out: batches ---- */

static int copy_start(struct leat_session_delivery *delivery, uint32_t window) {
    struct copy *copy = (struct copy *)delivery;
    uint32_t queue_size = window + 4; /* room for some ends of epochs, too */

    copy->queue = calloc(queue_size, sizeof(*copy->queue));
    copy->queue_size = copy->queue ? queue_size : 0;
    return copy->queue ? 0 : -ENOMEM;
}

static void on_entry_sent(struct leat_outgoing *outgoing) {
    struct entry *entry = LEAT_CONTAINER_OF(outgoing, struct entry, outgoing);
    struct copy *copy = entry->copy;

    assert(entry == &copy->queue[copy->first]);
    entry->state = ENTRY_FREE;
    copy->first = (copy->first + 1) % copy->queue_size;
    copy->n_used--;
    copy->n_sending--;
    if (!copy->is_closing)
        leat_session_on_writable(copy->base.session);
}

/* Sends entries that are ready, in order. */
static void send_ready(struct copy *copy) {
    while (copy->n_sending < copy->n_used && !copy->is_closing) {
        struct entry *entry = &copy->queue[(copy->first + copy->n_sending) % copy->queue_size];

        if (entry->state != ENTRY_READY)
            return;
        entry->state = ENTRY_SENDING;
        entry->outgoing.payload = entry->buffer;
        entry->outgoing.payload_bytes = entry->packet.payload_bytes;
        entry->outgoing.on_sent = on_entry_sent;
        copy->n_sending++;
        leat_channel_send(&copy->channel, &entry->outgoing, &entry->packet, sizeof(entry->packet));
    }
}

/* Makes room for the largest copy of `source_bytes`, charged to the trainer's user like a ring. */
static int make_room(struct copy *copy, struct entry *entry, uint64_t source_bytes) {
    int bound = source_bytes <= LZ4_MAX_INPUT_SIZE ? LZ4_compressBound((int)source_bytes) : 0;
    struct leat_session *session = copy->base.session;
    struct leat_user *user = session->user;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = (size_t)bound;
    char *buffer;
    int r;

    if (bound <= 0 || n_bytes > LEAT_COPY_PAYLOAD_MAX)
        return -EMSGSIZE;
    if (n_bytes <= entry->buffer_bytes) {
        leat_account_count(&session->copies, LEAT_MEMORY_COPIES, true);
        return 0;
    }
    if (!leat_account_must_grow(&session->copies, n_bytes - entry->buffer_bytes))
        return -EDQUOT;
    r = leat_user_charge(user, LEAT_CHARGE_RING_BYTES, n_bytes - entry->buffer_bytes, &err);
    if (r < 0)
        return r;
    buffer = malloc(n_bytes);
    if (!buffer) {
        leat_user_discharge(user, LEAT_CHARGE_RING_BYTES, n_bytes - entry->buffer_bytes);
        return -ENOMEM;
    }
    copy->charged_bytes += n_bytes - entry->buffer_bytes;
    leat_account_count(&session->copies, LEAT_MEMORY_COPIES, false);
    leat_account_change(&session->copies, LEAT_MEMORY_COPIES, entry->buffer_bytes, n_bytes);
    free(entry->buffer);
    entry->buffer = buffer;
    entry->buffer_bytes = n_bytes;
    return 0;
}

static int compress_entry(struct entry *entry) {
    int n = LZ4_compress_default(entry->source, entry->buffer, (int)entry->source_bytes,
                                 (int)entry->buffer_bytes);

    if (n <= 0)
        return -EIO;
    entry->packet.payload_bytes = (uint32_t)n;
    return 0;
}

static void compress_work(struct leat_task *task) {
    struct entry *entry = (struct entry *)task;

    entry->error = compress_entry(entry);
}

static void compress_failed(struct copy *copy, const struct entry *entry) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_set(&err, entry->error, "a batch of %zu bytes cannot be sent as a copy: %s",
                   entry->source_bytes, strerror(-entry->error));
    leat_session_leave(copy->base.session, &err);
}

static void compress_done(struct leat_task *task) {
    struct entry *entry = (struct entry *)task;
    struct copy *copy = entry->copy;

    copy->n_tasks--;
    entry->state = entry->error ? ENTRY_FAILED : ENTRY_READY;
    leat_broadcast_unpin(&entry->item->base);
    leat_share_act(copy->base.session->consumer.share);
    if (copy->is_closing)
        finish_if_closed(copy);
    else if (entry->error)
        compress_failed(copy, entry);
    else
        send_ready(copy);
}

static void start_compressing(struct copy *copy, struct entry *entry,
                              const struct leat_feed_output *output) {
    struct leat_feed_item *item = output->item;

    entry->state = ENTRY_COMPRESSING;
    entry->item = item;
    entry->source = leat_slot_ring_memory(item->ring, item->base.slot);
    entry->source_bytes = (size_t)item->used_bytes;
    entry->task.class = LEAT_TASK_URGENT;
    entry->task.work = compress_work;
    entry->task.done = compress_done;
    leat_delivery_output_packet(output, &entry->packet);
    leat_broadcast_pin(&item->base);
    copy->n_tasks++;
    leat_scheduler_add(copy->base.session->sessions->env->scheduler,
                       &copy->base.session->user->queue, &entry->task);
}

static int copy_deliver(struct leat_session_delivery *delivery,
                        const struct leat_feed_output *outputs, size_t n_outputs) {
    struct copy *copy = (struct copy *)delivery;
    size_t n_done = 0;

    while (n_done < n_outputs && copy->n_used < copy->queue_size) {
        struct entry *entry = &copy->queue[(copy->first + copy->n_used) % copy->queue_size];

        assert(entry->state == ENTRY_FREE);
        entry->copy = copy;
        if (!outputs[n_done].is_end) {
            int r = make_room(copy, entry, outputs[n_done].item->used_bytes);

            if (r < 0)
                return n_done > 0 ? (int)n_done : r;
            start_compressing(copy, entry, &outputs[n_done]);
        } else {
            leat_delivery_output_packet(&outputs[n_done], &entry->packet);
            entry->state = ENTRY_READY;
        }
        copy->n_used++;
        n_done++;
    }
    return (int)n_done;
}

static void copy_flush(struct leat_session_delivery *delivery) {
    send_ready((struct copy *)delivery);
}

static bool copy_is_idle(const struct leat_session_delivery *delivery) {
    return ((const struct copy *)delivery)->n_used == 0;
}

/* ---- end ---- */

static void copy_close(struct leat_session_delivery *delivery) {
    struct copy *copy = (struct copy *)delivery;

    if (copy->is_closing)
        return;
    copy->is_closing = true;
    leat_channel_close(&copy->channel);
}

static void copy_free(struct leat_session_delivery *delivery) {
    struct copy *copy = (struct copy *)delivery;

    for (uint32_t i = 0; i < copy->queue_size; i++)
        free(copy->queue[i].buffer);
    leat_user_discharge(delivery->session->user, LEAT_CHARGE_RING_BYTES, copy->charged_bytes);
    if (copy->charged_bytes > 0)
        leat_account_change(&delivery->session->copies, LEAT_MEMORY_COPIES, copy->charged_bytes, 0);
    free(copy->queue);
    free(copy);
}

const struct leat_delivery_ops leat_delivery_copy = {
    .name = "copy",
    .keeps_slot = false,
    .open = copy_open,
    .send = copy_send,
    .start = copy_start,
    .deliver = copy_deliver,
    .flush = copy_flush,
    .is_idle = copy_is_idle,
    .close = copy_close,
    .free = copy_free,
};
