/* test_row_fetch.c: pipeline/run/row_fetch.c, row_store.c, work/map_gather.c: a full shuffle of
 * more than fits into max_bytes: the batches are those of one in memory, whatever happens to the
 * cache meanwhile, and never others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/memory/budget.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define CACHE "cache: {path: .}"
#define N     2000
#define TIGHT (3U << 20)

#define PADDED                                                                                     \
    "- pad: {input: ids, length: 400, value: 0}\n- pad: {input: also, multiple_of: 8, value: 1}\n"

/* @: the arguments of the shuffle besides `global`. */
static const char *const tails[] = {
    "- shuffle: {global: true@}\n" PADDED "- batch: {batch_size: 16}",
    "- select: {fields: ids}\n- pack: {fields: ids, length: 700, value: 0}\n- shuffle: {global: "
    "true@}\n"
    "- batch: {batch_size: 3}",
    "- shuffle: {global: true@}\n- pack: {fields: ids, length: 700, value: 0}\n"
    "- batch: {batch_size: 3}",
    "- select: {fields: [id, ids]}\n- chunk: {fields: ids, length: 30, stride: 23}\n- shuffle: "
    "{global: true@}\n"
    "- pad: {input: ids, length: 30, value: 0}\n- batch: {batch_size: 32}",
    "- shuffle: {global: true@}\n" PADDED "- bucket: {input: ids, boundaries: [10, 50, 200]}\n"
    "- batch: {batch_size: 12}",
    "- shuffle: {global: true@}\n- filter: {input: id, min: 700}\n- repeat: {count: 2}\n" PADDED
    "- batch: {max_tokens: 9000}",
    "- shuffle: {buffer_size: 300}\n- shuffle: {global: true, reshuffle_each_epoch: false@}\n"
    "- take: {count: 2000}\n" PADDED "- batch: {batch_size: 16, drop_last: true}",
};

static const struct leat_run_options ways[] = {
    {.n_epochs = 2},
    {.n_epochs = 2, .first_epoch = 1, .first_step = 9, .first_rank = 1, .world_size = 3},
    {.n_epochs = 0, .n_steps = 170},
    {.n_epochs = 1, .has_seed = true, .seed = 99},
};

static const char *tail_with(size_t tail, const char *arguments) {
    static char texts[2][512];
    static int i;

    const char *at = strchr(tails[tail], '@');

    i = !i;
    (void)snprintf(texts[i], sizeof(texts[i]), "%.*s%s%s", (int)(at - tails[tail]), tails[tail],
                   arguments, at + 1);
    return texts[i];
}

static struct driven cached(const char *stages, const struct leat_run_options *options,
                            struct drive how) {
    uint32_t max_map_jobs = how.options.max_map_jobs;
    char text[128];

    (void)snprintf(text, sizeof(text), CACHE "\n    %s", block_option());
    how.options = *options;
    if (how.options.max_map_jobs == 0)
        how.options.max_map_jobs = max_map_jobs;
    return drive_stream(DOCUMENTS, text, stages, &how);
}

static void assert_same(const struct driven *a, const struct driven *b) {
    assert_string_equal(a->error.message, b->error.message);
    assert_string_equal(a->digest, b->digest);
    assert_int_equal(a->n_batches, b->n_batches);
}

static void test_one_sequence(void **state) {
    struct drive threads = {
        .options = {.max_map_jobs = 10}, .n_jobs = 8, .in_threads = true, .n_slots = 16};

    (void)state;
    write_documents(N, 400);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
            struct drive inline_ = {.options = ways[k]};
            struct driven whole = drive_stream(DOCUMENTS, "", tail_with(i, ""), &inline_);

            assert_string_equal(whole.error.message, "");
            if (k % 2 == 0)
                remove_caches();
            for (size_t n = 0; n < 2; n++) {
                bool is_small = (i + k + n) % 5 > 0;
                struct driven driven =
                    cached(tail_with(i, is_small ? ", max_bytes: 1MiB" : ""), &ways[k],
                           (i + n) % 4 == 3 ? threads : random_drive());

                assert_same(&driven, &whole);
                assert_string_equal(driven.cache_note.message, "");
            }
        }
    }
}

/* Each block is read once for each window of batches, not once for each row. */
static void test_reads(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven whole, part;

    (void)state;
    write_documents(N, 400);
    remove_caches();
    (void)drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 65536", tail_with(0, ""), &how);
    whole = drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 65536", tail_with(0, ""), &how);
    assert_int_equal(whole.n_cached, N);
    part = drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 65536",
                        tail_with(0, ", max_bytes: 1MiB"), &how);
    assert_same(&part, &whole);
    assert_in_range(part.n_cached, 2 * N, 8 * N);
}

/* ---- what happens meanwhile ---- */

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

