#include "pipeline/stages/pack/packing.h"

#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

/* ---- rows ---- */

static struct leat_bundle *bundle_new(uint32_t n_refs) {
    struct leat_bundle *bundle = malloc(sizeof(*bundle) + n_refs * sizeof(bundle->refs[0]));

    if (bundle)
        *bundle = (struct leat_bundle){.n_refs = 0};
    return bundle;
}

static void bundle_add(struct leat_bundle *bundle, struct leat_ref ref) {
    bool is_first = bundle->n_refs == 0;
    struct leat_block_pool *pool = is_first ? ref.block->pool : bundle->refs[0].block->pool;

    bundle->refs[bundle->n_refs++] = ref;
    if (pool)
        pool->n_bundle_bytes += is_first ? leat_bundle_bytes(bundle) : sizeof(ref);
    bundle->n_elements += ref.length;
}

static int push_bundle(struct leat_bundle *take_bundle, struct leat_order_sink *down,
                       struct leat_error *err) {
    struct leat_ref row = {
        .bundle = take_bundle, .row = LEAT_REF_BUNDLE, .length = take_bundle->n_elements};

    return leat_order_push(down, row, err);
}

/* Adds a document to the open row or the window. */
static int hold(struct leat_packer *packer, struct leat_ref take_ref, struct leat_error *err) {
    if (!leat_array_reserve(&packer->refs, packer->n_refs + 1, &packer->capacity)) {
        leat_ref_drop(take_ref);
        return leat_error_oom(err);
    }
    packer->refs[packer->n_refs++] = take_ref;
    packer->n_elements += take_ref.length;
    return 0;
}

/* ---- as they come ---- */

static int close_row(struct leat_packer *packer, struct leat_order_sink *down,
                     struct leat_error *err) {
    struct leat_bundle *bundle;

    if (packer->n_refs == 0)
        return 0;
    bundle = bundle_new(packer->n_refs);
    if (!bundle)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < packer->n_refs; i++)
        bundle_add(bundle, packer->refs[i]);
    packer->n_refs = packer->n_elements = 0;
    return push_bundle(bundle, down, err);
}

static int push_concat(struct leat_packer *packer, struct leat_ref take_ref,
                       struct leat_order_sink *down, struct leat_error *err) {
    const struct leat_packing *packing = packer->packing;
    uint32_t n = take_ref.length, at = 0;
    int r = 0;

    if (!packing->splits && packer->n_elements + n > packing->length)
        r = close_row(packer, down, err);
    while (r == 0 && at < n) {
        uint32_t room = packing->length - packer->n_elements;
        uint32_t some = n - at < room ? n - at : room;

        r = hold(packer, leat_ref_part(take_ref, at, some), err);
        at += some;
        if (r == 0 && packer->n_elements == packing->length)
            r = close_row(packer, down, err);
    }
    leat_ref_drop(take_ref);
    return r;
}

/* ---- windows ---- */

struct by_length {
    uint32_t length, place;
};

#define DIGIT_BITS 11
#define N_DIGITS   (1U << DIGIT_BITS)

/* The longest documents first, those of one length in their order: counts each digit of what they
 * lack to the whole length, from the last digit on. Gives one of the two arrays. */
static struct by_length *sort_by_length(const struct leat_packer *packer, struct by_length *from,
                                        struct by_length *to) {
    uint32_t length = packer->packing->length, n = packer->n_refs, starts[N_DIGITS];

    for (uint32_t shift = 0; shift == 0 || (shift < 32 && length >> shift); shift += DIGIT_BITS) {
        struct by_length *sorted = to;
        uint32_t n_digits = length >> shift < N_DIGITS ? (length >> shift) + 1 : N_DIGITS, at = 0;

        memset(starts, 0, n_digits * sizeof(*starts));
        for (uint32_t i = 0; i < n; i++)
            starts[(length - from[i].length) >> shift & (N_DIGITS - 1)]++;
        for (uint32_t digit = 0; digit < n_digits; digit++) {
            uint32_t n_here = starts[digit];

            starts[digit] = at;
            at += n_here;
        }
        for (uint32_t i = 0; i < n; i++)
            sorted[starts[(length - from[i].length) >> shift & (N_DIGITS - 1)]++] = from[i];
        to = from;
        from = sorted;
    }
    return from;
}

/* Sets packer->rows[i], the row of document i. */
static int place_documents(struct leat_packer *packer, struct leat_error *err) {
    struct by_length *memory = calloc(2 * (size_t)packer->n_refs, sizeof(*memory));
    const struct by_length *sorted;

    if (!memory)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < packer->n_refs; i++)
        memory[i] = (struct by_length){.length = packer->refs[i].length, .place = i};
    sorted = sort_by_length(packer, memory, memory + packer->n_refs);
    leat_fit_reset(packer->fit);
    for (uint32_t i = 0; i < packer->n_refs; i++)
        packer->rows[sorted[i].place] = leat_fit_place(packer->fit, sorted[i].length);
    free(memory);
    return 0;
}

/* Sets packer->order: documents by row, rows by their first documents; and packer->firsts[k]: where
 * the k-th row ends in it. Returns the number of rows. */
static uint32_t order_rows(struct leat_packer *packer) {
    uint32_t n_rows = leat_fit_n_rows(packer->fit), n_met = 0, sum = 0;
    uint32_t *turn = packer->order; /* of each row, until the order itself is written */

    for (uint32_t i = 0; i < n_rows; i++) {
        turn[i] = UINT32_MAX;
        packer->firsts[i] = 0;
    }
    for (uint32_t i = 0; i < packer->n_refs; i++) {
        uint32_t row = packer->rows[i];

        if (turn[row] == UINT32_MAX)
            turn[row] = n_met++;
        packer->rows[i] = turn[row];
        packer->firsts[turn[row]]++;
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        uint32_t n = packer->firsts[i];

        packer->firsts[i] = sum;
        sum += n;
    }
    for (uint32_t i = 0; i < packer->n_refs; i++)
        packer->order[packer->firsts[packer->rows[i]]++] = i;
    return n_rows;
}

