/* test_sealed.c: pipeline/cache/sealed.c, work/map_run.c: a prepared set gives the rows that were
 * sealed, or an error that names the shard; never rows of a source that has changed. */
#include "pipeline/cache/sealed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_records.h"

#define FILES    "csv: {paths: [a.csv]}"
#define STAGES   CASTS "- select: {fields: [id]}\n- batch: {batch_size: 16}"
#define OPTIONS  "block_bytes: 4096"
#define SET      "cache: {prepared: set}\n    block_bytes: 4096"
#define N_SHARDS 3
#define N_LINES  40000

static char set_folder[256];

static void write_source(void) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name,age\n");
    for (int i = 0; i < N_LINES; i++)
        leat_text_add(&text, "1%06d,a name,3\n", i);
    folder_write("a.csv", text.data, text.n_bytes);
    free(text.data);
}

static void remove_set(void) {
    struct dirent *entry;
    DIR *directory = opendir(set_folder);

    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        (void)closedir(directory);
    (void)rmdir(set_folder);
}

static void seal_shards(const char *options) {
    struct leat_plan *plan = stream_plan(FILES, options, STAGES);
    struct leat_sealed_counts counts;
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_plan_identify_data(plan, &leat_opener_any, NULL, &err), 0);
    if (leat_sealed_write(plan, &leat_opener_any, set_folder, &counts, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(counts.n_shards, N_SHARDS);
    assert_int_equal(counts.n_records, N_LINES);
    leat_plan_unref(plan);
}

static void seal(void) {
    (void)snprintf(set_folder, sizeof(set_folder), "%s", folder_path("set"));
    for (uint32_t i = 0; i < N_SHARDS; i++) {
        struct drive how = {
            .options = {
                .only_builds = true, .cache_folder = set_folder, .shard = i, .n_shards = N_SHARDS}};

        assert_string_equal(drive_stream(FILES, OPTIONS, STAGES, &how).error.message, "");
    }
    seal_shards(OPTIONS);
}

/* Changes a byte of each block: the heads of frames and the ends of the files stay. */
static void damage_blocks(void) {
    struct dirent *entry;
    DIR *directory = opendir(set_folder);

    while ((entry = readdir(directory))) {
        struct leat_cache_file *file = NULL;
        struct leat_error err = LEAT_ERROR_INIT;
        int fd;

        if (!strstr(entry->d_name, ".leat"))
            continue;
        fd = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC);
        assert_int_equal(leat_cache_file_open(dup(fd), &file, &err), 0);
        for (size_t i = 0; i < file->n_frames; i++) {
            off_t at = (off_t)(file->frames[i].position + LEAT_CACHE_FRAME_HEAD_BYTES + 9);
            uint8_t byte;

            assert_int_equal(pread(fd, &byte, 1, at), 1);
            byte ^= 1;
            assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        leat_cache_file_unref(file);
        (void)close(fd);
    }
    (void)closedir(directory);
}

static struct driven drive_set(struct collected *ids, uint64_t random) {
    struct drive how = {.options = {.n_epochs = 1},
                        .n_jobs = 4,
                        .random = random,
                        .on_batch = collect,
                        .user = ids};

    *ids = (struct collected){.name = "id"};
    return drive_stream(FILES, SET, STAGES, &how);
}

/* A damaged block is made again from the source, if that still gives the rows which were sealed. */
static void test_damaged(void **state) {
    struct drive all = {.options = {.n_epochs = 1}};
    size_t n_other = 0, n_file = 0;
    struct collected ids, whole;
    struct driven plain, driven;

    (void)state;
    write_source();
    seal();
    plain = drive_stream(FILES, OPTIONS, STAGES, &all);
    driven = drive_set(&whole, 0);
    assert_string_equal(driven.error.message, "");
    assert_string_equal(driven.digest, plain.digest);
    damage_blocks();
    driven = drive_set(&ids, 3);
    assert_string_equal(driven.error.message, "");
    assert_string_equal(driven.digest, plain.digest);
    assert_true(driven.n_damaged > 50);
    collected_free(&ids);
    for (off_t at = 100; at < 600000; at += 24971) {
        int fd = open(folder_path("a.csv"), O_RDWR | O_CLOEXEC);
        uint8_t byte = 0;

        while (byte < '0' || byte > '9') /* an id of as many digits */
            assert_int_equal(pread(fd, &byte, 1, ++at), 1);
        byte = byte == '9' ? '8' : (uint8_t)(byte + 1);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        (void)close(fd);
        driven = drive_set(&ids, 5);
        assert_int_equal(driven.error.code, -ESTALE);
        n_other += strstr(driven.error.message, ": the source now gives other rows: ") != NULL;
        n_file += strstr(driven.error.message, "is not the file from which the set was") != NULL;
        assert_non_null(strstr(driven.error.message, "-of-3.leat: "));
        assert_non_null(strstr(driven.error.message, "remove the damaged file, and make it again"));
        assert_true(ids.n_values < whole.n_values);
        assert_memory_equal(ids.values, whole.values, ids.n_values * sizeof(*ids.values));
        collected_free(&ids);
        write_source();
    }
    assert_true(n_other > 0 && n_file > 0);
    collected_free(&whole);
    remove_set();
}

/* A set of other sources, files or another check of the data is refused before it is read. */
static void test_refused(void **state) {
    static const struct {
        const char *source, *options, *expected;
    } cases[] = {
        {"concat: {sources: [{" FILES "}, {" FILES "}]}", SET,
         "/set: the set has 1 sources, but the stream has 2: prepare a new set"},
        {"csv: {paths: [a.csv, b.csv]}", SET,
         "/set: the set was made from other data than a.csv: prepare a new set from this data with "
         "`leatctl prepare "},
        {"csv: {paths: [b.csv]}", SET, "/b.csv: prepare a new set from this data with "},
        {FILES, "verify: full\n    " SET,
         "/set: the set was sealed with another value of `verify`: seal it again with `leatctl "
         "prepare "},
    };

    struct drive all = {.options = {.n_epochs = 1}};

    (void)state;
    write_source();
    folder_print("b.csv", "id,name,age\n1,a,2\n");
    seal();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *error = stream_error(cases[i].source, cases[i].options, STAGES);

        if (!strstr(error, cases[i].expected))
            fail_msg("%s\nhas not: %s", error, cases[i].expected);
    }
    seal_shards("verify: full\n    " OPTIONS); /* as the error says */
    assert_string_equal(drive_stream(FILES, "verify: full\n    " SET, STAGES, &all).digest,
                        drive_stream(FILES, OPTIONS, STAGES, &all).digest);
    assert_non_null(
        strstr(stream_error(FILES, SET, STAGES), "sealed with another value of `verify`"));
    remove_set();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
