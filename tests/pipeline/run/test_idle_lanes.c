/* test_idle_lanes.c: pipeline/run/intake/idle_lanes.c: a lane of which a run makes a batch is never
 * idle, over random numbers of rows; in a world that divides the lanes all others are. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/intake/idle_lanes.h"
#include "proto/base/rng.h"
#include "tests/pipeline/shared_stream.h"

#define LANES_MAX 40
#define STEPS_MAX 20000

static struct leat_rng rng = {.state = 7};

static uint64_t random_below(uint64_t n) {
    return leat_rng_below(&rng, n);
}

static int descending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

static uint64_t batches_of(const struct leat_plan *plan, uint64_t n_rows) {
    return (n_rows + (plan->drop_last ? 0 : plan->batch_size - 1)) / plan->batch_size;
}

/* Goes through all steps; with `uneven: pad` those of the last round, which may begin anywhere, may
 * be repeated. */
static void mark_used(const struct leat_plan *plan, const struct leat_run_options *options,
                      const uint64_t *n_rows, bool *used) {
    static size_t lanes[STEPS_MAX];
    bool may_repeat = plan->options.uneven == LEAT_UNEVEN_PAD;
    uint64_t n_steps = 0;

    memset(used, 0, LANES_MAX * sizeof(*used));
    for (uint64_t round = 0; round < batches_of(plan, n_rows[0]); round++)
        for (size_t i = 0; i < plan->blocks.n_lanes; i++)
            if (batches_of(plan, n_rows[i]) > round)
                lanes[n_steps++] = i;
    for (uint64_t step = 0; step < n_steps; step++)
        if ((may_repeat && step + options->world_size > n_steps) ||
            step % options->world_size - options->first_rank < options->n_ranks)
            used[lanes[step]] = true;
}

static void test_never_a_used_one(void **state) {
    size_t n_idle = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        struct leat_plan plan = {
            .blocks = {.n_lanes = 2 + (size_t)random_below(LANES_MAX - 2)},
            .batch_size = 1 + random_below(9),
            .drop_last = random_below(2),
            .options = {.uneven = random_below(2) ? LEAT_UNEVEN_PAD : LEAT_UNEVEN_DROP}};
        struct leat_run_options options = {.world_size = 2 + random_below(50)};
        uint64_t n_rows[LANES_MAX], n_least = random_below(200), n_more = 1 + random_below(60);
        bool is_idle[LANES_MAX], used[LANES_MAX];

        options.first_rank = random_below(options.world_size);
        options.n_ranks = 1 + random_below(options.world_size - options.first_rank);
        for (size_t k = 0; k < plan.blocks.n_lanes; k++)
            n_rows[k] = 1 + n_least + random_below(n_more);
        qsort(n_rows, plan.blocks.n_lanes, sizeof(n_rows[0]), descending);
        mark_used(&plan, &options, n_rows, used);
        leat_idle_lanes_find(&plan, &options, n_rows, is_idle);
        for (size_t k = 0; k < plan.blocks.n_lanes; k++) {
            assert_false(is_idle[k] && used[k]);
            n_idle += is_idle[k];
        }
    }
    assert_true(n_idle > 1000);
}

/* With batches of a block and more, lanes differ by a batch at most. */
static void test_all_others(void **state) {
    struct leat_plan plan = {.blocks = {.n_lanes = 32}, .batch_size = 8};
    struct leat_run_options options = {.world_size = 8, .n_ranks = 1};
    uint64_t n_rows[32];
    bool is_idle[32];

    (void)state;
    for (size_t k = 0; k < 32; k++)
        n_rows[k] = k < 16 ? 808 : 800;
    for (options.first_rank = 0; options.first_rank < 8; options.first_rank++) {
        leat_idle_lanes_find(&plan, &options, n_rows, is_idle);
        for (size_t k = 0; k < 32; k++)
            assert_int_equal(is_idle[k], k % 8 != options.first_rank);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_never_a_used_one),
                                       cmocka_unit_test(test_all_others)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
