/* layout.h: the columns of an Arrow file's records, and where their values are in a frame and in a
 * stripe (cut/format.h).
 *
 * A record has a bit for each column, set if it is null; the numbers in the order of columns, 0 if
 * null; the lengths of texts and lists in bytes (uint32); their bytes. All is little-endian,
 * nothing is aligned. The first frame of a file is the layout itself, by which files are compared.
 *
 * A stripe of n records has the same column by column: the n bits of each column, without gaps; the
 * n numbers of each; the n lengths of each; the bytes of the n texts or lists of each. What is left
 * are tails.
 *
 * The bytes of a frame are what split and dedup hash and what the quarantine keeps, and the place
 * of a record seeds random stages. So another layout would make other batches.
 *
 * Immutable once made.
 */
#pragma once

#include "pipeline/cut/cutter.h"
#include "pipeline/sources/arrow/schema.h"

#define LEAT_ARROW_COLUMNS_MAX 4096
/* The length of a list with an item that is null. */
#define LEAT_ARROW_LACKS_ITEM UINT32_MAX

enum leat_arrow_cell {
    LEAT_ARROW_CELL_NONE, /* leat does not read the column */
    LEAT_ARROW_CELL_NUMBER,
    LEAT_ARROW_CELL_TEXT,
    LEAT_ARROW_CELL_LIST, /* of numbers */
    LEAT_ARROW_CELL_JSON, /* JSON text of the value */
};

struct leat_arrow_slot {
    const char *name; /* "meta.lang" */
    const char *type; /* for people */
    enum leat_arrow_cell cell;
    enum leat_arrow_number number; /* NUMBER; LIST: of the items */
    uint32_t at;                   /* of the number, or of the length, in the record */
};

struct leat_arrow_layout {
    struct leat_arrow_slot *slots;
    uint32_t n_slots;
    uint32_t n_fixed; /* bytes of a record in front of texts and lists */
    char *texts;      /* of a layout that was read: names and types */
};

/* Sets the places of slots whose cell and number are set. */
void leat_arrow_layout_arrange(struct leat_arrow_layout *layout);
void leat_arrow_layout_deinit(struct leat_arrow_layout *layout);

static inline bool leat_arrow_slot_is_variable(const struct leat_arrow_slot *slot) {
    return slot->cell > LEAT_ARROW_CELL_NUMBER;
}

/* Bytes of a record's number, or of its length. */
static inline size_t leat_arrow_slot_size(const struct leat_arrow_slot *slot) {
    if (leat_arrow_slot_is_variable(slot))
        return sizeof(uint32_t);
    return slot->cell == LEAT_ARROW_CELL_NUMBER ? leat_arrow_number_size(slot->number) : 0;
}

/* Where a stripe has what stands at `at` of a record: of a slot, or n_fixed. */
static inline size_t leat_arrow_layout_place(const struct leat_arrow_layout *layout, uint32_t at,
                                             size_t n_records) {
    return n_records * LEAT_FRAME_HEAD_BYTES + (n_records * layout->n_slots + 7) / 8 +
           n_records * (at - (layout->n_slots + 7) / 8);
}

/* The layout as the body of a frame; write() returns its bytes. */
size_t leat_arrow_layout_max_bytes(const struct leat_arrow_layout *layout);
size_t leat_arrow_layout_write(const struct leat_arrow_layout *layout, uint8_t *out);
/* -EBADMSG: the bytes are no layout. */
int leat_arrow_layout_read(const uint8_t *bytes, size_t n_bytes,
                           struct leat_arrow_layout *ret_layout);
