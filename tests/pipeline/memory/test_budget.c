/* test_budget.c: pipeline/memory/budget.c, and runs whose memory is limited by one. */
#include "pipeline/memory/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"
#include "tests/pipeline/shared_records.h"

#define N_ACCOUNTS 5

static uint64_t claim(const struct leat_account *account) {
    return account->used_bytes > account->guaranteed_bytes ? account->used_bytes
                                                           : account->guaranteed_bytes;
}

/* Whatever accounts do: who asks before never takes the budget over its limit, and a guarantee can
 * always be used. */
static void test_invariants(void **state) {
    struct leat_budget budget;
    struct leat_account accounts[N_ACCOUNTS] = {{.budget = NULL}};

    (void)state;
    leat_budget_init(&budget, 8000);
    for (int step = 0; step < 200000; step++) {
        struct leat_account *account = &accounts[draw(N_ACCOUNTS)];
        enum leat_memory memory = (enum leat_memory)draw(LEAT_N_MEMORIES);
        uint64_t bytes = draw(1500), claimed = 0, used = 0;

        if (!account->budget) {
            uint64_t free_bytes = leat_budget_free_bytes(&budget);

            assert_int_equal(leat_account_open(account, &budget, bytes),
                             bytes <= free_bytes ? 0 : -ENOMEM);
        } else if (draw(20) == 0) {
            for (int i = 0; i < LEAT_N_MEMORIES; i++)
                leat_account_change(account, (enum leat_memory)i, account->pools[i].current_bytes,
                                    0);
            leat_account_close(account);
        } else if (draw(2) == 0) {
            uint64_t has = account->pools[memory].current_bytes;

            leat_account_change(account, memory, has, has ? draw(has) : 0);
        } else if (leat_account_may_grow(account, bytes)) {
            leat_account_change(account, memory, 0, bytes);
        } else {
            assert_true(account->used_bytes + bytes > account->guaranteed_bytes);
        }
        for (int i = 0; i < N_ACCOUNTS; i++) {
            claimed += accounts[i].budget ? claim(&accounts[i]) : 0;
            used += accounts[i].budget ? accounts[i].used_bytes : 0;
        }
        assert_int_equal(budget.claimed_bytes, claimed);
        assert_int_equal(budget.used_bytes, used);
        assert_true(claimed <= budget.limit_bytes && used <= budget.peak_bytes);
    }
    assert_true(budget.n_refused > 0);
}

static void test_headroom(void **state) {
    struct leat_budget budget;
    struct leat_account first, second;

    (void)state;
    leat_budget_init(&budget, 800);
    assert_int_equal(leat_account_open(&first, &budget, 100), 0);
    assert_int_equal(leat_account_room(&first), 700);
    assert_true(leat_account_may_grow(&first, 700));
    assert_false(leat_account_may_grow(&first, 701)); /* an eighth is for others */
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 0, 700);
    assert_false(leat_account_should_shrink(&first));
    assert_int_equal(leat_account_open(&second, &budget, 101), -ENOMEM);
    assert_int_equal(leat_account_open(&second, &budget, 100), 0);
    assert_true(leat_account_should_shrink(&first));
    assert_false(leat_account_should_shrink(&second));
    assert_false(leat_account_may_grow(&first, 1));
    assert_true(leat_account_must_grow(&first, 40)); /* who cannot go on without */
    assert_false(leat_account_must_grow(&first, 41));
    assert_true(leat_account_may_grow(&second, 100)); /* its guarantee */
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 700, 0);
    assert_int_equal(first.pools[LEAT_MEMORY_BLOCKS].peak_bytes, 700);
    leat_account_close(&first);
    leat_account_close(&second);
    assert_int_equal(budget.claimed_bytes, 0);
}

/* Who waits is given what others have beyond their guarantees, as far as there is hope. */
static void test_wants(void **state) {
    struct leat_budget budget;
    struct leat_account first, second;

    (void)state;
    leat_budget_init(&budget, 800);
    assert_int_equal(leat_account_open(&first, &budget, 100), 0);
    assert_int_equal(leat_account_open(&second, &budget, 50), 0);
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 0, 600);
    leat_account_change(&second, LEAT_MEMORY_BLOCKS, 0, 190);
    assert_true(leat_account_should_shrink(&first)); /* no headroom is left */
    assert_false(leat_account_must_grow(&second, 60));
    assert_true(leat_account_may_hope(&second, 510));
    assert_false(leat_account_may_hope(&second, 511));
    leat_account_want(&second, 60);
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 600, 480);
    assert_true(leat_account_should_shrink(&first)); /* 670 of 640 */
    leat_account_want(&second, 0);
    assert_false(leat_account_should_shrink(&first));
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 480, 0);
    leat_account_change(&second, LEAT_MEMORY_BLOCKS, 190, 0);
    leat_account_close(&first);
    leat_account_want(&second, 5);
    leat_account_close(&second);
    assert_int_equal(budget.starved_bytes, 0);
    assert_int_equal(budget.guaranteed_bytes, 0);
}

