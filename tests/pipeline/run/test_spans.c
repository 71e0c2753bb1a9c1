/* test_spans.c: pipeline/run/intake/spans.c, work/scan_route.c, plan/layout.c: blocks of the source
 * in random order are those of the definition (stages/shuffle.c), whether they come from the files,
 * or from a cache that is there, is built first, or cannot be built. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/stage/stage.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_order.h"
#include "tests/proto/shared_random.h"

#define CSV     "csv: {paths: [0.csv, 1.csv, 2.csv]}"
#define N_FILES 3
#define CACHE   "cache: {path: .}"

static uint64_t state_ = 11;

static size_t below(size_t n) {
    return (size_t)random_below(&state_, n);
}

/* Records of any length, blank lines between them; now and then a bad one, but not in good.csv. */
static void write_file(int file, int64_t first, int64_t n) {
    struct leat_text text = {.data = NULL};
    char name[16];

    leat_text_add(&text, "id,text\n");
    for (int64_t id = first; id < first + n; id++) {
        if (id % 50 == 49 && file < N_FILES)
            leat_text_add(&text, "bad,\n");
        else
            leat_text_add(&text, "%lld,\"%.*s\"\"\"\"%s", (long long)id, (int)below(90),
                          "a text, that is 1 of 90,000\nand on\n\n two lines or more, or less",
                          below(9) ? "\"\n" : "\"\r\n\n");
    }
    (void)snprintf(name, sizeof(name), file < N_FILES ? "%d.csv" : "good.csv", file);
    folder_write(name, text.data, text.n_bytes);
    free(text.data);
}

static void write_files(int64_t a, int64_t b, int64_t c) {
    write_file(0, 0, a);
    write_file(1, a, b);
    write_file(2, a + b, c);
}

/* The numbers of records of the files, in the order in which blocks are read. */
static struct order_numbers read_order(const int64_t *n_records, int64_t block_size, uint64_t key) {
    struct order_numbers starts = {.values = NULL}, ends = {.values = NULL};
    struct order_numbers numbers = {.values = NULL};
    struct leat_rng rng = {.state = key};
    int64_t first = 0;

    for (size_t file = 0; file < N_FILES; first += n_records[file++])
        for (int64_t i = 0; i < n_records[file]; i += block_size) {
            order_add(&starts, first + i);
            order_add(&ends, first + (i + block_size < n_records[file] ? i + block_size
                                                                       : n_records[file]));
        }
    for (size_t n = starts.n_values; n > 0; n--) {
        size_t drawn = (size_t)leat_rng_below(&rng, n);

        for (int64_t i = starts.values[drawn]; i < ends.values[drawn]; i++)
            if (i % 50 != 49)
                order_add(&numbers, i);
        starts.values[drawn] = starts.values[n - 1];
        ends.values[drawn] = ends.values[n - 1];
    }
    order_free(&starts);
    order_free(&ends);
    return numbers;
}

#define STAGES                                                                                     \
    "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n%s- batch: {batch_size: 13}"

static struct collected run_ids(const char *options, const char *order, struct drive how) {
    struct collected ids = {.name = "id"};
    char stages[512], all[256];

    (void)snprintf(stages, sizeof(stages), STAGES, order);
    (void)snprintf(all, sizeof(all), "on_error: skip\n    block_bytes: %zu\n    %s",
                   (size_t)4096 + below(4096), options);
    how.on_batch = collect;
    how.user = &ids;
    assert_string_equal(drive_stream(CSV, all, stages, &how).error.message, "");
    return ids;
}

