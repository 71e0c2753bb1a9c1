/* test_bad_records.c: pipeline/run/bad_records.c, work/quarantine.c, scan.c: bad records and what
 * becomes of them, sources that are empty, huge or cannot be read, passes that leave nothing: the
 * same whatever the timing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pipeline/shared_records.h"

/* ---- bad records ---- */

static void test_bad_records_are_counted(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 1000, 20);
    driven = drive_stream(CSV, "on_error: skip", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, 0);
    assert_int_equal(driven.n_rows, 2 * 950);
    assert_int_equal(driven.stats.counts.figures.n_bad_records, 100);
    assert_int_equal(driven.stats.counts.figures.n_source_records, 2000);
}

static void test_bad_record_is_named(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    folder_print("data.csv", "id,name,age\n1,\"a\nb\",3\n2,c,x y\n");
    driven = drive_stream(CSV, "", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -EBADMSG);
    assert_string_equal(driven.error.file, folder_path("data.csv"));
    assert_int_equal(driven.error.line, 4);
    assert_string_equal(driven.error.path, "streams.x.cast.age");
    assert_string_equal(driven.error.message, "\"x y\" is not a value of type float32");
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
        assert_int_equal(driven.error.code, -EBADMSG);
        assert_non_null(strstr(driven.error.message, "more than max_errors (49) records are bad"));
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
                                  "\"\\\"abc\\\" is not a value of type float32\", "
                                  "\"raw\": \"19,"));
    assert_non_null(strstr(first, "\"stage\": \"csv\""));
    free(first);
}

/* The lines of bad.jsonl, whole, but for the file that each begins with. */
static void check_quarantine(const char *source, const char *name, const char *data,
                             const char *expected) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct leat_text lines = {.data = NULL};
    struct driven driven;
    char *text, start[256];

    folder_print(name, "%s", data);
    driven =
        drive_stream(source, "on_error: quarantine\n    quarantine: bad.jsonl", BAD_STAGES, &how);
    assert_string_equal(driven.error.message, "");
    text = folder_read("bad.jsonl");
    assert_non_null(text);
    (void)snprintf(start, sizeof(start), "{\"file\": \"%s\", ", folder_path(name));
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        assert_memory_equal(line, start, strlen(start));
        leat_text_add(&lines, "%s\n", line + strlen(start));
    }
    assert_string_equal(lines.data, expected);
    free(lines.data);
    free(text);
}

/* Every member of a line, and each of the three ends of base64. */
static void test_quarantine_lines(void **state) {
    (void)state;
    check_quarantine(
        CSV, "data.csv",
        "id,name,age\n1,a,2\n2,\xc3\xa9,x\n3,\xff,x\n44,\xff,x\n555,\xff,x\n6,b\n7,\"c\nd\",e\n",
        "\"line\": 3, \"offset\": 18, \"stage\": \"cast\", \"field\": \"age\", "
        "\"reason\": \"\\\"x\\\" is not a value of type float32\", \"raw\": \"2,\xc3\xa9,x\"}\n"
        "\"line\": 4, \"offset\": 25, \"stage\": \"cast\", \"field\": \"age\", "
        "\"reason\": \"\\\"x\\\" is not a value of type float32\", \"raw_base64\": \"Myz/LHg=\"}\n"
        "\"line\": 5, \"offset\": 31, \"stage\": \"cast\", \"field\": \"age\", "
        "\"reason\": \"\\\"x\\\" is not a value of type float32\", \"raw_base64\": \"NDQs/yx4\"}\n"
        "\"line\": 6, \"offset\": 38, \"stage\": \"cast\", \"field\": \"age\", "
        "\"reason\": \"\\\"x\\\" is not a value of type float32\", "
        "\"raw_base64\": \"NTU1LP8seA==\"}\n"
        "\"line\": 7, \"offset\": 46, \"stage\": \"csv\", "
        "\"reason\": \"the record has 2 fields, but 3 were expected\", \"raw\": \"6,b\"}\n"
        "\"line\": 8, \"offset\": 50, \"stage\": \"cast\", \"field\": \"age\", "
        "\"reason\": \"\\\"e\\\" is not a value of type float32\", "
        "\"raw\": \"7,\\\"c\\nd\\\",e\"}\n");
    check_quarantine(
        "jsonl: {paths: [data.jsonl], fields: {id: int64, name: text, age: text}}", "data.jsonl",
        "{\"id\": 1, \"name\": \"a\", \"age\": \"2\"}\n"
        "  {\"id\": 2, \"name\": b, \"age\": \"3\"}\n"
        "{\"id\": 3, \"name\": \"c\", \"age\": \"4\"} 5\n",
        "\"line\": 2, \"column\": 21, \"offset\": 35, \"stage\": \"jsonl\", "
        "\"reason\": \"the record is not valid JSON: expected a value, found 'b'\", "
        "\"raw\": \"  {\\\"id\\\": 2, \\\"name\\\": b, \\\"age\\\": \\\"3\\\"}\"}\n"
        "\"line\": 3, \"column\": 36, \"offset\": 70, \"stage\": \"jsonl\", "
        "\"reason\": \"the record is not valid JSON: expected the end of the "
        "document, found '5'\", "
        "\"raw\": \"{\\\"id\\\": 3, \\\"name\\\": \\\"c\\\", \\\"age\\\": \\\"4\\\"} 5\"}\n");
}

