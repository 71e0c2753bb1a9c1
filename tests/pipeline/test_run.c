/* test_run.c: pipeline/run.c, run_blocks.c, order.c, scan.c, map_run.c, collate.c: the same batches
 * whatever the order of completion, the number of jobs, slots and blocks; and the right ones, by an
 * oracle that works on whole arrays (shared_order.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_order.h"
#include "tests/pipeline/shared_stream.h"

#define CSV "csv: {paths: [data.csv]}"

static uint64_t random_state = 1;

static uint64_t draw(uint64_t n) {
    struct leat_rng rng = {.state = random_state};
    uint64_t drawn = leat_rng_below(&rng, n);

    random_state = rng.state;
    return drawn;
}

/* ---- data ---- */

static void add_name(struct leat_text *text, int64_t id) {
    static const char *const names[] = {
        "plain", "\"quoted, with comma\"", "\"two\nlines\"", "\"a \"\"word\"\" doubled\"",
        "",      "\xc3\xa9t\xc3\xa9",      "\"\"",
    };

    if (id % 97 == 13) { /* now and then a long one */
        leat_text_add(text, "\"");
        for (int i = 0; i < 700; i++)
            leat_text_add(text, "%c", i % 50 == 49 ? '\n' : 'a' + (int)(id + i) % 26);
        leat_text_add(text, "\"");
        return;
    }
    leat_text_add(text, "%s", names[(size_t)(id * 7 % 11) % 7]);
}

/* id, name, age: every 10th age is empty. bad_every: each of these ids has an age that is no
 * number (or, in turn, a field too many); 0: none. */
static void write_data(const char *file, int64_t first, int64_t n, int64_t bad_every) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name,age\n");
    for (int64_t id = first; id < first + n; id++) {
        bool is_bad = bad_every > 0 && id % bad_every == bad_every - 1;

        leat_text_add(&text, "%lld,", (long long)id);
        add_name(&text, id);
        if (is_bad)
            leat_text_add(&text, id / bad_every % 2 ? ",12,more\n" : ",abc\n");
        else if (id % 10 == 3)
            leat_text_add(&text, ",\n");
        else
            leat_text_add(&text, ",%lld.%lld\n", (long long)(id % 80), (long long)(id % 4));
    }
    folder_write(file, text.data, text.n_bytes);
    free(text.data);
}

static void good_ids(int64_t n, int64_t bad_every, struct order_numbers *ids) {
    *ids = (struct order_numbers){.values = NULL};
    for (int64_t id = 0; id < n; id++)
        if (bad_every == 0 || id % bad_every != bad_every - 1)
            order_add(ids, id);
}

#define CASTS                                                                                      \
    "- template: {output: text, parts: ['Name: {name}', 'Age: {age}']}\n"                          \
    "- cast: {input: id, dtype: int64}\n"                                                          \
    "- cast: {input: age, output: age, dtype: float32, default: -1}\n"

/* ---- how to run ---- */

static struct drive random_drive(void) {
    struct drive how = {
        .n_jobs = (unsigned)draw(16) + 1,
        .random = draw(1 << 30) + 1,
        .n_slots = (unsigned)draw(8) + 1,
        .options = {.max_map_jobs = (uint32_t)draw(16) + 1},
    };

    how.n_held = (unsigned)draw(how.n_slots);
    return how;
}

static const char *block_option(void) {
    static const int sizes[] = {4096, 4097, 10000, 65536, 262144, 4194304};
    static char text[64];

    (void)snprintf(text, sizeof(text), "block_bytes: %d", sizes[draw(6)]);
    return text;
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
            assert_int_equal(driven.stats.n_bad_records, first.stats.n_bad_records);
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
        {.n_epochs = 2, .first_epoch = 5, .first_step = 3, .rank = 1, .world_size = 3},
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
    uint64_t world = options->world_size ? options->world_size : 1, n_mine = 0, step = 0;

    for (size_t at = 0; at < ids->n_values; at += batch_size, step++) {
        size_t n = ids->n_values - at < batch_size ? ids->n_values - at : batch_size;

        if (n < batch_size && (drop_last || is_cut))
            break;
        if (step % world != options->rank)
            continue;
        n_mine++;
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
    expected->fails =
        n_mine == 0 || is_cut || (epoch == options->first_epoch && options->first_step > step);
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
            "first_step %llu rank %llu/%llu n_steps %llu",
            stages, (unsigned long long)driven.n_batches, collected.n_values,
            (unsigned long long)expected.n_batches, expected.ids.n_values, driven.error.message,
            expected.fails, (unsigned long long)options->first_epoch,
            (unsigned long long)options->n_epochs, (unsigned long long)options->first_step,
            (unsigned long long)options->rank, (unsigned long long)options->world_size,
            (unsigned long long)options->n_steps);
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
            options.rank = draw(options.world_size);
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
            how.options.rank = rank;
            how.user = &part;
            assert_int_equal(drive_stream(CSV, block_option(), stages, &how).error.code, 0);
            for (size_t i = 0; i < part.n_values; i++) {
                size_t step = i / 13 * world + rank;

                assert_int_equal(part.values[i], whole.values[step * 13 + i % 13]);
            }
            n_rows += part.n_values;
            collected_free(&part);
        }
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