static void check_epoch(const int64_t *n_records, int64_t block_size, int64_t buffer_size,
                        uint64_t epoch, bool reshuffles, const char *options) {
    struct leat_run_options epochs = {
        .first_epoch = epoch, .n_epochs = 1, .has_seed = true, .seed = 5};
    struct order_chain chain = {.stages = {{ORDER_SHUFFLE, buffer_size, 3}}, .n_stages = 1};
    uint64_t drawn_in = reshuffles ? epoch : 0;
    struct order_numbers read =
        read_order(n_records, block_size, leat_rng_key(5, 3, drawn_in, LEAT_RNG_BLOCKS, 0));
    struct order_numbers expected = {.values = NULL};
    struct collected ids;
    char order[200];

    (void)snprintf(order, sizeof(order),
                   "- shuffle: {blocks: true, block_size: %lld, buffer_size: %lld, seed: 3, "
                   "reshuffle_each_epoch: %s}\n",
                   (long long)block_size, (long long)buffer_size, reshuffles ? "true" : "false");
    order_simulate(&chain, &read, 5, drawn_in, false, 1, &expected);
    ids = run_ids(options, order,
                  (struct drive){.options = epochs,
                                 .n_jobs = 1 + (unsigned)below(4),
                                 .random = 3,
                                 .grows = below(2) == 0});
    assert_int_equal(ids.n_values, expected.n_values);
    assert_memory_equal(ids.values, expected.values, ids.n_values * sizeof(*ids.values));
    collected_free(&ids);
    order_free(&read);
    order_free(&expected);
}

static void test_definition(void **state) {
    static const int64_t sizes[] = {1, 3, 64, 100, 699, 5000};
    static const int64_t files[][N_FILES] = {{700, 1, 1300}, {100, 0, 100}, {3, 1, 2}};

    (void)state;
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        write_files(files[f][0], files[f][1], files[f][2]);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            remove_caches();
            for (uint64_t epoch = 0; epoch < 3; epoch++) {
                check_epoch(files[f], sizes[i], 1 + (int64_t)below(300), epoch, epoch < 2, "");
                check_epoch(files[f], sizes[i], 1 + (int64_t)below(300), epoch, epoch < 2, CACHE);
            }
        }
    }
}

/* Epochs, passes of `repeat`, ranks and places to go on from; filters in front of and behind it; a
 * cache that is built first, is there, or goes on from what another run left. */
static void test_one_sequence(void **state) {
    static const char *const orders[] = {
        "- shuffle: {blocks: true, block_size: 40, buffer_size: 100}\n",
        "- shuffle: {blocks: true, block_size: 7, buffer_size: 1}\n- take: {count: 900}\n",
        "- shuffle: {blocks: true, block_size: 300, buffer_size: 50}\n- repeat: {count: 2}\n",
        "- repeat: {count: 2}\n- shuffle: {blocks: true, block_size: 300, buffer_size: 50}\n",
        "- filter: {input: id, min: 300}\n"
        "- shuffle: {blocks: true, block_size: 60, buffer_size: 50}\n"
        "- filter: {input: id, max: 1800}\n",
    };

    (void)state;
    write_files(700, 1, 1300);
    write_file(N_FILES, 0, 2000);
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct drive how = {.options = {.n_epochs = 3}};
        struct drive later = {.options = {.n_epochs = 1, .first_epoch = 1, .first_step = 5}};
        struct driven plain, cached;
        char stages[512];

        (void)snprintf(stages, sizeof(stages), STAGES, orders[i]);
        remove_caches();
        plain = drive_stream(CSV, "on_error: skip", stages, &how);
        check_one_sequence("csv: {paths: [good.csv]}", stages);
        for (int k = 0; k < 3; k++) {
            how.random = (uint64_t)k;
            how.n_jobs = 1 + 2 * (unsigned)k;
            how.grows = k % 2 == 1;
            cached = drive_stream(CSV, "on_error: skip\n    block_bytes: 4096\n    " CACHE, stages,
                                  &how);
            assert_string_equal(cached.error.message, "");
            assert_string_equal(cached.digest, plain.digest);
            assert_int_equal(cached.stats.counts.figures.n_bad_records,
                             plain.stats.counts.figures.n_bad_records);
            assert_int_equal(cached.n_made, k == 0 ? 2001 : 0);
        }
        plain = drive_stream(CSV, "on_error: skip", stages, &later);
        cached = drive_stream(CSV, "on_error: skip\n    " CACHE, stages, &later);
        assert_string_equal(cached.digest, plain.digest);
    }
}

