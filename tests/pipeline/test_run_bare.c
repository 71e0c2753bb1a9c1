/* test_run_bare.c: pipeline/run_bare.c, passing.c: a run that starts at any step of any epoch has
 * the batches of one that starts at the first, from there on: by counting records, with a cache,
 * or by making all again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/budget.h"
#include "proto/blake2b.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_records.h"

#define N_RECORDS 1500
#define N_EPOCHS  2

/* ---- sequences ---- */

struct seen {
    uint64_t epoch, step;
    uint32_t n_rows;
    uint8_t digest[LEAT_DIGEST_BYTES];
};

struct sequence {
    struct seen *seen;
    size_t n, capacity;
};

static void see(const struct leat_output *output, void *user) {
    struct sequence *sequence = user;
    struct leat_blake2b blake;
    struct seen *seen;

    if (sequence->n == sequence->capacity) {
        sequence->capacity = sequence->capacity ? sequence->capacity * 2 : 64;
        sequence->seen = realloc(sequence->seen, sequence->capacity * sizeof(*sequence->seen));
        assert_non_null(sequence->seen);
    }
    seen = &sequence->seen[sequence->n++];
    *seen = (struct seen){.epoch = output->epoch, .step = output->step, .n_rows = output->n_rows};
    leat_blake2b_init(&blake);
    leat_blake2b_update(&blake, output->slot.memory, (size_t)output->used_bytes);
    leat_blake2b_final(&blake, seen->digest);
}

static struct driven run(const char *source, const char *options, const char *stages,
                         struct drive how, struct sequence *sequence) {
    *sequence = (struct sequence){.seen = NULL};
    how.on_batch = see;
    how.user = sequence;
    return drive_stream(source, options, stages, &how);
}

/* What begins at (epoch, step) is the rest of the whole. */
static void assert_rest(const struct sequence *whole, const struct sequence *part, uint64_t epoch,
                        uint64_t step) {
    size_t at = 0;

    while (at < whole->n && (whole->seen[at].epoch < epoch ||
                             (whole->seen[at].epoch == epoch && whole->seen[at].step < step)))
        at++;
    assert_int_equal(part->n, whole->n - at);
    for (size_t i = 0; i < part->n; i++) {
        assert_int_equal(part->seen[i].epoch, whole->seen[at + i].epoch);
        assert_int_equal(part->seen[i].step, whole->seen[at + i].step);
        assert_int_equal(part->seen[i].n_rows, whole->seen[at + i].n_rows);
        assert_memory_equal(part->seen[i].digest, whole->seen[at + i].digest, LEAT_DIGEST_BYTES);
    }
}

/* ---- streams ---- */

static const char *const tails[] = {
    "- batch: {batch_size: 7}",
    "- shuffle: {buffer_size: 200, seed: 3}\n- batch: {batch_size: 32}",
    "- shuffle: {global: true}\n- batch: {batch_size: 30, drop_last: true}",
    "- skip: {count: 100}\n- take: {count: 1200}\n- batch: {batch_size: 10}",
    "- take: {count: 300}\n- repeat: {count: 4}\n- shuffle: {buffer_size: 64}\n"
    "- batch: {batch_size: 11}",
    "- shuffle: {buffer_size: 64}\n- repeat: {count: 0}\n- take: {count: 4000}\n"
    "- batch: {batch_size: 11}",
    "- shuffle: {buffer_size: 64}\n- shuffle: {buffer_size: 700, reshuffle_each_epoch: false}\n"
    "- batch: {batch_size: 1}",
    "- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
    "- shuffle: {buffer_size: 50}\n- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
    "- hash_bucket: {input: id, output: some, buckets: 200}\n- dedup: {input: some}\n"
    "- batch: {batch_size: 4}",
    "- sample: {fraction: 0.5, each_epoch: false}\n- shuffle: {buffer_size: 99}\n"
    "- batch: {batch_size: 8}",
    /* not of every source */
    "- shuffle: {blocks: true, block_size: 90, buffer_size: 100}\n- batch: {batch_size: 32}",
};
#define N_TAILS       (sizeof(tails) / sizeof(tails[0]))
#define N_PLAIN_TAILS (N_TAILS - 1)

static const char *stages_of(size_t tail) {
    static char stages[1024];

    (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                   tails[tail]);
    return stages;
}

