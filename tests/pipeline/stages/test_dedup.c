/* test_dedup.c: pipeline/stages/dedup/dedup.c, dedup/hash_set.c: the first of equal records stays;
 * what is remembered is bounded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/explain.h"
#include "pipeline/stages/dedup/hash_set.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

/* ---- the set ---- */

static void hash_of(uint64_t i, uint64_t hash[2]) {
    hash[0] = i % 7 == 0 ? i : leat_rng_fold(1, i); /* some are near each other */
    hash[1] = i % 5 == 0 ? 0 : leat_rng_fold(2, i);
}

static void test_set(void **state) {
    struct leat_hash_set *set = calloc(1, sizeof(*set));
    uint64_t n_bytes = sizeof(*set), hash[2];

    (void)state;
    assert_non_null(set);
    for (uint64_t i = 0; i < 100000; i++) {
        hash_of(i, hash);
        assert_false(leat_hash_set_has(set, hash));
        assert_int_equal(leat_hash_set_add(set, hash), 0);
        assert_true(leat_hash_set_has(set, hash));
    }
    assert_int_equal(set->n_hashes, 100000);
    for (uint64_t i = 0; i < 200000; i++) {
        hash_of(i, hash);
        assert_int_equal(leat_hash_set_has(set, hash), i < 100000);
    }
    leat_hash_set_deinit(set);
    for (uint64_t i = 0; i < 100000; i++) {
        hash[0] = leat_rng_fold(3, i);
        hash[1] = leat_rng_fold(4, i);
        assert_int_equal(leat_hash_set_add(set, hash), 0);
    }
    for (size_t i = 0; i < LEAT_HASH_SET_SEGMENTS; i++)
        n_bytes += set->segments[i].n_places * 16;
    assert_true(n_bytes <= leat_hash_set_bytes(100000));
    leat_hash_set_deinit(set);
    free(set);
}

/* ---- the stage ---- */

/* ids 0..n-1 with keys drawn below n_keys. */
static void write_keys(size_t n, uint64_t n_keys, uint64_t *ret_keys) {
    struct leat_text text = {.data = NULL};

    for (size_t i = 0; i < n; i++) {
        ret_keys[i] = draw(n_keys);
        leat_text_add(&text, "{\"id\": %zu, \"key\": \"k%llu\"}\n", i,
                      (unsigned long long)ret_keys[i]);
    }
    folder_write("keys.jsonl", text.data, text.n_bytes);
    free(text.data);
}

#define KEYS  "jsonl: {paths: [keys.jsonl]}"
#define N     3000
#define N_MAX 100

static struct driven run(const char *dedup, struct collected *ids) {
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = ids};
    char stages[256];

    *ids = (struct collected){.name = "id"};
    (void)snprintf(stages, sizeof(stages),
                   "- dedup: {%s}\n- select: {fields: [id]}\n- batch: {batch_size: 10}", dedup);
    return drive_stream(KEYS, "", stages, &how);
}

static void test_first_stays(void **state) {
    static uint64_t keys[N];
    bool is_seen[700] = {false};
    struct collected ids;
    size_t at = 0;

    (void)state;
    write_keys(N, 700, keys);
    assert_string_equal(run("input: key", &ids).error.message, "");
    for (size_t i = 0; i < N; i++) {
        if (!is_seen[keys[i]])
            assert_int_equal(ids.values[at++], i);
        is_seen[keys[i]] = true;
    }
    assert_int_equal(at, ids.n_values);
    collected_free(&ids);
    assert_int_equal(run("", &ids).n_rows, N); /* the ids differ */
    collected_free(&ids);
}

static void test_when_full(void **state) {
    static uint64_t keys[N];
    struct collected ids;
    struct driven driven;
    int64_t last[200];

    (void)state;
    write_keys(N, 200, keys);
    driven = run("input: key, max_records: 100", &ids);
    assert_int_equal(driven.error.code, -ENOSPC);
    assert_non_null(
        strstr(driven.error.message, "there are more than max_records (100) different records"));
    assert_true(driven.n_rows <= N_MAX);
    collected_free(&ids);
    assert_int_equal(run("input: key, max_records: 200", &ids).error.code, 0);
    collected_free(&ids);

    /* what was among the last max_records / 2 different ones is known */
    assert_int_equal(run("input: key, max_records: 100, when_full: forget", &ids).error.code, 0);
    assert_in_range(ids.n_values, 201, N - 1);
    for (size_t i = 0; i < 200; i++)
        last[i] = -1;
    for (size_t i = 0; i < ids.n_values; i++) {
        uint64_t key = keys[ids.values[i]];

        assert_true(last[key] < 0 || (int64_t)i - last[key] > N_MAX / 2);
        last[key] = (int64_t)i;
    }
    collected_free(&ids);

    /* the first hundred are known for ever, the others never */
    assert_int_equal(run("input: key, max_records: 100, when_full: pass", &ids).error.code, 0);
    for (size_t i = 0; i < 200; i++)
        last[i] = 0;
    for (size_t i = 0; i < ids.n_values; i++)
        last[keys[ids.values[i]]]++;
    for (size_t i = 0; i < N_MAX; i++)
        assert_int_equal(last[keys[ids.values[i]]], 1);
    assert_true(ids.n_values > 1000);
    collected_free(&ids);
}

static void test_one_sequence(void **state) {
    static uint64_t keys[N];

    (void)state;
    write_keys(N, 900, keys);
    check_one_sequence(KEYS, "- shuffle: {buffer_size: 100}\n- filter: {input: id, min: 50}\n"
                             "- dedup: {input: key}\n- select: {fields: [id]}\n"
                             "- repeat: {count: 2}\n- batch: {batch_size: 10}");
    check_one_sequence(KEYS, "- dedup: {input: key, max_records: 64, when_full: forget}\n"
                             "- select: {fields: [id]}\n- batch: {batch_size: 10}");
}

static void test_explained(void **state) {
    struct leat_plan *plan;
    char *text;

    (void)state;
    folder_print("keys.jsonl", "{\"id\": 1, \"key\": \"a\"}\n");
    plan = stream_plan(KEYS, "", "- dedup: {input: key}\n- select: {fields: [id]}");
    assert_int_equal(plan->n_map, 1);
    assert_int_equal(plan->n_order, 1);
    assert_int_equal(plan->n_tensors, 1);
    text = stream_explain(plan, 2, false);
    assert_non_null(strstr(
        text, "dedup      its values are computed with the per-record stages and applied here"));
    assert_non_null(strstr(text, "per-record stages:     jsonl > dedup\n"));
    free(text);
    leat_plan_unref(plan);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- repeat: {count: 2}\n- dedup: {input: a}",
                  "x.yaml:6:9: streams.x.stages[1].dedup: would drop the whole second pass of "
                  "`repeat`: put it before `repeat`");
    check_refused("{\"x\": [1]}\n", "- dedup: {input: x}",
                  "x.yaml:5:24: streams.x.stages[0].dedup.input: \"x\" is a list, but dedup needs "
                  "one value per record");
    check_refused(
        "{\"x\": [1]}\n", "- dedup: {max_records: 1}",
        "x.yaml:5:30: streams.x.stages[0].dedup.max_records: 1 is outside 2..10000000000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),       cmocka_unit_test(test_first_stays),
        cmocka_unit_test(test_when_full), cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_explained), cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