/* ---- bad records ---- */

#define BAD_STAGES CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 10}"

static void test_bad_records_are_counted(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 1000, 20);
    driven = drive_stream(CSV, "on_error: skip", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 2 * 950);
    assert_int_equal(driven.stats.n_bad_records, 100);
    assert_int_equal(driven.stats.n_source_records, 2000);
}

static void test_bad_record_is_named(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("data.csv", "id,name,age\n1,\"a\nb\",3\n2,c,x y\n");
    driven = drive_stream(CSV, "", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -EINVAL);
    assert_string_equal(driven.error.file, folder_path("data.csv"));
    assert_int_equal(driven.error.line, 4);
    assert_string_equal(driven.error.path, "streams.x.cast.age");
    assert_string_equal(driven.error.message, "\"x y\" is no float32");
    assert_int_equal(driven.n_batches, 0);
}

static void test_max_errors(void **state) {
    struct drive how = {.options = {.n_epochs = 3}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 1000, 20); /* 50 an epoch */
    driven = drive_stream(CSV, "on_error: skip\n    max_errors: 50", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 3 * 950);
    for (int i = 0; i < 6; i++) {
        how = random_drive();
        how.options.n_epochs = 3;
        driven = drive_stream(CSV, "on_error: skip\n    max_errors: 49", BAD_STAGES, &how);
        assert_int_equal(driven.error.code, -EINVAL);
        assert_non_null(strstr(driven.error.message, "more than max_errors (49) bad records"));
        assert_non_null(strstr(driven.error.message, "data.csv:"));
        assert_int_equal(driven.n_rows, 950); /* ids 0..998, without the bad */
    }
}

static void test_quarantine(void **state) {
    char *first = NULL;

    (void)state;
    write_data("data.csv", 0, 1000, 20);
    for (int i = 0; i < 8; i++) {
        struct drive how = random_drive();
        char options[128];
        struct driven driven;
        char *text;
        size_t n_lines = 0;

        how.options.n_epochs = 2;
        (void)snprintf(options, sizeof(options), "%s\n    %s", block_option(),
                       "on_error: quarantine\n    quarantine: bad.jsonl");
        driven = drive_stream(CSV, options, BAD_STAGES, &how);
        assert_int_equal(driven.error.code, 0);
        assert_int_equal(driven.n_rows, 2 * 950);
        text = folder_read("bad.jsonl");
        assert_non_null(text);
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            n_lines++;
        assert_int_equal(n_lines, 50); /* of the first epoch only */
        if (first)
            assert_string_equal(text, first); /* whatever the blocks and the order */
        else
            first = strdup(text);
        free(text);
    }
    assert_non_null(strstr(first, "\"stage\": \"cast\", \"field\": \"age\", \"reason\": "
                                  "\"\\\"abc\\\" is no float32\", \"raw\": \"19,"));
    assert_non_null(strstr(first, "\"stage\": \"csv\""));
    free(first);
}

static void test_quarantine_cannot_be_written(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 100, 20);
    driven = drive_stream(CSV, "on_error: quarantine\n    quarantine: no/such/folder/bad.jsonl",
                          BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -ENOENT);
}

/* A filter behind an ORDER stage is computed in the pass, with stages behind it: what they find
 * wrong with rows that the filter drops is nobody's business. */
static void test_filter_shields_what_stands_behind_it(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("data.csv", "id,age\n1,5\n2,\n3,x\n4,7\n5,\n");
    for (int i = 0; i < 2; i++) {
        driven = drive_stream(CSV, "",
                              i ? "- filter: {input: age, min: 0}\n- cast: {input: age, dtype: "
                                  "int64}\n- cast: {input: id, dtype: int64}\n- shuffle: "
                                  "{buffer_size: 10}\n- batch: {batch_size: 5}"
                                : "- shuffle: {buffer_size: 10}\n- filter: {input: age, min: 0}\n"
                                  "- cast: {input: age, dtype: int64}\n- cast: {input: id, dtype: "
                                  "int64}\n- batch: {batch_size: 5}",
                              &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_rows, 2);
        assert_int_equal(driven.stats.n_bad_records, 0);
    }
}

