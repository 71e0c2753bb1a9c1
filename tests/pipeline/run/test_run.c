/* test_run.c: pipeline/run/run.c, order/order.c, work/scan.c, map_run.c, collate.c: the same
 * batches whatever the order of completion, the number of jobs, slots and blocks; and the right
 * ones, by an oracle that works on whole arrays (shared_order.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/order/batch_refs.h"
#include "tests/pipeline/shared_order.h"
#include "tests/pipeline/shared_records.h"

static void good_ids(int64_t n, int64_t bad_every, struct order_numbers *ids) {
    *ids = (struct order_numbers){.values = NULL};
    for (int64_t id = 0; id < n; id++)
        if (bad_every == 0 || id % bad_every != bad_every - 1)
            order_add(ids, id);
}

static void assert_same_run(const char *options, const char *stages,
                            const struct leat_run_options *run_options, int n_ways) {
    struct drive inline_ = {.options = *run_options};
    struct driven first = drive_stream(CSV, options, stages, &inline_);

    for (int i = 0; i < n_ways; i++) {
        struct drive how = random_drive();
        struct leat_run_options other = *run_options;
        struct driven driven;
        char all[256];

        other.max_map_jobs = how.options.max_map_jobs;
        how.options = other;
        (void)snprintf(all, sizeof(all), "%s\n    %s", block_option(), options);
        driven = drive_stream(CSV, all, stages, &how);
        assert_string_equal(driven.digest, first.digest);
        assert_int_equal(driven.error.code, first.error.code);
        assert_string_equal(driven.error.message, first.error.message);
        assert_int_equal(driven.n_batches, first.n_batches);
        if (!first.error.code && run_options->n_steps == 0)
            assert_int_equal(driven.stats.counts.figures.n_bad_records,
                             first.stats.counts.figures.n_bad_records);
    }
}

static void test_one_digest(void **state) {
    static const char *const tails[] = {
        "- batch: {batch_size: 7}",
        "- batch: {batch_size: 7, drop_last: true}",
        "- batch: {batch_size: 1}",
        "- batch: {batch_size: 100000}",
        "- shuffle: {buffer_size: 500, seed: 3}\n- batch: {batch_size: 32}\n"
        "- prefetch: {prefetch_size: 9}",
        "- shuffle: {buffer_size: 100000}\n- batch: {batch_size: 5}",
        "- skip: {count: 100}\n- take: {count: 1500}\n- batch: {batch_size: 10}",
        "- shuffle: {buffer_size: 50}\n- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
        "- take: {count: 300}\n- repeat: {count: 4}\n- shuffle: {buffer_size: 64}\n"
        "- batch: {batch_size: 11}",
        "- shuffle: {buffer_size: 64}\n- repeat: {count: 0}\n- take: {count: 5000}\n"
        "- batch: {batch_size: 11}",
        "- prefetch: {prefetch_size: 1}",
    };
    static const struct leat_run_options ways[] = {
        {.n_epochs = 1},
        {.n_epochs = 3},
        {.n_epochs = 2, .first_epoch = 5, .first_step = 3, .first_rank = 1, .world_size = 3},
        {.n_epochs = 0, .n_steps = 400},
        {.n_epochs = 1, .has_seed = true, .seed = 99},
    };

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char stages[1024];

        (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                       tails[i]);
        for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++)
            assert_same_run("on_error: skip", stages, &ways[k], 4);
    }
}

static void test_threads(void **state) {
    const char *stages = CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 300}\n"
                               "- batch: {batch_size: 16}";
    struct drive inline_ = {.options = {.n_epochs = 2}};
    struct drive threads = {.options = {.n_epochs = 2, .max_map_jobs = 10},
                            .n_jobs = 8,
                            .in_threads = true,
                            .n_slots = 16,
                            .n_held = 3};
    struct driven a, b;

    (void)state;
    write_data("data.csv", 0, 3000, 0);
    a = drive_stream(CSV, "", stages, &inline_);
    b = drive_stream(CSV, "block_bytes: 4096", stages, &threads);
    assert_string_equal(a.digest, b.digest);
}

static void test_seeds_and_epochs_differ(void **state) {
    const char *stages = "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                         "- shuffle: {buffer_size: 300}\n- batch: {batch_size: 16}";
    struct drive how = {.options = {.n_epochs = 1}};
    struct collected by_epoch[2] = {{.name = "id"}, {.name = "id"}};
    struct collected by_seed = {.name = "id"};

    (void)state;
    write_data("data.csv", 0, 1000, 0);
    how.on_batch = collect;
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        how.options.first_epoch = epoch;
        how.user = &by_epoch[epoch];
        assert_string_equal(drive_stream(CSV, "", stages, &how).error.message, "");
    }
    how.options.first_epoch = 0;
    how.user = &by_seed;
    assert_int_equal(drive_stream(CSV, "seed: 1", stages, &how).error.code, 0);
    assert_int_equal(by_seed.n_values, 1000);
    assert_memory_not_equal(by_epoch[0].values, by_epoch[1].values, 8000);
    assert_memory_not_equal(by_epoch[0].values, by_seed.values, 8000);
    collected_free(&by_epoch[0]);
    collected_free(&by_epoch[1]);
    collected_free(&by_seed);
}

/* ---- against the oracle ---- */