/* Nobody has more than its part, of guarantees or of what it grows by; and who wants more than that
 * takes nothing from others. */
static void test_users(void **state) {
    struct leat_budget budget;
    struct leat_budget_user one, two, three;
    struct leat_account own, first, more, second, third;

    (void)state;
    leat_budget_init(&budget, 1000);
    budget.is_shared = true;
    leat_budget_user_init(&one, &budget);
    leat_budget_user_init(&two, &budget);
    leat_budget_user_init(&three, &budget);
    assert_int_equal(leat_account_open(&own, &budget, 200), 0);
    assert_int_equal(leat_budget_user_limit(&one), 400); /* the next one's half is left */
    assert_int_equal(leat_account_open_of(&first, &one, 401), -ENOMEM);
    assert_int_equal(one.n_present + budget.n_users, 0);
    assert_int_equal(leat_account_open_of(&first, &one, 300), 0);
    assert_int_equal(leat_account_open_of(&more, &one, 101), -ENOMEM);
    assert_int_equal(leat_account_open_of(&more, &one, 50), 0);
    assert_int_equal(budget.n_users, 1);
    assert_true(leat_account_may_grow(&first, 350));
    assert_false(leat_account_may_grow(&first, 351));
    assert_int_equal(leat_account_room(&first), 350);
    assert_true(leat_account_must_grow(&first, 370));
    assert_false(leat_account_must_grow(&first, 371));
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 0, 350);
    assert_false(leat_account_should_shrink(&first));
    assert_false(leat_account_may_hope(&more, 101));
    assert_true(leat_account_may_hope(&more, 100));
    assert_int_equal(leat_account_open_of(&second, &two, 100), 0);
    leat_account_change(&second, LEAT_MEMORY_BLOCKS, 0, 200);
    leat_account_want(&more, 80); /* beyond its user's part */
    assert_true(leat_account_should_shrink(&first));
    assert_false(leat_account_should_shrink(&second));
    leat_account_want(&more, 0);
    leat_account_want(&second, 200); /* within */
    assert_true(leat_account_should_shrink(&first));
    assert_true(leat_account_should_shrink(&second));
    leat_account_want(&second, 0);
    assert_int_equal(leat_account_open_of(&third, &three, 200), 0); /* a third of 800 is 266 */
    assert_int_equal(leat_budget_user_limit(&one), 266);
    assert_true(leat_account_should_shrink(&first));
    assert_int_equal(leat_account_guarantee(&second, 200), 0); /* it has that */
    assert_int_equal(leat_account_guarantee(&third, 201), -ENOMEM);
    budget.user_limit_bytes = 120;
    assert_int_equal(leat_budget_user_limit(&one), 120);
    budget.user_limit_bytes = UINT64_MAX;
    leat_account_change(&first, LEAT_MEMORY_BLOCKS, 350, 0);
    leat_account_change(&second, LEAT_MEMORY_BLOCKS, 200, 0);
    leat_account_close(&first);
    leat_account_close(&more);
    leat_account_close(&third);
    leat_account_close(&second);
    leat_account_close(&own);
    assert_int_equal(budget.n_users + budget.claimed_bytes + budget.guaranteed_bytes, 0);
    assert_int_equal(one.claimed_bytes + one.guaranteed_bytes + one.used_bytes, 0);
    assert_int_equal(budget.starved_bytes + one.starved_bytes + two.starved_bytes, 0);
}

static void test_stats(void **state) {
    struct leat_pool_stats all[LEAT_N_MEMORIES] = {{.n_hits = 0}};
    struct leat_pool_stats one[LEAT_N_MEMORIES] = {
        [LEAT_MEMORY_RING] = {
            .n_allocations = 3, .n_hits = 2, .n_misses = 1, .current_bytes = 10, .peak_bytes = 20}};

    (void)state;
    leat_pool_stats_keep(all, one);
    leat_pool_stats_add(all, one);
    leat_pool_stats_add(all, one);
    leat_pool_stats_add(all, one);
    assert_int_equal(all[LEAT_MEMORY_RING].n_allocations, 12);
    assert_int_equal(all[LEAT_MEMORY_RING].n_hits, 8);
    assert_int_equal(all[LEAT_MEMORY_RING].n_misses, 4);
    assert_int_equal(all[LEAT_MEMORY_RING].current_bytes, 30);
    assert_int_equal(all[LEAT_MEMORY_RING].peak_bytes, 30);
    assert_string_equal(leat_memory_name(LEAT_MEMORY_WORKSPACES), "workspaces");
}

