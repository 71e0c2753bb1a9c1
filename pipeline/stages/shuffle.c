/* shuffle.c: a reservoir of `buffer_size` references, or of all of a pass.
 *
 * While the reservoir fills, nothing leaves. Then each reference that comes takes the place of one
 * drawn at random, which leaves. At the end of the pass the rest leaves in random order
 * (Fisher-Yates from the back). A full shuffle (`global`) is one whose reservoir never fills: it
 * holds the blocks of the whole pass in memory, with the columns that are kept, up to `max_bytes`;
 * where there is a cache, the run lets go of the values of what is beyond that, and has them again
 * when batches are made (run/row_store.h); the sequence is the same as with any buffer_size that is
 * not smaller than the data.
 *
 * With `blocks` the source is read in another order, before all stages: the records of each file,
 * in the order of the data, are divided into blocks of block_size, the last of a file has those
 * that are left. These blocks, of all files in line, leave in random order as the rest of a
 * reservoir does: drawn at random, the last one takes the place of the drawn; the rows of each come
 * in the order of the data. What counts as a record is what every pass finds (span_table.h): bad
 * ones count, rows that a filter drops too. So a reservoir that is a part of the data holds records
 * from all over it. Draws for blocks are of a stream of their own: LEAT_RNG_BLOCKS in place of
 * LEAT_RNG_SHUFFLE, pass * 2^32 + which shuffle, with the number of the pass over the data.
 *
 * With `lanes` the blocks of that order are dealt to lanes, each to the one that has the fewest
 * records so far, the first of several. Then lanes are numbered from the one with the most records,
 * of equals from the first. So they differ by a block at most, and the last ones drop out first: in
 * a world that divides `lanes`, with batches of a block and more, no rank needs another's lanes.
 * Each lane has a reservoir of its own, and so has each stage behind it (order/order.h).
 *
 * Draws are leat_rng_below(n) of one SplitMix64 stream keyed by (stream
 * seed, seed, epoch, LEAT_RNG_SHUFFLE, pass * 2^32 + lane * 2^16 + which shuffle of the spec this
 * is): tests/reference/ does the same in Python.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/stage/stage.h"

#define DEFAULT_BLOCK_SIZE "256"
#define PUSHED_AT_ONCE     64

struct shuffle {
    struct leat_config base;
    int64_t buffer_size;
    bool is_global;
    bool reads_blocks;
    int64_t block_size;
    int64_t lanes;
    int64_t max_bytes;
    int64_t seed;
    bool reshuffle_each_epoch;
};

struct shuffle_state {
    struct leat_rng rng;
    struct leat_ref *refs;
    size_t n_refs, capacity;
    uint64_t n_bytes; /* full shuffle: of references, bundles and their blocks */
    bool may_evict;
};