static struct order_chain random_chain(void) {
    struct order_chain chain = {.n_stages = 0};
    bool has_repeat = false, is_endless = false;
    size_t n = draw(6);

    for (size_t i = 0; i < n; i++) {
        struct order_stage *stage = &chain.stages[chain.n_stages];

        *stage = (struct order_stage){.op = (enum order_op)draw(5), .n = (int64_t)draw(300) + 1};
        if (stage->op == ORDER_SHUFFLE)
            stage->seed = (int64_t)draw(3);
        if (stage->op == ORDER_SKIP)
            stage->n -= 1;
        if (stage->op == ORDER_REPEAT && has_repeat)
            continue;
        if (stage->op == ORDER_REPEAT) {
            has_repeat = true;
            stage->n = (int64_t)draw(4);
            is_endless = stage->n == 0;
        }
        chain.n_stages++;
    }
    if (is_endless)
        chain.stages[chain.n_stages++] =
            (struct order_stage){.op = ORDER_TAKE, .n = (int64_t)draw(400) + 1};
    return chain;
}

struct expectation {
    struct order_numbers ids; /* what one rank gets */
    uint64_t n_batches;
    bool fails; /* an epoch without a batch for this rank */
};

static void expect_epoch(const struct order_numbers *ids, uint64_t batch_size, bool drop_last,
                         const struct leat_run_options *options, uint64_t epoch, bool is_cut,
                         struct expectation *expected) {
    uint64_t world = options->world_size ? options->world_size : 1, step = 0;
    uint64_t n_all = ids->n_values / batch_size;
    uint64_t n_steps;

    n_all += ids->n_values % batch_size > 0 && !drop_last && !is_cut;
    n_steps = n_all - n_all % world; /* uneven: drop */
    for (size_t at = 0; step < n_steps; at += batch_size, step++) {
        size_t n = ids->n_values - at < batch_size ? ids->n_values - at : batch_size;

        if (step % world < options->first_rank ||
            step % world >= options->first_rank + (options->n_ranks ? options->n_ranks : 1))
            continue;
        if (epoch == options->first_epoch && step < options->first_step)
            continue;
        if (options->n_steps && expected->n_batches == options->n_steps)
            return;
        expected->n_batches++;
        for (size_t i = 0; i < n; i++)
            order_add(&expected->ids, ids->values[at + i]);
    }
    if (options->n_steps && expected->n_batches == options->n_steps)
        return;
    expected->fails = is_cut || n_all == 0;
    if (epoch == options->first_epoch && options->first_step > 0)
        expected->fails |= options->first_step >= n_all + world;
    else
        expected->fails |= n_steps == 0;
}

