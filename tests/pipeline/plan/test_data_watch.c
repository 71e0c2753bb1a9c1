/* test_data_watch.c: pipeline/plan/data_watch.c: files that change while a run reads them, epoch
 * after epoch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/plan/data_watch.h"
#include "pipeline/run/pipeline.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_stream.h"

#define SOURCE "csv: {paths: [a.csv, b.csv]}"
#define STAGES "- cast: {input: id, dtype: int64}\n- batch: {batch_size: 4}"

static struct leat_plan *watched_plan(const char *source, const char *options) {
    struct leat_plan *plan = stream_plan(source, options, STAGES);
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_plan_identify_data(plan, &leat_opener_any, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

/* ---- what is told ---- */

static void write_files(void) {
    (void)unlink(folder_path("a.csv"));
    (void)unlink(folder_path("b.csv"));
    folder_print("a.csv", "id\n1\n2\n");
    folder_print("b.csv", "id\n3\n4\n");
}

static void append(void) {
    FILE *file = fopen(folder_path("b.csv"), "a");

    assert_non_null(file);
    assert_true(fputs("5\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void truncate_it(void) {
    assert_int_equal(truncate(folder_path("b.csv"), 5), 0);
}

static void rewrite(void) {
    folder_print("b.csv", "id\n3\n9\n");
}

static void rewrite_longer(void) {
    folder_print("b.csv", "id\n7\n8\n9\n");
}

static void replace(void) {
    folder_print("c.csv", "id\n33\n44\n");
    assert_int_equal(rename(folder_path("c.csv"), folder_path("b.csv")), 0);
}

static void remove_it(void) {
    assert_int_equal(unlink(folder_path("b.csv")), 0);
}

static void touch(void) {
    const struct timespec times[2] = {{.tv_sec = 12345}, {.tv_sec = 12345}};

    assert_int_equal(utimensat(AT_FDCWD, folder_path("b.csv"), times, 0), 0);
}

static void replace_by_same(void) {
    folder_print("c.csv", "id\n3\n4\n");
    assert_int_equal(rename(folder_path("c.csv"), folder_path("b.csv")), 0);
}

static const struct change {
    void (*make)(void);
    const char *text; /* NULL: it is none */
} changes[] = {
    {append, "b.csv: was appended to: it had 7 bytes and now has 9 bytes"},
    {truncate_it, "b.csv: was shortened: it had 7 bytes and now has 5 bytes"},
    {rewrite, "b.csv: was rewritten with the same size (7 bytes); bytes 5 to 6 differ"},
    {rewrite_longer, "b.csv: was rewritten: it had 7 bytes and now has 9 bytes"},
    {replace, "b.csv: was replaced by another file: it had 7 bytes and now has 9 bytes"},
    {remove_it, "b.csv: was removed"},
    {touch, NULL},
    {replace_by_same, NULL},
};

static void check_change(const struct change *change, bool fails) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_data_watch watch;
    struct leat_plan *plan;

    write_files();
    plan = watched_plan(SOURCE, "");
    leat_data_watch_init(&watch, plan, &leat_opener_any, fails);
    assert_int_equal(leat_data_watch_check(&watch, SIZE_MAX, &err), 0);
    assert_false(leat_data_watch_is_due(&watch));
    assert_int_equal(watch.n_changes, 0);
    change->make();
    leat_data_watch_next_pass(&watch);
    assert_true(leat_data_watch_is_due(&watch));
    assert_int_equal(leat_data_watch_check(&watch, 1, &err), 0); /* a.csv */
    assert_true(leat_data_watch_is_due(&watch));
    assert_int_equal(leat_data_watch_check(&watch, 1, &err), fails && change->text ? -ESTALE : 0);
    assert_int_equal(watch.n_changes, change->text != NULL);
    assert_int_equal(watch.n_texts, change->text != NULL);
    if (change->text)
        assert_non_null(strstr(watch.texts[0], change->text));
    if (fails && change->text)
        assert_non_null(strstr(err.message, strchr(change->text, ' ') + 1));
    leat_data_watch_next_pass(&watch); /* a change that is not an error is told once */
    if (!fails)
        assert_int_equal(leat_data_watch_check(&watch, SIZE_MAX, &err), 0);
    assert_int_equal(watch.n_changes, change->text != NULL);
    leat_data_watch_deinit(&watch);
    leat_plan_unref(plan);
}

static void test_changes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        check_change(&changes[i], false);
        check_change(&changes[i], true);
    }
}

/* ---- runs ---- */

struct writer {
    uint64_t at_batch, n_batches, n_behind; /* n_behind: batches of later epochs */
    void (*make)(void);
};

static void on_batch(const struct leat_output *output, void *user) {
    struct writer *writer = user;

    if (writer->n_batches++ == writer->at_batch)
        writer->make();
    writer->n_behind += output->epoch >= 2;
}

/* Five epochs of which the file is rewritten in the first. Reading may be ahead of the trainer by
 * an epoch or two, and not more, as the files are larger than what may be read ahead. */
static struct driven drive_changed(const char *options, int on_change, struct writer *writer) {
    struct leat_plan *plan = watched_plan("csv: {paths: big.csv}", options);
    struct drive how = {.options = {.n_epochs = 5, .on_change = on_change, .max_map_jobs = 2},
                        .on_batch = on_batch,
                        .user = writer};
    struct driven driven = drive(plan, &how);

    leat_plan_unref(plan);
    return driven;
}

static void write_big(int digit) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id\n");
    for (int i = 0; i < 20000; i++)
        leat_text_add(&text, "%d%05d\n", digit, i);
    assert_non_null(text.data);
    folder_write("big.csv", text.data, text.n_bytes);
    free(text.data);
}

static void rewrite_big(void) {
    write_big(2);
}

static void check_runs(const char *options) {
    struct writer writer = {.at_batch = 20, .make = rewrite_big};
    struct driven driven;

    write_big(1);
    driven = drive_changed(options, LEAT_ON_CHANGE_FAIL, &writer);
    assert_int_equal(driven.error.code, -ESTALE);
    assert_non_null(strstr(driven.error.file, "big.csv"));
    assert_non_null(
        strstr(driven.error.message, "was rewritten with the same size (140003 bytes)"));
    assert_in_range(driven.stats.counts.figures.n_changed_files, 1, 2);
    assert_int_equal(writer.n_behind, 0);
    for (int on_change = LEAT_ON_CHANGE_WARN; on_change <= LEAT_ON_CHANGE_FOLLOW; on_change++) {
        writer = (struct writer){.at_batch = 20, .make = rewrite_big};
        write_big(1);
        driven = drive_changed(options, on_change, &writer);
        assert_int_equal(driven.error.code, 0);
        assert_int_equal(driven.n_epochs, 5);
        assert_int_equal(driven.stats.counts.figures.n_changed_files, 1);
    }
}

static void test_runs(void **state) {
    (void)state;
    check_runs("block_bytes: 4096");
}

static void test_cached_runs(void **state) {
    (void)state;
    check_runs("block_bytes: 4096\n    cache: {path: .}");
    remove_caches();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_cached_runs),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
