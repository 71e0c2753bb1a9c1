/* test_cache_file.c: pipeline/cache/file.c: a file that was cut or damaged anywhere opens
 * with the frames before, goes on from there, and ends as one that was never touched. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/cache/file.h"
#include "tests/proto/shared_random.h"

#define N_FRAMES 12

static uint64_t seed = 1;

static struct leat_cache_identity identity_of(uint8_t first) {
    struct leat_cache_identity identity = {.key = {first, 2, 3}, .n_shards = 1};

    return identity;
}

/* What the i-th frame holds: a pure function, as that of a source. */
static void content(size_t i, struct leat_cache_bytes *bytes) {
    uint64_t random = i + 1;
    size_t n = 1 + random_below(&random, 60);

    bytes->n_bytes = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t number = i % 3 == 0 ? 7 : random_next(&random);

        leat_cache_bytes_add(bytes, &number, 8);
    }
}

static void add_frames(struct leat_cache_file *file, size_t n_frames) {
    struct leat_cache_bytes block = {.data = NULL}, stored = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *bytes;

    while (file->n_frames < n_frames) {
        size_t i = file->n_frames;
        struct leat_cache_frame frame = {.span = {.file = (uint32_t)(i / 5),
                                                  .offset = i % 5 * 1000,
                                                  .line = 1 + i % 5 * 10,
                                                  .n_bytes = 1000,
                                                  .n_lines = 10,
                                                  .n_records = (uint32_t)(3 + i)},
                                         .n_rows = (uint32_t)(2 + i)};

        content(i, &block);
        assert_int_equal(
            leat_cache_frame_store(&frame, LEAT_CACHE_AUTO, &block, &stored, &bytes, &err), 0);
        leat_cache_file_place(file, &frame);
        assert_int_equal(leat_cache_file_write(file->fd, file->seed, &frame, bytes, &err), 0);
        assert_int_equal(leat_cache_file_add(file, &frame), 0);
    }
    leat_cache_bytes_deinit(&block);
    leat_cache_bytes_deinit(&stored);
}

static int memory_file(const void *bytes, size_t n_bytes) {
    int fd = memfd_create("cache", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n_bytes, 0), (ssize_t)n_bytes);
    return fd;
}

static uint8_t *all_bytes(int fd, size_t *ret_n_bytes) {
    struct stat info;
    uint8_t *bytes;

    assert_int_equal(fstat(fd, &info), 0);
    bytes = malloc((size_t)info.st_size + 1);
    *ret_n_bytes = (size_t)info.st_size;
    assert_int_equal(pread(fd, bytes, *ret_n_bytes, 0), info.st_size);
    return bytes;
}

static struct leat_cache_file *new_file(size_t n_frames) {
    struct leat_cache_identity identity = identity_of(1);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_file *file = NULL;

    assert_int_equal(
        leat_cache_file_new(memory_file("", 0), &identity, "{\"stream\": \"x\"}", &file, &err), 0);
    add_frames(file, n_frames);
    return file;
}

/* A complete file, and where each frame of it begins. */
static uint8_t *complete(size_t *ret_n_bytes, uint64_t *positions) {
    struct leat_cache_file *file = new_file(N_FRAMES);
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *bytes;

    assert_int_equal(leat_cache_file_finish(file, &err), 0);
    for (size_t i = 0; i < N_FRAMES; i++)
        positions[i] = file->frames[i].position;
    positions[N_FRAMES] = file->end;
    bytes = all_bytes(file->fd, ret_n_bytes);
    leat_cache_file_unref(file);
    return bytes;
}

static bool is_readable(const struct leat_cache_file *file, size_t i) {
    const struct leat_cache_frame *frame = &file->frames[i];
    uint8_t *stored = malloc(frame->n_stored), *block = malloc(frame->n_bytes);
    struct leat_cache_bytes expected = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_cache_file_read(file->fd, frame, stored, &err);

    content(i, &expected);
    if (r == 0 && frame->is_lz4)
        assert_true(leat_cache_frame_expand(frame, stored, block));
    if (r == 0)
        assert_memory_equal(frame->is_lz4 ? block : stored, expected.data, expected.n_bytes);
    else
        assert_int_equal(r, -EBADMSG);
    free(stored);
    free(block);
    leat_cache_bytes_deinit(&expected);
    return r == 0;
}

static void test_complete(void **state) {
    uint64_t positions[N_FRAMES + 1], record = 0;
    size_t n_bytes;
    uint8_t *bytes = complete(&n_bytes, positions);
    struct leat_cache_identity identity = identity_of(1);
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_file *file = NULL;

    (void)state;
    assert_int_equal(leat_cache_file_open(memory_file(bytes, n_bytes), &file, &err), 0);
    assert_true(file->is_complete);
    assert_int_equal(file->n_frames, N_FRAMES);
    assert_memory_equal(&file->identity, &identity, sizeof(identity));
    assert_string_equal(file->description, "{\"stream\": \"x\"}");
    for (size_t i = 0; i < N_FRAMES; i++) {
        assert_true(is_readable(file, i));
        for (uint64_t k = 0; k < 3 + i; k++)
            assert_ptr_equal(leat_cache_file_find(file, record++), &file->frames[i]);
    }
    assert_int_equal(record, file->n_records);
    assert_null(leat_cache_file_find(file, record));
    leat_cache_file_unref(file);
    free(bytes);
}

