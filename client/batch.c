/* batch.c: see batch.h and leat.h. A copy is one LZ4 block whose size after decompression was
 * announced; LZ4 cannot make more than 255 bytes of one, which bounds what a lie can cost. */
#include "client/batch.h"

#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/stream.h"

#define LZ4_MAX_RATIO 255

struct leat_batch *leat_batch_free(struct leat_batch *batch) {
    if (!batch)
        return NULL;
    leat_view_deinit(&batch->view);
    free(batch->memory);
    free(batch);
    return NULL;
}

/* The announcement and the slot's own header must tell the same. */
static int read_view(struct leat_batch *batch, const struct leat_packet *packet, const void *slot,
                     struct leat_error *err) {
    const struct leat_slot_header *header = &batch->view.header;
    int r = leat_view_read(&batch->view, slot, (size_t)packet->batch.used_bytes, err);

    if (r < 0)
        return r;
    if (header->epoch != packet->batch.epoch || header->step != packet->batch.step ||
        header->used_bytes != packet->batch.used_bytes)
        return leat_error_set(
            err, -EPROTO, "batch (%llu, %llu) was announced, but its slot holds (%llu, %llu)",
            (unsigned long long)packet->batch.epoch, (unsigned long long)packet->batch.step,
            (unsigned long long)header->epoch, (unsigned long long)header->step);
    batch->packet = *packet;
    return 0;
}

int leat_batch_take_slot(struct leat_batch *batch, const struct leat_packet *packet,
                         struct leat_mapping *mapping, struct leat_error *err) {
    uint32_t slot = packet->batch.slot;
    int r;

    if (slot >= mapping->n_slots || packet->batch.used_bytes > mapping->slot_bytes)
        return leat_error_set(err, -EPROTO,
                              "slot %u with %llu bytes lies outside the ring of %u slots of %llu "
                              "bytes",
                              slot, (unsigned long long)packet->batch.used_bytes, mapping->n_slots,
                              (unsigned long long)mapping->slot_bytes);
    if (mapping->is_held[slot])
        return leat_error_set(err, -EPROTO, "slot %u was announced while it is held", slot);
    r = read_view(batch, packet, leat_mapping_slot(mapping, slot), err);
    if (r < 0)
        return r;
    leat_view_move(&batch->view, leat_mapping_slot(mapping, slot),
                   leat_mapping_memory(mapping, slot));
    mapping->n_refs++;
    mapping->is_held[slot] = true;
    batch->mapping = mapping;
    return 0;
}

static int reserve_memory(struct leat_batch *batch, size_t n_bytes) {
    size_t rounded = leat_slot_align(n_bytes);

    if (rounded <= batch->memory_bytes)
        return 0;
    free(batch->memory);
    batch->memory = aligned_alloc(LEAT_SLOT_ALIGN, rounded);
    batch->memory_bytes = batch->memory ? rounded : 0;
    return batch->memory ? 0 : -ENOMEM;
}

int leat_batch_take_copy(struct leat_batch *batch, const struct leat_packet *packet,
                         const void *compressed, struct leat_error *err) {
    uint64_t n_bytes = packet->batch.used_bytes;

    if (n_bytes == 0 || n_bytes > LZ4_MAX_INPUT_SIZE ||
        n_bytes > (uint64_t)packet->payload_bytes * LZ4_MAX_RATIO)
        return leat_error_set(err, -EPROTO, "%u bytes of LZ4 cannot hold a batch of %llu bytes",
                              packet->payload_bytes, (unsigned long long)n_bytes);
    if (reserve_memory(batch, (size_t)n_bytes) < 0)
        return leat_error_oom(err);
    if (LZ4_decompress_safe(compressed, batch->memory, (int)packet->payload_bytes, (int)n_bytes) !=
        (int)n_bytes)
        return leat_error_set(err, -EPROTO, "a batch of %llu bytes is not proper LZ4",
                              (unsigned long long)n_bytes);
    return read_view(batch, packet, batch->memory, err);
}

void leat_batch_drop(struct leat_batch *batch) {
    if (batch->mapping && batch->may_be_written)
        leat_mapping_restore(batch->mapping, batch->packet.batch.slot,
                             (size_t)batch->packet.batch.used_bytes);
    batch->may_be_written = false;
    if (batch->mapping)
        batch->mapping->is_held[batch->packet.batch.slot] = false;
    batch->mapping = leat_mapping_unref(batch->mapping);
}

const struct leat_ring *leat_batch_ring(const struct leat_batch *batch) {
    return batch->mapping ? &batch->mapping->ring : NULL;
}

int leat_batch_let_write(struct leat_batch *batch) {
    if (batch->stream->pid != getpid())
        return -EPERM;
    if (batch->mapping && !leat_mapping_is_writable(batch->mapping))
        return -EROFS;
    batch->may_be_written = true;
    return 0;
}

uint64_t leat_batch_epoch(const struct leat_batch *batch) {
    return batch->view.header.epoch;
}

uint64_t leat_batch_step(const struct leat_batch *batch) {
    return batch->view.header.step;
}

uint32_t leat_batch_n_rows(const struct leat_batch *batch) {
    return batch->view.header.n_rows;
}

size_t leat_batch_n_tensors(const struct leat_batch *batch) {
    return batch->view.header.n_tensors;
}

const struct leat_tensor *leat_batch_tensor(const struct leat_batch *batch, size_t index) {
    return index < batch->view.header.n_tensors ? &batch->view.tensors[index] : NULL;
}

const struct leat_tensor *leat_batch_find(const struct leat_batch *batch, const char *name) {
    return leat_view_find(&batch->view, name);
}
