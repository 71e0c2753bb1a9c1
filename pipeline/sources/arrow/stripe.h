/* stripe.h: stripes of an Arrow file's records (layout.h, cut/format.h). Pure; any thread. */
#pragma once

#include "pipeline/sources/arrow/layout.h"

struct leat_arrow_stripe {
    const struct leat_arrow_layout *layout;
    const uint8_t *bytes;
    uint32_t n_records;
};

/* True if each record has as many bytes as its lengths say. Only then the other functions may be
 * called. */
bool leat_arrow_stripe_is_whole(const struct leat_arrow_stripe *stripe);
/* False: no record of the column is null. */
bool leat_arrow_stripe_may_have_nulls(const struct leat_arrow_stripe *stripe, uint32_t index);
/* Writes the frames of stripes, which have as many bytes. Stripes that are not whole stay as they
 * are. */
void leat_arrow_stripes_to_frames(const struct leat_arrow_layout *layout, const uint8_t *stripes,
                                  size_t n_bytes, uint8_t *out);

static inline bool leat_arrow_stripe_is_null(const struct leat_arrow_stripe *stripe, uint32_t index,
                                             uint32_t record) {
    const uint8_t *bits = stripe->bytes + (size_t)stripe->n_records * LEAT_FRAME_HEAD_BYTES;
    size_t bit = (size_t)index * stripe->n_records + record;

    return bits[bit / 8] >> bit % 8 & 1;
}

/* The numbers or lengths of the column. */
static inline const uint8_t *leat_arrow_stripe_column(const struct leat_arrow_stripe *stripe,
                                                      uint32_t index) {
    return stripe->bytes + leat_arrow_layout_place(stripe->layout, stripe->layout->slots[index].at,
                                                   stripe->n_records);
}

/* Returns the record's length out of a column of lengths. *ret_n_bytes: of its text or list. */
static inline uint32_t leat_arrow_length_at(const uint8_t *lengths, uint32_t record,
                                            uint32_t *ret_n_bytes) {
    uint32_t length;

    memcpy(&length, lengths + record * sizeof(length), sizeof(length));
    *ret_n_bytes = length == LEAT_ARROW_LACKS_ITEM ? 0 : length;
    return length;
}
