/* test_cache_key.c: pipeline/cache/key.c, plan/spec_text.c: what changes the key of a cache and
 * what does not, and the option `cache`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/cache/key.h"
#include "tests/pipeline/shared_stream.h"

#define SOURCE "csv: {paths: [key.csv]}"
#define CACHE  "cache: {path: caches}"
#define CASTS  "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"

static struct leat_cache_identity identity_of(struct leat_plan *plan, struct leat_data **data) {
    struct leat_cache_identity identity;
    struct leat_error err = LEAT_ERROR_INIT;

    if (leat_cache_key(plan, &leat_opener_any, data, &identity, &err) < 0)
        fail_msg("%s", err.message);
    return identity;
}

static struct leat_cache_identity key(const char *source, const char *options, const char *stages) {
    struct leat_plan *plan = stream_plan(source, options, stages);
    struct leat_data *data = NULL;
    struct leat_cache_identity identity = identity_of(plan, &data);

    leat_data_unref(data);
    leat_plan_unref(plan);
    return identity;
}

static bool is_same(const struct leat_cache_identity *a, const struct leat_cache_identity *b) {
    bool is = memcmp(a->key, b->key, sizeof(a->key)) == 0;

    assert_int_equal(is, memcmp(a, b, sizeof(*a)) == 0);
    return is;
}

static void write_csv(size_t n_rows) {
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "id,name,age\n");
    for (size_t i = 0; i < n_rows; i++)
        leat_text_add(&text, "%zu,n%zu,%zu\n", i, i % 7, i % 90);
    folder_write("key.csv", text.data, text.n_bytes);
    free(text.data);
}

static void check_stages(const char *stages, bool is_expected) {
    struct leat_cache_identity a = key(SOURCE, CACHE, CASTS "- batch: {batch_size: 2}");
    struct leat_cache_identity b = key(SOURCE, CACHE, stages);

    if (is_same(&a, &b) != is_expected)
        fail_msg("%s another key by\n%s", is_expected ? "there is" : "there is no", stages);
}

static void test_spec(void **state) {
    (void)state;
    write_csv(100);
    check_stages(CASTS "- batch: {batch_size: 9, drop_last: true}", true);
    check_stages(CASTS "- shuffle: {buffer_size: 9}\n- take: {count: 5}\n- batch: {batch_size: 9}\n"
                       "- prefetch: {prefetch_size: 2}",
                 true);
    check_stages("- cast: {input: id, dtype: int32}\n- select: {fields: [id]}\n"
                 "- batch: {batch_size: 2}",
                 false);
    check_stages("- cast: {input: id, dtype: int64, default: 4}\n- select: {fields: [id]}\n"
                 "- batch: {batch_size: 2}",
                 false);
    check_stages("- rename: {fields: {id: x}}\n- rename: {fields: {age: id}}\n" CASTS
                 "- batch: {batch_size: 2}",
                 false);
    check_stages("- cast: {input: id, dtype: int64}\n- cast: {input: age, dtype: int64}\n"
                 "- select: {fields: [id, age]}\n- batch: {batch_size: 2}",
                 false);
    check_stages(CASTS "- filter: {input: id, min: 5}\n- batch: {batch_size: 2}", false);
    check_stages(CASTS "- shuffle: {buffer_size: 3}\n- filter: {input: id, min: 5}\n"
                       "- batch: {batch_size: 2}",
                 false);
}

static void test_options(void **state) {
    static const struct {
        const char *source, *options;
        bool is_same;
    } cases[] = {
        {SOURCE, CACHE "\n    seed: 5\n    block_bytes: 5000", true},
        {SOURCE, CACHE "\n    on_error: skip\n    max_errors: 3", true},
        {SOURCE, "cache: {path: elsewhere, max_size: 3GB, compression: lz4}", true},
        {SOURCE, "cache: {path: caches, verify: full}", false},
        {SOURCE, CACHE "\n    max_record_bytes: 1000", false},
        {"csv: {paths: [./key.csv]}", CACHE, true},
        {"csv: {paths: ['key.*']}", CACHE, true},
        {"csv: {paths: [key.csv, key.csv]}", CACHE, false},
    };
    struct leat_cache_identity a;

    (void)state;
    write_csv(100);
    a = key(SOURCE, CACHE, CASTS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_cache_identity b = key(cases[i].source, cases[i].options, CASTS);

        if (is_same(&a, &b) != cases[i].is_same)
            fail_msg("%s: %s", cases[i].source, cases[i].options);
    }
}

static void change_byte(off_t at) {
    int fd = open(folder_path("key.csv"), O_RDWR | O_CLOEXEC);
    struct timespec times[2];
    struct stat info;
    char byte;

    assert_int_equal(fstat(fd, &info), 0);
    at = at < 0 ? info.st_size + at : at;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)(byte ^ 1);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    times[0] = info.st_atim;
    times[1] = info.st_mtim;
    assert_int_equal(futimens(fd, times), 0); /* as if nothing had happened */
    (void)close(fd);
}

static void test_data(void **state) {
    struct leat_cache_identity a, b;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};

    (void)state;
    write_csv(100000);
    a = key(SOURCE, CACHE, CASTS);
    b = key(SOURCE, CACHE, CASTS);
    assert_true(is_same(&a, &b));
    for (int i = 0; i < 4; i++) {
        static const off_t places[] = {14, 65000, -2, -65000};

        change_byte(places[i]);
        b = key(SOURCE, CACHE, CASTS);
        assert_false(is_same(&a, &b));
        change_byte(places[i]);
        b = key(SOURCE, CACHE, CASTS);
        assert_true(is_same(&a, &b));
    }
    assert_int_equal(utimensat(AT_FDCWD, folder_path("key.csv"), times, 0), 0);
    b = key(SOURCE, CACHE, CASTS);
    assert_false(is_same(&a, &b));
    assert_memory_equal(a.data, b.data, sizeof(a.data)); /* the bytes are the same */
    assert_int_equal(truncate(folder_path("key.csv"), 500000), 0);
    b = key(SOURCE, CACHE, CASTS);
    assert_memory_not_equal(a.data, b.data, sizeof(a.data));
}