static void assert_chain(const struct order_chain *chain, uint64_t batch_size, bool drop_last,
                         const struct order_numbers *records,
                         const struct leat_run_options *options, const char *on_error,
                         bool is_cut) {
    struct expectation expected = {.n_batches = 0};
    struct collected collected = {.name = "id"};
    struct drive how = random_drive();
    char lines[700], stages[1500], all[200];
    struct driven driven;
    uint32_t max_map_jobs = how.options.max_map_jobs;

    for (uint64_t i = 0; i < options->n_epochs && !expected.fails; i++) {
        struct order_numbers ids;

        if (options->n_steps && expected.n_batches == options->n_steps)
            break;
        order_simulate(chain, records, 0, options->first_epoch + i, is_cut, 3000, &ids);
        expect_epoch(&ids, batch_size, drop_last, options, options->first_epoch + i, is_cut,
                     &expected);
        order_free(&ids);
    }
    order_yaml(chain, lines, sizeof(lines));
    (void)snprintf(stages, sizeof(stages),
                   "%s- select: {fields: [id, age]}\n%s- batch: {batch_size: %llu, drop_last: %s}",
                   CASTS, lines, (unsigned long long)batch_size, drop_last ? "true" : "false");
    (void)snprintf(all, sizeof(all), "%s\n    %s", block_option(), on_error);
    how.options = *options;
    how.options.max_map_jobs = max_map_jobs;
    how.on_batch = collect;
    how.user = &collected;
    driven = drive_stream(CSV, all, stages, &how);
    if (driven.n_batches != expected.n_batches || (driven.error.code != 0) != expected.fails ||
        collected.n_values != expected.ids.n_values ||
        (collected.n_values &&
         memcmp(collected.values, expected.ids.values, collected.n_values * sizeof(int64_t)) != 0))
        fail_msg(
            "%s\n%llu batches, %zu rows for %llu, %zu; error %s (expected %d); epochs %llu+%llu "
            "first_step %llu rank %llu+%llu/%llu n_steps %llu",
            stages, (unsigned long long)driven.n_batches, collected.n_values,
            (unsigned long long)expected.n_batches, expected.ids.n_values, driven.error.message,
            expected.fails, (unsigned long long)options->first_epoch,
            (unsigned long long)options->n_epochs, (unsigned long long)options->first_step,
            (unsigned long long)options->first_rank, (unsigned long long)options->n_ranks,
            (unsigned long long)options->world_size, (unsigned long long)options->n_steps);
    order_free(&expected.ids);
    collected_free(&collected);
}

static void test_random_chains(void **state) {
    static const int64_t sizes[] = {1, 10, 333, 1200};

    (void)state;
    for (int round = 0; round < 240; round++) {
        int64_t n = sizes[round / 60], bad_every = round % 2 ? 9 : 0;
        struct order_chain chain = random_chain();
        struct leat_run_options options = {
            .n_epochs = draw(3) + 1, .first_epoch = draw(3), .world_size = draw(4)};
        struct order_numbers records;

        if (options.world_size > 1)
            options.first_rank = draw(options.world_size);
        if (draw(2))
            options.n_ranks = draw(options.world_size - options.first_rank + 1);
        if (draw(3) == 0)
            options.first_step = draw(20);
        if (draw(3) == 0)
            options.n_steps = draw(20) + 1;
        if (round % 60 == 0 || round % 60 == 1)
            write_data("data.csv", 0, n, bad_every);
        write_data("data.csv", 0, n, bad_every);
        good_ids(n, bad_every, &records);
        assert_chain(&chain, draw(20) + 1, draw(2), &records, &options, "on_error: skip", false);
        order_free(&records);
    }
}

/* on_error: fail: every batch that was whole before the bad record comes, nothing behind it. */
static void test_failure_comes_in_order(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        int64_t n_good = (int64_t)draw(900);
        struct order_chain chain = {.n_stages = 1, .stages = {{.op = ORDER_SHUFFLE, .n = 40}}};
        struct leat_run_options options = {.n_epochs = 2};
        struct order_numbers records;

        if (round % 2)
            chain = (struct order_chain){.n_stages = 0};
        write_data("data.csv", 0, 1000, n_good + 1);
        good_ids(n_good, 0, &records);
        assert_chain(&chain, draw(20) + 1, false, &records, &options, "on_error: fail", true);
        order_free(&records);
    }
}

/* The end of the run was made, and waits for a slot or for a trainer, when another epoch is wanted:
 * batches are those of a run that had all epochs from the start. */
