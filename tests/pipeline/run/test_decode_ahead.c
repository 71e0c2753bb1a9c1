/* test_decode_ahead.c: pipeline/run/intake/decode_ahead.c, work/decode.c, work/scan_units.c: places
 * of compressed files that are decoded ahead change neither batches nor errors, in whatever order
 * they come back, and if their pass has ended by then. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_records.h"

#define N_FILES    9
#define LINE_BYTES 64
#define STAGES                                                                                     \
    "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n%s- batch: {batch_size: 512}"

static int64_t next_id;

/* Lines that hardly become smaller. */
static struct blob lines(size_t n_bytes) {
    struct blob text = {.data = NULL};
    char line[LINE_BYTES + 32];

    blob_add(&text, "id,noise\n", 9);
    while (text.n_bytes < n_bytes) {
        int n = snprintf(line, sizeof(line), "%lld,", (long long)next_id++);

        for (; n < LINE_BYTES - 1; n++)
            line[n] = (char)('0' + draw(75)); /* without a quote or a comma */
        line[n++] = '\n';
        blob_add(&text, line, (size_t)n);
    }
    return text;
}

static void write_packed(const char *name, enum format format, const struct blob *text,
                         size_t frame_bytes) {
    struct blob packed = compress_text(format, text->data, text->n_bytes, frame_bytes);

    folder_write(name, packed.data, packed.n_bytes);
    blob_free(&packed);
}

/* Small files, and large ones of many frames and of one. */
static void write_files(enum format format) {
    static const size_t sizes[N_FILES] = {3000,    300000, 200,   1800000, 70000,
                                          1500000, 100,    50000, 5000};

    next_id = 0;
    for (int i = 0; i < N_FILES; i++) {
        struct blob text = lines(sizes[i]);
        char name[16];

        (void)snprintf(name, sizeof(name), "%d.csv", i);
        folder_write(name, text.data, text.n_bytes);
        (void)snprintf(name, sizeof(name), "%d.z", i);
        write_packed(name, format, &text, i == 5 ? 0 : 150000);
        blob_free(&text);
    }
}

static void list_files(const char *ending, char *source, size_t size) {
    size_t n = (size_t)snprintf(source, size, "csv: {paths: [");

    for (int i = 0; i < N_FILES; i++)
        n += (size_t)snprintf(source + n, size - n, "%s%d.%s", i ? ", " : "", i, ending);
    (void)snprintf(source + n, size - n, "]}");
}

static void assert_same(const struct driven *a, const struct driven *b) {
    assert_string_equal(a->error.message, b->error.message);
    assert_string_equal(a->digest, b->digest);
    assert_int_equal(a->n_batches, b->n_batches);
    assert_int_equal(a->stats.counts.figures.n_bad_records, b->stats.counts.figures.n_bad_records);
}

static struct drive random_ahead(void) {
    struct drive how = random_drive();

    how.options.max_map_jobs = 2 + (uint32_t)draw(30);
    how.grows = false;
    return how;
}

/* Whole epochs, and epochs that end while places are being decoded. */
static void test_one_sequence(void **state) {
    static const char *const orders[] = {"- take: {count: 3000}\n", "- take: {count: 20000}\n", ""};
    char plain[512], packed[512], stages[512];

    (void)state;
    list_files("csv", plain, sizeof(plain));
    list_files("z", packed, sizeof(packed));
    for (int format = 0; format < N_FORMATS; format++) {
        write_files((enum format)format);
        for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
            struct drive inline_ = {.options = {.n_epochs = 2}};
            struct driven whole, driven;
            uint64_t n_decoded = 0;

            (void)snprintf(stages, sizeof(stages), STAGES, orders[i]);
            whole = drive_stream(plain, "", stages, &inline_);
            assert_string_equal(whole.error.message, "");
            for (int k = 0; k < (i < 2 ? 4 : 2); k++) { /* an epoch that ends early takes less */
                struct drive how = random_ahead();

                how.options.n_epochs = 2;
                driven = drive_stream(packed, "", stages, &how);
                assert_same(&driven, &whole);
                n_decoded += driven.stats.jobs[LEAT_JOB_DECODE].n_jobs;
            }
            assert_true(n_decoded > 0);
        }
    }
}

/* A file that is damaged in a place which is decoded ahead gives the same records and the same
 * bad one, or the same error. */
static void test_damaged(void **state) {
    char packed[512], stages[512];

    (void)state;
    list_files("z", packed, sizeof(packed));
    (void)snprintf(stages, sizeof(stages), STAGES, "");
    for (int i = 0; i < 5; i++) {
        const char *options = i % 2 ? "on_error: skip" : "on_error: fail";
        const char *off =
            i % 2 ? "on_error: skip\n    decode_ahead: 0" : "on_error: fail\n    decode_ahead: 0";
        struct drive inline_ = {.options = {.n_epochs = 1}};
        struct driven whole, driven;

        write_files((enum format)(i % N_FORMATS));
        assert_int_equal(truncate(folder_path("3.z"), 500000 + (off_t)draw(700000)), 0);
        whole = drive_stream(packed, off, stages, &inline_);
        assert_int_equal(whole.stats.jobs[LEAT_JOB_DECODE].n_jobs, 0);
        assert_int_equal(whole.error.code, i % 2 ? 0 : -EBADMSG);
        for (int k = 0; k < 2; k++) {
            struct drive how = random_ahead();

            how.options.n_epochs = 1;
            driven = drive_stream(packed, options, stages, &how);
            assert_same(&driven, &whole);
        }
    }
}

/* In a long frame no place can be decoded ahead: this is given up, and the next file goes on. */
static void test_one_long_frame(void **state) {
    static const char packed[] = "csv: {paths: [long.z, 1.z]}",
                      plain[] = "csv: {paths: [long.csv, 1.csv]}";
    struct drive inline_ = {.options = {.n_epochs = 1}};
    struct blob text;
    struct driven whole, driven;
    char stages[512];

    (void)state;
    write_files(LZ4);
    text = lines(19U << 20);
    folder_write("long.csv", text.data, text.n_bytes);
    write_packed("long.z", LZ4, &text, 0);
    blob_free(&text);
    (void)snprintf(stages, sizeof(stages), STAGES, "");
    whole = drive_stream(plain, "", stages, &inline_);
    assert_string_equal(whole.error.message, "");
    for (int k = 0; k < 2; k++) {
        struct drive how = random_ahead();

        how.options.n_epochs = 1;
        driven = drive_stream(packed, "", stages, &how);
        assert_same(&driven, &whole);
        assert_in_range(driven.stats.jobs[LEAT_JOB_DECODE].n_jobs, 1, 30);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_one_long_frame),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
