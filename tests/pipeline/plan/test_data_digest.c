/* test_data_digest.c: pipeline/plan/data_digest.c, data_text.c: the same bytes are the same data,
 * where and when ever they were written; other bytes are told, if they are looked at. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/plan/data_text.h"
#include "tests/pipeline/shared_stream.h"

#define STAGES "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 2}"
#define LARGE  (1U << 20)

static struct leat_plan *identified(const char *source, const char *options,
                                    const struct leat_data *known) {
    struct leat_plan *plan = stream_plan(source, options, STAGES);
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_plan_identify_data(plan, &leat_opener_any, known, &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

static bool is_same(const struct leat_plan *a, const struct leat_plan *b) {
    return memcmp(a->data_digest, b->data_digest, LEAT_DIGEST_BYTES) == 0;
}

/* n_bytes of text; the byte at `place` is another one. */
static void write_large(const char *name, size_t n_bytes, size_t place) {
    char *bytes = malloc(n_bytes);

    assert_non_null(bytes);
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = i < 3 ? "id\n"[i] : i % 7 == 6 ? '\n' : (char)('0' + i % 10);
    if (place < n_bytes)
        bytes[place] = 'X';
    folder_write(name, bytes, n_bytes);
    free(bytes);
}

/* What is told between two texts is kept until the next call. */
static const char *compare(const struct leat_plan *old, const struct leat_plan *new) {
    static char *told;
    char *a = leat_data_text(&old->source->files, old->data);
    char *b = leat_data_text(&new->source->files, new->data);
    struct leat_text text = {.data = NULL};

    assert_non_null(a);
    assert_non_null(b);
    free(told);
    leat_data_text_compare(a, b, &text);
    told = text.data ? text.data : strdup("");
    free(a);
    free(b);
    return told;
}

static void expect(const char *old_source, const char *new_source, const char *expected) {
    struct leat_plan *old = identified(old_source, "", NULL);
    struct leat_plan *new = identified(new_source, "", NULL);

    assert_string_equal(compare(old, new), expected);
    assert_int_equal(is_same(old, new), !expected[0]);
    leat_plan_unref(old);
    leat_plan_unref(new);
}

static void test_same_bytes(void **state) {
    const struct timespec times[2] = {{.tv_sec = 12345}, {.tv_sec = 12345}};

    (void)state;
    folder_print("a.csv", "id\n1\n2\n");
    folder_print("b.csv", "id\n1\n2\n");
    assert_int_equal(utimensat(AT_FDCWD, folder_path("b.csv"), times, 0), 0);
    expect("csv: {paths: a.csv}", "csv: {paths: b.csv}", "");
    expect("csv: {paths: [a.csv, b.csv]}", "csv: {paths: [b.csv, a.csv]}", "");
}

static void test_differences(void **state) {
    (void)state;
    folder_print("a.csv", "id\n1\n2\n");
    folder_print("b.csv", "id\n1\n2\n3\n");
    folder_print("c.csv", "id\n1\n5\n");
    expect("csv: {paths: a.csv}", "csv: {paths: b.csv}", "b.csv had 7 bytes, has 9 bytes");
    expect("csv: {paths: a.csv}", "csv: {paths: c.csv}",
           "the contents of c.csv (7 bytes) differ between bytes 5 and 6");
    expect("csv: {paths: a.csv}", "csv: {paths: [a.csv, c.csv]}",
           "there was 1 file, there are 2; c.csv (7 bytes) is new");
    expect("csv: {paths: [a.csv, b.csv, c.csv]}", "csv: {paths: [a.csv, c.csv]}",
           "there were 3 files, there are 2; b.csv (9 bytes) is gone");
    expect("csv: {paths: [a.csv, b.csv]}", "csv: {paths: [b.csv, a.csv]}",
           "the order of the files has changed: b.csv is now in the place of a.csv");
}