static struct drive drawn_drive(const struct leat_run_options *options) {
    struct drive how = random_drive();
    uint32_t max_map_jobs = how.options.max_map_jobs;

    how.options = *options;
    how.options.max_map_jobs = max_map_jobs;
    how.in_threads = draw(4) == 0;
    how.turns_knobs = draw(4) == 0;
    return how;
}

/* Starts anywhere, n times. */
static void check_starts(const char *source, const char *base, const char *options, size_t tail,
                         int n) {
    struct leat_run_options all = {.n_epochs = N_EPOCHS};
    struct sequence whole, part;
    struct driven driven;

    all.world_size = draw(3) == 0 ? 1 + draw(4) : 1;
    all.first_rank = draw(all.world_size);
    driven = run(source, base, stages_of(tail), (struct drive){.options = all}, &whole);
    assert_string_equal(driven.error.message, "");
    assert_true(whole.n > 0);
    for (int i = 0; i < n; i++) {
        struct leat_run_options some = all;
        const struct seen *start = &whole.seen[draw(whole.n)];
        char text[256];

        some.first_epoch = start->epoch;
        some.first_step = start->step - (start->step > 0 ? draw(2) : 0);
        some.n_epochs = N_EPOCHS - some.first_epoch;
        (void)snprintf(text, sizeof(text), "%s\n    %s\n    %s", base, block_option(), options);
        driven = run(source, text, stages_of(tail), drawn_drive(&some), &part);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.cache_note.message, "");
        assert_rest(&whole, &part, some.first_epoch, some.first_step);
        free(part.seen);
    }
    free(whole.seen);
}

static void test_any_start(void **state) {
    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    for (size_t i = 0; i < N_TAILS; i++)
        check_starts(CSV, "", "", i, 12);
}

static void test_any_start_with_bad(void **state) {
    (void)state;
    write_data("data.csv", 0, N_RECORDS, 97);
    for (size_t i = 0; i < N_TAILS; i++)
        check_starts(CSV, "on_error: skip", i % 2 ? "max_errors: 100" : "", i, 4);
}

static void test_any_start_with_cache(void **state) {
    (void)state;
    for (size_t i = 0; i < N_TAILS; i++) {
        write_data("data.csv", 0, N_RECORDS, i % 2 ? 97 : 0);
        remove_caches();
        check_starts(CSV, i % 2 ? "on_error: skip" : "",
                     i % 3 ? "cache: {path: .}" : "cache: {path: .}\n    max_errors: 50", i, 8);
    }
    remove_caches();
}

static void test_any_start_of_mixed(void **state) {
    static const char *const mixes[] = {
        "mix: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}], weights: [1, 1], "
        "exhausted: repeat}",
        "mix: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}], weights: [4, 1]}",
        "concat: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}]}",
    };

    (void)state;
    write_data("a.csv", 0, 900, 0);
    write_data("b.csv", 5000, 500, 0);
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
        for (size_t k = 0; k < N_PLAIN_TAILS; k++)
            check_starts(mixes[i], "", "", k, 3);
}

static void test_any_start_of_compressed(void **state) {
    char *text;

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    text = folder_read("data.csv");
    for (enum format format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text, strlen(text), format % 2 ? 20000 : 0);

        folder_write("data.z", blob.data, blob.n_bytes);
        blob_free(&blob);
        for (size_t i = 0; i < N_PLAIN_TAILS; i += 3)
            check_starts("csv: {paths: [data.z]}", "", "", i, 3);
    }
    free(text);
}

/* ---- what it costs ---- */

#define SHUFFLED                                                                                   \
    CASTS "- select: {fields: [age, id]}\n- shuffle: {buffer_size: 100}\n- batch: {batch_size: "   \
          "10}"

/* Of what lies before the step only that is made which the shuffle held back. */
static void test_cost(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_step = 950}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 10000, 0);
    driven = drive_stream(CSV, "block_bytes: 4096", SHUFFLED, &how);
    assert_int_equal(driven.n_batches, 50);
    assert_in_range(driven.n_made, 600, 2500);
    remove_caches();
    how.options.first_step = 0;
    (void)drive_stream(CSV, "cache: {path: .}\n    block_bytes: 4096", SHUFFLED, &how);
    how.options.first_step = 950;
    driven = drive_stream(CSV, "cache: {path: .}", SHUFFLED, &how);
    assert_int_equal(driven.n_batches, 50);
    assert_int_equal(driven.n_made, 0);
    assert_int_equal(driven.stats.n_source_bytes, 0);
    assert_in_range(driven.n_cached, 600, 2500);
    remove_caches();
}

