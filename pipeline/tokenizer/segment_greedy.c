/* segment_greedy.c: the longest token at each place, from the left. */
#include <errno.h>

#include "pipeline/tokenizer/segment.h"
#include "pipeline/tokenizer/utf8.h"

#define WINDOW_BYTES 16384

/* Encodes up to the end of the window; returns where it got to, SIZE_MAX if the row is bad. */
static size_t walk(struct leat_segment *segment, size_t position) {
    const struct leat_chartrie *trie = segment->trie;
    const struct leat_encoder_row *row = segment->row;

    while (position < segment->end) {
        uint32_t match = segment->matches[position - segment->first];

        if (match) {
            leat_encoder_put(segment->encoder, trie->ids[match]);
            position += trie->automaton.matches[match].n_bytes;
            continue;
        }
        if (!leat_segment_put_unknown(segment, position))
            return SIZE_MAX;
        position += leat_utf8_length(row->text + position, row->n_bytes - position);
    }
    return position;
}

int leat_segment_greedy(struct leat_segment *segment) {
    size_t n_window = WINDOW_BYTES + 4 * (size_t)segment->trie->automaton.max_bytes;

    for (size_t position = 0; position < segment->row->n_bytes;) {
        if (position >= segment->end && leat_segment_load_window(segment, position, n_window) < 0)
            return -ENOMEM;
        if (leat_encoder_make_room(segment->encoder, segment->end - position) < 0)
            return -ENOMEM;
        position = walk(segment, position);
    }
    return 0;
}
