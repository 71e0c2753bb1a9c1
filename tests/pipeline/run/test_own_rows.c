/* test_own_rows.c: pipeline/run/own_rows.c: each rank of any world has its steps of the sequence of
 * one machine, byte for byte, and makes little more than its own rows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/memory/budget.h"
#include "pipeline/run/intake/fast_forward.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"
#include "tests/pipeline/shared_starts.h"

#define N_RECORDS 1500

static const uint64_t worlds[] = {2, 3, 4, 7, 8};

static const char *folder(void) {
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s", folder_path("."));
    return path;
}

static uint64_t n_steps_of(const struct sequence *whole, uint64_t epoch) {
    uint64_t n = 0;

    for (size_t i = 0; i < whole->n; i++)
        if (whole->seen[i].epoch == epoch)
            n = whole->seen[i].step + 1;
    return n;
}

/* The steps of those ranks, without the rounds that are not whole. */
static struct sequence steps_of(const struct sequence *whole,
                                const struct leat_run_options *options) {
    struct sequence own = {.seen = calloc(whole->n + 1, sizeof(*own.seen))};
    uint64_t world = options->world_size;

    for (size_t i = 0; i < whole->n; i++) {
        const struct seen *seen = &whole->seen[i];
        uint64_t n_steps = n_steps_of(whole, seen->epoch), rank = seen->step % world;

        if (seen->step < n_steps / world * world && rank >= options->first_rank &&
            rank < options->first_rank + options->n_ranks)
            own.seen[own.n++] = *seen;
    }
    return own;
}

struct question {
    const char *source, *options, *stages, *index_folder;
};

static void check_rank(const struct question *question, const struct sequence *whole,
                       uint64_t world, uint64_t rank) {
    uint64_t n_ranks = 1 + (draw(4) == 0 ? draw(world - rank) : 0);
    struct drive how = random_drive();
    struct sequence own, part;
    struct driven driven;
    char text[256];

    how.options = (struct leat_run_options){.n_epochs = START_EPOCHS,
                                            .first_rank = rank,
                                            .n_ranks = n_ranks,
                                            .world_size = world,
                                            .max_map_jobs = how.options.max_map_jobs,
                                            .index_folder = question->index_folder};
    how.in_threads = draw(4) == 0;
    how.turns_knobs = draw(4) == 0;
    how.cancel_after = 0;
    how.grows = false;
    own = steps_of(whole, &how.options);
    (void)snprintf(text, sizeof(text), "%s\n    %s", question->options, block_option());
    driven = see_sequence(question->source, text, question->stages, how, &part);
    if (own.n > 0)
        assert_string_equal(driven.error.message, "");
    else
        assert_int_equal(driven.error.code, -ENODATA);
    assert_int_equal(part.n, own.n);
    if (own.n > 0)
        assert_rest(&own, &part, 0, 0);
    free(own.seen);
    free(part.seen);
}

static void check_worlds(const struct question *question, int n) {
    struct sequence whole;
    struct driven driven =
        see_sequence(question->source, question->options, question->stages,
                     (struct drive){.options = {.n_epochs = START_EPOCHS,
                                                .index_folder = question->index_folder}},
                     &whole);

    assert_string_equal(driven.error.message, "");
    for (int i = 0; i < n; i++) {
        uint64_t world = worlds[draw(sizeof(worlds) / sizeof(worlds[0]))];

        check_rank(question, &whole, world, draw(world));
    }
    free(whole.seen);
}

static void test_all_ranks(void **state) {
    struct question question = {.source = CSV, .options = "", .stages = start_stages(1)};
    struct sequence whole;

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    (void)see_sequence(question.source, "", question.stages,
                       (struct drive){.options = {.n_epochs = START_EPOCHS}}, &whole);
    for (size_t i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++)
        for (uint64_t rank = 0; rank < worlds[i]; rank++)
            check_rank(&question, &whole, worlds[i], rank);
    free(whole.seen);
}

static void test_any_stage(void **state) {
    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    for (size_t i = 0; i < n_start_tails; i++)
        check_worlds(&(struct question){.source = CSV, .options = "", .stages = start_stages(i)},
                     12);
}