#define STAGES                                                                                     \
    CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 200}\n- batch: {batch_size: "   \
          "10}"

static struct driven drive_within(uint64_t limit, uint64_t guarantee, struct drive how,
                                  uint64_t *ret_peak) {
    struct leat_budget budget;
    struct leat_account account;
    struct driven driven;

    leat_budget_init(&budget, limit);
    assert_int_equal(leat_account_open(&account, &budget, guarantee), 0);
    how.options.account = &account;
    how.options.n_epochs = 1;
    driven = drive_stream(CSV, "block_bytes: 4096", STAGES, &how);
    *ret_peak = budget.peak_bytes;
    assert_int_equal(account.used_bytes, 0);
    for (int i = 0; i < LEAT_N_MEMORIES; i++)
        assert_int_equal(account.pools[i].n_allocations,
                         account.pools[i].n_hits + account.pools[i].n_misses);
    leat_account_close(&account);
    return driven;
}

/* The same batches with much memory and with little, never more of it than there is. */
static void test_runs_within(void **state) {
    struct drive all = {.n_jobs = 16, .options = {.max_map_jobs = 32}};
    struct driven free_driven, driven;
    uint64_t free_peak, peak;

    (void)state;
    write_data("data.csv", 0, 5000, 0);
    free_driven = drive_within(UINT64_MAX, 0, all, &free_peak);
    assert_int_equal(free_driven.error.code, 0);
    for (int i = 0; i < 20; i++) {
        uint64_t limit = (UINT64_C(14) << 20) + draw(UINT64_C(12) << 20);
        struct drive how = random_drive();

        how.options.max_map_jobs = 32;
        driven = drive_within(limit, draw(3) << 20, how, &peak);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.digest, free_driven.digest);
        assert_true(peak <= limit + limit / 10);
    }
    assert_true(free_peak > 0);
}

static struct driven drive_large(uint64_t limit, struct drive how, uint64_t *ret_peak) {
    struct leat_budget budget;
    struct leat_account account;
    struct driven driven;

    leat_budget_init(&budget, limit);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    how.options.account = &account;
    how.options.n_epochs = 2;
    how.options.max_map_jobs = 16;
    driven = drive_stream("jsonl: {paths: [large.jsonl]}", "block_bytes: 4096",
                          "- select: {fields: [id]}\n- batch: {batch_size: 3}", &how);
    *ret_peak = budget.peak_bytes;
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
    return driven;
}

/* Records much larger than a block are asked for: the same batches within less, or the reason. */
static void test_large_records(void **state) {
    static char text[300001];
    struct leat_text lines = {.data = NULL};
    struct driven free_driven, driven;
    uint64_t peak;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 200; i++)
        leat_text_add(&lines, "{\"id\": %d, \"text\": \"%.*s\"}\n", i, i % 20 == 7 ? 300000 : 30,
                      text);
    folder_write("large.jsonl", lines.data, lines.n_bytes);
    free(lines.data);
    free_driven = drive_large(UINT64_MAX, (struct drive){.n_jobs = 8}, &peak);
    assert_string_equal(free_driven.error.message, "");
    for (int i = 0; i < 20; i++) {
        uint64_t limit = (UINT64_C(10) << 20) + draw(UINT64_C(10) << 20);

        driven = drive_large(limit, random_drive(), &peak);
        assert_string_equal(driven.error.message, "");
        assert_string_equal(driven.digest, free_driven.digest);
        assert_true(peak <= limit + limit / 10);
    }
    driven = drive_large(2 << 20, (struct drive){.n_jobs = 1}, &peak);
    assert_int_equal(driven.error.code, -ENOMEM);
    assert_non_null(strstr(driven.error.message, "a record that is larger than block_bytes"));
    assert_true(peak <= (2 << 20) + (2 << 20) / 10);
}

/* ---- runs that wait for memory of others ---- */

/* What somebody else has, beyond its guarantee, and when it gives that back. */
struct other {
    struct leat_budget budget;
    struct leat_account account, others;
    uint64_t takes_after; /* batches; 0: from the start */
    uint64_t leaves_bytes, n_step_bytes;
    uint32_t n_ticks, n_whole_ticks; /* how often it waits; gives back all after so many */
    uint64_t n_batches;
    uint32_t n_waits;
};

