/* test_zip.c: archives read back by a reader of the test's own, stored and deflated; .npy headers;
 * what is larger than 32 bits, in headers alone. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "client/save/save.h"
#include "client/save/zip.h"

#define MAX_FILE (1 << 20)

static uint64_t get(const uint8_t *at, int n_bytes) {
    uint64_t value = 0;

    for (int i = n_bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

/* The archive that `fill` makes, in a buffer to be freed. */
static uint8_t *make(int compression, void (*fill)(struct leat_zip *), size_t *ret_n) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_saved_file *file = NULL;
    struct leat_zip *zip = malloc(sizeof(*zip));
    uint8_t *bytes = malloc(MAX_FILE);
    int fd = memfd_create("zip", MFD_CLOEXEC);
    ssize_t n;

    assert_true(fd >= 0);
    assert_int_equal(leat_saved_file_of(fd, "memory", &file, &err), 0);
    leat_zip_init(zip, file, compression);
    fill(zip);
    leat_zip_finish(zip);
    assert_int_equal(leat_saved_file_commit(file, &err), 0);
    n = pread(fd, bytes, MAX_FILE, 0);
    assert_true(n > 0 && n < MAX_FILE);
    (void)close(fd);
    free(zip);
    *ret_n = (size_t)n;
    return bytes;
}

static const uint8_t *end_of(const uint8_t *zip, size_t n) {
    assert_int_equal(get(zip + n - 22, 4), 0x06054b50);
    assert_int_equal(get(zip + n - 2, 2), 0);
    return zip + n - 22;
}

/* Entry `index`, unpacked and checked against both of its headers; to be freed. */
static uint8_t *unpack(const uint8_t *zip, size_t n, size_t index, char ret_name[128],
                       size_t *ret_n) {
    const uint8_t *end = end_of(zip, n), *central = zip + get(end + 16, 4), *local, *data;
    uint8_t *ret;

    assert_true(index < get(end + 10, 2));
    for (size_t i = 0; i < index; i++)
        central += 46 + get(central + 28, 2) + get(central + 30, 2);
    assert_int_equal(get(central, 4), 0x02014b50);
    local = zip + get(central + 42, 4);
    assert_int_equal(get(local, 4), 0x04034b50);
    assert_memory_equal(local + 4, central + 6, 24); /* version .. length of the name */
    memcpy(ret_name, local + 30, get(local + 26, 2));
    ret_name[get(local + 26, 2)] = '\0';
    assert_memory_equal(ret_name, central + 46, strlen(ret_name));
    assert_int_equal(get(local + 6, 2), ret_name[0] & 0x80 ? 1 << 11 : 0); /* UTF-8, or ASCII */
    data = local + 30 + get(local + 26, 2) + get(local + 28, 2);
    *ret_n = get(local + 22, 4);
    ret = malloc(*ret_n + 1);
    if (get(local + 8, 2) == 0) {
        assert_int_equal(get(local + 18, 4), *ret_n);
        memcpy(ret, data, *ret_n);
    } else {
        z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                           .avail_in = (uInt)get(local + 18, 4),
                           .next_out = ret,
                           .avail_out = (uInt)*ret_n + 1};

        assert_int_equal(inflateInit2(&stream, -MAX_WBITS), Z_OK);
        assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
        assert_int_equal(stream.total_out, *ret_n);
        assert_int_equal(stream.avail_in, 0);
        (void)inflateEnd(&stream);
    }
    assert_int_equal(crc32(crc32(0, NULL, 0), ret, (uInt)*ret_n), get(local + 14, 4));
    return ret;
}

static uint8_t noise[200000];

static void fill(struct leat_zip *zip) {
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_zip_add(zip, "a", "head", 4, "body", 4, &err), 0);
    assert_int_equal(leat_zip_add(zip, "\xc3\xa9/b", noise, 0, noise, sizeof(noise), &err), 0);
    assert_int_equal(leat_zip_add(zip, "empty", "", 0, NULL, 0, &err), 0);
}

static void test_archive(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(i * i >> 7);
    for (int level = 0; level < 10; level++) {
        size_t n, n_a, n_b, n_empty;
        char name[128];
        uint8_t *zip = make(level, fill, &n), *a, *b, *empty;

        assert_int_equal(get(end_of(zip, n) + 10, 2), 3);
        a = unpack(zip, n, 0, name, &n_a);
        assert_string_equal(name, "a");
        assert_int_equal(n_a, 8);
        assert_memory_equal(a, "headbody", 8);
        b = unpack(zip, n, 1, name, &n_b);
        assert_string_equal(name, "\xc3\xa9/b");
        assert_int_equal(n_b, sizeof(noise));
        assert_memory_equal(b, noise, sizeof(noise));
        empty = unpack(zip, n, 2, name, &n_empty);
        assert_int_equal(n_empty, 0);
        assert_true(level == 0 ? n > sizeof(noise) : n < sizeof(noise));
        free(a);
        free(b);
        free(empty);
        free(zip);
    }
}

/* ---- beyond 32 bits ---- */