/* Without an index, with one that a run of other ranks makes, and with one that is there. */
static void test_bad_records(void **state) {
    static const char *const options[] = {"on_error: skip",
                                          "on_error: quarantine\n    quarantine: bad.jsonl"};

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 97);
    for (size_t i = 0; i < n_start_tails; i++) {
        struct question question = {
            .source = CSV, .options = options[i % 2], .stages = start_stages(i)};

        remove_caches();
        check_worlds(&question, 3);
        question.index_folder = folder();
        check_worlds(&question, 6);
        check_worlds(&question, 6);
    }
    remove_caches();
}

static void test_with_cache(void **state) {
    (void)state;
    for (size_t i = 0; i < n_start_tails; i++) {
        write_data("data.csv", 0, N_RECORDS, i % 2 ? 97 : 0);
        remove_caches();
        check_worlds(&(struct question){.source = CSV,
                                        .options = i % 2 ? "on_error: skip\n    cache: {path: .}"
                                                         : "cache: {path: .}",
                                        .stages = start_stages(i)},
                     6);
    }
    remove_caches();
}

static void test_mixed(void **state) {
    static const char *const mixes[] = {
        ("mix: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}], weights: [1, 1], "
         "exhausted: repeat}"),
        "mix: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}], weights: [4, 1]}",
        "concat: {sources: [{csv: {paths: [a.csv]}}, {csv: {paths: [b.csv]}}]}",
    };

    (void)state;
    write_data("a.csv", 0, 900, 0);
    write_data("b.csv", 5000, 500, 0);
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
        for (size_t k = 0; k < n_plain_start_tails; k++)
            check_worlds(
                &(struct question){.source = mixes[i], .options = "", .stages = start_stages(k)},
                3);
}

static void test_compressed(void **state) {
    char *text;

    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    text = folder_read("data.csv");
    for (enum format format = 0; format < N_FORMATS; format++) {
        struct blob blob = compress_text(format, text, strlen(text), format % 2 ? 20000 : 0);

        folder_write("data.z", blob.data, blob.n_bytes);
        blob_free(&blob);
        remove_caches();
        for (size_t i = 0; i < n_plain_start_tails; i += 2)
            check_worlds(&(struct question){.source = "csv: {paths: [data.z]}",
                                            .options = "",
                                            .stages = start_stages(i),
                                            .index_folder = i % 4 ? folder() : NULL},
                         3);
    }
    remove_caches();
    free(text);
}

/* ---- documents, where the order looks at rows ---- */

static const char *const tails[] = {
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- batch: {max_tokens: 3000}",
    "- select: {fields: ids}\n- shuffle: {buffer_size: 64}\n"
    "- pack: {fields: ids, length: 700, value: 0}\n- shuffle: {buffer_size: 9}\n"
    "- batch: {batch_size: 3}",
    "- select: {fields: [id, ids]}\n- chunk: {fields: ids, length: 30, stride: 23}\n"
    "- shuffle: {buffer_size: 99}\n- pad: {input: ids, length: 30, value: 0}\n"
    "- batch: {batch_size: 32}",
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- bucket: {input: ids, window: 300}\n- batch: {batch_size: 12}",
    "- select: {fields: ids}\n- pack: {fields: ids, length: 100, value: 0, split: true, how: "
    "concat}\n- batch: {batch_size: 5}",
    "- shuffle: {global: true}\n- select: {fields: ids}\n"
    "- pack: {fields: ids, length: 700, value: 0}\n- batch: {batch_size: 3}",
};

static void test_documents(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        struct question question = {
            .source = DOCUMENTS, .options = "", .stages = tails[i], .index_folder = folder()};

        remove_caches();
        check_worlds(&question, 12);
    }
    remove_caches();
}

static const char *const blind_tails[] = {
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- shuffle: {buffer_size: 64}\n- batch: {batch_size: 7}",
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- shuffle: {blocks: true, block_size: 16, buffer_size: 64}\n- batch: {batch_size: 7}",
};

/* Lists of a cache, of which single rows are unpacked. */
static void test_lists_of_a_cache(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < sizeof(blind_tails) / sizeof(blind_tails[0]); i++) {
        remove_caches();
        check_worlds(&(struct question){.source = DOCUMENTS,
                                        .options = "cache: {path: .}",
                                        .stages = blind_tails[i]},
                     8);
    }
    remove_caches();
}

/* Of a cache the order sees lengths alone, whether an index would keep them or not. */
static void test_documents_of_a_cache(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        remove_caches();
        check_worlds(&(struct question){.source = DOCUMENTS,
                                        .options = "cache: {path: .}",
                                        .stages = tails[i]},
                     8);
    }
    remove_caches();
}