static void take_all(struct other *other) {
    uint64_t limit = other->budget.limit_bytes, most = limit + limit / 20 - other->leaves_bytes;

    if (most > other->budget.claimed_bytes)
        leat_account_change(&other->others, LEAT_MEMORY_BLOCKS, 0,
                            most - other->budget.claimed_bytes);
}

static void give_back(struct other *other, uint64_t bytes) {
    uint64_t has = other->others.used_bytes;

    leat_account_change(&other->others, LEAT_MEMORY_BLOCKS, has, has > bytes ? has - bytes : 0);
}

static void count_batch(const struct leat_output *output, void *user) {
    struct other *other = user;

    (void)output;
    if (++other->n_batches == other->takes_after)
        take_all(other);
}

/* A second goes by. A run that waits for memory must be asked again, as nothing else wakes it. */
static void wait_for_other(struct leat_run *run, void *user) {
    struct other *other = user;

    other->n_waits++;
    assert_true(leat_run_tick(run));
    assert_true(leat_account_should_shrink(&other->others));
    if (++other->n_ticks == other->n_whole_ticks) {
        give_back(other, UINT64_MAX);
        other->n_ticks = 0;
    } else {
        give_back(other, other->n_step_bytes);
    }
}

static struct driven drive_beside(struct other *other, uint64_t limit, const char *source,
                                  const char *stages, struct drive how) {
    struct driven driven;

    leat_budget_init(&other->budget, limit);
    assert_int_equal(leat_account_open(&other->account, &other->budget, 0), 0);
    assert_int_equal(leat_account_open(&other->others, &other->budget, 0), 0);
    if (other->takes_after == 0)
        take_all(other);
    how.options.account = &other->account;
    how.options.max_map_jobs = 8;
    how.on_batch = count_batch;
    how.on_wait = wait_for_other;
    how.user = other;
    driven = drive_stream(source, "block_bytes: 4096\n    collate_batches: 1", stages, &how);
    give_back(other, UINT64_MAX);
    assert_int_equal(other->account.used_bytes, 0);
    leat_account_close(&other->account);
    leat_account_close(&other->others);
    assert_int_equal(other->budget.starved_bytes, 0);
    return driven;
}

/* A run waits as long as others give something back, but not longer than a minute. */
static void test_waits(void **state) {
    static const struct {
        uint32_t n_whole_ticks;
        uint64_t n_step_bytes;
        uint32_t n_waits; /* until the run fails; 0: it does not */
    } cases[] = {{1, 0, 0}, {9, 0, 0}, {59, 1, 0}, {0, 0, 11}, {0, 1, 60}};
    struct drive how = {.n_jobs = 4, .options = {.n_epochs = 1}};
    struct driven free_driven, driven;
    uint64_t peak;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    free_driven = drive_within(UINT64_MAX, 0, how, &peak);
    assert_int_equal(free_driven.error.code, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct other other = {.n_whole_ticks = cases[i].n_whole_ticks,
                              .n_step_bytes = cases[i].n_step_bytes};

        driven = drive_beside(&other, 64 << 20, CSV, STAGES, how);
        if (cases[i].n_waits == 0) {
            assert_string_equal(driven.error.message, "");
            assert_string_equal(driven.digest, free_driven.digest);
            assert_int_equal(other.n_waits, cases[i].n_whole_ticks);
            continue;
        }
        assert_int_equal(driven.error.code, -ENOMEM);
        assert_non_null(strstr(driven.error.message, "memory_limit (64.0 MiB) is reached: this "
                                                     "stream uses 0.0 MiB"));
        assert_non_null(strstr(driven.error.message,
                               "MiB more to continue: use smaller buffers in stages such as "
                               "`shuffle`, or raise memory_limit"));
        assert_int_equal(other.n_waits, cases[i].n_waits);
        assert_int_equal(driven.n_batches, 0);
    }
}

/* The batches are the same whenever others take the memory, and whatever they leave. The run waits
 * to read and to map; at a late first step also to make blocks whose rows are needed after all,
 * when it has read all of its data. */