static void test_epochs_that_come_late(void **state) {
    static const char *const sources[] = {
        "csv: {paths: [late.csv]}",
        "mix: {sources: [{csv: {paths: late.csv}}, {csv: {paths: other.csv}}], proportions: [2, "
        "1], "
        "exhausted: drop}",
    };
    static const char *const shuffles[] = {
        "buffer_size: 100",
        "blocks: true, block_size: 10, buffer_size: 50",
    };
    char stages[512];

    (void)state;
    write_data("late.csv", 0, 60, 0);
    write_data("other.csv", 100, 60, 0);
    for (unsigned i = 0; i < 3 * 16; i++) {
        unsigned n_slots = 1 + i / 3 * (i / 3); /* from one to more than there are batches */
        struct drive plain = {.options = {.n_epochs = 3}, .n_slots = n_slots};
        struct drive late = {
            .options = plain.options, .n_slots = n_slots, .n_jobs = 1 + i % 4, .grows_late = true};
        struct driven first, driven;

        (void)snprintf(stages, sizeof(stages),
                       CASTS "- select: {fields: [id, age]}\n- shuffle: {%s}\n"
                             "- batch: {batch_size: 8}\n- prefetch: {prefetch_size: %d}\n",
                       shuffles[i % 3 == 1], i % 2 ? 2 : 100);
        first = drive_stream(sources[i % 3 == 2], "", stages, &plain);
        driven = drive_stream(sources[i % 3 == 2], "", stages, &late);
        assert_string_equal(first.error.message, "");
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_epochs, 3);
        assert_string_equal(driven.digest, first.digest);
    }
}

static void test_union_of_ranks(void **state) {
    const char *stages = "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                         "- shuffle: {buffer_size: 100}\n- batch: {batch_size: 13}";
    struct collected whole = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &whole};

    (void)state;
    write_data("data.csv", 0, 1001, 0);
    assert_int_equal(drive_stream(CSV, "", stages, &how).error.code, 0);
    for (uint64_t world = 2; world <= 8; world++) {
        size_t n_rows = 0;

        for (uint64_t rank = 0; rank < world; rank++) {
            struct collected part = {.name = "id"};

            how.options.world_size = world;
            how.options.first_rank = rank;
            how.user = &part;
            assert_int_equal(drive_stream(CSV, block_option(), stages, &how).error.code, 0);
            for (size_t i = 0; i < part.n_values; i++) {
                size_t step = i / 13 * world + rank;

                assert_int_equal(part.values[i], whole.values[step * 13 + i % 13]);
            }
            n_rows += part.n_values;
            collected_free(&part);
        }
        n_rows += whole.n_values - whole.n_values / 13 / world * world * 13; /* uneven: drop */
        assert_int_equal(n_rows, whole.n_values);
    }
    collected_free(&whole);
}

static void test_resume(void **state) {
    const char *stages = "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                         "- shuffle: {buffer_size: 100}\n- batch: {batch_size: 13}";
    struct collected whole = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 3}, .on_batch = collect, .user = &whole};

    (void)state;
    write_data("data.csv", 0, 500, 0); /* 39 steps an epoch */
    assert_int_equal(drive_stream(CSV, "", stages, &how).error.code, 0);
    for (uint64_t step = 0; step <= 39; step += 3) {
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            size_t skipped = epoch * 500 + (step * 13 < 500 ? step * 13 : 500);
            struct collected tail = {.name = "id"};

            how.options.first_epoch = epoch;
            how.options.first_step = step;
            how.options.n_epochs = 3 - epoch;
            how.user = &tail;
            assert_int_equal(drive_stream(CSV, block_option(), stages, &how).error.code, 0);
            assert_int_equal(tail.n_values, whole.n_values - skipped);
            if (tail.n_values > 0)
                assert_memory_equal(tail.values, whole.values + skipped, tail.n_values * 8);
            collected_free(&tail);
        }
    }
    collected_free(&whole);
}

/* ---- slots ---- */

/* Lists of 0 to 1,200 numbers, mostly short, the long ones late. */
static void write_lists(int64_t n) {
    struct leat_text text = {.data = NULL};

    for (int64_t id = 0; id < n; id++) {
        int64_t length = id % 37 == 36 ? id * 3 : id % 6;

        leat_text_add(&text, "{\"id\": %lld, \"x\": [", (long long)id);
        for (int64_t k = 0; k < length; k++)
            leat_text_add(&text, "%s%lld", k ? ", " : "", (long long)(id + k));
        leat_text_add(&text, "]}\n");
    }
    folder_write("data.jsonl", text.data, text.n_bytes);
    free(text.data);
}

#define LISTS "jsonl: {paths: [data.jsonl], fields: {id: int64, x: list<int64>}}"

static void test_slots_grow(void **state) {
    const char *stages = "- pad: {input: x, longest: true, value: -1, mask: m}\n"
                         "- shuffle: {buffer_size: 5}\n- batch: {batch_size: 4}";
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven first;

    (void)state;
    write_lists(400);
    first = drive_stream(LISTS, "", stages, &how);
    assert_string_equal(first.error.message, "");
    assert_int_equal(first.n_rows, 800);
    for (int i = 0; i < 20; i++) {
        struct driven driven;

        how = random_drive();
        how.options.n_epochs = 2;
        how.slot_bytes = 1024; /* head and little more */
        driven = drive_stream(LISTS, block_option(), stages, &how);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.digest, first.digest);
        assert_true(driven.n_growths >= 5);
    }
}

