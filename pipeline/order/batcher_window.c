/* batcher_window.c: `bucket: {window}`: rows are gathered, sorted by length, cut into batches, and
 * the batches are put in random order. See batcher.h.
 *
 * Rows of one length stay in the order in which they came. Draws are leat_rng_below(n) of one
 * stream an epoch, keyed (stream seed, seed, epoch, LEAT_RNG_BUCKET, lane * 2^16): for each window
 * a Fisher-Yates from the back, the drawn one changing places with the last. The last, incomplete
 * batch of an epoch comes behind all others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/order/batcher_internal.h"
#include "proto/base/array.h"

/* The batches of one window. */
struct cut {
    struct leat_batch_refs **batches;
    size_t n_batches, capacity;
};

static int on_close(struct leat_batch_refs *take_batch, void *user, struct leat_error *err) {
    struct cut *cut = user;

    if (!leat_array_reserve(&cut->batches, cut->n_batches + 1, &cut->capacity)) {
        leat_batch_refs_free(take_batch);
        return leat_error_oom(err);
    }
    cut->batches[cut->n_batches++] = take_batch;
    return 0;
}

static int by_length(const void *a, const void *b) {
    const struct leat_gathered_row *x = a, *y = b;

    if (x->length != y->length)
        return (x->length > y->length) - (x->length < y->length);
    return (x->place > y->place) - (x->place < y->place);
}

/* Cuts all gathered rows into batches; an incomplete one stays open. */
static int cut_rows(struct leat_batch_lane *lane, struct cut *cut, struct leat_error *err) {
    size_t n = lane->n_gathered, i;
    int r = 0;

    if (n > 0)
        qsort(lane->gathered, n, sizeof(*lane->gathered), by_length);
    for (i = 0; r >= 0 && i < n; i++)
        r = leat_open_batch_add(lane->batcher->plan, &lane->open[0], lane->gathered[i].ref,
                                on_close, cut, err);
    memmove(lane->gathered, lane->gathered + i, (n - i) * sizeof(*lane->gathered));
    lane->n_gathered = n - i;
    return r;
}

static int close_all(struct leat_batch_lane *lane, struct cut *cut, struct leat_error *err) {
    bool shuffles = lane->batcher->plan->bucketing->shuffles;
    int r = 0;

    for (size_t n = cut->n_batches; shuffles && n > 1; n--) {
        size_t drawn = (size_t)leat_rng_below(&lane->rng, n);
        struct leat_batch_refs *batch = cut->batches[drawn];

        cut->batches[drawn] = cut->batches[n - 1];
        cut->batches[n - 1] = batch;
    }
    for (size_t i = 0; i < cut->n_batches; i++)
        if (r == 0)
            r = leat_batch_lane_close(lane, cut->batches[i], err);
        else
            leat_batch_refs_free(cut->batches[i]);
    free(cut->batches);
    return r;
}

/* The rows of the incomplete batch are gathered again, in front of those that follow. */
static void gather_rest(struct leat_batch_lane *lane) {
    struct leat_open_batch *open = &lane->open[0];

    lane->n_carried = open->refs ? open->refs->n_refs : 0;
    lane->n_gathered = lane->n_carried;
    for (uint32_t i = 0; i < lane->n_carried; i++) {
        struct leat_gathered_row *row = &lane->gathered[i];

        row->ref = open->refs->refs[i];
        row->length = leat_ref_elements(row->ref, lane->batcher->plan->fields,
                                        lane->batcher->plan->bucketing->column);
        row->place = i;
    }
    free(open->refs);
    *open = (struct leat_open_batch){.refs = NULL};
}

int leat_batch_lane_gather(struct leat_batch_lane *lane, struct leat_ref ref,
                           struct leat_error *err) {
    const struct leat_bucketing *bucketing = lane->batcher->plan->bucketing;
    struct cut cut = {.batches = NULL};
    int r, closed;

    if (!leat_array_reserve(&lane->gathered, lane->n_gathered + 1, &lane->gathered_capacity)) {
        leat_ref_drop(ref);
        return leat_error_oom(err);
    }
    lane->gathered[lane->n_gathered] = (struct leat_gathered_row){
        .ref = ref,
        .length = leat_ref_elements(ref, lane->batcher->plan->fields, bucketing->column),
        .place = (uint32_t)lane->n_gathered,
    };
    lane->n_gathered++;
    if (lane->n_gathered - lane->n_carried < bucketing->window)
        return 0;
    r = cut_rows(lane, &cut, err);
    closed = close_all(lane, &cut, err);
    if (r >= 0)
        gather_rest(lane);
    return r < 0 ? r : closed;
}

int leat_batch_lane_flush_window(struct leat_batch_lane *lane, struct leat_error *err) {
    struct cut cut = {.batches = NULL};
    int r, closed;

    if (!lane->batcher->plan->bucketing || lane->batcher->plan->bucketing->window == 0)
        return 0;
    r = cut_rows(lane, &cut, err);
    closed = close_all(lane, &cut, err);
    lane->n_carried = 0;
    return r < 0 ? r : closed;
}