static const struct leat_arg args[] = {
    LEAT_ARG(shuffle, buffer_size, INT,
             "number of records in the buffer (the reservoir), from which leat draws at random; a "
             "record can come at most this many places earlier than in the data",
             .is_positional = true, .min = 1, .max = 1048576),
    LEAT_ARG_NAMED("global", shuffle, is_global, BOOL,
                   "true: leat keeps all records of a pass in memory, as they are after the "
                   "per-record stages, and shuffles them together; use either `global` or "
                   "`buffer_size`",
                   .fallback = "false"),
    LEAT_ARG_NAMED("blocks", shuffle, reads_blocks, BOOL,
                   "true: leat cuts the data into blocks of `block_size` records, and reads the "
                   "blocks in random order; so the reservoir mixes records from all the data",
                   .fallback = "false"),
    LEAT_ARG(shuffle, block_size, INT,
             "with `blocks`: number of records per block; a block never spans two files; "
             "smaller blocks mix better, but larger blocks read faster",
             .fallback = DEFAULT_BLOCK_SIZE, .min = 1, .max = LEAT_BLOCK_SIZE_MAX),
    LEAT_ARG(shuffle, lanes, INT,
             "with `blocks`: the number of parts, called lanes, into which leat divides the data; "
             "if you train on several machines, each machine then reads only the lanes of its "
             "ranks; each lane has its own reservoir and its own batches; the steps use the lanes "
             "in turn; choose a multiple of the world size that is not larger than the number of "
             "blocks; lanes need a complete `cache`, a prepared set or an `index`; the command "
             "`leatctl cache warm` makes a cache or an index",
             .min = 1, .max = LEAT_ORDER_LANES_MAX),
    LEAT_ARG(shuffle, max_bytes, BYTES,
             "with `global`: the maximum memory for a pass; above this limit, leat keeps only the "
             "lengths of rows in memory; leat then reads the rows again from the `cache`, or makes "
             "them again with the `index`; if the stream has neither a `cache` nor an `index`, it "
             "fails",
             .is_aside = true, .fallback = "1GiB", .min = 1 << 20, .max = 1e15),
    LEAT_ARG(shuffle, seed, INT, "the seed of the order; another seed gives another order",
             .fallback = "0", .min = 0, .max = 9e15),
    LEAT_ARG(shuffle, reshuffle_each_epoch, BOOL,
             "true: each epoch has a new order; false: every epoch has the order of epoch 0",
             .fallback = "true"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct shuffle *self = (const struct shuffle *)config;

    if (!self->is_global && self->buffer_size == 0)
        return leat_config_error(config, NULL, err,
                                 "buffer_size is missing: give the number of records in the "
                                 "reservoir, or set `global: true`");
    if (self->is_global && self->buffer_size > 0)
        return leat_config_error(config, "buffer_size", err,
                                 "`global` already shuffles all records: remove one of the two");
    if (!self->is_global && leat_config_given(config, "max_bytes"))
        return leat_config_error(config, "max_bytes", err, "works only with `global`");
    if (self->is_global && self->reads_blocks)
        return leat_config_error(config, "blocks", err,
                                 "`global` already shuffles all records: remove `blocks`");
    if (!self->reads_blocks && leat_config_given(config, "block_size"))
        return leat_config_error(config, "block_size", err, "works only with `blocks`");
    if (!self->reads_blocks && leat_config_given(config, "lanes"))
        return leat_config_error(config, "lanes", err, "works only with `blocks`");
    return 0;
}

static int start(const struct leat_config *config, void *state, const struct leat_order_key *key,
                 struct leat_error *err) {
    const struct shuffle *self = (const struct shuffle *)config;
    struct shuffle_state *reservoir = state;
    uint64_t epoch = self->reshuffle_each_epoch ? key->epoch : 0;
    uint64_t pass = self->reshuffle_each_epoch ? key->pass : 0;

    (void)err;
    reservoir->may_evict = key->may_evict;
    reservoir->rng.state = leat_rng_key(key->seed, (uint64_t)self->seed, epoch, LEAT_RNG_SHUFFLE,
                                        (pass << 32) + key->index);
    return 0;
}

static int grow(struct shuffle_state *reservoir, size_t limit) {
    size_t capacity = reservoir->capacity ? reservoir->capacity * 2 : 1024;
    struct leat_ref *refs;

    if (capacity > limit)
        capacity = limit;
    refs = reallocarray(reservoir->refs, capacity, sizeof(*refs));
    if (!refs)
        return -ENOMEM;
    reservoir->refs = refs;
    reservoir->capacity = capacity;
    return 0;
}

static void hold_block(struct shuffle_state *reservoir, struct leat_block *block) {
    size_t n_chunks = block->kept.n_bytes / LEAT_ARENA_CHUNK_BYTES + 1;

    if (!block->is_held)
        reservoir->n_bytes += n_chunks * LEAT_ARENA_CHUNK_BYTES;
    block->is_held = true;
}

/* Counts what a full shuffle holds: references twice, since all are in batches at the end. */
static int hold(const struct shuffle *self, struct shuffle_state *reservoir, struct leat_ref ref,
                struct leat_error *err) {
    reservoir->n_bytes += 2 * sizeof(ref);
    if (ref.row != LEAT_REF_BUNDLE)
        hold_block(reservoir, ref.block);
    for (uint32_t i = 0; ref.row == LEAT_REF_BUNDLE && i < ref.bundle->n_refs; i++) {
        reservoir->n_bytes += sizeof(ref);
        hold_block(reservoir, ref.bundle->refs[i].block);
    }
    if (reservoir->n_bytes <= (uint64_t)self->max_bytes || reservoir->may_evict)
        return 0;
    return leat_error_set(err, -ENOSPC,
                          "shuffle: `global: true` holds all rows of a pass in memory, but %zu "
                          "rows take %llu bytes, more than max_bytes (%lld): raise max_bytes, give "
                          "the stream a `cache`, or shuffle with a `buffer_size`",
                          reservoir->n_refs + 1, (unsigned long long)reservoir->n_bytes,
                          (long long)self->max_bytes);
}

/* References that the reservoir holds when it is full. */
static size_t limit_of(const struct shuffle *self) {
    return self->is_global ? SIZE_MAX / sizeof(struct leat_ref) : (size_t)self->buffer_size;
}

/* Takes a place at random in the full reservoir; gives the reference that leaves it. */
static struct leat_ref exchange(struct shuffle_state *reservoir, size_t limit,
                                struct leat_ref ref) {
    size_t drawn = (size_t)leat_rng_below(&reservoir->rng, limit);
    struct leat_ref leaving = reservoir->refs[drawn];

    reservoir->refs[drawn] = ref;
    return leaving;
}

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    const struct shuffle *self = (const struct shuffle *)config;
    struct shuffle_state *reservoir = state;
    size_t limit = limit_of(self);

    if (self->is_global && hold(self, reservoir, ref, err) < 0) {
        leat_ref_drop(ref);
        return -ENOSPC;
    }
    if (reservoir->n_refs < limit) {
        if (reservoir->n_refs == reservoir->capacity && grow(reservoir, limit) < 0) {
            leat_ref_drop(ref);
            return leat_error_oom(err);
        }
        reservoir->refs[reservoir->n_refs++] = ref;
        return 0;
    }
    return leat_order_push(down, exchange(reservoir, limit, ref), err);
}