/* A batch above max_batch_bytes ends the stream behind all that were before it. */
static void test_batch_too_large(void **state) {
    const char *stages = "- pad: {input: x, longest: true, value: 0}\n- batch: {batch_size: 4}";

    (void)state;
    write_lists(400);
    for (int i = 0; i < 10; i++) {
        struct drive how = random_drive();
        struct driven driven;

        how.options.n_epochs = 1;
        how.slot_bytes = 1024;
        driven = drive_stream(LISTS, "max_batch_bytes: 16384", stages, &how);
        assert_int_equal(driven.error.code, -EMSGSIZE);
        assert_non_null(strstr(driven.error.message, "more than max_batch_bytes (16384)"));
        assert_int_equal(driven.n_rows, 184); /* row 184 is the first in a batch of 4 * 552 */
    }
}

/* ---- the driver's side ---- */

static void test_cancel(void **state) {
    (void)state;
    write_data("data.csv", 0, 3000, 0);
    for (uint64_t n = 1; n < 60; n += 7) {
        struct drive how = random_drive();
        struct driven driven;

        how.options.n_epochs = 0;
        how.cancel_after = n;
        driven = drive_stream(CSV, "block_bytes: 4096", BAD_STAGES, &how);
        assert_int_equal(driven.error.code, 0);
        assert_true(driven.n_batches >= n);
    }
}

static void test_options_are_checked(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_rank = 3, .world_size = 3}};

    (void)state;
    write_data("data.csv", 0, 10, 0);
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "rank 3 is outside 0..2");
    how.options.world_size = 0;
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "rank 3 is outside 0..0");
    how.options = (struct leat_run_options){.n_epochs = 1, .first_step = 2};
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "step 2 does not exist: epoch 0 has only 1 steps, numbered from 0");
    how.options =
        (struct leat_run_options){.n_epochs = 1, .first_rank = 1, .n_ranks = 3, .world_size = 3};
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "3 ranks from rank 1 on are requested, but the world has only 3 ranks");
    how.options = (struct leat_run_options){.n_epochs = 1, .first_rank = 1, .world_size = 2};
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "2 ranks are too many: epoch 0 has only 1 steps, so no rank gets a batch: "
                        "use fewer ranks, or set `uneven: pad` to repeat batches");
}

/* What waits for slots is bounded by what the slots hold, not by a number of batches: large batches
 * must not pile up blocks. */
static void test_memory_is_bounded(void **state) {
    struct leat_plan *plan;
    struct leat_run_options options = {
        .n_epochs = 0, .max_map_jobs = 4, .opener = &leat_opener_any};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_run_stats stats;
    struct leat_run *run;
    size_t n_waiting = 0;

    (void)state;
    write_data("data.csv", 0, 20000, 0);
    plan = stream_plan(CSV, "block_bytes: 4096",
                       CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 5000}");
    assert_int_equal(leat_run_new(plan, &options, &run, &err), 0);
    while (leat_pipeline_step(run) == LEAT_RUN_JOB) { /* No slot is given. */
    }
    leat_run_get_stats(run, &stats);
    for (const struct leat_batch_refs *batch = leat_run_first_waiting(run); batch;
         batch = batch->next)
        n_waiting++;
    assert_true(n_waiting <= plan->n_slots + 3);
    assert_true(stats.counts.figures.n_source_records < 5000 * (plan->n_slots + 4));
    leat_run_free(run);
    leat_plan_unref(plan);
}

/* The blocks of a batch are freed at once, and those of the next batches use their memory again. */
static void check_misses(const char *batch_size) {
    struct leat_budget budget = {.limit_bytes = UINT64_MAX, .user_limit_bytes = UINT64_MAX};
    struct leat_account account;
    struct drive how = {.options = {.n_epochs = 4, .account = &account}};
    const struct leat_pool_stats *blocks = &account.pools[LEAT_MEMORY_BLOCKS];
    char stages[200];

    (void)snprintf(stages, sizeof(stages),
                   "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                   "- batch: {batch_size: %s}",
                   batch_size);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    (void)drive_stream(CSV, "block_bytes: 65536", stages, &how);
    assert_in_range(blocks->n_allocations, 4 * 30, 4 * 200);
    assert_in_range(blocks->n_misses, 1, blocks->n_allocations / 2);
    leat_account_close(&account);
}