/* ---- what it costs ---- */

#define SHUFFLED                                                                                   \
    CASTS "- select: {fields: [age, id]}\n- shuffle: {buffer_size: 100}\n- batch: {batch_size: "   \
          "10}"

static size_t n_opens;

static int open_counted(const struct leat_opener *opener, const char *path,
                        struct leat_error *err) {
    (void)opener;
    n_opens++;
    return leat_opener_any.open_file(&leat_opener_any, path, err);
}

static void test_cost(void **state) {
    struct leat_opener opener = leat_opener_any;
    struct drive how = {.options = {.n_epochs = 1, .first_rank = 3, .world_size = 8}};
    struct driven driven;
    size_t n_bytes;
    char *text;

    (void)state;
    write_data("data.csv", 0, 10000, 0);
    driven = drive_stream(CSV, "block_bytes: 4096", SHUFFLED, &how);
    assert_int_equal(driven.n_batches, 125);
    assert_int_equal(driven.n_made, 1250);
    n_bytes = strlen(text = folder_read("data.csv"));
    free(text);
    opener.open_file = open_counted;
    opener.open_stream = NULL;
    how.options.opener = &opener;
    how.options.n_epochs = 2; /* Its blocks are looked for once, and only read where wanted. */
    driven = drive_stream(CSV, "",
                          CASTS "- select: {fields: [age, id]}\n- shuffle: {blocks: true, "
                                "block_size: 20, buffer_size: 100}\n- batch: "
                                "{batch_size: 10}",
                          &how);
    assert_int_equal(driven.n_batches, 250);
    assert_int_equal(driven.n_made, 2500);
    assert_int_equal(driven.stats.counts.figures.n_source_bytes, n_bytes);
    assert_in_range(n_opens, 3, 20); /* The file stays open from one of 500 blocks to the next. */
    /* A job makes rows of many blocks, and another one finds many. */
    assert_in_range(driven.stats.jobs[LEAT_JOB_MAP].n_jobs, 2, 200);
    assert_in_range(driven.stats.jobs[LEAT_JOB_SCAN].n_jobs, 2, 100);
}

#define CACHED_BLOCKS                                                                              \
    CASTS "- select: {fields: [age, id]}\n- shuffle: {blocks: true, block_size: 20, "              \
          "buffer_size: 100}\n- batch: {batch_size: 10}"

/* Of a cache a rank takes its own rows alone, and a job takes those of many blocks. */
static void test_cost_with_cache(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 10000, 0);
    remove_caches();
    (void)drive_stream(CSV, "cache: {path: .}", CACHED_BLOCKS, &how);
    how.options.first_rank = 3;
    how.options.world_size = 8;
    driven = drive_stream(CSV, "cache: {path: .}", CACHED_BLOCKS, &how);
    assert_int_equal(driven.n_batches, 125);
    assert_int_equal(driven.n_made, 0);
    assert_int_equal(driven.n_cached, 1250);
    assert_in_range(driven.stats.jobs[LEAT_JOB_MAP].n_jobs, 1, 100);
    remove_caches();
}

#define PACKED                                                                                     \
    "- select: {fields: ids}\n- shuffle: {buffer_size: 2000}\n"                                    \
    "- pack: {fields: ids, length: 700, value: 0}\n- batch: {batch_size: 3}"

static uint64_t peak_of_blocks(uint64_t world_size) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {.options = {.n_epochs = 1, .world_size = world_size, .account = &account},
                        .n_jobs = 1};
    struct driven driven;
    uint64_t n_bytes;

    leat_budget_init(&budget, UINT64_MAX);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    driven = drive_stream(DOCUMENTS, "block_bytes: 4096\n    cache: {path: .}", PACKED, &how);
    assert_string_equal(driven.error.message, "");
    n_bytes = account.pools[LEAT_MEMORY_BLOCKS].peak_bytes;
    leat_account_close(&account);
    return n_bytes;
}

/* A rank keeps the lengths of all rows that wait in a shuffle, but the values of its own alone. */
static void test_memory_with_cache(void **state) {
    uint64_t n_whole, n_own;

    (void)state;
    write_documents(3000, 400);
    remove_caches();
    (void)peak_of_blocks(1);
    n_whole = peak_of_blocks(1);
    n_own = peak_of_blocks(8);
    assert_in_range(n_own, 1, n_whole * 3 / 5); /* which stays packed */
    remove_caches();
}

