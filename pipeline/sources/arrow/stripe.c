/* stripe.c: checks stripes, and turns them back into frames. See stripe.h. */
#include "pipeline/sources/arrow/stripe.h"

#include <string.h>

#define AT_ONCE 256 /* records that are checked */

bool leat_arrow_stripe_may_have_nulls(const struct leat_arrow_stripe *stripe, uint32_t index) {
    const uint8_t *bits = stripe->bytes + (size_t)stripe->n_records * LEAT_FRAME_HEAD_BYTES;
    size_t first = (size_t)index * stripe->n_records, end = first + stripe->n_records;
    uint8_t any = 0;

    for (size_t i = first / 8; i < (end + 7) / 8; i++)
        any |= bits[i];
    return any > 0;
}

/* Takes the texts and lists of records off what is left of them. */
static void take_off(const struct leat_arrow_stripe *stripe, uint32_t from, uint32_t n,
                     uint64_t *left) {
    const struct leat_arrow_layout *layout = stripe->layout;
    uint32_t n_bytes;

    for (uint32_t i = 0; i < layout->n_slots; i++) {
        if (!leat_arrow_slot_is_variable(&layout->slots[i]))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            (void)leat_arrow_length_at(leat_arrow_stripe_column(stripe, i), from + k, &n_bytes);
            left[k] -= n_bytes;
        }
    }
}

bool leat_arrow_stripe_is_whole(const struct leat_arrow_stripe *stripe) {
    uint32_t n_fixed = stripe->layout->n_fixed;
    uint64_t left[AT_ONCE], wrong = 0;

    for (uint32_t i = 0; i < stripe->n_records; i++)
        wrong |= leat_frame_size(stripe->bytes, i) < n_fixed;
    for (uint32_t from = 0, n; from < stripe->n_records && !wrong; from += n) {
        n = stripe->n_records - from < AT_ONCE ? stripe->n_records - from : AT_ONCE;
        for (uint32_t i = 0; i < n; i++)
            left[i] = leat_frame_size(stripe->bytes, from + i) - n_fixed;
        take_off(stripe, from, n, left);
        for (uint32_t i = 0; i < n; i++)
            wrong |= left[i];
    }
    return !wrong;
}

/* ---- frames ---- */

/* Puts the value of a slot into a frame. Returns the bytes of its text or list. */
static uint32_t put_value(const struct leat_arrow_stripe *stripe, uint32_t index, uint32_t record,
                          uint8_t *body) {
    const struct leat_arrow_slot *slot = &stripe->layout->slots[index];
    size_t size = leat_arrow_slot_size(slot);
    uint32_t n_bytes = 0;

    if (size == 0)
        return 0;
    body[index / 8] |= (uint8_t)(leat_arrow_stripe_is_null(stripe, index, record) << index % 8);
    memcpy(body + slot->at, leat_arrow_stripe_column(stripe, index) + record * size, size);
    if (leat_arrow_slot_is_variable(slot))
        (void)leat_arrow_length_at(body + slot->at, 0, &n_bytes);
    return n_bytes;
}

static void put_frames(const struct leat_arrow_stripe *stripe, uint8_t *out) {
    const struct leat_arrow_layout *layout = stripe->layout;
    size_t texts_at[LEAT_ARROW_COLUMNS_MAX]; /* of the next record */
    size_t at = leat_arrow_layout_place(layout, layout->n_fixed, stripe->n_records);
    uint32_t n;

    for (uint32_t i = 0; i < layout->n_slots; i++) {
        texts_at[i] = at;
        for (uint32_t k = 0;
             leat_arrow_slot_is_variable(&layout->slots[i]) && k < stripe->n_records; k++) {
            (void)leat_arrow_length_at(leat_arrow_stripe_column(stripe, i), k, &n);
            at += n;
        }
    }
    for (uint32_t k = 0; k < stripe->n_records; k++) {
        uint32_t head = leat_frame_size(stripe->bytes, k);
        uint8_t *body = out + LEAT_FRAME_HEAD_BYTES, *text = body + layout->n_fixed;

        memcpy(out, &head, sizeof(head));
        memset(body, 0, layout->n_fixed);
        for (uint32_t i = 0; i < layout->n_slots; i++) {
            n = put_value(stripe, i, k, body);
            memcpy(text, stripe->bytes + texts_at[i], n);
            text += n;
            texts_at[i] += n;
        }
        *text = LEAT_FRAME_TAIL;
        out = text + LEAT_FRAME_TAIL_BYTES;
    }
}

void leat_arrow_stripes_to_frames(const struct leat_arrow_layout *layout, const uint8_t *stripes,
                                  size_t n_bytes, uint8_t *out) {
    while (n_bytes > 0) {
        struct leat_arrow_stripe stripe = {.layout = layout, .bytes = stripes};
        size_t n = leat_cutter_stripe(stripes, n_bytes, &stripe.n_records);

        if (n > 0 && stripe.n_records > 1 && leat_arrow_stripe_is_whole(&stripe))
            put_frames(&stripe, out);
        else
            memcpy(out, stripes, n > 0 ? n : n_bytes);
        n = n > 0 ? n : n_bytes;
        stripes += n;
        out += n;
        n_bytes -= n;
    }
}
