/* test_fast_forward.c: pipeline/run/intake/fast_forward.c, plan/passing.c: a run that starts at any
 * step of any epoch has the batches of one that starts at the first, from there on: by counting
 * records, with a cache, or by making all again. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pipeline/memory/budget.h"
#include "pipeline/run/intake/fast_forward.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_records.h"
#include "tests/pipeline/shared_starts.h"

#define N_RECORDS 1500
#define N_ASKED   50

static void start_from(const char *source, const char *base, const char *options, size_t tail,
                       int n) {
    struct starts starts = {
        .source = source, .base = base, .options = options, .stages = start_stages(tail)};

    check_starts(&starts, n);
}

static void test_any_start(void **state) {
    (void)state;
    write_data("data.csv", 0, N_RECORDS, 0);
    for (size_t i = 0; i < n_start_tails; i++)
        start_from(CSV, "", "", i, 12);
}

static void test_any_start_with_bad(void **state) {
    (void)state;
    write_data("data.csv", 0, N_RECORDS, 97);
    for (size_t i = 0; i < n_start_tails; i++)
        start_from(CSV, "on_error: skip", i % 2 ? "max_errors: 100" : "", i, 4);
}

static void test_any_start_with_cache(void **state) {
    (void)state;
    for (size_t i = 0; i < n_start_tails; i++) {
        write_data("data.csv", 0, N_RECORDS, i % 2 ? 97 : 0);
        remove_caches();
        start_from(CSV, i % 2 ? "on_error: skip" : "",
                   i % 4 == 1 ? "cache: {path: .}\n    max_errors: 50" : "cache: {path: .}", i, 8);
    }
    remove_caches();
}

static void test_any_start_of_mixed(void **state) {
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
            start_from(mixes[i], "", "", k, 3);
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
        for (size_t i = 0; i < n_plain_start_tails; i += 3)
            start_from("csv: {paths: [data.z]}", "", "", i, 3);
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
    assert_int_equal(driven.stats.counts.figures.n_source_bytes, 0);
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
    (void)see_sequence(CSV, "", SHUFFLED, (struct drive){.options = {.n_epochs = 1}}, &whole);
    for (int i = 0; i < 2; i++) {
        struct driven driven = see_sequence(CSV, "block_bytes: 4096", SHUFFLED, how, &part);

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
        assert_non_null(strstr(driven.error.message, "have changed since leat first read them"));
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

static struct guarded {
    uint8_t *pages;
    size_t page_bytes;
    unsigned n_looks; /* at blocks that were asked for */
} guarded;

static void on_look(int number, siginfo_t *info, void *context) {
    size_t at = (size_t)((uint8_t *)info->si_addr - guarded.pages) / guarded.page_bytes;

    (void)number;
    (void)context;
    guarded.n_looks++;
    if (at >= N_ASKED ||
        mprotect(guarded.pages + at * guarded.page_bytes, guarded.page_bytes, PROT_READ) < 0)
        abort();
}

/* A batch waits long for its blocks. Those that were asked for are looked at once more, and not at
 * each call: each stands on a page that nobody may touch. */
static void test_asked_once(void **state) {
    struct leat_batch_refs *batch = calloc(1, sizeof(*batch) + N_ASKED * sizeof(batch->refs[0]));
    struct leat_block *blocks = calloc(N_ASKED, sizeof(*blocks));
    struct leat_fast_forward forward = {.n_blocks = N_ASKED};
    struct sigaction action = {.sa_sigaction = on_look, .sa_flags = SA_SIGINFO}, before;

    (void)state;
    assert_non_null(batch);
    assert_non_null(blocks);
    guarded.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    guarded.pages = mmap(NULL, N_ASKED * guarded.page_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guarded.pages, MAP_FAILED);
    batch->n_refs = N_ASKED;
    for (size_t i = 0; i < N_ASKED; i++) {
        struct leat_count_only *count_only = (void *)(guarded.pages + i * guarded.page_bytes);

        *count_only = (struct leat_count_only){.owner = &forward, .block = &blocks[i]};
        blocks[i].count_only = count_only;
        batch->refs[i] = leat_ref_row(&blocks[i], 0);
    }
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    for (size_t i = 0; i < N_ASKED; i++) {
        struct leat_count_only *found = leat_fast_forward_next(&forward, batch, 1);

        assert_ptr_equal(found, blocks[i].count_only);
        found->is_out = true;
        assert_int_equal(mprotect(guarded.pages, (i + 1) * guarded.page_bytes, PROT_NONE), 0);
    }
    assert_null(leat_fast_forward_next(&forward, batch, 1));
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_in_range(guarded.n_looks, 1, N_ASKED);
    (void)munmap(guarded.pages, N_ASKED * guarded.page_bytes);
    free(blocks);
    free(batch);
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
        cmocka_unit_test(test_asked_once),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
