/* test_job_pool.c: pipeline/run/job_pool.c: jobs and their memory are used again and counted, and
 * no more MAP jobs are out than may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "pipeline/run/job_pool.h"
#include "tests/pipeline/shared_stream.h"

struct world {
    struct leat_plan *plan;
    struct leat_budget budget;
    struct leat_account account;
    struct leat_job_pool pool;
    struct leat_block_pool blocks;
};

static void open_world(struct world *world, uint32_t n_threads) {
    struct leat_run_options options = {.n_map_threads = n_threads};

    folder_print("a.csv", "id\n1\n2\n");
    world->plan = stream_plan("csv: {paths: [a.csv]}", "",
                              "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 2}");
    leat_budget_init(&world->budget, UINT64_MAX);
    assert_int_equal(leat_account_open(&world->account, &world->budget, 0), 0);
    leat_job_pool_init(&world->pool, world->plan, &world->account, &options, 3);
    world->blocks = (struct leat_block_pool){.account = &world->account};
}

static void close_world(struct world *world) {
    leat_job_pool_deinit(&world->pool);
    leat_block_pool_deinit(&world->blocks);
    assert_int_equal(world->account.used_bytes, 0);
    leat_account_close(&world->account);
    leat_plan_unref(world->plan);
}

static struct leat_job *start_map(struct world *world) {
    struct leat_job *job = leat_job_pool_take(&world->pool, LEAT_JOB_MAP, 0);

    assert_non_null(job);
    job->map = (struct leat_map_job){.block = leat_block_pool_take(&world->blocks)};
    assert_non_null(job->map.block);
    leat_job_pool_count_map(&world->pool, job);
    leat_job_pool_start_map(&world->pool, job);
    assert_non_null(job->map.workspace);
    return job;
}

static void end_map(struct world *world, struct leat_job *job) {
    leat_job_pool_end_map(&world->pool, job);
    leat_block_unref(job->map.block, 1);
    leat_job_pool_give(&world->pool, job);
}

/* Without threads that execute jobs, as many are out as the knob says, and one more. */
static void test_limit(void **state) {
    struct leat_job *jobs[4];
    struct world world;

    (void)state;
    open_world(&world, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(leat_job_pool_may_map(&world.pool));
        jobs[i] = start_map(&world);
    }
    assert_false(leat_job_pool_may_map(&world.pool));
    assert_int_equal(world.pool.n_out, 4);
    for (size_t i = 0; i < 4; i++)
        end_map(&world, jobs[i]);
    assert_false(leat_job_pool_has_maps(&world.pool));
    close_world(&world);
}

/* The second job finds the memory of the first one. */
static void test_used_again(void **state) {
    struct leat_workspace *workspace;
    struct leat_job *job, *again;
    struct world world;

    (void)state;
    open_world(&world, 2);
    job = start_map(&world);
    workspace = job->map.workspace;
    end_map(&world, job);
    again = start_map(&world);
    assert_ptr_equal(again, job);
    assert_ptr_equal(again->map.workspace, workspace);
    assert_int_equal(world.pool.n_workspaces, 1);
    end_map(&world, again);
    close_world(&world);
}

/* A parked job keeps its scratch memory, and gives its workspace to others. */
static void test_parked(void **state) {
    struct leat_job *job, *other;
    struct world world;

    (void)state;
    open_world(&world, 2);
    job = start_map(&world);
    leat_job_pool_park(&world.pool, job);
    assert_int_equal(world.pool.n_out, 0);
    assert_true(leat_job_pool_has_maps(&world.pool));
    other = start_map(&world);
    assert_int_equal(world.pool.n_workspaces, 1);
    end_map(&world, other);
    leat_job_pool_unpark(&world.pool);
    leat_job_pool_start_map(&world.pool, job);
    end_map(&world, job);
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_used_again),
        cmocka_unit_test(test_parked),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
