/* test_run_index.c: pipeline/run/intake/cache.c, pipeline/cache/index.c: with an index of an
 * earlier run, with a part of one, with one that is damaged or of other data, or with none, a run
 * that starts anywhere has the same batches; and count-only blocks are not made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/index.h"
#include "pipeline/memory/budget.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"
#include "tests/pipeline/shared_starts.h"

/* The folder of the test is that of the indexes. */
static const char *folder(void) {
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s", folder_path("."));
    return path;
}

/* An epoch with an index: it is complete then, unless the order ends before the data does. */
static struct driven build(const char *source, const char *options, const char *stages) {
    struct drive how = {.options = {.n_epochs = 1, .index_folder = folder()}};
    struct driven driven;

    remove_caches();
    driven = drive_stream(source, options, stages, &how);
    assert_string_equal(driven.error.message, "");
    assert_string_equal(driven.cache_note.message, "");
    return driven;
}

static struct starts indexed(const char *source, const char *base, const char *stages) {
    return (struct starts){.source = source,
                           .base = base,
                           .options = "",
                           .stages = stages,
                           .run = {.index_folder = folder()}};
}

/* ---- one sequence ---- */

/* Ends of pipelines whose order looks at rows of documents: `id`, and the lists `ids` and `also`.
 */
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
    "- bucket: {input: ids, boundaries: [10, 50, 200]}\n- batch: {batch_size: 12}",
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- bucket: {input: ids, window: 300}\n- batch: {batch_size: 12}",
    "- shuffle: {buffer_size: 50}\n- filter: {input: id, min: 100}\n- repeat: {count: 2}\n"
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: "
    "0}\n- batch: {batch_size: 9}",
    "- select: {fields: ids}\n- pack: {fields: ids, length: 100, value: 0, split: true, how: "
    "concat}\n- batch: {batch_size: 5}",
    "- shuffle: {global: true}\n- select: {fields: ids}\n"
    "- pack: {fields: ids, length: 700, value: 0}\n- batch: {batch_size: 3}",
    "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, value: 0}\n"
    "- shuffle: {global: true, max_bytes: 1MiB}\n- batch: {batch_size: 7}",
    "- take: {count: 200}\n- pad: {input: ids, longest: true, value: 0}\n"
    "- pad: {input: also, longest: true, value: 0}\n"
    "- shuffle: {global: true, max_bytes: 1MiB}\n- batch: {batch_size: 7}",
};
#define N_TAILS (sizeof(tails) / sizeof(tails[0]))

static void test_any_start_of_documents(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < N_TAILS; i++) {
        struct starts starts = indexed(DOCUMENTS, "", tails[i]);
        bool is_bounded = strstr(tails[i], "max_bytes") != NULL;

        if (is_bounded)
            starts.base = "index: .";
        remove_caches();
        check_starts(&starts, 2); /* the first builds it, or a part */
        (void)build(DOCUMENTS, is_bounded ? "index: ." : "block_bytes: 10000", tails[i]);
        check_starts(&starts, 4);
    }
}

static void test_any_start_of_records(void **state) {
    (void)state;
    for (size_t i = 0; i < n_start_tails; i++) {
        struct starts starts = indexed(CSV, i % 2 ? "on_error: skip" : "", start_stages(i));

        write_data("data.csv", 0, 1000, i % 2 ? 97 : 0);
        (void)build(CSV, starts.base, starts.stages);
        check_starts(&starts, 3);
    }
}

/* ---- what happened to it ---- */

static void damage(void) {
    const char *name = cache_name();
    size_t n_bytes;
    uint8_t *bytes;
    FILE *file;

    if (!name)
        return;
    bytes = read_bytes(name, &n_bytes);
    for (size_t i = 0; i < 1 + n_bytes / 3000; i++)
        bytes[draw(n_bytes)] ^= (uint8_t)(1U << draw(8));
    file = fopen(folder_path(name), "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
    free(bytes);
    if (draw(3) == 0)
        assert_int_equal(truncate(folder_path(name), (off_t)draw(n_bytes)), 0);
}

static void test_damaged(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < N_TAILS; i++) {
        struct starts starts = indexed(DOCUMENTS, "index: .", tails[i]);

        starts.may_note = true;
        starts.before = damage;
        (void)build(DOCUMENTS, "block_bytes: 8000\n    index: .", tails[i]);
        check_starts(&starts, 4);
    }
}