static void test_large_entry(void **state) {
    const uint64_t large = UINT64_C(5) << 30;
    struct leat_zip_entry entry = {.name = "x",
                                   .n_bytes = large,
                                   .n_stored = large - 1,
                                   .offset = large + 7,
                                   .is_large = true};
    uint8_t header[LEAT_ZIP_HEADER_MAX];

    (void)state;
    assert_int_equal(leat_zip_local(&entry, header), 30 + 1 + 20);
    assert_int_equal(get(header + 4, 2), 45);
    assert_int_equal(get(header + 18, 8), UINT64_MAX); /* both sizes: see the extra field */
    assert_int_equal(get(header + 28, 2), 20);
    assert_int_equal(get(header + 31, 2), 1);
    assert_int_equal(get(header + 33, 2), 16);
    assert_true(get(header + 35, 8) == large && get(header + 43, 8) == large - 1);
    assert_int_equal(leat_zip_central(&entry, header), 46 + 1 + 28);
    assert_int_equal(get(header + 30, 2), 28);
    assert_int_equal(get(header + 42, 4), UINT32_MAX);
    assert_true(get(header + 51, 8) == large && get(header + 59, 8) == large - 1 &&
                get(header + 67, 8) == large + 7);
    entry.n_bytes = entry.n_stored = 9; /* small, but far behind */
    entry.is_large = false;
    assert_int_equal(leat_zip_central(&entry, header), 46 + 1 + 12);
    assert_int_equal(get(header + 24, 4), 9);
    assert_true(get(header + 51, 8) == large + 7);
    entry.offset = UINT32_MAX; /* the number that says "not here" */
    assert_int_equal(leat_zip_central(&entry, header), 46 + 1 + 12);
    entry.offset = UINT32_MAX - 1;
    assert_int_equal(leat_zip_central(&entry, header), 46 + 1);
}

static void test_large_end(void **state) {
    const uint64_t large = UINT64_C(5) << 30;
    uint8_t end[LEAT_ZIP_END_MAX];

    (void)state;
    assert_int_equal(leat_zip_end(3, 100, 50, end), 22);
    assert_true(get(end + 12, 4) == 50 && get(end + 16, 4) == 100);
    assert_int_equal(leat_zip_end(3, large, 50, end), 56 + 20 + 22);
    assert_int_equal(get(end, 4), 0x06064b50);
    assert_true(get(end + 24, 8) == 3 && get(end + 32, 8) == 3);
    assert_true(get(end + 40, 8) == 50 && get(end + 48, 8) == large);
    assert_int_equal(get(end + 56, 4), 0x07064b50);
    assert_true(get(end + 64, 8) == large + 50 && get(end + 72, 4) == 1);
    assert_int_equal(get(end + 76, 4), 0x06054b50);
    assert_int_equal(get(end + 92, 4), UINT32_MAX);
}

/* ---- .npz ---- */

static const int32_t numbers[] = {1, 2, 3, 4, 5, 6};
static const uint16_t bfloats[] = {0x3f80};

static uint8_t *make_npz(int compression, size_t *ret_n) {
    struct leat_tensor tensors[] = {
        {.name = "x",
         .dtype = LEAT_INT32,
         .ndim = 2,
         .shape = {2, 3},
         .data = numbers,
         .size_bytes = 24},
        {.name = "y",
         .dtype = LEAT_BFLOAT16,
         .ndim = 1,
         .shape = {1},
         .data = bfloats,
         .size_bytes = 2},
        {.name = "z", .dtype = LEAT_BOOL, .data = numbers, .size_bytes = 1},
    };
    struct leat_view view = {.header = {.n_tensors = 3, .n_rows = 2}, .tensors = tensors};
    struct leat_saving saving = {.view = &view, .compression = compression};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_saved_file *file = NULL;
    int fd = memfd_create("npz", MFD_CLOEXEC);
    uint8_t *bytes = malloc(MAX_FILE);
    ssize_t n;

    assert_int_equal(leat_saved_file_of(fd, "memory", &file, &err), 0);
    assert_int_equal(leat_save_write(&saving, LEAT_SAVE_NPZ, file, &err), 0);
    assert_int_equal(leat_saved_file_commit(file, &err), 0);
    n = pread(fd, bytes, MAX_FILE, 0);
    assert_true(n > 0);
    (void)close(fd);
    *ret_n = (size_t)n;
    return bytes;
}

static void check_npy(const uint8_t *zip, size_t n_zip, size_t index, const char *name,
                      const char *dictionary, const void *data, size_t n_data) {
    char found[128];
    size_t n, n_header;
    uint8_t *npy = unpack(zip, n_zip, index, found, &n);

    assert_string_equal(found, name);
    assert_memory_equal(npy, "\x93NUMPY\x01\x00", 8);
    n_header = 10 + get(npy + 8, 2);
    assert_int_equal(n_header % 64, 0);
    assert_memory_equal(npy + 10, dictionary, strlen(dictionary));
    assert_int_equal(npy[n_header - 1], '\n');
    assert_int_equal(n, n_header + n_data);
    assert_memory_equal(npy + n_header, data, n_data);
    free(npy);
}

static void test_npz(void **state) {
    (void)state;
    for (int level = 0; level < 10; level += 6) {
        size_t n, n_again;
        uint8_t *zip = make_npz(level, &n), *again = make_npz(level, &n_again);

        assert_int_equal(n, n_again);
        assert_memory_equal(zip, again, n);
        check_npy(zip, n, 0, "x.npy",
                  "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), } ", numbers, 24);
        check_npy(zip, n, 1, "y.npy", "{'descr': '<V2', 'fortran_order': False, 'shape': (1,), } ",
                  bfloats, 2);
        check_npy(zip, n, 2, "z.npy", "{'descr': '|b1', 'fortran_order': False, 'shape': (), } ",
                  numbers, 1);
        free(zip);
        free(again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archive),
        cmocka_unit_test(test_large_entry),
        cmocka_unit_test(test_large_end),
        cmocka_unit_test(test_npz),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