static void test_blocks_are_used_again(void **state) {
    (void)state;
    write_data("data.csv", 0, 200000, 0);
    check_misses("200000");
    check_misses("20000");
}

/* Blocks that a knob made larger are no large records: their memory is used again, and no block
 * waits for more of it. */
static void test_larger_blocks(void **state) {
    struct leat_budget budget = {.limit_bytes = 1 << 30, .user_limit_bytes = 1 << 30};
    struct leat_account account;
    struct leat_run_options options = {
        .n_epochs = 1, .max_map_jobs = 4, .opener = &leat_opener_any, .account = &account};
    const struct leat_pool_stats *source = &account.pools[LEAT_MEMORY_SOURCE];
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_knobs knobs;
    struct leat_plan *plan;
    struct leat_run *run;

    (void)state;
    write_data("data.csv", 0, 200000, 0);
    plan = stream_plan(CSV, "block_bytes: 4096",
                       CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 1000000}\n"
                             "- batch: {batch_size: 100}");
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    assert_int_equal(leat_run_new(plan, &options, &run, &err), 0);
    leat_run_get_knobs(run, &knobs);
    knobs.of[LEAT_KNOB_BLOCK_BYTES] = 65536;
    leat_run_set_knobs(run, &knobs);
    while (leat_pipeline_step(run) == LEAT_RUN_JOB) { /* No slot is given. */
    }
    assert_in_range(source->n_allocations, 30, 200);
    assert_in_range(source->n_misses, 1, source->n_allocations / 4);
    leat_run_free(run);
    leat_account_close(&account);
    leat_plan_unref(plan);
}

/* Memory that is slow to free is left to the caller, and counted until it is freed. */
static void test_leftovers(void **state) {
    struct leat_budget budget = {.limit_bytes = UINT64_MAX, .user_limit_bytes = UINT64_MAX};
    struct leat_account account;
    struct leat_run_options options = {
        .n_epochs = 1, .max_map_jobs = 4, .opener = &leat_opener_any, .account = &account};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_leftovers leftovers;
    struct leat_plan *plan;
    struct leat_run *run;
    uint64_t held[LEAT_N_MEMORIES];

    (void)state;
    write_data("data.csv", 0, 20000, 0);
    plan = stream_plan(CSV, "block_bytes: 4096",
                       CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 100000}\n"
                             "- batch: {batch_size: 100}");
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    assert_int_equal(leat_run_new(plan, &options, &run, &err), 0);
    while (leat_pipeline_step(run) == LEAT_RUN_JOB) { /* No slot is given. */
    }
    for (int i = 0; i < LEAT_N_MEMORIES; i++)
        held[i] = account.pools[i].current_bytes;
    assert_true(held[LEAT_MEMORY_BLOCKS] > 100000 && held[LEAT_MEMORY_SOURCE] > 0);
    leat_run_end(run, &leftovers);
    assert_int_equal(leftovers.n_bytes[LEAT_MEMORY_BLOCKS], held[LEAT_MEMORY_BLOCKS]);
    for (int i = 0; i < LEAT_N_MEMORIES; i++) {
        assert_int_equal(account.pools[i].current_bytes, leftovers.n_bytes[i]);
        assert_true(leftovers.n_bytes[i] <= held[i]);
    }
    assert_true(leftovers.n_bytes[LEAT_MEMORY_SOURCE] > 0 &&
                leftovers.n_bytes[LEAT_MEMORY_SCRATCH] > 0);
    leat_leftovers_free(&leftovers);
    leat_leftovers_discharge(&leftovers, &account);
    assert_int_equal(account.used_bytes, 0);
    assert_int_equal(leftovers.n_bytes[LEAT_MEMORY_BLOCKS], 0);
    leat_account_close(&account);
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_digest),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_seeds_and_epochs_differ),
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_failure_comes_in_order),
        cmocka_unit_test(test_epochs_that_come_late),
        cmocka_unit_test(test_union_of_ranks),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_slots_grow),
        cmocka_unit_test(test_batch_too_large),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_blocks_are_used_again),
        cmocka_unit_test(test_larger_blocks),
        cmocka_unit_test(test_leftovers),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
