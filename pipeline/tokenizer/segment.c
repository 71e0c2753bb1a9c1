/* segment.c: what the modes share. See segment.h. */
#include "pipeline/tokenizer/segment.h"

#include <errno.h>
#include <string.h>

#define SCRATCH_BYTES_MIN 4096
#define ROOM_MIN          64

void *leat_encoder_scratch(struct leat_encoder *encoder, struct leat_encoder_buffer *buffer,
                           size_t n_bytes) {
    size_t size = buffer->n_bytes * 2 > n_bytes ? buffer->n_bytes * 2 : n_bytes;
    void *data;

    if (n_bytes <= buffer->n_bytes)
        return buffer->data;
    if (n_bytes > (size_t)1 << 20)
        size = n_bytes; /* not twice as much of what is large already */
    if (size < SCRATCH_BYTES_MIN)
        size = SCRATCH_BYTES_MIN;
    data = encoder->memory.allocate(encoder->memory.context, size);
    if (!data)
        return NULL;
    *buffer = (struct leat_encoder_buffer){.data = data, .n_bytes = size};
    return data;
}

int leat_encoder_make_room(struct leat_encoder *encoder, size_t n) {
    size_t capacity = encoder->n_ids + n, size;
    int32_t *ids;

    if (capacity <= encoder->ids_capacity)
        return 0;
    capacity += ROOM_MIN; /* what comes one by one, bos and eos, must not cost a copy */
    if (capacity < encoder->n_ids + encoder->n_ids / 2)
        capacity = encoder->n_ids + encoder->n_ids / 2;
    ids = encoder->memory.reserve(encoder->memory.context, capacity * sizeof(*ids), &size);
    if (!ids)
        return -ENOMEM;
    if (encoder->n_ids && ids != encoder->ids)
        memcpy(ids, encoder->ids, encoder->n_ids * sizeof(*ids));
    encoder->ids = ids;
    encoder->ids_capacity = size / sizeof(*ids);
    return 0;
}

int leat_segment_load(struct leat_segment *segment, size_t first, size_t end, size_t n_ahead) {
    struct leat_encoder *encoder = segment->encoder;
    struct leat_automaton_scan scan = {
        .text = segment->row->text + first, .n_bytes = end - first, .n_ahead = n_ahead};

    scan.matches =
        leat_encoder_scratch(encoder, &encoder->matches, (end - first + 1) * sizeof(uint32_t));
    if (!scan.matches)
        return -ENOMEM;
    leat_automaton_scan(&segment->trie->automaton, &scan, 1);
    scan.matches[end - first] = 0;
    segment->matches = scan.matches;
    segment->first = first;
    segment->end = end;
    return 0;
}

int leat_segment_load_window(struct leat_segment *segment, size_t first, size_t n_bytes) {
    size_t n = segment->row->n_bytes, end = first + (n_bytes < n - first ? n_bytes : n - first);
    size_t n_ahead = segment->trie->automaton.max_bytes;

    if (first >= segment->first && end <= segment->end && segment->matches)
        return 0;
    return leat_segment_load(segment, first, end, n_ahead < n - end ? n_ahead : n - end);
}

bool leat_segment_put_unknown(struct leat_segment *segment, size_t position) {
    const struct leat_chartrie_options *options = &segment->trie->options;

    if (options->unknown == LEAT_CHARTRIE_UNK)
        leat_encoder_put(segment->encoder, options->unk_id);
    else if (options->unknown == LEAT_CHARTRIE_ERROR)
        segment->row->unknown = (uint32_t)position;
    return options->unknown != LEAT_CHARTRIE_ERROR;
}
