/* transport.c: see transport.h. What is the same for both. */
#include "client/transport/transport.h"

#include <errno.h>
#include <stdlib.h>

void leat_transport_init(struct leat_transport *transport, int32_t delivery,
                         const struct leat_mapping_options *options) {
    *transport = (struct leat_transport){
        .ops = delivery == LEAT_DELIVERY_COPY ? &leat_transport_copy : &leat_transport_shared,
        .options = *options,
    };
}

/* The slot's header must agree with the announcement. */
int leat_content_read(struct leat_content *content, const struct leat_packet *packet,
                      const void *slot, struct leat_error *err) {
    const struct leat_slot_header *header = &content->view.header;
    int r = leat_view_read(&content->view, slot, (size_t)packet->batch.used_bytes, err);

    if (r < 0)
        return r;
    if (header->epoch != packet->batch.epoch || header->step != packet->batch.step ||
        header->used_bytes != packet->batch.used_bytes)
        return leat_error_set(err, -EPROTO,
                              "the daemon announced the batch of epoch %llu, step %llu, but its "
                              "slot contains the batch of epoch %llu, step %llu",
                              (unsigned long long)packet->batch.epoch,
                              (unsigned long long)packet->batch.step,
                              (unsigned long long)header->epoch, (unsigned long long)header->step);
    content->packet = *packet;
    return 0;
}

int leat_content_let_write(struct leat_content *content) {
    return content->ops->let_write ? content->ops->let_write(content) : 0;
}

void leat_content_drop(struct leat_content *content) {
    if (content->ops->drop)
        content->ops->drop(content);
}

void leat_content_deinit(struct leat_content *content) {
    leat_view_deinit(&content->view);
    free(content->memory);
}