static void test_quarantine_cannot_be_written(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 100, 20);
    driven = drive_stream(CSV, "on_error: quarantine\n    quarantine: no/such/folder/bad.jsonl",
                          BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -ENOENT);
    assert_int_equal(driven.n_epochs, 0);
}

/* Whoever may write into the folder could name any file that the daemon may write. */
static void test_quarantine_is_no_link(void **state) {
    struct drive how = {.options = {.n_epochs = 1}};
    struct driven driven;
    char *text;

    (void)state;
    write_data("data.csv", 0, 100, 20);
    folder_print("other", "kept");
    assert_int_equal(symlink(folder_path("other"), folder_path("link.jsonl")), 0);
    driven =
        drive_stream(CSV, "on_error: quarantine\n    quarantine: link.jsonl", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -ELOOP);
    text = folder_read("other");
    assert_string_equal(text, "kept");
    free(text);
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
        assert_int_equal(driven.stats.counts.figures.n_bad_records, 0);
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
        assert_int_equal(driven.stats.counts.figures.n_bad_records, 0);
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
    assert_non_null(strstr(driven.error.message, "no batches: leat read 0 records"));
    driven = drive_stream(CSV, "",
                          "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                          "- repeat: {count: 0}",
                          &how);
    assert_int_equal(driven.error.code, -ENODATA);
}

static bool begins(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end) {
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* What is said of them does not depend on how far ahead was read. */
static void test_nothing_left(void **state) {
    static const char *const tails[] = {
        "- filter: {input: id, min: 5000}\n- batch: {batch_size: 7}",
        "- take: {count: 90}\n- batch: {batch_size: 91, drop_last: true}"};

    (void)state;
    write_data("data.csv", 0, 1000, 100);
    for (int i = 0; i < 20; i++) {
        struct drive how = random_drive();
        char stages[512], options[128];
        struct driven driven;

        how.options.n_epochs = 3;
        (void)snprintf(options, sizeof(options), "on_error: skip\n    %s", block_option());
        (void)snprintf(stages, sizeof(stages), CASTS "- select: {fields: [id, age]}\n%s",
                       tails[i % 2]);
        driven = drive_stream(CSV, options, stages, &how);
        if (i % 2)
            assert_string_equal(
                driven.error.message,
                "epoch 0 has no batches: leat read 90 records, 0 of them were bad, and filters "
                "kept 90, but `skip`, other filters or `drop_last` then dropped all of these rows");
        else
            assert_true(begins(driven.error.message,
                               "epoch 0 has no batches: leat read 1000 records, 10 of them were "
                               "bad, and filters kept 0; the last bad record is ") &&
                        ends(driven.error.message,
                             "data.csv:1335: the record has 4 fields, but 3 were expected"));
    }
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
        assert_int_equal(driven.error.code, -EBADMSG);
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
    assert_true(driven.stats.counts.figures.n_bad_records >= 8);
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
        assert_int_equal(driven.stats.counts.figures.n_bad_records, 1);
    }
    driven = drive_stream(CSV, "max_record_bytes: 10000", BAD_STAGES, &how);
    assert_int_equal(driven.error.code, -EBADMSG);
    assert_int_equal(driven.error.line, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_records_are_counted),
        cmocka_unit_test(test_bad_record_is_named),
        cmocka_unit_test(test_max_errors),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_quarantine_lines),
        cmocka_unit_test(test_quarantine_cannot_be_written),
        cmocka_unit_test(test_quarantine_is_no_link),
        cmocka_unit_test(test_filter_shields_what_stands_behind_it),
        cmocka_unit_test(test_take_shields_what_comes_later),
        cmocka_unit_test(test_empty_source),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_repeat_of_nothing_ends),
        cmocka_unit_test(test_repeat_ends_at_the_end_of_a_pass),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_second_file_fails_in_order),
        cmocka_unit_test(test_huge_records),
        cmocka_unit_test(test_record_without_end),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
