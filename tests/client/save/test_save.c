/* test_save.c: what is saved reads back equal, in each format and dtype, by readers of the test's
 * own; names that a format cannot hold, disks that are full and paths that are none leave nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/save/save.h"
#include "client/stream/batch.h"
#include "proto/base/dtype.h"
#include "proto/base/rng.h"

#define MAX_TENSORS 12
#define MAX_FILE    (1 << 20)

/* A batch that no daemon made. */
struct made {
    struct leat_connection connection;
    struct leat_batch batch;
    struct leat_tensor tensors[MAX_TENSORS];
};

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/leat-save-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* every test leaves nothing behind */
}

static void path_of(const char *name, char ret_path[128]) {
    (void)snprintf(ret_path, 128, "%s/%s", folder, name);
}

static int n_files(void) {
    DIR *directory = opendir(folder);
    int n = -2; /* . and .. */

    assert_non_null(directory);
    while (readdir(directory))
        n++;
    (void)closedir(directory);
    return n;
}

static void make(struct made *made, uint32_t n_rows) {
    *made = (struct made){.connection = {.pid = getpid(), .opened = {.batch_size = 32}}};
    made->batch = (struct leat_batch){.connection = &made->connection, .is_held = true};
    made->batch.content.view.header =
        (struct leat_slot_header){.epoch = 2, .step = 17, .n_rows = n_rows};
    made->batch.content.view.tensors = made->tensors;
}

static void add(struct made *made, const char *name, enum leat_element dtype, const void *data,
                uint32_t ndim, uint64_t first, uint64_t second) {
    struct leat_tensor *tensor = &made->tensors[made->batch.content.view.header.n_tensors++];

    *tensor = (struct leat_tensor){.name = name,
                                   .dtype = dtype,
                                   .ndim = ndim,
                                   .shape = {first, second},
                                   .data = data,
                                   .size_bytes = leat_dtype_size((enum leat_dtype)dtype)};
    for (uint32_t d = 0; d < ndim; d++)
        tensor->size_bytes *= tensor->shape[d];
}

