/* format.h: the rules by which bytes are cut into records, and the place of a field in one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum leat_cutter_kind {
    LEAT_CUTTER_CSV,
    LEAT_CUTTER_LINES,
    LEAT_CUTTER_SEPARATOR,
    LEAT_CUTTER_WHOLE,
    LEAT_CUTTER_FRAMES,
};

/* A frame: the number of bytes of its body (uint32, little-endian), the body, and one byte that
 * belongs to no record. What cannot be had as a record says why in place of a body.
 *
 * Frames come in stripes, which have the bytes of several frames in another order: first the heads
 * of all of them, then what only their source knows. A stripe of one frame is that frame. */
#define LEAT_FRAME_HEAD_BYTES 4
#define LEAT_FRAME_TAIL_BYTES 1
#define LEAT_FRAME_BYTES      (LEAT_FRAME_HEAD_BYTES + LEAT_FRAME_TAIL_BYTES)
#define LEAT_FRAME_IS_BAD     UINT32_C(0x80000000) /* in the head */
#define LEAT_FRAME_HAS_NEXT   UINT32_C(0x40000000) /* in the head: the stripe has another frame */
#define LEAT_FRAME_SIZE       UINT32_C(0x3fffffff) /* in the head */
#define LEAT_FRAME_TAIL       '\n'

/* The bytes of the body of the i-th frame of a stripe. */
static inline uint32_t leat_frame_size(const uint8_t *stripe, uint32_t i) {
    uint32_t head;

    memcpy(&head, stripe + (size_t)i * LEAT_FRAME_HEAD_BYTES, sizeof(head));
    return head & LEAT_FRAME_SIZE;
}

struct leat_cutter {
    enum leat_cutter_kind kind;
    uint8_t delimiter;         /* CSV */
    uint8_t quote;             /* CSV; 0: no quoting at all */
    uint32_t max_record_bytes; /* at least LEAT_CUTTER_MAX_RECORD_MIN */
    const char *separator;     /* SEPARATOR: 1..LEAT_CUTTER_SEPARATOR_MAX bytes */
    uint32_t n_separator;
};

#define LEAT_CUTTER_SEPARATOR_MAX 64

#define LEAT_CUTTER_MAX_RECORD_MIN 2

/* A field: its bytes without the quotes around it. Owner: the job. */
struct leat_cutter_field {
    uint32_t start, end; /* in the record */
    bool has_doubled;    /* quotes in it are doubled: leat_cutter_unquote() */
};