/* What another run has begun is gone on with. */
static void test_goes_on_building(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct drive cut = {.options = {.n_epochs = 1}, .cancel_after = 20};
    struct driven plain, cached;
    char stages[512];

    (void)state;
    write_files(7000, 1, 13000);
    (void)snprintf(stages, sizeof(stages), STAGES,
                   "- shuffle: {blocks: true, block_size: 40, buffer_size: 100}\n");
    plain = drive_stream(CSV, "on_error: skip", stages, &how);
    remove_caches();
    (void)drive_stream(CSV, "on_error: skip\n    block_bytes: 4096\n    " CACHE,
                       "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                       "- batch: {batch_size: 13}",
                       &cut);
    assert_non_null(strstr(cache_name(), ".partial"));
    cached = drive_stream(CSV, "on_error: skip\n    block_bytes: 4096\n    " CACHE, stages, &how);
    assert_string_equal(cached.digest, plain.digest);
    assert_in_range(cached.n_made, 5000, 19000);
    assert_non_null(strstr(cache_name(), ".leat"));
}

/* Where a cache cannot be written, blocks come from the files. */
static void test_no_cache_folder(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct driven plain, cached;
    char stages[512];

    (void)state;
    write_files(700, 1, 1300);
    (void)snprintf(stages, sizeof(stages), STAGES,
                   "- shuffle: {blocks: true, block_size: 40, buffer_size: 100}\n");
    plain = drive_stream(CSV, "on_error: skip", stages, &how);
    cached = drive_stream(CSV, "on_error: skip\n    cache: {path: 0.csv}", stages, &how);
    assert_string_equal(cached.error.message, "");
    assert_true(cached.cache_note.code < 0);
    assert_string_equal(cached.digest, plain.digest);
}

/* ---- data that changes ---- */

struct change {
    uint64_t at; /* batches */
    uint64_t n_batches;
};

static void change_data(const struct leat_output *output, void *user) {
    struct change *change = user;

    (void)output;
    if (change->n_batches++ == change->at)
        write_files(700, 1, 900);
}

/* In the epoch that is being read: an error, unless all of it was read. In the next: new blocks. */
static void test_changing_data(void **state) {
    size_t n_stale = 0;

    (void)state;
    for (uint64_t at = 0; at < 950; at += 31) {
        struct change change = {.at = at};
        struct drive how = {.options = {.n_epochs = 3, .max_map_jobs = 1},
                            .on_batch = change_data,
                            .user = &change};
        struct drive after = {.options = {.n_epochs = 1, .first_epoch = 2}};
        static const char stages[] =
            "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
            "- shuffle: {blocks: true, block_size: 40, buffer_size: 1}\n- batch: {batch_size: 2}";
        struct driven driven, fresh;

        write_files(700, 1, 1300);
        driven = drive_stream(CSV, "on_error: skip\n    block_bytes: 4096", stages, &how);
        if (driven.error.code) {
            assert_int_equal(driven.error.code, -ESTALE);
            n_stale++;
            continue;
        }
        fresh = drive_stream(CSV, "on_error: skip", stages, &after);
        assert_int_equal(fresh.n_batches, 785);
        assert_int_equal(driven.n_batches, 981 + 2 * 785);
    }
    assert_in_range(n_stale, 10, 30);
}

/* ---- a file that changes within a block ---- */

#define BLOCK_RECORDS 3000

/* Collects ids; changes the file in place at one batch, so that it stays open. */
struct in_place {
    struct collected ids;
    uint64_t at, n_batches;
    void (*change)(void);
};