/* Every byte of a file counts with `verify: full`; a file that nobody touched is read once. */
static void test_full(void **state) {
    struct leat_plan *plan;
    struct leat_data *data = NULL;
    struct leat_cache_identity a, b;

    (void)state;
    write_csv(50000);
    plan = stream_plan(SOURCE, "cache: {path: caches, verify: full}", CASTS);
    a = identity_of(plan, &data);
    b = identity_of(plan, &data);
    assert_true(is_same(&a, &b));
    for (off_t at = 100; at < 400000; at += 31111) {
        change_byte(at);
        b = identity_of(plan, &data);
        assert_false(is_same(&a, &b));
        change_byte(at);
        b = identity_of(plan, &data);
        assert_true(is_same(&a, &b));
    }
    leat_data_unref(data);
    leat_plan_unref(plan);
}

static void test_vocabulary(void **state) {
    const char *stages = "- tokenize: {input: name, output: ids, vocab: v.txt}\n"
                         "- select: {fields: [ids]}";
    const char *other = "- tokenize: {input: name, output: ids, vocab: w.txt}\n"
                        "- select: {fields: [ids]}";
    struct leat_cache_identity a, b;

    (void)state;
    write_csv(10);
    folder_print("v.txt", "n\n0\n1\n2\n3\n4\n5\n6\n");
    folder_print("w.txt", "n\n0\n1\n2\n3\n4\n5\n6\n");
    a = key(SOURCE, CACHE, stages);
    b = key(SOURCE, CACHE, other);
    assert_true(is_same(&a, &b)); /* the same contents elsewhere */
    folder_print("v.txt", "0\nn\n1\n2\n3\n4\n5\n6\n");
    b = key(SOURCE, CACHE, stages);
    assert_false(is_same(&a, &b));
}

/* Where names of files are data, they count; also of a source that is one of several. */
static void test_names_of_files(void **state) {
    static const char *const sources[] = {
        "text: {paths: ['*.text'], file_field: f}",
        "concat: {sources: [{text: {paths: ['*.text'], file_field: f}}]}",
    };
    const char *stages = "- tokenize: {input: f, output: ids, vocab: v.txt, unknown: skip}\n"
                         "- select: {fields: [ids]}";
    char old[256];

    (void)state;
    folder_print("v.txt", "a\nb\n");
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct leat_cache_identity a, b;

        folder_print("a.text", "one\ntwo\n");
        a = key(sources[i], CACHE, stages);
        (void)snprintf(old, sizeof(old), "%s", folder_path("a.text"));
        assert_int_equal(rename(old, folder_path("b.text")), 0);
        b = key(sources[i], CACHE, stages);
        assert_false(is_same(&a, &b));
        assert_int_equal(unlink(folder_path("b.text")), 0);
    }
}

static void check_error(const char *options, const char *stages, const char *expected) {
    const char *printed = stream_error(SOURCE, options, stages);

    if (strcmp(printed, expected) != 0)
        fail_msg("%s\ngives\n%s\nexpected\n%s", options, printed, expected);
}

static void test_refused(void **state) {
    (void)state;
    write_csv(10);
    folder_print("v.txt", "n\n0\n1\n2\n3\n4\n5\n6\n");
    check_error("cache: {max_size: 1GB}", CASTS,
                "x.yaml:4:12: streams.x.cache: the cache needs a folder: give `path` for a cache, "
                "or `prepared` for a prepared set");
    check_error("cache: {path: c, prepared: d}", CASTS,
                "x.yaml:4:12: streams.x.cache: the cache needs a folder: give `path` for a cache, "
                "or `prepared` for a prepared set");
    check_error("cache: here", CASTS, "x.yaml:4:12: streams.x.cache: expected a map, got \"here\"");
    check_error("cache: {path: c, max_size: big}", CASTS,
                "x.yaml:4:32: streams.x.cache.max_size: expected a number of bytes, such as 4096, "
                "500MB or 4GiB, got \"big\"");
    check_error("cache: {path: c, max_age: -3d}", CASTS,
                "x.yaml:4:31: streams.x.cache.max_age: expected a time, such as 90s, 45m, 12h or "
                "30d, got \"-3d\"");
    check_error("cache: {path: c, comprssion: lz4}", CASTS,
                "x.yaml:4:22: streams.x.cache: unknown key \"comprssion\"; did you mean "
                "\"compression\"?");
    check_error(CACHE,
                "- tokenize: {input: name, output: ids, vocab: v.txt, mode: random}\n"
                "- select: {fields: [ids]}",
                "x.yaml:6:9: streams.x.stages[0].tokenize: makes different values in each epoch, "
                "but a cache would repeat the values of the first epoch: remove `cache`, or turn "
                "off the randomness of this stage");
}

static void test_describe(void **state) {
    struct leat_plan *plan;
    char *text;

    (void)state;
    write_csv(10);
    plan = stream_plan(SOURCE, CACHE, CASTS);
    text = leat_cache_describe(plan);
    assert_non_null(strstr(text, "{\"stream\": \"x\", \"source\": \"csv\", \"n_files\": 1, "));
    assert_non_null(strstr(text, "/key.csv\"]}"));
    free(text);
    leat_plan_unref(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_data),     cmocka_unit_test(test_full),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_describe), cmocka_unit_test(test_names_of_files),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
