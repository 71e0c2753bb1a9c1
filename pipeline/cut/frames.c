/* cut/frames.c: cuts records that say how long they are. See cutter.h. */
#include <string.h>

#include "pipeline/cut/blocks.h"

/* The size of the frame that begins there, with head and tail; 0: it is not complete. */
static size_t frame_bytes(const uint8_t *data, size_t n_bytes) {
    uint32_t head;
    size_t n;

    if (n_bytes < LEAT_FRAME_HEAD_BYTES)
        return 0;
    memcpy(&head, data, sizeof(head));
    n = LEAT_FRAME_HEAD_BYTES + (head & ~LEAT_FRAME_IS_BAD) + LEAT_FRAME_TAIL_BYTES;
    return n <= n_bytes ? n : 0;
}

void leat_cutter_frames(struct leat_cutter_scan *scan, bool is_end) {
    size_t n;

    while ((n = frame_bytes(scan->data + scan->start, scan->n_bytes - scan->start)) > 0) {
        leat_cutter_put(scan, scan->start, scan->start + n - LEAT_FRAME_TAIL_BYTES);
        scan->n_lines++;
        scan->start += n;
    }
    if (is_end) {
        leat_cutter_put(scan, scan->start, scan->n_bytes);
        scan->start = scan->n_bytes;
    }
}

uint64_t leat_cutter_count_frames(const uint8_t *data, size_t n_bytes) {
    uint64_t n_frames = 0;
    size_t n;

    for (; (n = frame_bytes(data, n_bytes)) > 0; n_bytes -= n) {
        data += n;
        n_frames++;
    }
    return n_frames;
}
