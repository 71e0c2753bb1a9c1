/* test_description.c: pipeline/plan/description.c, state_folder.c: what was served is told when a
 * position does not fit; there are not too many files of it, and none that is damaged is believed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/plan/description.h"
#include "pipeline/run/pipeline.h"
#include "tests/pipeline/shared_stream.h"

#define CSV  "csv: {paths: in.csv}"
#define CAST "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"

static struct leat_plan *plan_of(const char *stages, const char *data) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan;

    folder_print("in.csv", "%s", data);
    plan = stream_plan(CSV, "", stages);
    assert_int_equal(leat_plan_identify_data(plan, &leat_opener_any, NULL, &err), 0);
    return plan;
}

static struct leat_claim claim_of(const struct leat_plan *plan) {
    struct leat_claim claim = {.has_spec = true, .has_data = true};

    memcpy(claim.spec, plan->spec_digest, sizeof(claim.spec));
    memcpy(claim.data, plan->data_digest, sizeof(claim.data));
    return claim;
}

/* Of a folder of a test's own, that goes away. */
static void open_folder(struct leat_descriptions *descriptions) {
    static char path[300];

    (void)snprintf(path, sizeof(path), "%s", folder_path("state"));
    leat_descriptions_init(descriptions, path);
}

static size_t clear(const struct leat_state_folder *folder, bool removes) {
    DIR *directory = opendir(folder->path);
    struct dirent *entry;
    size_t n = 0;

    while (directory && (entry = readdir(directory))) {
        if (entry->d_name[0] == '.')
            continue;
        n++;
        if (removes)
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
    }
    if (directory)
        (void)closedir(directory);
    if (removes) {
        assert_int_equal(rmdir(folder->path), 0);
        assert_int_equal(rmdir(folder_path("state")), 0);
    }
    return n;
}

static void expect_refused(const struct leat_descriptions *descriptions,
                           const struct leat_plan *plan, const struct leat_claim *claim,
                           const char *why) {
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_descriptions_check(descriptions, plan, claim, &err), -ESTALE);
    assert_string_equal(err.path, "streams.x");
    if (!strstr(err.message, why))
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
}

static void test_told(void **state) {
    struct leat_plan *old = plan_of(CAST "- batch: {batch_size: 2}", "id\n1\n2\n");
    struct leat_plan *new = plan_of(CAST "- batch: {batch_size: 3}", "id\n1\n2\n3\n");
    struct leat_claim claim = claim_of(old);
    struct leat_descriptions descriptions;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    open_folder(&descriptions);
    assert_int_equal(leat_descriptions_check(&descriptions, old, &claim, &err), 0);
    expect_refused(&descriptions, new, &claim, "leat has no earlier description");
    for (int i = 0; i < 2; i++)
        assert_int_equal(leat_descriptions_keep(&descriptions, old, &err), 0);
    assert_int_equal(clear(&descriptions.folder, false), 2);
    expect_refused(&descriptions, new, &claim,
                   "stages[2].batch.batch_size was 2, is 3; in.csv had 7 bytes, has 9 bytes");
    claim.has_spec = false;
    expect_refused(&descriptions, new, &claim, "in.csv had 7 bytes, has 9 bytes");
    claim.has_data = false;
    assert_int_equal(leat_descriptions_check(&descriptions, new, &claim, &err), 0);
    (void)clear(&descriptions.folder, true);
    leat_plan_unref(old);
    leat_plan_unref(new);
}

/* Any byte that is another one, or missing. */
static void test_damage(void **state) {
    char *file = leat_description_pack("spec", "=source\tcsv\n"), *copy;
    size_t n = strlen(file);

    (void)state;
    copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, file, n + 1);
    assert_string_equal(leat_description_unpack("spec", copy, n), "=source\tcsv\n");
    memcpy(copy, file, n + 1);
    assert_null(leat_description_unpack("data", copy, n));
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, file, n + 1);
        copy[i] ^= 4;
        assert_null(leat_description_unpack("spec", copy, n));
        memcpy(copy, file, n + 1);
        assert_null(leat_description_unpack("spec", copy, i));
    }
    free(file);
    free(copy);
}

/* The oldest go; what was looked at is young again. */
static void test_limits(void **state) {
    struct leat_state_folder folder;
    struct leat_error err = LEAT_ERROR_INIT;
    char name[16], path[300], data[100] = {0}, *read;
    size_t n_bytes;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s", folder_path("state"));
    leat_state_folder_init(&folder, path, "some", ".x", 5, 1000);
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "file-%d", i);
        assert_int_equal(leat_state_folder_write(&folder, name, data, sizeof(data), &err), 0);
        assert_true(i == 0 || leat_state_folder_touch(&folder, "file-0"));
        (void)usleep(2000);
    }
    assert_int_equal(clear(&folder, false), 5);
    assert_true(leat_state_folder_touch(&folder, "file-0"));
    assert_false(leat_state_folder_touch(&folder, "file-3"));
    assert_int_equal(leat_state_folder_read(&folder, "file-3", 100, &read, &n_bytes, &err),
                     -ENOENT);
    assert_int_equal(leat_state_folder_read(&folder, "file-11", 100, &read, &n_bytes, &err), 0);
    assert_int_equal(n_bytes, sizeof(data));
    free(read);
    assert_int_equal(leat_state_folder_read(&folder, "file-11", 99, &read, &n_bytes, &err), -EFBIG);
    assert_non_null(strstr(err.file, "state/some/file-11.x"));
    folder.max_bytes = 250;
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_state_folder_write(&folder, "last", data, sizeof(data), &err), 0);
    assert_int_equal(clear(&folder, true), 2);
}

/* No folder, or none that can be made: nothing is kept, and that is said. */
static void test_nowhere(void **state) {
    struct leat_plan *plan = plan_of(CAST "- batch: {batch_size: 2}", "id\n1\n");
    struct leat_descriptions descriptions;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_claim claim = claim_of(plan);

    (void)state;
    leat_descriptions_init(&descriptions, "/proc/nothing/here");
    assert_true(leat_descriptions_keep(&descriptions, plan, &err) < 0);
    assert_non_null(strstr(err.message, "/proc/nothing/here/positions"));
    claim.spec[0] ^= 1;
    expect_refused(&descriptions, plan, &claim, "the digest of the spec was");
    descriptions.folder.path[0] = '\0';
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_descriptions_keep(&descriptions, plan, &err), 0);
    expect_refused(&descriptions, plan, &claim, "the digest of the spec was");
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nowhere),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