/* `take` ends the pass inside a block, which leaves the queue when batches with its rows are under
 * way. It keeps its values. */
static void test_taken_block(void **state) {
    const char *tail = tails[N_TAILS - 1];
    struct drive how = {.options = {.n_epochs = 2, .world_size = 3}};
    struct sequence whole, part;

    (void)state;
    write_documents(350, 400);
    (void)build(DOCUMENTS, "block_bytes: 8000\n    index: .", tail);
    assert_string_equal(see_sequence(DOCUMENTS, "", tail, how, &whole).error.message, "");
    assert_string_equal(see_sequence(DOCUMENTS, "index: .", tail, how, &part).error.message, "");
    assert_rest(&whole, &part, 0, 0);
    free(whole.seen);
    free(part.seen);
}

static const char *option_of_block(uint64_t n) {
    static char text[64];

    (void)snprintf(text, sizeof(text), "block_bytes: %llu", (unsigned long long)n);
    return text;
}

/* Runs that end anywhere leave a part of it, which others use, go on with, or begin anew. */
static void test_parts(void **state) {
    (void)state;
    write_documents(350, 400);
    for (size_t i = 0; i < 7; i++) {
        struct starts starts = indexed(DOCUMENTS, "", tails[i]);

        remove_caches();
        for (int k = 0; k < 2; k++) {
            struct drive how = {.options = {.n_epochs = 1, .index_folder = folder()},
                                .cancel_after = 1 + draw(20)};

            (void)drive_stream(DOCUMENTS, option_of_block(8000 + draw(3) * 1000), tails[i], &how);
            check_starts(&starts, 2);
        }
    }
}

static void test_other_data(void **state) {
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        struct starts starts = indexed(DOCUMENTS, "", tails[i]);

        write_documents(350, 400);
        (void)build(DOCUMENTS, "", tails[i]);
        write_documents(250 + draw(200), 300);
        check_starts(&starts, 3);
    }
}

/* An index of one order is none of another. */
static void test_other_stages(void **state) {
    (void)state;
    write_documents(350, 400);
    remove_caches();
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < 7; i++) {
            struct starts starts = indexed(DOCUMENTS, "", tails[i]);

            check_starts(&starts, 1);
        }
    remove_caches();
}

/* ---- what it costs ---- */

static void test_cost(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_step = 100, .index_folder = folder()}};
    struct driven whole, driven;

    (void)state;
    write_documents(2000, 400);
    for (size_t i = 0; i < 4; i++) {
        whole = build(DOCUMENTS, "block_bytes: 8000", tails[i]);
        assert_true(whole.n_batches > 40);
        assert_non_null(cache_name());
        assert_non_null(strstr(cache_name(), ".leat"));
        how.options.first_step = whole.n_batches - 4;
        driven = drive_stream(DOCUMENTS, "block_bytes: 8000", tails[i], &how);
        assert_int_equal(driven.n_batches, 4);
        assert_in_range(driven.n_made, 1, 300);
    }
    driven = drive_stream(DOCUMENTS, "index: off", tails[0], &how);
    assert_int_equal(driven.n_made, 2000);
    remove_caches();
}

/* What an index has of a block is less than what is in it. */
static void test_size(void **state) {
    size_t n_bytes, n_rows_bytes;

    (void)state;
    write_documents(2000, 400);
    (void)build(DOCUMENTS, "", tails[0]);
    free(read_bytes(cache_name(), &n_bytes));
    assert_in_range(n_bytes, 2000, 40000);
    (void)build(DOCUMENTS, "",
                "- pad: {input: ids, longest: true, value: 0}\n- pad: {input: also, longest: true, "
                "value: 0}\n"
                "- batch: {batch_size: 5}");
    free(read_bytes(cache_name(), &n_rows_bytes));
    assert_in_range(n_rows_bytes, 100, 8000);
}