static void damage_cache(void) {
    const char *name = cache_name();
    size_t n_bytes;
    uint8_t *bytes;
    FILE *file;

    assert_non_null(name);
    bytes = read_bytes(name, &n_bytes);
    for (size_t i = 0; i < n_bytes / 5000; i++)
        bytes[draw(n_bytes)] ^= 4;
    file = fopen(folder_path(name), "r+b"); /* in place: it is open */
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

static void cut_cache(void) {
    assert_int_equal(truncate(folder_path(cache_name()), (off_t)draw(300000)), 0);
}

static void take_source_away(void) {
    assert_int_equal(rename(folder_path("docs.jsonl"), folder_path("gone")), 0);
}

static void cut_all(void) {
    cut_cache();
    take_source_away();
}

/* Other values of the same lengths. */
static void change_all(void) {
    char *text = folder_read("docs.jsonl");

    for (char *at = text; *at; at++)
        if (*at == '7')
            *at = '8';
    folder_write("docs.jsonl", text, strlen(text));
    free(text);
    cut_cache();
}

static struct driven drive_meanwhile(void (*what)(void)) {
    struct meanwhile meanwhile = {.at = 5 + draw(30), .what = what};
    struct drive how = {.options = {.n_epochs = 1},
                        .n_jobs = 4,
                        .random = draw(1 << 30) + 1,
                        .n_slots = 3,
                        .on_batch = on_batch,
                        .user = &meanwhile};

    return drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 32768",
                        tail_with(0, ", max_bytes: 1MiB"), &how);
}

static struct driven prepare(void) {
    struct drive how = {.options = {.n_epochs = 1}};

    write_documents(N, 400);
    remove_caches();
    return drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 32768", tail_with(0, ""), &how);
}

static void test_damaged_meanwhile(void **state) {
    struct driven whole = prepare(), driven;
    uint64_t n_damaged = 0;

    (void)state;
    for (int i = 0; i < 8; i++) {
        driven = drive_meanwhile(i % 2 ? damage_cache : cut_cache);
        assert_same(&driven, &whole);
        n_damaged += driven.n_damaged;
        if (i % 2 == 0)
            whole = prepare();
    }
    assert_true(n_damaged > 5);
}

static void test_gone_or_changed_meanwhile(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct driven whole = prepare(), driven = drive_meanwhile(i % 2 ? cut_all : change_all);

        assert_true(driven.error.code < 0);
        assert_true(driven.n_batches >= 5 && driven.n_batches < whole.n_batches);
        assert_non_null(strstr(driven.error.message, "have changed since leat first read them"));
        assert_true(i % 2 == 0 || strstr(driven.error.message, "docs.jsonl: "));
        remove_caches();
        (void)unlink(folder_path("gone"));
    }
}

/* With a cache that cannot be written, all is made from the source again. */
static void test_no_folder(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven whole, driven;

    (void)state;
    write_documents(N, 400);
    whole = drive_stream(DOCUMENTS, "", tail_with(0, ""), &how);
    driven = drive_stream(DOCUMENTS, "block_bytes: 32768\n    cache: {path: none/at/all}",
                          tail_with(0, ", max_bytes: 1MiB"), &how);
    assert_same(&driven, &whole);
    assert_true(driven.n_made >= 4 * N);
}

/* Some batches of a run, then its end: nothing is left behind. */
static void test_cancelled_anywhere(void **state) {
    (void)state;
    (void)prepare();
    for (int i = 0; i < 10; i++) {
        struct drive how = random_drive();

        how.cancel_after = 1 + draw(150);
        (void)cached(tail_with((size_t)i % 4, ", max_bytes: 1MiB"), &ways[0], how);
    }
}

/* ---- memory ---- */

static void test_bounded(void **state) {
    struct leat_budget budget;
    struct leat_account account;
    struct drive how = {.options = {.n_epochs = 1, .account = &account}, .n_jobs = 2};
    struct driven whole = prepare(), driven;

    (void)state;
    for (int i = 0; i < 2; i++) { /* by max_bytes, or by a tight limit */
        leat_budget_init(&budget, i ? TIGHT : UINT64_MAX);
        assert_int_equal(leat_account_open(&account, &budget, 0), 0);
        driven = drive_stream(DOCUMENTS, CACHE "\n    block_bytes: 32768",
                              tail_with(0, i ? "" : ", max_bytes: 1MiB"), &how);
        assert_same(&driven, &whole);
        assert_true(driven.n_cached > N);
        assert_true(account.pools[LEAT_MEMORY_BLOCKS].peak_bytes < TIGHT);
        leat_account_close(&account);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sequence),      cmocka_unit_test(test_reads),
        cmocka_unit_test(test_damaged_meanwhile), cmocka_unit_test(test_gone_or_changed_meanwhile),
        cmocka_unit_test(test_no_folder),         cmocka_unit_test(test_cancelled_anywhere),
        cmocka_unit_test(test_bounded),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
