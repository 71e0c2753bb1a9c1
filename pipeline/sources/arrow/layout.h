/* layout.h: what the rows of an Arrow file look like as records: which columns they have, and where
 * their values stand in a frame (cutter.h).
 *
 * A record is: a bit a column, set where it is null; the numbers, one behind the other in the order
 * of columns, 0 where null; the lengths of texts and lists in bytes (uint32); their bytes. All is
 * little-endian and nothing is aligned. The first frame of a file is its header: the layout itself,
 * as bytes, by which files are compared.
 *
 * Immutable once made.
 */
#pragma once

#include "pipeline/sources/arrow/schema.h"

#define LEAT_ARROW_COLUMNS_MAX 4096
/* In place of the length of a list: one of its items is null. */
#define LEAT_ARROW_LACKS_ITEM UINT32_MAX

enum leat_arrow_cell {
    LEAT_ARROW_CELL_NONE, /* the file has it, and leat does not read it */
    LEAT_ARROW_CELL_NUMBER,
    LEAT_ARROW_CELL_TEXT,
    LEAT_ARROW_CELL_LIST, /* of numbers */
    LEAT_ARROW_CELL_JSON, /* text made of the value */
};

struct leat_arrow_slot {
    const char *name; /* "meta.lang" */
    const char *type; /* for people */
    enum leat_arrow_cell cell;
    enum leat_arrow_number number; /* NUMBER; LIST: of the items */
    uint32_t at;                   /* NUMBER: in the record; else of the length */
};

struct leat_arrow_layout {
    struct leat_arrow_slot *slots;
    uint32_t n_slots;
    uint32_t n_null_bytes, n_fixed; /* n_fixed: bytes of a record in front of texts and lists */
    char *texts;                    /* of a layout that was read: names and types */
};

/* Once all slots have cell and number: where they stand. */
void leat_arrow_layout_arrange(struct leat_arrow_layout *layout);
void leat_arrow_layout_deinit(struct leat_arrow_layout *layout);

static inline bool leat_arrow_slot_is_variable(const struct leat_arrow_slot *slot) {
    return slot->cell > LEAT_ARROW_CELL_NUMBER;
}

/* The layout as the body of a frame: bytes that it takes at most; what is written. */
size_t leat_arrow_layout_max_bytes(const struct leat_arrow_layout *layout);
size_t leat_arrow_layout_write(const struct leat_arrow_layout *layout, uint8_t *out);
/* 0, -EBADMSG: it is none, -ENOMEM. */
int leat_arrow_layout_read(const uint8_t *bytes, size_t n_bytes,
                           struct leat_arrow_layout *ret_layout);