/* At most PUSHED_AT_ONCE rows meet a full reservoir. */
static int exchange_rows(struct shuffle_state *reservoir, struct leat_block *block, uint32_t row,
                         uint32_t n, struct leat_order_sink *down, struct leat_error *err) {
    struct leat_ref leaving[PUSHED_AT_ONCE];
    int r = 0;

    leat_block_ref(block, n);
    for (uint32_t i = 0; i < n; i++) {
        struct leat_ref *place =
            &reservoir->refs[leat_rng_below(&reservoir->rng, reservoir->n_refs)];

        leaving[i] = *place;
        leat_ref_fill_rows(place, block, row + i, 1);
    }
    if (down->push_refs)
        return down->push_refs(down, leaving, n, err);
    for (uint32_t i = 0; i < n; i++)
        if (r == 0)
            r = leat_order_push(down, leaving[i], err);
        else
            leat_ref_drop(leaving[i]);
    return r;
}

/* A full reservoir needs no look at its size for each row. */
static int push_rows(const struct leat_config *config, void *state, struct leat_block *block,
                     uint32_t row, uint32_t *n, struct leat_order_sink *down,
                     struct leat_error *err) {
    struct shuffle_state *reservoir = state;
    size_t limit = limit_of((const struct shuffle *)config);
    uint32_t n_pushed = 0;
    int r = 0;

    while (r == 0 && n_pushed < *n && reservoir->n_refs != limit) {
        leat_block_ref(block, 1);
        r = push(config, state, leat_ref_row(block, row + n_pushed++), down, err);
    }
    while (r == 0 && n_pushed < *n) {
        uint32_t n_left = *n - n_pushed, n_now = n_left < PUSHED_AT_ONCE ? n_left : PUSHED_AT_ONCE;

        r = exchange_rows(reservoir, block, row + n_pushed, n_now, down, err);
        n_pushed += n_now;
    }
    *n = n_pushed;
    return r;
}

static int finish(const struct leat_config *config, void *state, struct leat_order_sink *down,
                  struct leat_error *err) {
    struct shuffle_state *reservoir = state;

    (void)config;
    while (reservoir->n_refs > 0) {
        size_t drawn = (size_t)leat_rng_below(&reservoir->rng, reservoir->n_refs);
        struct leat_ref leaving = reservoir->refs[drawn];
        int r;

        reservoir->refs[drawn] = reservoir->refs[--reservoir->n_refs];
        r = leat_order_push(down, leaving, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static void stop(const struct leat_config *config, void *state) {
    struct shuffle_state *reservoir = state;

    (void)config;
    for (size_t i = 0; i < reservoir->n_refs; i++)
        leat_ref_drop(reservoir->refs[i]);
    free(reservoir->refs);
}

static uint64_t state_bytes(const void *state) {
    return ((const struct shuffle_state *)state)->capacity * sizeof(struct leat_ref);
}

static void holding(const struct leat_config *config, uint64_t *ret_rows, uint64_t *ret_bytes) {
    const struct shuffle *self = (const struct shuffle *)config;

    *ret_rows = (uint64_t)self->buffer_size; /* unknown for a full shuffle */
    *ret_bytes = self->is_global ? (uint64_t)self->max_bytes
                                 : (uint64_t)self->buffer_size * sizeof(struct leat_ref);
}

static void reads(const struct leat_config *config, struct leat_block_order *ret_order) {
    const struct shuffle *self = (const struct shuffle *)config;

    *ret_order =
        (struct leat_block_order){.block_size = self->reads_blocks ? (uint64_t)self->block_size : 0,
                                  .seed = (uint64_t)self->seed,
                                  .reshuffles = self->reshuffle_each_epoch,
                                  .n_lanes = (size_t)self->lanes};
}

static uint64_t evicts_above(const struct leat_config *config) {
    const struct shuffle *self = (const struct shuffle *)config;

    return self->is_global ? (uint64_t)self->max_bytes : 0;
}

static bool reorders(const struct leat_config *config) {
    return ((const struct shuffle *)config)->reshuffle_each_epoch;
}

const struct leat_stage_ops leat_stage_shuffle = {
    LEAT_STAGE_BASE("shuffle", shuffle, ORDER),
    .summary = "puts records in random order, within a moving window or as a whole",
    .example = "{ buffer_size: 1000, seed: 42 }",
    .is_blind = true,
    .passes_one = true,
    .reorders = reorders,
    .check = check,
    .state_size = sizeof(struct shuffle_state),
    .holding = holding,
    .reads = reads,
    .evicts_above = evicts_above,
    .state_bytes = state_bytes,
    .start = start,
    .push = push,
    .push_rows = push_rows,
    .finish = finish,
    .stop = stop,
};