/* Whole lines, as many as fit. */
static void test_brief(void **state) {
    struct leat_plan *plan;
    const struct leat_files *files;
    char *all, *cut;
    size_t n_first;

    (void)state;
    folder_print("a.csv", "id\n1\n2\n");
    folder_print("b.csv", "id\n1\n2\n3\n");
    plan = identified("csv: {paths: [a.csv, b.csv]}", "", NULL);
    files = &plan->source->files;
    all = leat_data_text_brief(files, plan->data, 1000);
    assert_non_null(all);
    n_first = strcspn(all, "\n") + 1;
    assert_int_equal(strncmp(all, "7\t", 2), 0);
    assert_non_null(strstr(all, "\t\"a.csv\"\n9\t"));
    assert_string_equal(all + strlen(all) - 8, "\"b.csv\"\n");
    for (size_t n_max = 0; n_max <= strlen(all); n_max++) {
        cut = leat_data_text_brief(files, plan->data, n_max);
        assert_non_null(cut);
        assert_int_equal(strlen(cut), n_max < n_first ? 0 : n_max < strlen(all) ? n_first : n_max);
        assert_int_equal(strncmp(cut, all, strlen(cut)), 0);
        free(cut);
    }
    free(all);
    leat_plan_unref(plan);
}

/* Which bytes count: a property of every place in the file. */
static void test_samples(void **state) {
    struct leat_plan *before, *after;
    size_t n_seen = 0;

    (void)state;
    write_large("a.csv", LARGE, LARGE);
    before = identified("csv: {paths: a.csv}", "", NULL);
    for (size_t place = 3; place < LARGE; place += LARGE / 97) {
        bool is_looked_at = false;

        for (size_t i = 0; i < LEAT_DATA_RANGES; i++) {
            struct leat_data_range range = leat_data_range(LARGE, false, i);

            is_looked_at =
                is_looked_at || (place >= range.offset && place - range.offset < range.n_bytes);
        }
        write_large("a.csv", LARGE, place);
        after = identified("csv: {paths: a.csv}", "", NULL);
        assert_int_equal(is_same(before, after), !is_looked_at);
        n_seen += is_looked_at;
        leat_plan_unref(after);
    }
    assert_true(n_seen > 10 && n_seen < 90);
    leat_plan_unref(before);
}

/* All bytes, on request; and both kinds of digests are not mistaken for each other. */
static void test_full(void **state) {
    struct leat_plan *before, *after, *sampled;

    (void)state;
    write_large("a.csv", LARGE, LARGE);
    before = identified("csv: {paths: a.csv}", "verify: full", NULL);
    sampled = identified("csv: {paths: a.csv}", "", NULL);
    assert_false(is_same(before, sampled));
    assert_non_null(strstr(compare(before, sampled), "`verify` was full and is sample now"));
    for (size_t place = 70000; place < LARGE; place += LARGE / 9) {
        uint64_t part = LARGE / LEAT_DATA_RANGES + 1, first = place / part * part;
        char *end;

        write_large("a.csv", LARGE, place);
        after = identified("csv: {paths: a.csv}", "verify: full", NULL);
        assert_false(is_same(before, after));
        end = strstr(compare(before, after), "(1,048,576 bytes) differ between bytes ");
        assert_non_null(end);
        assert_int_equal(strtoull(strrchr(end, 's') + 1, NULL, 10),
                         first / 1000 ? first / 1000 : first);
        leat_plan_unref(after);
    }
    leat_plan_unref(before);
    leat_plan_unref(sampled);
}