static void write_in_place(const char *text, size_t n) {
    FILE *file = fopen(folder_path("0.csv"), "r+b");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void cut_off(void) {
    assert_int_equal(truncate(folder_path("0.csv"), 8), 0);
}

static void cut_within(void) {
    assert_int_equal(truncate(folder_path("0.csv"), 300001), 0);
}

/* Of the same size, with fewer records. */
static void join_lines(void) {
    char *text = folder_read("0.csv");
    size_t n = strlen(text);

    for (size_t i = 300000; i < n - 1; i++)
        if (text[i] == '\n')
            text[i] = ' ';
    write_in_place(text, n);
    free(text);
}

static void on_in_place(const struct leat_output *output, void *user) {
    struct in_place *self = user;

    collect(output, &self->ids);
    if (self->n_batches++ == self->at)
        self->change();
}

/* A block of many pieces ends with an error where its file has changed, and all ids in front of
 * that are those of the undisturbed run. */
static void test_changing_in_place(void **state) {
    static const struct {
        void (*change)(void);
        const char *expected;
    } cases[] = {
        {cut_off, "was shortened"}, {cut_within, "was shortened"}, {join_lines, "but had "}};
    static const char stages[] =
        "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
        "- shuffle: {blocks: true, block_size: 3000, buffer_size: 1}\n- batch: {batch_size: 20}";
    struct leat_text text = {.data = NULL};
    struct collected whole = {.name = "id"};
    struct drive all = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &whole};

    (void)state;
    leat_text_add(&text, "id,text\n");
    for (int i = 0; i < 4 * BLOCK_RECORDS; i++)
        leat_text_add(&text, "%d,%0100d\n", i, i);
    folder_write("0.csv", text.data, text.n_bytes);
    assert_int_equal(
        drive_stream("csv: {paths: [0.csv]}", "block_bytes: 4096", stages, &all).error.code, 0);
    assert_int_equal(whole.n_values, 4 * BLOCK_RECORDS);
    for (size_t i = 0; i < 3 * 5; i++) {
        struct in_place self = {
            .ids = {.name = "id"}, .at = 20 * (i / 3), .change = cases[i % 3].change};
        struct drive how = {
            .options = {.n_epochs = 1, .max_map_jobs = 2}, .on_batch = on_in_place, .user = &self};
        struct driven driven;

        folder_write("0.csv", text.data, text.n_bytes);
        driven = drive_stream("csv: {paths: [0.csv]}", "on_error: skip\n    block_bytes: 4096",
                              stages, &how);
        assert_int_equal(driven.error.code, -ESTALE);
        assert_non_null(strstr(driven.error.message, cases[i % 3].expected));
        assert_in_range(self.ids.n_values, 20 * self.at + 20, whole.n_values - 1);
        assert_memory_equal(self.ids.values, whole.values,
                            self.ids.n_values * sizeof(*whole.values));
        collected_free(&self.ids);
    }
    collected_free(&whole);
    free(text.data);
}

/* ---- refused ---- */

#define LANED(n)                                                                                   \
    "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n- shuffle: {blocks: true, "      \
    "block_size: 40, buffer_size: 10, lanes: " #n "}\n- batch: {batch_size: 13}"

static void test_refused(void **state) {
    struct blob packed, text = {.data = NULL};

    (void)state;
    check_refused("{\"a\": 1}\n", "- take: {count: 5}\n- shuffle: {blocks: true, buffer_size: 5}",
                  "x.yaml:6:27: streams.x.stages[1].shuffle.blocks: `blocks` changes the order of "
                  "the data, on which the earlier stage `take` depends: put `shuffle` first");
    check_refused("{\"a\": 1}\n",
                  "- shuffle: {blocks: true, buffer_size: 5}\n"
                  "- shuffle: {blocks: true, buffer_size: 5}",
                  "x.yaml:6:27: streams.x.stages[1].shuffle.blocks: `blocks` changes the order of "
                  "the data, on which the earlier stage `shuffle` depends: put `shuffle` first");
    folder_print("a.jsonl", "{\"a\": 1}\n");
    assert_non_null(strstr(
        stream_error("mix: {sources: [{jsonl: {paths: a.jsonl}}, {jsonl: {paths: a.jsonl}}], "
                     "weights: [1, 1]}",
                     "", "- shuffle: {blocks: true, buffer_size: 5}\n- batch: {batch_size: 1}"),
        "stages[0].shuffle.blocks: `mix` chooses the order of records itself"));
    assert_int_equal(mkfifo(folder_path("fifo"), 0600), 0);
    blob_add(&text, "{\"a\": 1}\n", 9);
    packed = compress_text(GZIP, text.data, text.n_bytes, 0);
    folder_write("a.jsonl.gz", packed.data, packed.n_bytes);
    assert_non_null(
        strstr(stream_error("jsonl: {paths: [a.jsonl.gz]}", "",
                            "- shuffle: {blocks: true, buffer_size: 5}\n- batch: {batch_size: 1}"),
               "a.jsonl.gz is compressed, so leat must read it from front to back: give the "
               "stream a `cache`"));
    blob_free(&packed);
    blob_free(&text);
}