static int push_rows(struct leat_packer *packer, uint32_t n_rows, struct leat_order_sink *down,
                     struct leat_error *err) {
    uint32_t at = 0;
    int r = 0;

    for (uint32_t row = 0; row < n_rows; row++) {
        uint32_t end = packer->firsts[row];
        struct leat_bundle *bundle = r == 0 ? bundle_new(end - at) : NULL;

        if (r == 0 && !bundle)
            r = leat_error_oom(err);
        for (; at < end; at++) {
            if (bundle)
                bundle_add(bundle, packer->refs[packer->order[at]]);
            else
                leat_ref_drop(packer->refs[packer->order[at]]);
        }
        if (bundle)
            r = push_bundle(bundle, down, err);
    }
    packer->n_refs = packer->n_elements = 0;
    return r;
}

static int pack_window(struct leat_packer *packer, struct leat_order_sink *down,
                       struct leat_error *err) {
    int r;

    if (packer->n_refs == 0)
        return 0;
    r = place_documents(packer, err);
    return r < 0 ? r : push_rows(packer, order_rows(packer), down, err);
}

/* Pushes the full rows of a document that is longer than one. */
static int push_full_rows(const struct leat_packing *packing, struct leat_ref ref, uint32_t *at,
                          struct leat_order_sink *down, struct leat_error *err) {
    int r = 0;

    while (r == 0 && ref.length - *at > packing->length) {
        struct leat_bundle *bundle = bundle_new(1);

        if (!bundle)
            return leat_error_oom(err);
        bundle_add(bundle, leat_ref_part(ref, *at, packing->length));
        *at += packing->length;
        r = push_bundle(bundle, down, err);
    }
    return r;
}

static int push_fit(struct leat_packer *packer, struct leat_ref take_ref,
                    struct leat_order_sink *down, struct leat_error *err) {
    const struct leat_packing *packing = packer->packing;
    uint32_t at = 0;
    int r = push_full_rows(packing, take_ref, &at, down, err);

    if (r == 0)
        r = hold(packer, leat_ref_part(take_ref, at, take_ref.length - at), err);
    leat_ref_drop(take_ref);
    return r == 0 && packer->n_refs == packing->window ? pack_window(packer, down, err) : r;
}

/* ---- both ---- */

int leat_packer_start(struct leat_packer *packer, const struct leat_packing *packing,
                      struct leat_error *err) {
    uint32_t n = packing->window;

    packer->packing = packing;
    if (packing->how == LEAT_PACK_CONCAT)
        return 0;
    packer->fit = leat_fit_new(packing->how == LEAT_PACK_BEST_FIT, packing->length, n);
    packer->order = calloc(n, sizeof(*packer->order));
    packer->rows = calloc(n, sizeof(*packer->rows));
    packer->firsts = calloc(n, sizeof(*packer->firsts));
    return packer->fit && packer->order && packer->rows && packer->firsts ? 0 : leat_error_oom(err);
}

int leat_packer_push(const struct leat_config *config, void *state, struct leat_ref ref,
                     struct leat_order_sink *down, struct leat_error *err) {
    struct leat_packer *packer = state;

    (void)config;
    ref.length = leat_ref_length(ref, packer->packing->column);
    if (ref.length == 0) {
        leat_ref_drop(ref);
        return LEAT_ORDER_LEFT_OUT;
    }
    return packer->packing->how == LEAT_PACK_CONCAT ? push_concat(packer, ref, down, err)
                                                    : push_fit(packer, ref, down, err);
}

int leat_packer_finish(const struct leat_config *config, void *state, struct leat_order_sink *down,
                       struct leat_error *err) {
    struct leat_packer *packer = state;
    int r = packer->packing->how == LEAT_PACK_CONCAT ? close_row(packer, down, err)
                                                     : pack_window(packer, down, err);

    (void)config;
    return r < 0 ? r : 0;
}

void leat_packer_stop(const struct leat_config *config, void *state) {
    struct leat_packer *packer = state;

    (void)config;
    for (uint32_t i = 0; i < packer->n_refs; i++)
        leat_ref_drop(packer->refs[i]);
    free(packer->refs);
    free(packer->order);
    free(packer->rows);
    free(packer->firsts);
    leat_fit_free(packer->fit);
}

/* Bytes of the tables for a window, which are allocated at the start. */
static uint64_t window_bytes(const struct leat_packing *packing) {
    uint64_t n = packing->window;

    if (packing->how == LEAT_PACK_CONCAT)
        return 0;
    return leat_fit_bytes(packing->how == LEAT_PACK_BEST_FIT, packing->length, packing->window) +
           n * (3 * sizeof(uint32_t) + 2 * sizeof(struct by_length));
}

uint64_t leat_packer_bytes(const void *state) {
    const struct leat_packer *packer = state;

    return packer->capacity * sizeof(struct leat_ref) + window_bytes(packer->packing);
}

void leat_packing_holds(const struct leat_packing *packing, uint64_t *ret_rows,
                        uint64_t *ret_bytes) {
    bool is_concat = packing->how == LEAT_PACK_CONCAT;
    uint64_t n = is_concat ? packing->length : packing->window;

    *ret_rows = n;
    *ret_bytes = 2 * n * sizeof(struct leat_ref) + window_bytes(packing); /* the array doubles */
}