/* The ranges lie one behind the other, within the file, and in small files they are all of it. */
static void test_ranges(void **state) {
    static const uint64_t sizes[] = {0,
                                     1,
                                     15,
                                     16,
                                     17,
                                     255,
                                     65536,
                                     262143,
                                     262144,
                                     262145,
                                     262200,
                                     1000000,
                                     1 << 20,
                                     (1 << 20) + 1,
                                     UINT64_C(1) << 40,
                                     UINT64_C(1) << 62};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int is_full = 0; is_full < 2; is_full++) {
            uint64_t end = 0, n_bytes = 0;

            for (size_t k = 0; k < LEAT_DATA_RANGES; k++) {
                struct leat_data_range range = leat_data_range(sizes[i], is_full, k);

                assert_true(range.offset >= end);
                end = range.offset + range.n_bytes;
                n_bytes += range.n_bytes;
            }
            assert_true(end <= sizes[i]);
            if (is_full || sizes[i] <= 262144)
                assert_int_equal(n_bytes, sizes[i]);
        }
}

/* Only files that were touched are read again. */
static void test_known(void **state) {
    struct leat_plan *first, *again, *changed;

    (void)state;
    write_large("a.csv", LARGE, LARGE);
    write_large("b.csv", LARGE, 3);
    first = identified("csv: {paths: [a.csv, b.csv]}", "", NULL);
    /* Hashes that cannot be come from what is known, where it holds. */
    memset(first->data->digests[0], 1, LEAT_DATA_DIGEST_BYTES);
    memset(first->data->digests[1], 1, LEAT_DATA_DIGEST_BYTES);
    again = identified("csv: {paths: [a.csv, b.csv]}", "", first->data);
    assert_memory_equal(first->data->digests[0], again->data->digests[0], LEAT_DATA_DIGEST_BYTES);
    write_large("b.csv", LARGE, 3);
    changed = identified("csv: {paths: [a.csv, b.csv]}", "", first->data);
    assert_memory_equal(first->data->digests[0], changed->data->digests[0], LEAT_DATA_DIGEST_BYTES);
    assert_memory_not_equal(first->data->digests[1], changed->data->digests[1],
                            LEAT_DATA_DIGEST_BYTES);
    leat_plan_unref(again);
    again = identified("csv: {paths: [a.csv, b.csv]}", "verify: full", first->data);
    assert_memory_not_equal(first->data->digests[0], again->data->digests[0],
                            LEAT_DATA_DIGEST_BYTES);
    leat_plan_unref(first);
    leat_plan_unref(again);
    leat_plan_unref(changed);
}

/* Which source a file is of counts, and that one cannot be read. */
static void test_composed(void **state) {
    struct leat_plan *a, *b;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    folder_print("a.csv", "id\n1\n2\n");
    a = identified("concat: {sources: [{csv: {paths: [a.csv, a.csv]}}, {csv: {paths: a.csv}}]}", "",
                   NULL);
    b = identified("concat: {sources: [{csv: {paths: a.csv}}, {csv: {paths: [a.csv, a.csv]}}]}", "",
                   NULL);
    assert_false(is_same(a, b));
    leat_plan_unref(b);
    b = stream_plan("concat: {sources: [{csv: {paths: [a.csv, a.csv]}}, {csv: {paths: a.csv}}]}",
                    "", STAGES);
    assert_int_equal(unlink(folder_path("a.csv")), 0);
    assert_int_equal(leat_plan_identify_data(b, &leat_opener_any, NULL, &err), 0);
    assert_false(is_same(a, b));
    assert_non_null(strstr(compare(a, b), "a.csv had 7 bytes, is unreadable"));
    leat_plan_unref(a);
    leat_plan_unref(b);
}

static void test_fifo(void **state) {
    static const uint8_t none[LEAT_DIGEST_BYTES];
    struct leat_plan *plan;

    (void)state;
    assert_int_equal(mkfifo(folder_path("fifo"), 0600), 0);
    plan = identified("csv: {paths: fifo, header: false, names: [id]}", "", NULL);
    assert_null(plan->data);
    assert_memory_equal(plan->data_digest, none, sizeof(none));
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_differences),
        cmocka_unit_test(test_brief),      cmocka_unit_test(test_samples),
        cmocka_unit_test(test_full),       cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_known),      cmocka_unit_test(test_composed),
        cmocka_unit_test(test_fifo),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
