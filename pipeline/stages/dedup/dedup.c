/* dedup.c: keeps the first of records that are equal, or equal in one field.
 *
 * Exact up to a collision of 128-bit hashes (shared_record_hash.h, seed 0). Workers compute them in
 * the pass, and this stage remembers them for one pass. Their number is bounded; `when_full` says
 * what happens then. To forget the oldest there are two sets: when the newer has half of
 * max_records, the older is emptied and becomes the newer.
 */
#include <errno.h>

#include "pipeline/stage/planner.h"
#include "pipeline/stages/dedup/hash_set.h"
#include "pipeline/stages/shared_record_hash.h"

enum { FAIL, FORGET, PASS };

struct dedup {
    struct leat_config base;
    const char *input;
    int64_t max_records;
    int when_full;

    uint32_t column;
    uint32_t hash_columns[2];
};

struct dedup_state {
    struct leat_hash_set sets[2];
    size_t newer;
};

static const char *const when_full_choices[] = {"fail", "forget", "pass", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(dedup, input, FIELD,
             "the field to compare; two records are equal if they have the same value in "
             "this field; default: two records are equal if all their bytes are equal",
             .is_positional = true),
    LEAT_ARG(dedup, max_records, INT,
             "the maximum number of records that leat remembers; each of them takes 22 to 43 "
             "bytes of memory",
             .fallback = "4194304", .min = 2, .max = 1e10),
    LEAT_ARG(dedup, when_full, CHOICE,
             "what happens after `max_records` different records; `fail`: the stream ends; "
             "`forget`: leat forgets the older half of the records that it remembers, so "
             "duplicates that are far apart may stay; `pass`: leat keeps new records but does not "
             "remember them, so their duplicates stay",
             .fallback = "fail", .choices = when_full_choices),
    LEAT_ARGS_END,
};

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct dedup *self = (struct dedup *)config;
    int r = 0;

    if (planner->is_packed || planner->is_chunked)
        return leat_config_error(config, NULL, err, "compares whole records: put it before `%s`",
                                 planner->is_chunked ? "chunk" : "pack");
    if (planner->has_repeat)
        return leat_config_error(
            config, NULL, err,
            "would drop the whole second pass of `repeat`: put it before `repeat`");
    r = leat_record_hash_plan(config, planner, self->input, &self->column, err);
    for (int i = 0; r == 0 && i < 2; i++) {
        r = leat_planner_add_hidden(planner, config, "(hash)", LEAT_DTYPE_INT64, false,
                                    &self->hash_columns[i], err);
        if (r == 0 && leat_planner_keep(planner, self->hash_columns[i]) < 0)
            r = leat_error_oom(err);
    }
    return r;
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct dedup *self = (const struct dedup *)config;
    uint64_t *words[2];

    for (int i = 0; i < 2; i++) {
        if (leat_map_make_scalar(map, self->hash_columns[i], sizeof(uint64_t)) < 0)
            return leat_error_oom(err);
        words[i] = leat_map_column(map, self->hash_columns[i])->values;
    }
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        struct leat_record_hash hash = leat_record_hash(map, row, self->column, 0);

        words[0][row] = hash.words[0];
        words[1][row] = hash.words[1];
    }
    return 0;
}

/* Remembers a new record. */
static int remember(const struct dedup *self, struct dedup_state *seen, const uint64_t hash[2],
                    struct leat_error *err) {
    uint64_t max = (uint64_t)self->max_records;
    struct leat_hash_set *set = &seen->sets[seen->newer];

    if (self->when_full == FORGET && set->n_hashes >= max / 2) {
        seen->newer = 1 - seen->newer;
        set = &seen->sets[seen->newer];
        leat_hash_set_deinit(set);
    } else if (set->n_hashes >= max) {
        if (self->when_full == PASS)
            return 0;
        leat_error_set(err, -ENOSPC,
                       "dedup: there are more than max_records (%lld) different records: raise "
                       "max_records, or set when_full to forget or pass",
                       (long long)self->max_records);
        return -ENOSPC;
    }
    return leat_hash_set_add(set, hash) < 0 ? leat_error_oom(err) : 0;
}

static int push(const struct leat_config *config, void *state, struct leat_ref ref,
                struct leat_order_sink *down, struct leat_error *err) {
    const struct dedup *self = (const struct dedup *)config;
    struct dedup_state *seen = state;
    uint64_t hash[2];
    int r;

    for (int i = 0; i < 2; i++)
        hash[i] = ((const uint64_t *)ref.block->columns[self->hash_columns[i]].values)[ref.row];
    if (leat_hash_set_has(&seen->sets[0], hash) || leat_hash_set_has(&seen->sets[1], hash)) {
        leat_ref_drop(ref);
        return LEAT_ORDER_LEFT_OUT;
    }
    r = remember(self, seen, hash, err);
    if (r < 0) {
        leat_ref_drop(ref);
        return r;
    }
    return leat_order_push(down, ref, err);
}

static void stop(const struct leat_config *config, void *state) {
    struct dedup_state *seen = state;

    (void)config;
    leat_hash_set_deinit(&seen->sets[0]);
    leat_hash_set_deinit(&seen->sets[1]);
}

static uint64_t state_bytes(const void *state) {
    const struct dedup_state *seen = state;

    return seen->sets[0].n_bytes + seen->sets[1].n_bytes;
}

static void holding(const struct leat_config *config, uint64_t *ret_rows, uint64_t *ret_bytes) {
    const struct dedup *self = (const struct dedup *)config;
    uint64_t max = (uint64_t)self->max_records;

    *ret_rows = 0;
    *ret_bytes =
        self->when_full == FORGET ? 2 * leat_hash_set_bytes(max / 2) : leat_hash_set_bytes(max);
}

/* Which records pass depends on the records before them. */
static bool counts_by_order(const struct leat_config *config) {
    return ((const struct dedup *)config)->when_full != FAIL;
}

const struct leat_stage_ops leat_stage_dedup = {
    LEAT_STAGE_BASE("dedup", dedup, ORDER),
    .summary = "keeps only the first of several equal records",
    .example = "{ input: text }",
    .picks_by_order = true,
    .counts_by_order = counts_by_order,
    .plan = plan,
    .map = map_rows,
    .state_size = sizeof(struct dedup_state),
    .holding = holding,
    .state_bytes = state_bytes,
    .push = push,
    .stop = stop,
};