/* A take ends the pass: what is wrong behind it is not met. */
static void test_take_shields_what_comes_later(void **state) {
    (void)state;
    write_data("data.csv", 0, 1000, 501);
    for (int i = 0; i < 10; i++) {
        struct drive how = random_drive();
        struct driven driven;

        how.options.n_epochs = 2;
        driven = drive_stream(CSV, block_option(),
                              CASTS "- select: {fields: [id]}\n- take: {count: 500}\n"
                                    "- batch: {batch_size: 10}",
                              &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_rows, 1000);
        assert_int_equal(driven.stats.n_bad_records, 0);
    }
}

/* ---- sources that are not as they should be ---- */

static void test_empty_source(void **state) {
    struct drive how = {.options = {.n_epochs = 0}};
    struct driven driven;

    (void)state;
    folder_print("data.csv", "id,name,age\n");
    driven = drive_stream(CSV, "", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -ENODATA);
    assert_non_null(strstr(driven.error.message, "no batches: 0 records"));
    driven = drive_stream(CSV, "",
                          "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                          "- repeat: {count: 0}",
                          &how);
    assert_int_equal(driven.error.code, -ENODATA);
}

/* Endless passes of which nothing is left would turn for ever. */
static void test_repeat_of_nothing_ends(void **state) {
    struct drive how = {.options = {.n_epochs = 0}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 100, 0);
    driven = drive_stream(CSV, "",
                          "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                          "- shuffle: {buffer_size: 10}\n- filter: {input: id, min: 1000}\n"
                          "- repeat: {count: 0}",
                          &how);
    assert_int_equal(driven.error.code, -ENODATA);
}

/* Rows that leave a shuffle only at the end of a pass end an endless repeat all the same; and the
 * scanner, which is passes ahead, finds the next epoch. */
static void test_repeat_ends_at_the_end_of_a_pass(void **state) {
    static const char *const tails[] = {
        "- shuffle: {buffer_size: 1000}\n- repeat: {count: 0}\n- take: {count: 250}\n",
        "- repeat: {count: 0}\n- shuffle: {buffer_size: 1000}\n- take: {count: 250}\n",
        "- shuffle: {buffer_size: 1000}\n- repeat: {count: 0}\n- filter: {input: id, max: 9}\n"
        "- take: {count: 250}\n",
        "- shuffle: {buffer_size: 1000}\n- repeat: {count: 0}\n- skip: {count: 950}\n"
        "- take: {count: 250}\n",
    };

    (void)state;
    write_data("data.csv", 0, 100, 0);
    for (size_t i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            struct drive how = random_drive();
            char stages[512];
            struct driven driven;

            (void)snprintf(stages, sizeof(stages),
                           "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                           "%s- batch: {batch_size: 20}",
                           tails[i]);
            how.options.n_epochs = k % 2 ? 3 : 0;
            how.options.n_steps = k % 2 ? 0 : 30;
            driven = drive_stream(CSV, block_option(), stages, &how);
            assert_string_equal(driven.error.message, "");
            assert_int_equal(driven.n_epochs, 3);
            assert_int_equal(driven.n_rows, k % 2 ? 750 : 2 * 250 + 4 * 20);
        }
    }
}

static void test_several_files(void **state) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &ids};

    (void)state;
    write_data("data-1.csv", 0, 300, 0);
    folder_print("data-2.csv", "id,name,age\n");
    write_data("data-3.csv", 300, 5, 0);
    write_data("data-4.csv", 305, 400, 0);
    for (int i = 0; i < 5; i++) {
        struct drive other = random_drive();

        other.options.n_epochs = 1;
        other.on_batch = collect;
        ids.n_values = 0;
        other.user = &ids;
        assert_int_equal(drive_stream("csv: {paths: ['data-?.csv']}", block_option(), BAD_STAGES,
                                      i ? &other : &how)
                             .error.code,
                         0);
        assert_int_equal(ids.n_values, 705);
        for (int64_t id = 0; id < 705; id++)
            assert_int_equal(ids.values[id], id);
    }
    collected_free(&ids);
    for (int i = 1; i <= 4; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "data-%d.csv", i);
        assert_int_equal(remove(folder_path(name)), 0);
    }
}

/* What came before a file that cannot be read is handed out, whatever the timing. */
static void test_second_file_fails_in_order(void **state) {
    (void)state;
    write_data("one.csv", 0, 1000, 0);
    folder_print("two.csv", "other,header\n1,2\n");
    for (int i = 0; i < 10; i++) {
        struct drive how = random_drive();
        struct driven driven;

        how.options.n_epochs = 1;
        driven = drive_stream("csv: {paths: [one.csv, two.csv]}", block_option(), BAD_STAGES,
                              i ? &how : &(struct drive){.options = {.n_epochs = 1}});
        assert_int_equal(driven.error.code, -EINVAL);
        assert_string_equal(driven.error.file, folder_path("two.csv"));
        assert_int_equal(driven.n_rows, 1000);
        how.options.n_steps = 100; /* not wanted any more: not met */
        driven = drive_stream("csv: {paths: [one.csv, two.csv]}", block_option(), BAD_STAGES, &how);
        assert_int_equal(driven.error.code, 0);
        assert_int_equal(driven.n_rows, 1000);
    }
}