static void test_waits_anywhere(void **state) {
    static const char *const stages[] = {
        "- select: {fields: [id]}\n- shuffle: {buffer_size: 40}\n- batch: {batch_size: 3}",
        "- select: {fields: [id]}\n- shuffle: {buffer_size: 200}\n- batch: {batch_size: 3}"};
    static const char source[] = "jsonl: {paths: [large.jsonl]}";
    static const char *const reasons[] = {
        "more to continue: ", "more to process a record that is larger than block_bytes: ",
        "more to read a record that is larger than block_bytes: "};
    static char text[300001];
    uint32_t n_reasons[2][3] = {{0}}, n_waits[2] = {0};
    struct leat_text lines = {.data = NULL};
    struct driven free_driven[2];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < 200; i++)
        leat_text_add(&lines, "{\"id\": %d, \"text\": \"%.*s\"}\n", i, i % 20 == 7 ? 300000 : 30,
                      text);
    folder_write("large.jsonl", lines.data, lines.n_bytes);
    free(lines.data);
    for (int is_late = 0; is_late < 2; is_late++) {
        struct drive all = {.options = {.n_epochs = 1, .first_step = is_late ? 5 : 0}};

        free_driven[is_late] = drive_stream(source, "block_bytes: 4096", stages[is_late], &all);
        assert_string_equal(free_driven[is_late].error.message, "");
    }
    for (uint32_t i = 0; i < 400; i++) {
        bool is_late = i % 2 == 1, gives = i % 8 < 6;
        struct other other = {.takes_after = draw(is_late ? 40 : 6),
                              .leaves_bytes = draw(UINT64_C(4) << (is_late ? 17 : 20)),
                              .n_whole_ticks = gives ? 3 : 0};
        struct drive how = random_drive();
        struct driven driven;

        how.grows = false;
        how.options.n_epochs = 1;
        how.options.first_step = is_late ? 5 : 0;
        driven = drive_beside(&other, 64 << 20, source, stages[is_late], how);
        n_waits[is_late] += other.n_waits > 0;
        for (size_t k = 0; k < 3; k++)
            n_reasons[is_late][k] += strstr(driven.error.message, reasons[k]) != NULL;
        if (driven.error.code) {
            assert_int_equal(driven.error.code, -ENOMEM);
            assert_false(gives);
            continue;
        }
        assert_string_equal(driven.digest, free_driven[is_late].digest);
    }
    assert_true(n_waits[0] > 0 && n_waits[1] > 0);
    for (size_t k = 0; k < 3; k++)
        assert_true(n_reasons[0][k] > 0);
    assert_true(n_reasons[1][1] > 0);
}

/* What order stages remember is counted: here references of a window and of a large batch. */
static void test_order_is_counted(void **state) {
    struct drive how = {.n_jobs = 4, .options = {.max_map_jobs = 8, .n_epochs = 1}};
    struct leat_budget budget;
    struct leat_account account;
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 5000, 0);
    leat_budget_init(&budget, UINT64_C(1) << 30);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    how.options.account = &account;
    driven = drive_stream(CSV, "block_bytes: 4096",
                          CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 2000}\n"
                                "- batch: {batch_size: 3000}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_true(account.pools[LEAT_MEMORY_ORDER].peak_bytes >= 5000 * sizeof(struct leat_ref));
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
}

/* A packed row is a bundle of references to its documents, here 32 of them. */
static void test_bundles_are_counted(void **state) {
    struct drive how = {.options = {.max_map_jobs = 1, .n_epochs = 1}};
    struct leat_text text = {.data = NULL};
    struct leat_budget budget;
    struct leat_account account;
    struct driven driven;

    (void)state;
    for (int i = 0; i < 32 * 500; i++)
        leat_text_add(&text, "{\"ids\": [%d, %d]}\n", i, i + 1);
    folder_write("short.jsonl", text.data, text.n_bytes);
    free(text.data);
    leat_budget_init(&budget, UINT64_C(1) << 30);
    assert_int_equal(leat_account_open(&account, &budget, 0), 0);
    how.options.account = &account;
    driven = drive_stream("jsonl: {paths: [short.jsonl]}", "block_bytes: 4096",
                          "- pack: {fields: ids, length: 64, value: 0}\n- batch: {batch_size: 400}",
                          &how);
    assert_string_equal(driven.error.message, "");
    assert_int_equal(driven.n_rows, 500);
    assert_in_range(account.pools[LEAT_MEMORY_ORDER].peak_bytes, 400 * 32 * sizeof(struct leat_ref),
                    3 * 400 * 32 * sizeof(struct leat_ref));
    assert_int_equal(account.used_bytes, 0);
    leat_account_close(&account);
}

static void test_refused(void **state) {
    struct drive how = {.n_jobs = 4};
    struct driven driven;
    uint64_t peak;

    (void)state;
    write_data("data.csv", 0, 5000, 0);
    driven = drive_within(1 << 20, 0, how, &peak);
    assert_int_equal(driven.error.code, -ENOMEM);
    assert_non_null(strstr(driven.error.message, "memory_limit (1.0 MiB) is reached"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_headroom),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_runs_within),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_large_records),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_waits_anywhere),
        cmocka_unit_test(test_order_is_counted),
        cmocka_unit_test(test_bundles_are_counted),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