static size_t read_all(const char *path, uint8_t *ret_bytes) {
    FILE *file = fopen(path, "re");
    size_t n;

    assert_non_null(file);
    n = fread(ret_bytes, 1, MAX_FILE, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

/* Saves, reads and removes. */
static size_t saved(struct made *made, const char *name, int compression, uint8_t *ret_bytes) {
    struct leat_save_options options;
    char path[128];
    size_t n;

    leat_save_options_init(&options);
    options.compression = compression;
    path_of(name, path);
    if (leat_batch_save(&made->batch, path, &options) < 0)
        fail_msg("%s", leat_error_text(leat_batch_error(&made->batch)));
    assert_int_equal(leat_error_code(leat_batch_error(&made->batch)), 0);
    assert_int_equal(n_files(), 1);
    n = read_all(path, ret_bytes);
    assert_int_equal(unlink(path), 0);
    return n;
}

static const uint8_t bools[] = {1, 0};
static const uint8_t bytes[] = {0, 255};
static const uint16_t shorts[] = {7, 65535};
static const int8_t signed_bytes[] = {-128, 127};
static const int16_t signed_shorts[] = {-32768, 32767};
static const int32_t ints[] = {-1, INT32_MIN, 3, INT32_MAX};
static const int64_t longs[] = {INT64_MIN, INT64_MAX};
static const uint16_t halves[] = {0x3c00, 0x0001};  /* 1, 2^-24 */
static const uint16_t bfloats[] = {0x3dcd, 0xff80}; /* about 0.1, -inf */
static const float floats[] = {0.1F, -0.0F};
static const double doubles[] = {1e300, 1.0 / 3};

/* Two rows of every dtype. */
static void make_all(struct made *made) {
    make(made, 2);
    add(made, "b", LEAT_BOOL, bools, 1, 2, 0);
    add(made, "u8", LEAT_UINT8, bytes, 1, 2, 0);
    add(made, "u16", LEAT_UINT16, shorts, 1, 2, 0);
    add(made, "i32", LEAT_INT32, ints, 2, 2, 2);
    add(made, "i64", LEAT_INT64, longs, 1, 2, 0);
    add(made, "f16", LEAT_FLOAT16, halves, 1, 2, 0);
    add(made, "bf16", LEAT_BFLOAT16, bfloats, 1, 2, 0);
    add(made, "f32", LEAT_FLOAT32, floats, 1, 2, 0);
    add(made, "f64", LEAT_FLOAT64, doubles, 1, 2, 0);
    add(made, "i8", LEAT_INT8, signed_bytes, 1, 2, 0);
    add(made, "i16", LEAT_INT16, signed_shorts, 1, 2, 0);
}

/* ---- JSONL ---- */

static void assert_lines(struct made *made, const char *expected) {
    uint8_t *text = malloc(MAX_FILE);
    size_t n = saved(made, "x.jsonl", 0, text);

    text[n] = '\0';
    assert_string_equal((const char *)text, expected);
    free(text);
}

static void test_lines(void **state) {
    struct made made;

    (void)state;
    make_all(&made);
    assert_lines(&made,
                 "{\"_epoch\": 2, \"_step\": 17, \"_row\": 0, \"b\": true, \"u8\": 0, \"u16\": "
                 "7, \"i32\": [-1, -2147483648], \"i64\": -9223372036854775808, \"f16\": "
                 "1.0, \"bf16\": 0.100097656, \"f32\": 0.1, \"f64\": 1e+300, \"i8\": -128, "
                 "\"i16\": -32768}\n"
                 "{\"_epoch\": 2, \"_step\": 17, \"_row\": 1, \"b\": false, \"u8\": 255, "
                 "\"u16\": 65535, \"i32\": [3, 2147483647], \"i64\": 9223372036854775807, "
                 "\"f16\": 5.9604645e-08, \"bf16\": null, \"f32\": -0.0, \"f64\": "
                 "0.3333333333333333, \"i8\": 127, \"i16\": 32767}\n");
}

/* Tensors without rows, streams without batches, names of the place. */
static void test_line_shapes(void **state) {
    struct made made;

    (void)state;
    make(&made, 2);
    add(&made, "cu", LEAT_INT32, ints, 1, 4, 0);
    add(&made, "e", LEAT_INT32, ints, 2, 2, 0);
    add(&made, "_row", LEAT_UINT8, bytes, 1, 2, 0);
    assert_lines(&made, "{\"_epoch\": 2, \"_step\": 17, \"cu\": [-1, -2147483648, 3, 2147483647], "
                        "\"e\": [], \"_row\": 0}\n"
                        "{\"_epoch\": 2, \"_step\": 17, \"e\": [], \"_row\": 255}\n");
    make(&made, 1); /* a record of a stream without `batch` */
    made.connection.opened.batch_size = 1;
    add(&made, "ids", LEAT_INT32, ints, 1, 1, 0);
    add(&made, "label", LEAT_INT64, longs, 0, 0, 0);
    assert_lines(&made, "{\"_epoch\": 2, \"_step\": 17, \"ids\": [-1], \"label\": "
                        "-9223372036854775808}\n");
    make(&made, 1); /* a batch of one row */
    made.connection.opened.batch_size = 1;
    add(&made, "ids", LEAT_INT32, ints, 2, 1, 2);
    add(&made, "label", LEAT_BOOL, bools, 1, 1, 0);
    assert_lines(&made, "{\"_epoch\": 2, \"_step\": 17, \"_row\": 0, \"ids\": [-1, -2147483648], "
                        "\"label\": true}\n");
    make(&made, 1);
    assert_lines(&made, "{\"_epoch\": 2, \"_step\": 17, \"_row\": 0}\n");
    make(&made, 0);
    assert_lines(&made, "");
}

/* What has no bytes, and so no bound. */
static void test_line_sizes(void **state) {
    struct made made;
    char path[128];

    (void)state;
    path_of("x.jsonl", path);
    make(&made, 2);
    add(&made, "e", LEAT_INT32, ints, 3, 2, UINT64_C(1) << 40);
    made.tensors[0].size_bytes = 0;
    assert_int_equal(leat_batch_save(&made.batch, path, NULL), -EINVAL);
    make(&made, UINT32_MAX);
    add(&made, "s", LEAT_INT32, ints, 0, 0, 0);
    assert_int_equal(leat_batch_save(&made.batch, path, NULL), -EINVAL);
    assert_int_equal(n_files(), 0);
}

/* Any float32 and float64 reads back as it was. */
static void test_line_floats(void **state) {
    enum { N = 2000 };
    static float singles[N];
    static double numbers[N];
    struct leat_rng rng = {.state = 5};
    uint8_t *text = malloc(MAX_FILE);
    struct made made;
    char *at;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        uint64_t bits = leat_rng_next(&rng);
        uint32_t few = (uint32_t)(bits >> 32);

        memcpy(&numbers[i], &bits, sizeof(bits));
        memcpy(&singles[i], &few, sizeof(few));
    }
    make(&made, N);
    add(&made, "x", LEAT_FLOAT32, singles, 1, N, 0);
    add(&made, "y", LEAT_FLOAT64, numbers, 1, N, 0);
    text[saved(&made, "f.jsonl", 0, text)] = '\0';
    at = (char *)text;
    for (size_t i = 0; i < N; i++) {
        char *x = strstr(at, "\"x\": ") + 5, *y = strstr(x, "\"y\": ") + 5;

        assert_true(isfinite(singles[i]) ? strtof(x, NULL) == singles[i]
                                         : strncmp(x, "null", 4) == 0);
        assert_true(isfinite(numbers[i]) ? strtod(y, NULL) == numbers[i]
                                         : strncmp(y, "null", 4) == 0);
        at = y;
    }
    free(text);
}

/* ---- safetensors ---- */

static void test_safetensors(void **state) {
    uint8_t *file = malloc(MAX_FILE);
    struct made made;
    uint64_t n_header, end = 0;
    char *header, *at;
    size_t n;

    (void)state;
    make_all(&made);
    add(&made, "a \"quoted\" \x01\n name", LEAT_UINT8, bytes, 0, 0, 0);
    n = saved(&made, "x.safetensors", 0, file);
    memcpy(&n_header, file, sizeof(n_header));
    assert_true(n_header % 8 == 0 && n_header + 8 < n);
    header = strndup((const char *)file + 8, n_header);
    assert_non_null(strstr(header, "{\"__metadata__\":{\"epoch\":\"2\",\"step\":\"17\",\"rows\":"
                                   "\"2\"},"));
    assert_non_null(strstr(header, "\"a \\\"quoted\\\" \\u0001\\n name\":{\"dtype\":\"U8\","
                                   "\"shape\":[],"));
    assert_non_null(strstr(header, "\"i32\":{\"dtype\":\"I32\",\"shape\":[2,2],"));
    assert_non_null(strstr(header, "\"bf16\":{\"dtype\":\"BF16\",\"shape\":[2],"));
    for (size_t i = 0; i < made.batch.content.view.header.n_tensors; i++) {
        const struct leat_tensor *tensor = &made.tensors[i];
        uint64_t from, to;
        char name[24];

        if (i + 1 == made.batch.content.view.header.n_tensors)
            continue;
        (void)snprintf(name, sizeof(name), "\"%s\":", tensor->name);
        at = strstr(strstr(header, name), "\"data_offsets\":[") + 16;
        from = strtoull(at, &at, 10);
        to = strtoull(at + 1, NULL, 10);
        assert_int_equal(to - from, tensor->size_bytes);
        assert_int_equal(from % leat_dtype_size((enum leat_dtype)tensor->dtype), 0);
        assert_memory_equal(file + 8 + n_header + from, tensor->data, tensor->size_bytes);
        end = to > end ? to : end;
    }
    assert_int_equal(8 + n_header + end + 1, n); /* the one byte is the last */
    free(header);
    free(file);
}

/* ---- hostile names ---- */

static int save_named(const char *file, const char *first, const char *second) {
    struct made made;
    char path[128];
    int r;

    make(&made, 2);
    add(&made, first, LEAT_BOOL, bools, 1, 2, 0);
    add(&made, second, LEAT_BOOL, bools, 1, 2, 0);
    path_of(file, path);
    r = leat_batch_save(&made.batch, path, NULL);
    assert_int_equal(n_files(), r == 0 ? 1 : 0);
    assert_int_equal(leat_error_code(leat_batch_error(&made.batch)), r);
    if (r == 0)
        assert_int_equal(unlink(path), 0);
    return r;
}

static void test_names(void **state) {
    static const char *const broken[] = {
        "\xff", "\xc0\xaf", "a\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xf8xxxx"};
    static const char *const outside[] = {"/a", "../a", "a/../b", "..", "a/..", "a\\b", "b.npy"};
    static const char *const files[] = {"x.jsonl", "x.safetensors", "x.npz"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof(broken) / sizeof(broken[0]); k++)
            assert_int_equal(save_named(files[i], "a", broken[k]), -EILSEQ);
        assert_int_equal(save_named(files[i], "a", "a"), -EINVAL);
        assert_int_equal(save_named(files[i], "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "a/b"), 0);
        for (size_t k = 0; k < sizeof(outside) / sizeof(outside[0]); k++)
            assert_int_equal(save_named(files[i], "a", outside[k]), i == 2 ? -EINVAL : 0);
        assert_int_equal(save_named(files[i], "__metadata__", "a"), i == 1 ? -EINVAL : 0);
    }
}

/* ---- what goes wrong ---- */

static int save_as(const char *path, const struct leat_save_options *options, const char *text) {
    struct made made;
    int r;

    make_all(&made);
    r = leat_batch_save(&made.batch, path, options);
    if (r < 0 && !strstr(leat_error_message(leat_batch_error(&made.batch)), text))
        fail_msg("\"%s\" is not in \"%s\"", text,
                 leat_error_message(leat_batch_error(&made.batch)));
    return r;
}

static void test_paths(void **state) {
    char path[128], deep[160];

    (void)state;
    path_of("none/x.npz", path);
    assert_int_equal(save_as(path, NULL, "its folder does not exist"), -ENOENT);
    path_of("d.npz", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(save_as(path, NULL, "a folder"), -EISDIR);
    assert_int_equal(rmdir(path), 0);
    path_of("p.npz", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(save_as(path, NULL, "not a regular file"), -EINVAL);
    (void)snprintf(deep, sizeof(deep), "%s/x.npz", path);
    assert_int_equal(save_as(deep, NULL, "its folder does not exist"), -ENOTDIR);
    assert_int_equal(unlink(path), 0);
    path_of("x.bin", path);
    assert_int_equal(save_as(path, NULL, "x.bin"), -EINVAL);
    assert_int_equal(save_as("", NULL, ""), -EINVAL);
    assert_int_equal(save_as(".npz", NULL, ""), -EINVAL);
    assert_int_equal(n_files(), 0);
}

static void test_options(void **state) {
    struct {
        struct leat_save_options options;
        uint64_t later;
    } given;
    char path[128];

    (void)state;
    path_of("x.bin", path);
    memset(&given, 0, sizeof(given));
    assert_int_equal(save_as(path, &given.options, "struct_size"), -EINVAL);
    given.options.struct_size = sizeof(given);
    given.later = 1;
    assert_int_equal(save_as(path, &given.options, "too old"), -E2BIG);
    leat_save_options_init(&given.options);
    given.options.compression = 10;
    assert_int_equal(save_as(path, &given.options, "outside 0..9"), -EINVAL);
    given.options.compression = 0;
    given.options.format = 4;
    assert_int_equal(save_as(path, &given.options, "4 is not a format"), -EINVAL);
    given.options.format = -1;
    assert_int_equal(save_as(path, &given.options, "-1 is not a format"), -EINVAL);
    assert_int_equal(n_files(), 0);
    given.options.format = LEAT_SAVE_JSONL;
    assert_int_equal(save_as(path, &given.options, ""), 0);
    given.options.struct_size = sizeof(size_t) + sizeof(int32_t); /* of an older caller */
    assert_int_equal(save_as(path, &given.options, ""), 0);
    assert_int_equal(unlink(path), 0);
}

/* A limit on the size of files is a full disk that any user can have. */
static void test_full(void **state) {
    static const char *const files[] = {"x.jsonl", "x.safetensors", "x.npz"};
    enum { N = 100000 };
    static int32_t many[N];
    struct rlimit before, limit;
    struct made made;
    uint8_t *kept = malloc(MAX_FILE);
    char path[128];

    (void)state;
    make(&made, N);
    add(&made, "x", LEAT_INT32, many, 1, N, 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t i = 0; i < 3; i++) {
        FILE *file;

        path_of(files[i], path);
        file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs("before", file) >= 0 && fclose(file) == 0);
        limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(leat_batch_save(&made.batch, path, NULL), -EFBIG);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_non_null(strstr(leat_error_message(leat_batch_error(&made.batch)), path));
        assert_int_equal(n_files(), 1);
        assert_int_equal(read_all(path, kept), 6);
        assert_int_equal(unlink(path), 0);
    }
    (void)signal(SIGXFSZ, SIG_DFL);
    free(kept);
}

static void test_batch(void **state) {
    struct made made;
    char path[128];
    int status = 0;
    pid_t child;

    (void)state;
    path_of("x.npz", path);
    make_all(&made);
    made.batch.is_held = false;
    assert_int_equal(leat_batch_save(&made.batch, path, NULL), -EINVAL);
    made.batch.is_held = true;
    child = fork();
    if (child == 0)
        _exit(leat_batch_save(&made.batch, path, NULL) == -EPERM ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(n_files(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_line_shapes),
        cmocka_unit_test(test_line_floats), cmocka_unit_test(test_line_sizes),
        cmocka_unit_test(test_safetensors), cmocka_unit_test(test_names),
        cmocka_unit_test(test_paths),       cmocka_unit_test(test_options),
        cmocka_unit_test(test_full),        cmocka_unit_test(test_batch),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