static void test_huge_records(void **state) {
    struct leat_text text = {.data = NULL};
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven driven;
    char first[LEAT_DIGEST_HEX_SIZE] = "";

    (void)state;
    leat_text_add(&text, "id,name,age\n");
    for (int id = 0; id < 200; id++) {
        leat_text_add(&text, "%d,\"", id);
        for (int k = 0; id % 50 == 7 && k < 20000; k++)
            leat_text_add(&text, "line %d\nof \"\"it\"\", ", k);
        leat_text_add(&text, "\",%d\n", id);
    }
    folder_write("data.csv", text.data, text.n_bytes);
    free(text.data);
    for (int i = 0; i < 5; i++) {
        driven = drive_stream(CSV, block_option(), BAD_STAGES, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_rows, 400);
        if (i > 0)
            assert_string_equal(driven.digest, first);
        memcpy(first, driven.digest, sizeof(first));
        how = random_drive();
        how.options.n_epochs = 2;
    }
    driven = drive_stream(CSV, "on_error: skip\n    max_record_bytes: 100000", BAD_STAGES, &how);
    assert_string_equal(driven.error.message, "");
    assert_true(driven.stats.n_bad_records >= 8);
}

/* A record without an end is bad and never held in memory whole. */
static void test_record_without_end(void **state) {
    struct leat_text text = {.data = NULL};
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    leat_text_add(&text, "id,name,age\n1,a,2\n2,");
    for (int i = 0; i < 3000000; i++)
        leat_text_add_bytes(&text, "x", 1);
    leat_text_add(&text, ",3\n4,b,5\n");
    folder_write("data.csv", text.data, text.n_bytes);
    free(text.data);
    for (int i = 0; i < 4; i++) {
        char options[128];

        (void)snprintf(options, sizeof(options), "%s\n    %s", block_option(),
                       "on_error: skip\n    max_record_bytes: 10000");
        driven = drive_stream(CSV, options, BAD_STAGES, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_rows, 2);
        assert_int_equal(driven.stats.n_bad_records, 1);
    }
    driven = drive_stream(CSV, "max_record_bytes: 10000", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -EINVAL);
    assert_int_equal(driven.error.line, 3);
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
    struct drive how = {.options = {.n_epochs = 1, .rank = 3, .world_size = 3}};

    (void)state;
    write_data("data.csv", 0, 10, 0);
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "rank 3 is outside 0..2");
    how.options.world_size = 0;
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "rank 3 is outside 0..0");
    how.options = (struct leat_run_options){.n_epochs = 1, .first_step = 2};
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "step 2 was asked for, but epoch 0 has only 1 steps");
    how.options = (struct leat_run_options){.n_epochs = 1, .rank = 1, .world_size = 2};
    assert_string_equal(drive_stream(CSV, "", BAD_STAGES, &how).error.message,
                        "rank 1 of 2 gets no batch: epoch 0 has only 1 steps");
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
    struct leat_job *job;

    (void)state;
    write_data("data.csv", 0, 20000, 0);
    plan = stream_plan(CSV, "block_bytes: 4096",
                       CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 5000}");
    assert_int_equal(leat_run_new(plan, &options, &run, &err), 0);
    while (leat_run_next_job(run, &job) == LEAT_RUN_JOB) { /* nobody gives a slot */
        leat_job_execute(job);
        leat_run_complete(run, job);
    }
    leat_run_get_stats(run, &stats);
    assert_true(leat_run_n_waiting(run) <= plan->n_slots + 3);
    assert_true(stats.n_source_records < 5000 * (plan->n_slots + 4));
    leat_run_free(run);
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_digest),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_seeds_and_epochs_differ),
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_failure_comes_in_order),
        cmocka_unit_test(test_union_of_ranks),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_bad_records_are_counted),
        cmocka_unit_test(test_bad_record_is_named),
        cmocka_unit_test(test_max_errors),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_quarantine_cannot_be_written),
        cmocka_unit_test(test_filter_shields_what_stands_behind_it),
        cmocka_unit_test(test_take_shields_what_comes_later),
        cmocka_unit_test(test_empty_source),
        cmocka_unit_test(test_repeat_of_nothing_ends),
        cmocka_unit_test(test_repeat_ends_at_the_end_of_a_pass),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_second_file_fails_in_order),
        cmocka_unit_test(test_huge_records),
        cmocka_unit_test(test_record_without_end),
        cmocka_unit_test(test_slots_grow),
        cmocka_unit_test(test_batch_too_large),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_options_are_checked),
        cmocka_unit_test(test_memory_is_bounded),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