/* A limit that is enough from the start is enough. */
static void test_bounded(void **state) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {.options = {.n_epochs = 1, .first_step = 500, .account = &account},
                        .n_jobs = 3};
    struct sequence whole, part;

    (void)state;
    write_data("data.csv", 0, 10000, 0);
    leat_budget_init(&budget, UINT64_MAX);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    (void)run(CSV, "", SHUFFLED, (struct drive){.options = {.n_epochs = 1}}, &whole);
    for (int i = 0; i < 2; i++) {
        struct driven driven = run(CSV, "block_bytes: 4096", SHUFFLED, how, &part);

        assert_string_equal(driven.error.message, "");
        assert_rest(&whole, &part, 0, 500);
        assert_int_equal(account.used_bytes, 0);
        leat_account_close(&account);
        free(part.seen);
        leat_budget_init(&budget, 13U << 20);
        assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    }
    leat_account_close(&account);
    free(whole.seen);
}

/* ---- what goes wrong ---- */

struct meanwhile {
    uint64_t at, n_batches;
    void (*what)(void);
};

static void on_batch(const struct leat_output *output, void *user) {
    struct meanwhile *meanwhile = user;

    (void)output;
    if (meanwhile->n_batches++ == meanwhile->at)
        meanwhile->what();
}

static void take_source_away(void) {
    assert_int_equal(rename(folder_path("data.csv"), folder_path("gone")), 0);
}

static void change_source(void) {
    char *text = folder_read("data.csv");

    for (char *at = text; *at; at++)
        if (*at == '\n' && at > text + 30 && draw(2) == 0)
            *at = ' ';
    folder_write("data.csv", text, strlen(text));
    free(text);
}

/* All blocks were passed over, and are made as the batches come to them. */
static void test_gone_or_changed_meanwhile(void **state) {
    static const char stages[] =
        CASTS "- select: {fields: [age, id]}\n- shuffle: {buffer_size: 60000}\n- batch: "
              "{batch_size: 1}";

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct meanwhile meanwhile = {.at = draw(5),
                                      .what = i % 2 ? take_source_away : change_source};
        struct drive how = {.options = {.n_epochs = 1, .first_step = 1},
                            .n_jobs = 2,
                            .n_slots = 2,
                            .on_batch = on_batch,
                            .user = &meanwhile};
        struct driven driven;

        write_data("data.csv", 0, 60000, 0);
        driven = drive_stream(CSV, "block_bytes: 4096", stages, &how);
        assert_true(driven.error.code < 0);
        assert_in_range(driven.n_batches, meanwhile.at + 1, 2000);
        assert_non_null(strstr(driven.error.message,
                               "are no longer what they were when they were passed over"));
        assert_true(i % 2 == 0 || strstr(driven.error.message, "data.csv: "));
        (void)unlink(folder_path("gone"));
    }
}

/* One that was passed over is met if it is wanted, in the batch in which it would be. */
static void test_bad_passed_over(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_step = 1}};
    struct driven driven;

    (void)state;
    folder_print("data.csv", "id,name,age\n1,a,2\n2,b,nine\n3,c,4\n4,d,5\n");
    driven = drive_stream(CSV, "", CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 2}",
                          &how);
    assert_int_equal(driven.n_batches, 0);
    assert_non_null(strstr(driven.error.message, "nine"));
    assert_int_equal(driven.error.line, 3);
}

static void test_cancelled_anywhere(void **state) {
    (void)state;
    write_data("data.csv", 0, 10000, 0);
    for (int i = 0; i < 20; i++) {
        struct drive how = random_drive();

        how.options.first_step = draw(900);
        how.options.n_epochs = 1;
        how.cancel_after = 1 + draw(40);
        (void)drive_stream(CSV, block_option(), SHUFFLED, &how);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_start),
        cmocka_unit_test(test_any_start_with_bad),
        cmocka_unit_test(test_any_start_with_cache),
        cmocka_unit_test(test_any_start_of_mixed),
        cmocka_unit_test(test_any_start_of_compressed),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_gone_or_changed_meanwhile),
        cmocka_unit_test(test_bad_passed_over),
        cmocka_unit_test(test_cancelled_anywhere),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