/* A shuffle may hold many small blocks that are only counted. What is known of them counts, and is
 * little. */
static void test_memory_of_small_blocks(void **state) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {
        .options = {.n_epochs = 1, .first_rank = 1, .world_size = 8, .account = &account}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 3000, 0);
    leat_budget_init(&budget, UINT64_MAX);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    driven =
        drive_stream(CSV, "",
                     CASTS "- select: {fields: [id]}\n- shuffle: {blocks: true, block_size: 1, "
                           "buffer_size: 2000}\n- batch: {batch_size: 5}",
                     &how);
    assert_string_equal(driven.error.message, "");
    assert_in_range(account.pools[LEAT_MEMORY_ORDER].peak_bytes,
                    2000 * sizeof(struct leat_count_only), UINT64_C(2000) * 800);
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
}

static void flip_somewhere(void) {
    const char *name = cache_name();
    size_t n_bytes;
    uint8_t *bytes;

    assert_non_null(name);
    bytes = read_bytes(name, &n_bytes);
    bytes[n_bytes / 4 + draw(n_bytes / 2)] ^= 16;
    folder_write(name, bytes, n_bytes);
    free(bytes);
}

/* A damaged block is made again from the source, whole, and put right in the cache. */
static void test_damaged_cache(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_rank = 1, .world_size = 2}};
    uint64_t n_damaged = 0;

    (void)state;
    write_data("data.csv", 0, 4000, 0);
    write_documents(300, 400);
    for (int i = 0; i < 45; i++) {
        static const char *const options[] = {"cache: {path: .}",
                                              "cache: {path: .}\n    block_bytes: 4096"};
        const char *source = i < 30 ? CSV : DOCUMENTS;
        const char *stages = i >= 30 ? PACKED : i % 4 < 2 ? CACHED_BLOCKS : SHUFFLED;
        struct driven whole, driven;

        remove_caches();
        whole = drive_stream(source, "", stages, &how);
        (void)drive_stream(source, options[i % 2], stages,
                           &(struct drive){.options = {.n_epochs = 1}});
        flip_somewhere();
        driven = drive_stream(source, options[i % 2], stages, &how);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.digest, whole.digest);
        if (driven.n_damaged > 0)
            assert_non_null(strstr(driven.cache_note.message, "it does not match its checksum ("));
        n_damaged += driven.n_damaged;
        driven = drive_stream(source, options[i % 2], stages, &how);
        assert_string_equal(driven.digest, whole.digest);
        assert_int_equal(driven.n_damaged, 0);
    }
    assert_true(n_damaged > 20);
    remove_caches();
}

/* A limit that is enough for one rank alone is enough for one of several. */
static void test_bounded(void **state) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {
        .options = {.n_epochs = 1, .first_rank = 1, .world_size = 3, .account = &account},
        .n_jobs = 3};

    (void)state;
    write_data("data.csv", 0, 10000, 0);
    leat_budget_init(&budget, 13U << 20);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    for (int i = 0; i < 2; i++) {
        struct driven driven = drive_stream(CSV, "block_bytes: 4096", SHUFFLED, &how);

        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_batches, 333);
        assert_int_equal(account.used_bytes, 0);
    }
    leat_account_close(&account);
}

/* ---- what goes wrong ---- */

/* The rank that gets the bad record fails, where one machine fails; the others do not see it. */
static void test_bad_record_fails(void **state) {
    static const char stages[] = CASTS "- select: {fields: [id, age]}\n- batch: {batch_size: 2}";

    (void)state;
    folder_print("data.csv", "id,name,age\n1,a,2\n2,b,3\n3,c,4\n4,d,nine\n5,e,6\n6,f,7\n"
                             "7,g,8\n8,h,9\n");
    for (uint64_t rank = 0; rank < 2; rank++) {
        struct drive how = {.options = {.n_epochs = 1, .first_rank = rank, .world_size = 2}};
        struct driven driven = drive_stream(CSV, "", stages, &how);

        assert_int_equal(driven.n_batches, rank == 0 ? 2 : 0);
        if (rank == 0) {
            assert_string_equal(driven.error.message, "");
            continue;
        }
        assert_non_null(strstr(driven.error.message, "nine"));
        assert_int_equal(driven.error.line, 5);
    }
}