/* A full shuffle of more than fits, without a cache: before there is an index, and with it. */
static void test_full_shuffle(void **state) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {.options = {.n_epochs = 2, .account = &account, .index_folder = folder()},
                        .n_jobs = 2};
    static const char whole_stages[] = "- pad: {input: ids, length: 400, value: 0}\n"
                                       "- pad: {input: also, longest: true, value: 0}\n"
                                       "- shuffle: {global: true}\n- batch: {batch_size: 16}",
                      stages[] = "- pad: {input: ids, length: 400, value: 0}\n"
                                 "- pad: {input: also, longest: true, value: 0}\n"
                                 "- shuffle: {global: true, max_bytes: 1MiB}\n"
                                 "- batch: {batch_size: 16}";
    struct drive in_memory = {.options = {.n_epochs = 2}};
    struct driven whole, driven;

    (void)state;
    write_documents(2000, 400);
    remove_caches();
    whole = drive_stream(DOCUMENTS, "", whole_stages, &in_memory);
    for (int i = 0; i < 2; i++) {
        leat_budget_init(&budget, UINT64_MAX);
        assert_int_equal(leat_account_open(&account, &budget, 0), 0);
        driven = drive_stream(DOCUMENTS, "block_bytes: 32768", stages, &how);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.digest, whole.digest);
        assert_true(account.pools[LEAT_MEMORY_BLOCKS].peak_bytes < 5U << 20);
        assert_true(driven.n_made > 3 * 2000);
        leat_account_close(&account);
    }
    how.options.account = NULL;
    driven = drive_stream(DOCUMENTS, "index: off", stages, &how);
    assert_int_equal(driven.error.code, -ENOSPC);
    remove_caches();
}

/* ---- what cannot be ---- */

static void test_none(void **state) {
    static const char *const streams[][2] = {
        {CSV, CASTS "- sample: {fraction: 0.5, each_epoch: true}\n- select: {fields: [id]}\n"
                    "- batch: {batch_size: 5}"},
        {"mix: {sources: [{csv: {paths: [data.csv]}}, {csv: {paths: [data.csv]}}], weights: [1, "
         "2]}",
         CASTS "- select: {fields: [id]}\n- batch: {batch_size: 5}"},
    };
    struct drive how = {.options = {.n_epochs = 1, .index_folder = folder()}};

    (void)state;
    write_data("data.csv", 0, 500, 0);
    remove_caches();
    for (size_t i = 0; i < 2; i++) {
        struct driven driven = drive_stream(streams[i][0], "", streams[i][1], &how);

        assert_string_equal(driven.error.message, "");
        assert_null(cache_name());
    }
}

/* Where it cannot be kept, the stream goes on without. */
static void test_no_folder(void **state) {
    struct drive how = {.options = {.n_epochs = 1, .first_step = 4}};
    struct driven driven;

    (void)state;
    write_documents(350, 400);
    driven = drive_stream(DOCUMENTS, "index: no/such/folder", tails[0], &how);
    assert_string_equal(driven.error.message, "");
    assert_true(driven.n_batches > 4);
    assert_non_null(strstr(driven.cache_note.message, "no/such/folder"));
}

/* ---- one folder for several streams ---- */

static void key_of(const char *shuffle, uint8_t key[LEAT_DIGEST_BYTES]) {
    struct leat_cache_identity identity = {.key = {1}};
    struct leat_plan *plan;
    char stages[256];

    (void)snprintf(
        stages, sizeof(stages),
        "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n%s- batch: {batch_size: 4}",
        shuffle);
    plan = stream_plan(CSV, "index: .", stages);
    leat_index_key(plan, false, &identity);
    memcpy(key, identity.key, LEAT_DIGEST_BYTES);
    leat_plan_unref(plan);
}

/* Indexes of blocks of other sizes, or of none, are other indexes. */
static void test_keys(void **state) {
    static const char *const shuffles[] = {
        "", "- shuffle: {blocks: true, block_size: 8, buffer_size: 64}\n",
        "- shuffle: {blocks: true, block_size: 16, buffer_size: 64}\n",
        "- shuffle: {blocks: true, block_size: 8, buffer_size: 64, lanes: 4}\n"};
    uint8_t keys[4][LEAT_DIGEST_BYTES];

    (void)state;
    write_data("data.csv", 0, 100, 0);
    for (size_t i = 0; i < 4; i++) {
        key_of(shuffles[i], keys[i]);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(keys[i], keys[k], LEAT_DIGEST_BYTES);
    }
    key_of("- shuffle: {buffer_size: 9}\n", keys[1]); /* references alone are shuffled */
    assert_memory_equal(keys[0], keys[1], LEAT_DIGEST_BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_any_start_of_documents),
        cmocka_unit_test(test_any_start_of_records),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_taken_block),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_other_data),
        cmocka_unit_test(test_other_stages),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_full_shuffle),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_no_folder),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