/* Whatever is left of a file, it becomes the same as one that was built at once. */
static void go_on(uint8_t *bytes, size_t n_bytes, const uint8_t *whole, size_t n_whole,
                  size_t n_expected) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_file *file = NULL;
    uint8_t *result;
    size_t n_result;

    assert_int_equal(leat_cache_file_open(memory_file(bytes, n_bytes), &file, &err), 0);
    assert_false(file->is_complete);
    assert_int_equal(file->n_frames, n_expected);
    assert_int_equal(file->n_dropped, n_bytes - file->end);
    for (size_t i = 0; i < file->n_frames; i++)
        assert_true(is_readable(file, i));
    assert_int_equal(leat_cache_file_trim(file, &err), 0);
    add_frames(file, N_FRAMES);
    assert_int_equal(leat_cache_file_finish(file, &err), 0);
    result = all_bytes(file->fd, &n_result);
    assert_int_equal(n_result, n_whole);
    assert_memory_equal(result, whole, n_whole);
    free(result);
    leat_cache_file_unref(file);
}

static void test_cut_anywhere(void **state) {
    uint64_t positions[N_FRAMES + 1];
    size_t n_whole, n_frames = 0;
    uint8_t *whole = complete(&n_whole, positions);
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    for (size_t n = 0; n < n_whole; n++) {
        struct leat_cache_file *file = NULL;

        while (n_frames < N_FRAMES && n >= positions[n_frames + 1])
            n_frames++;
        if (n < positions[0]) {
            err = LEAT_ERROR_INIT;
            assert_int_equal(leat_cache_file_open(memory_file(whole, n), &file, &err), -EBADMSG);
            continue;
        }
        go_on(whole, n, whole, n_whole, n_frames);
    }
    free(whole);
}

/* What a crash of the machine may leave: blocks that never reached the disk are zeros or old. */
static void test_holes(void **state) {
    uint64_t positions[N_FRAMES + 1];
    size_t n_whole;
    uint8_t *whole = complete(&n_whole, positions), *bytes = malloc(n_whole);
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        size_t from = positions[0] + random_below(&seed, n_whole - positions[0]);
        size_t n = 1 + random_below(&seed, i % 2 ? 8 : n_whole - from);
        struct leat_cache_file *file = NULL;

        memcpy(bytes, whole, n_whole);
        for (size_t k = from; k < from + n && k < n_whole; k++)
            bytes[k] = i % 3 ? 0 : (uint8_t)random_next(&seed);
        err = LEAT_ERROR_INIT;
        assert_int_equal(leat_cache_file_open(memory_file(bytes, n_whole), &file, &err), 0);
        for (size_t k = 0; k < file->n_frames; k++)
            (void)is_readable(file, k); /* it is right, or it says that it is not */
        for (size_t k = 0; k < file->n_frames && positions[k + 1] <= from; k++)
            assert_true(is_readable(file, k));
        leat_cache_file_unref(file);
    }
    free(bytes);
    free(whole);
}

static void test_damaged_head(void **state) {
    uint64_t positions[N_FRAMES + 1];
    size_t n_whole;
    uint8_t *whole = complete(&n_whole, positions);
    struct leat_error err;

    (void)state;
    for (size_t i = 0; i < positions[0]; i++) {
        struct leat_cache_file *file = NULL;

        err = LEAT_ERROR_INIT;
        whole[i] ^= 0x10;
        assert_int_equal(leat_cache_file_open(memory_file(whole, n_whole), &file, &err), -EBADMSG);
        assert_int_equal(err.code, -EBADMSG);
        whole[i] ^= 0x10;
    }
    free(whole);
}

/* Frames of another cache that lie behind, as in a file that was written over, are none of this. */
static void test_old_frames(void **state) {
    uint64_t positions[N_FRAMES + 1];
    size_t n_whole;
    uint8_t *whole = complete(&n_whole, positions);
    struct leat_cache_identity identity = identity_of(9);
    struct leat_cache_file *file = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    int fd = memory_file(whole, n_whole);

    (void)state;
    assert_int_equal(leat_cache_file_new(dup(fd), &identity, "{\"stream\": \"x\"}", &file, &err),
                     0);
    leat_cache_file_unref(file);
    assert_int_equal(leat_cache_file_open(fd, &file, &err), 0);
    assert_false(file->is_complete);
    assert_int_equal(file->n_frames, 0);
    leat_cache_file_unref(file);
    free(whole);
}

/* A frame that could not be written whole is not there. */
static void test_file_too_large(void **state) {
    struct rlimit before, limit;
    char path[] = "/tmp/leat-test-XXXXXX";
    struct leat_cache_identity identity = identity_of(1);
    struct leat_cache_bytes block = {.data = NULL}, stored = {.data = NULL};
    struct leat_cache_frame frame = {.span = {.n_records = 1, .line = 1}, .n_rows = 1};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_cache_file *file = NULL;
    const uint8_t *bytes;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(leat_cache_file_new(fd, &identity, "{}", &file, &err), 0);
    add_frames(file, 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = file->end + LEAT_CACHE_FRAME_HEAD_BYTES + 5;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    content(4, &block);
    assert_int_equal(leat_cache_frame_store(&frame, LEAT_CACHE_RAW, &block, &stored, &bytes, &err),
                     0);
    leat_cache_file_place(file, &frame);
    assert_int_equal(leat_cache_file_write(file->fd, file->seed, &frame, bytes, &err), -EFBIG);
    assert_int_equal(err.code, -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    leat_cache_file_unref(file);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(leat_cache_file_open(fd, &file, LEAT_ERROR_IGNORED), 0);
    assert_int_equal(file->n_frames, 3);
    leat_cache_file_unref(file);
    leat_cache_bytes_deinit(&block);
    leat_cache_bytes_deinit(&stored);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),   cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_holes),      cmocka_unit_test(test_damaged_head),
        cmocka_unit_test(test_old_frames), cmocka_unit_test(test_file_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
