/* frame.c: see frame.h. Memory grows with the bytes that came, so a lying length costs nothing. */
#include "proto/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void leat_frame_decoder_init(struct leat_frame_decoder *decoder, uint32_t limit) {
    *decoder = (struct leat_frame_decoder){.limit = limit};
}

void leat_frame_decoder_deinit(struct leat_frame_decoder *decoder) {
    free(decoder->data);
    *decoder = (struct leat_frame_decoder){.limit = decoder->limit};
}

int leat_frame_decoder_space(struct leat_frame_decoder *decoder, size_t min_bytes,
                             uint8_t **ret_space, size_t *ret_size) {
    if (decoder->n_taken > 0) {
        memmove(decoder->data, decoder->data + decoder->n_taken,
                decoder->n_bytes - decoder->n_taken);
        decoder->n_bytes -= decoder->n_taken;
        decoder->n_taken = 0;
    }
    if (decoder->capacity - decoder->n_bytes < min_bytes) {
        size_t capacity = decoder->capacity ? decoder->capacity * 2 : 4096;
        uint8_t *data;

        while (capacity - decoder->n_bytes < min_bytes)
            capacity *= 2;
        data = realloc(decoder->data, capacity);
        if (!data)
            return -ENOMEM;
        decoder->data = data;
        decoder->capacity = capacity;
    }
    *ret_space = decoder->data + decoder->n_bytes;
    *ret_size = decoder->capacity - decoder->n_bytes;
    return 0;
}

void leat_frame_decoder_filled(struct leat_frame_decoder *decoder, size_t n_bytes) {
    decoder->n_bytes += n_bytes;
}

int leat_frame_decoder_next(struct leat_frame_decoder *decoder, const uint8_t **ret_frame,
                            size_t *ret_size, struct leat_error *err) {
    size_t n_left = decoder->n_bytes - decoder->n_taken;
    uint32_t size;

    if (n_left < LEAT_FRAME_HEAD_BYTES)
        return 0;
    memcpy(&size, decoder->data + decoder->n_taken, sizeof(size));
    if (size == 0 || size > decoder->limit)
        return leat_error_set(err, -EPROTO, "a frame has %u bytes, but its size must be in 1..%u",
                              size, decoder->limit);
    if (n_left - LEAT_FRAME_HEAD_BYTES < size)
        return 0;
    *ret_frame = decoder->data + decoder->n_taken + LEAT_FRAME_HEAD_BYTES;
    *ret_size = size;
    decoder->n_taken += LEAT_FRAME_HEAD_BYTES + size;
    return 1;
}

bool leat_frame_decoder_has_bytes(const struct leat_frame_decoder *decoder) {
    return decoder->n_taken < decoder->n_bytes;
}

void leat_frame_head(uint8_t head[LEAT_FRAME_HEAD_BYTES], uint32_t size) {
    memcpy(head, &size, sizeof(size));
}