/* Lanes refuse these specs, and name the command that counts records. */
static void test_lanes_refused(void **state) {
    struct drive how = {.options = {.n_epochs = 1}}, builds = {.options = {.only_builds = true}};
    struct driven driven;

    (void)state;
    remove_caches();
    write_files(700, 1, 1300);
    assert_non_null(
        strstr(stream_error(
                   CSV, "on_error: skip",
                   "- shuffle: {blocks: true, buffer_size: 5, lanes: 2}\n- batch: {batch_size: 1}"),
               "stages[0].shuffle.lanes: needs to know the number of records: give the stream a "
               "`cache`, or a folder for its `index`, and then run `leatctl cache warm "));
    check_refused("{\"a\": 1}\n", "- shuffle: {buffer_size: 5, lanes: 2}\n- batch: {batch_size: 1}",
                  "x.yaml:5:42: streams.x.stages[0].shuffle.lanes: works only with `blocks`");
    driven = drive_stream(CSV, "on_error: skip\n    " CACHE, LANED(3), &how);
    assert_int_equal(driven.error.code, -ENODATA);
    assert_non_null(strstr(driven.error.message, "`leatctl cache warm "));
    (void)drive_stream(CSV, "on_error: skip\n    " CACHE, LANED(3), &builds);
    driven = drive_stream(CSV, "on_error: skip\n    " CACHE, LANED(3), &how);
    assert_string_equal(driven.error.message, "");
    driven = drive_stream(CSV, "on_error: skip\n    " CACHE, LANED(60), &how);
    assert_int_equal(driven.error.code, -EINVAL);
    assert_non_null(strstr(
        driven.error.message,
        "shuffle.lanes (60) is more than the 52 blocks of the data (block_size is 40 records)"));
    remove_caches();
}

/* A compressed file behind others is met when it is read; with a cache it is no matter. */
static void test_compressed(void **state) {
    struct drive how = {.options = {.n_epochs = 2}};
    struct blob text = {.data = NULL}, packed;
    struct driven plain, cached;
    char *bytes;

    (void)state;
    remove_caches();
    write_files(700, 1, 1300);
    plain = drive_stream(CSV, "on_error: skip",
                         "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                         "- shuffle: {blocks: true, block_size: 40, buffer_size: 10}\n"
                         "- batch: {batch_size: 13}",
                         &how);
    bytes = folder_read("2.csv");
    blob_add(&text, bytes, strlen(bytes));
    packed = compress_text(ZSTD, text.data, text.n_bytes, 5000);
    folder_write("2.csv", packed.data, packed.n_bytes);
    cached = drive_stream(CSV, "on_error: skip",
                          "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                          "- shuffle: {blocks: true, block_size: 40, buffer_size: 10}\n"
                          "- batch: {batch_size: 13}",
                          &how);
    assert_int_equal(cached.error.code, -EINVAL);
    assert_non_null(strstr(cached.error.message, "is compressed (zstd)"));
    cached = drive_stream(CSV, "on_error: skip\n    " CACHE,
                          "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
                          "- shuffle: {blocks: true, block_size: 40, buffer_size: 10}\n"
                          "- batch: {batch_size: 13}",
                          &how);
    assert_string_equal(cached.error.message, "");
    assert_string_equal(cached.digest, plain.digest);
    free(bytes);
    blob_free(&text);
    blob_free(&packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),       cmocka_unit_test(test_one_sequence),
        cmocka_unit_test(test_goes_on_building), cmocka_unit_test(test_no_cache_folder),
        cmocka_unit_test(test_changing_data),    cmocka_unit_test(test_changing_in_place),
        cmocka_unit_test(test_refused),          cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_lanes_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