static void check_one_fails(const char *options, const char *stages, uint64_t world) {
    bool has_failed = false;

    for (uint64_t rank = 0; rank < world; rank++) {
        struct drive how = {
            .options = {.n_epochs = 1, .first_rank = rank, .n_ranks = 1, .world_size = world}};
        struct driven driven = drive_stream(CSV, options, stages, &how);

        has_failed |= driven.error.code != 0;
        if (driven.error.code)
            assert_non_null(strstr(driven.error.message, "abc"));
    }
    assert_true(has_failed);
}

/* A stream that skips the bad record made the cache or index. Another one, which fails at it, does
 * so for any world, also if no row of its block is left. */
static void check_kept_bad(const char *shuffle, const char *store, int max_id) {
    struct drive builds = {.options = {.only_builds = true}};
    char stages[512], options[128];

    (void)snprintf(stages, sizeof(stages),
                   CASTS "- filter: {input: id, max: %d}\n- select: {fields: [id, age]}\n"
                         "%s- batch: {batch_size: 4}",
                   max_id, shuffle);
    (void)snprintf(options, sizeof(options), "on_error: skip\n    block_bytes: 4096\n    %s",
                   store);
    remove_caches();
    assert_string_equal(drive_stream(CSV, options, stages, &builds).error.message, "");
    (void)snprintf(options, sizeof(options), "block_bytes: 4096\n    %s", store);
    for (uint64_t world = 1; world < 4; world++)
        check_one_fails(options, stages, world);
}

static void test_kept_bad_record_fails(void **state) {
    static const char *const shuffles[] = {
        "", "- shuffle: {blocks: true, block_size: 20, buffer_size: 10}\n",
        "- shuffle: {blocks: true, block_size: 20, buffer_size: 10, lanes: 3}\n"};

    (void)state;
    write_data("data.csv", 0, 400, 333);
    for (size_t i = 0; i < sizeof(shuffles) / sizeof(shuffles[0]); i++) {
        check_kept_bad(shuffles[i], "cache: {path: .}", 1000);
        check_kept_bad(shuffles[i], "cache: {path: .}", 100);
        check_kept_bad(shuffles[i], "index: .", 1000);
        check_kept_bad(shuffles[i], "index: .", 100);
    }
    remove_caches();
}

static uint64_t n_left;

static void on_batch(const struct leat_output *output, void *user) {
    (void)output;
    if (n_left-- == 0)
        ((void (*)(void))user)();
}

static void take_source_away(void) {
    assert_int_equal(rename(folder_path("data.csv"), folder_path("gone")), 0);
}

static void test_gone_meanwhile(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct drive how = {.options = {.n_epochs = 1, .world_size = 2},
                            .n_jobs = 2,
                            .n_slots = 2,
                            .on_batch = on_batch,
                            .user = (void *)take_source_away};
        struct driven driven;

        n_left = draw(5);
        write_data("data.csv", 0, 60000, 0);
        driven = drive_stream(CSV, "block_bytes: 4096",
                              CASTS "- select: {fields: [age, id]}\n- shuffle: {buffer_size: "
                                    "30000}\n- batch: {batch_size: 1}",
                              &how);
        assert_true(driven.error.code < 0);
        (void)unlink(folder_path("gone"));
    }
}

static void test_cancelled_anywhere(void **state) {
    (void)state;
    write_data("data.csv", 0, 10000, 0);
    for (int i = 0; i < 20; i++) {
        struct drive how = random_drive();

        how.options.world_size = 2 + draw(7);
        how.options.first_rank = draw(how.options.world_size);
        how.options.n_ranks = 1;
        how.options.round_phase = 0;
        how.options.n_epochs = 1;
        how.cancel_after = 1 + draw(40);
        (void)drive_stream(CSV, block_option(), SHUFFLED, &how);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_ranks),
        cmocka_unit_test(test_any_stage),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_with_cache),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_bad_record_fails),
        cmocka_unit_test(test_kept_bad_record_fails),
        cmocka_unit_test(test_gone_meanwhile),
        cmocka_unit_test(test_cancelled_anywhere),
        cmocka_unit_test(test_cost_with_cache),
        cmocka_unit_test(test_damaged_cache),
        cmocka_unit_test(test_lists_of_a_cache),
        cmocka_unit_test(test_documents_of_a_cache),
        cmocka_unit_test(test_memory_with_cache),
        cmocka_unit_test(test_memory_of_small_blocks),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
