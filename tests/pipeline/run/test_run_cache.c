/* test_run_cache.c: pipeline/run/cache.c, cache_job.c, map_load.c: with a cache, without, with a
 * part of one, or with a damaged one: the same batches, and the same bad records. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/cache/block.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

#define CACHE    "cache: {path: .}"
#define SKIPPING CACHE "\n    on_error: skip"
#define STAGES                                                                                     \
    CASTS "- select: {fields: [id, age]}\n- shuffle: {buffer_size: 300}\n"                         \
          "- batch: {batch_size: 16}"

/* ---- the folder ---- */

/* A complete cache, built at once: its name and bytes. */
static uint8_t *build(const char *options, char name[LEAT_CACHE_NAME_MAX], size_t *ret_n_bytes) {
    struct drive how = {.options = {.only_builds = true}};
    struct driven driven;

    remove_caches();
    driven = drive_stream(CSV, options, STAGES, &how);
    assert_string_equal(driven.error.message, "");
    assert_non_null(cache_name());
    (void)snprintf(name, LEAT_CACHE_NAME_MAX, "%s", cache_name());
    assert_non_null(strstr(name, ".leat"));
    return read_bytes(name, ret_n_bytes);
}

static const char *partial_of(const char *name) {
    static char partial[LEAT_CACHE_NAME_MAX];

    (void)snprintf(partial, sizeof(partial), "%.64s.partial", name);
    return partial;
}

/* ---- the same with and without ---- */

static void assert_same(const struct driven *a, const struct driven *b) {
    assert_string_equal(a->digest, b->digest);
    assert_int_equal(a->error.code, b->error.code);
    assert_string_equal(a->error.message, b->error.message);
    assert_int_equal(a->n_batches, b->n_batches);
    if (!a->error.code && a->n_batches > 0)
        assert_int_equal(a->n_rows, b->n_rows);
}

static struct driven drive_cached(const char *options, const char *stages,
                                  const struct leat_run_options *run_options) {
    struct drive how = random_drive();
    struct leat_run_options all = *run_options;
    char text[256];

    all.max_map_jobs = how.options.max_map_jobs;
    how.options = all;
    (void)snprintf(text, sizeof(text), "%s\n    %s\n    %s", CACHE, block_option(), options);
    return drive_stream(CSV, text, stages, &how);
}

static void test_one_digest(void **state) {
    static const char *const tails[] = {
        "- batch: {batch_size: 7}",
        "- shuffle: {buffer_size: 500, seed: 3}\n- batch: {batch_size: 32}",
        "- shuffle: {blocks: true, block_size: 90, buffer_size: 100}\n- batch: {batch_size: 32}",
        "- skip: {count: 100}\n- take: {count: 1500}\n- batch: {batch_size: 10}",
        "- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
        "- shuffle: {buffer_size: 50}\n- filter: {input: age, min: 30}\n- batch: {batch_size: 10}",
        "- take: {count: 300}\n- repeat: {count: 4}\n- shuffle: {buffer_size: 64}\n"
        "- batch: {batch_size: 11}",
        "- shuffle: {buffer_size: 64}\n- repeat: {count: 0}\n- take: {count: 5000}\n"
        "- batch: {batch_size: 11}",
    };
    static const struct leat_run_options ways[] = {
        {.n_epochs = 1},
        {.n_epochs = 3},
        {.n_epochs = 2, .first_epoch = 5, .first_step = 3, .first_rank = 1, .world_size = 3},
        {.n_epochs = 0, .n_steps = 400},
        {.n_epochs = 1, .has_seed = true, .seed = 99},
    };

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char stages[1024];

        (void)snprintf(stages, sizeof(stages), "%s- select: {fields: [age, id]}\n%s", CASTS,
                       tails[i]);
        for (size_t k = 0; k < sizeof(ways) / sizeof(ways[0]); k++) {
            struct drive inline_ = {.options = ways[k]};
            struct driven without = drive_stream(CSV, "on_error: skip", stages, &inline_);

            remove_caches();
            for (int n = 0; n < 5; n++) {
                struct driven with = drive_cached("on_error: skip", stages, &ways[k]);

                assert_same(&with, &without);
                if (ways[k].n_steps == 0)
                    assert_int_equal(with.stats.counts.figures.n_bad_records,
                                     without.stats.counts.figures.n_bad_records);
                assert_string_equal(with.cache_note.message, "");
            }
        }
    }
}

/* What is in the cache is not made again: not in the next epoch, not in the next run. */
static void test_made_once(void **state) {
    struct drive how = {.options = {.n_epochs = 4}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    remove_caches();
    driven = drive_stream(CSV, CACHE "\n    block_bytes: 4096", STAGES, &how);
    assert_int_equal(driven.n_made, 2000);
    assert_int_equal(driven.n_cached, 6000);
    assert_true(driven.stats.n_cache_written_bytes > 1000);
    driven = drive_stream(CSV, CACHE, STAGES, &how);
    assert_int_equal(driven.n_made, 0);
    assert_int_equal(driven.n_cached, 8000);
    assert_int_equal(driven.stats.counts.figures.n_source_bytes, 0);
    assert_int_equal(driven.stats.counts.figures.n_source_records, 8000);
}

/* Who wants only a cache that is there has nothing to wait for. */
static void test_built_before(void **state) {
    struct drive how = {.options = {.only_builds = true}};
    struct drive batches = {.options = {.n_epochs = 2}};
    struct driven driven;

    (void)state;
    write_data("data.csv", 0, 300, 0);
    remove_caches();
    for (int i = 0; i < 3; i++) {
        driven = drive_stream(CSV, CACHE, STAGES, &how);
        assert_string_equal(driven.error.message, "");
        assert_int_equal(driven.n_made, i ? 0 : 300);
        assert_int_equal(driven.n_batches, 0);
    }
    driven = drive_stream(CSV, CACHE,
                          CASTS "- select: {fields: [id, age]}\n"
                                "- batch: {batch_size: 301, drop_last: true}",
                          &batches);
    assert_int_equal(driven.error.code, -ENODATA);
}

static void test_threads(void **state) {
    struct drive inline_ = {.options = {.n_epochs = 3}};
    struct drive threads = {.options = {.n_epochs = 3, .max_map_jobs = 10},
                            .n_jobs = 8,
                            .in_threads = true,
                            .n_slots = 16,
                            .n_held = 3};
    struct driven a, b;

    (void)state;
    write_data("data.csv", 0, 3000, 50);
    a = drive_stream(CSV, "on_error: skip", STAGES, &inline_);
    remove_caches();
    for (int i = 0; i < 3; i++) {
        b = drive_stream(CSV, CACHE "\n    block_bytes: 4096\n    on_error: skip", STAGES,
                         &threads);
        assert_same(&a, &b);
    }
    assert_int_equal(b.n_made, 0);
}

/* ---- bad records ---- */

static void test_bad_records(void **state) {
    static const char *const options[] = {"on_error: fail", "on_error: skip\n    max_errors: 37",
                                          "on_error: skip\n    max_errors: 99"};

    (void)state;
    write_data("data.csv", 0, 2000, 40);
    for (size_t i = 0; i < 3; i++) {
        struct leat_run_options run_options = {.n_epochs = 2};
        struct drive inline_ = {.options = run_options};
        struct driven without = drive_stream(CSV, options[i], BAD_STAGES, &inline_);

        remove_caches();
        for (int n = 0; n < 6; n++) {
            struct driven with = drive_cached(options[i], BAD_STAGES, &run_options);

            assert_same(&with, &without);
            assert_int_equal(with.error.line, without.error.line);
            assert_string_equal(with.error.path, without.error.path);
            assert_int_equal(with.stats.counts.figures.n_bad_records,
                             without.stats.counts.figures.n_bad_records);
        }
    }
}

static void test_quarantine(void **state) {
    const char *aside = "on_error: quarantine\n    quarantine: bad.jsonl";
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};
    struct driven without;
    char *expected, *text;

    (void)state;
    write_data("data.csv", 0, 1000, 20);
    without = drive_stream(CSV, aside, BAD_STAGES, &inline_);
    expected = folder_read("bad.jsonl");
    remove_caches(); /* the cache was made by one that keeps no bytes for itself */
    (void)drive_cached("on_error: skip", BAD_STAGES, &run_options);
    for (int i = 0; i < 4; i++) {
        struct driven with = drive_cached(aside, BAD_STAGES, &run_options);

        assert_same(&with, &without);
        assert_int_equal(with.n_made, 0);
        text = folder_read("bad.jsonl");
        assert_string_equal(text, expected);
        free(text);
    }
    free(expected);
}

/* What a filter behind a shuffle drops stays in the block, whatever later stages think of it. */
static void test_rows_that_are_dropped_later(void **state) {
    static const char *const stages =
        "- shuffle: {buffer_size: 9}\n- filter: {input: n, min: 3}\n"
        "- pad: {input: ids, length: 4, value: 0}\n- cast: {input: word, dtype: bool}\n"
        "- cast: {input: n, output: small, dtype: uint8}\n"
        "- select: {fields: [n, ids, word, small]}\n- batch: {batch_size: 7}";
    static const char *const source = "jsonl: {paths: [lists.jsonl]}";
    struct drive how = {.options = {.n_epochs = 1}};
    struct leat_text text = {.data = NULL};
    struct driven without, with;

    (void)state;
    for (int i = 0; i < 500; i++)
        leat_text_add(&text, "{\"n\": %d, \"word\": \"%s\", \"ids\": [1, 2, 3, %s]}\n",
                      i % 5 ? i % 250 : -i, i % 5 ? "true" : "neither", i % 5 ? "4" : "4, 5, 6");
    folder_write("lists.jsonl", text.data, text.n_bytes);
    free(text.data);
    without = drive_stream(source, "", stages, &how);
    assert_string_equal(without.error.message, "");
    remove_caches();
    for (int i = 0; i < 3; i++) {
        with = drive_stream(source, CACHE "\n    block_bytes: 4096", stages, &how);
        assert_same(&with, &without);
        assert_string_equal(with.cache_note.message, "");
        assert_int_equal(with.n_made, i ? 0 : 500);
    }
}

/* ---- killed, damaged, full ---- */

static void test_killed_anywhere(void **state) {
    char name[LEAT_CACHE_NAME_MAX];
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};
    struct driven without, with;
    size_t n_whole, n_bytes;
    uint8_t *whole, *bytes;

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    without = drive_stream(CSV, "on_error: skip", STAGES, &inline_);
    whole = build(CACHE "\n    block_bytes: 4096\n    on_error: skip", name, &n_whole);
    for (int i = 0; i < 250; i++) {
        size_t n = i < 2 ? (size_t)i : draw(n_whole);
        bool is_same_size = i % 2;

        remove_caches();
        folder_write(partial_of(name), whole, n);
        with = is_same_size ? drive_stream(CSV, CACHE "\n    block_bytes: 4096\n    on_error: skip",
                                           STAGES, &inline_)
                            : drive_cached("on_error: skip", STAGES, &run_options);
        assert_same(&with, &without);
        assert_string_equal(with.cache_note.message, "");
        assert_string_equal(cache_name(), name);
        bytes = read_bytes(name, &n_bytes);
        if (is_same_size) { /* as if it had never been killed */
            assert_int_equal(n_bytes, n_whole);
            assert_memory_equal(bytes, whole, n_whole);
        }
        free(bytes);
    }
    free(whole);
}

static void test_damaged_anywhere(void **state) {
    char name[LEAT_CACHE_NAME_MAX];
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};
    struct driven without, with;
    size_t n_whole, n_bytes, n_damaged = 0;
    uint8_t *whole, *bytes;

    (void)state;
    write_data("data.csv", 0, 2000, 97);
    without = drive_stream(CSV, "on_error: skip", STAGES, &inline_);
    whole = build(CACHE "\n    block_bytes: 4096\n    on_error: skip", name, &n_whole);
    for (int i = 0; i < 250; i++) {
        size_t at = draw(n_whole), n = i % 3 ? 1 : 1 + draw(n_whole - at);

        remove_caches();
        bytes = malloc(n_whole);
        memcpy(bytes, whole, n_whole);
        for (size_t k = at; k < at + n; k++)
            bytes[k] = (uint8_t)(i % 2 ? bytes[k] ^ (1 << draw(8)) : 0);
        folder_write(name, bytes, n_whole);
        free(bytes);
        with = drive_cached("on_error: skip", STAGES, &run_options);
        assert_same(&with, &without);
        n_damaged += with.n_damaged > 0;
        if (with.n_damaged > 0)
            assert_non_null(
                strstr(with.cache_note.message, "is damaged: it does not match its checksum ("));
        with = drive_cached("on_error: skip", STAGES, &run_options);
        assert_same(&with, &without);
        assert_int_equal(with.n_damaged, 0); /* it was put right */
        assert_int_equal(with.n_made, 0);
        bytes = read_bytes(name, &n_bytes);
        free(bytes);
    }
    assert_true(n_damaged > 100);
    free(whole);
}

/* Changes a frame and its bytes, which have room for ROOM. */
typedef void lie_fn(struct leat_cache_frame *frame, uint8_t *stored);
#define ROOM (1U << 20)

static void lie_file(struct leat_cache_frame *frame, uint8_t *stored) {
    (void)stored;
    frame->span.file = UINT32_MAX;
}

static void lie_rows(struct leat_cache_frame *frame, uint8_t *stored) {
    (void)stored;
    frame->span.n_bytes = 1U << 20;
    frame->span.n_records = frame->n_rows = 1U << 20;
}

static void lie_bytes(struct leat_cache_frame *frame, uint8_t *stored) {
    (void)stored;
    frame->span.n_bytes = UINT32_MAX;
    frame->span.n_records = frame->n_rows = UINT32_MAX;
}

static void lie_records(struct leat_cache_frame *frame, uint8_t *stored) {
    (void)stored;
    frame->span.n_records = UINT32_MAX;
}

static void lie_lz4(struct leat_cache_frame *frame, uint8_t *stored) {
    (void)stored;
    frame->is_lz4 = true;
    frame->n_bytes = 1U << 30;
}

/* The cache of that name, but for its last frame: with right checksums. */
static void write_lie(const char *name, lie_fn *lie) {
    int fd = open(folder_path(name), O_RDONLY | O_CLOEXEC);
    int lie_fd = open(folder_path("lie"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct leat_cache_file *whole, *file;
    struct leat_error err = LEAT_ERROR_INIT;

    assert_int_equal(leat_cache_file_open(fd, &whole, &err), 0);
    assert_int_equal(leat_cache_file_new(lie_fd, &whole->identity, whole->description, &file, &err),
                     0);
    for (size_t i = 0; i < whole->n_frames; i++) {
        struct leat_cache_frame frame = whole->frames[i];
        uint8_t *stored = malloc(frame.n_stored + ROOM);

        assert_int_equal(leat_cache_file_read(whole->fd, &frame, stored, &err), 0);
        if (i == whole->n_frames - 1)
            lie(&frame, stored);
        leat_cache_file_place(file, &frame);
        assert_int_equal(leat_cache_file_write(file->fd, file->seed, &frame, stored, &err), 0);
        assert_int_equal(leat_cache_file_add(file, &frame), 0);
        free(stored);
    }
    assert_int_equal(leat_cache_file_finish(file, &err), 0);
    leat_cache_file_unref(whole);
    leat_cache_file_unref(file);
    assert_int_equal(rename(folder_path("lie"), folder_path(name)), 0);
}

/* A head that says what cannot be is not believed, whether it is met by reading the block or by
 * passing over it. */
static void test_lies(void **state) {
    static const struct {
        lie_fn *lie;
        const char *note; /* "": only that frame is none */
    } lies[] = {{lie_file, "cannot have"},
                {lie_rows, "cannot have"},
                {lie_bytes, "cannot have"},
                {lie_records, ""},
                {lie_lz4, ""}};
    static const struct leat_run_options ways[] = {{.n_epochs = 1},
                                                   {.n_epochs = 1, .first_step = 120}};
    char name[LEAT_CACHE_NAME_MAX];

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            struct drive inline_ = {.options = ways[k]};
            struct driven without = drive_stream(CSV, "", STAGES, &inline_), with;

            free(build(CACHE "\n    block_bytes: 4096", name, &(size_t){0}));
            write_lie(name, lies[i].lie);
            with = drive_stream(CSV, CACHE, STAGES, &inline_);
            assert_same(&with, &without);
            assert_non_null(strstr(with.cache_note.message, lies[i].note));
            assert_int_equal(with.cache_note.code, lies[i].note[0] ? -EBADMSG : 0);
        }
    remove_caches();
}

/* A block with rows whose lists have so many elements, as a cache of other stages may have it. */
static void lie_lists(struct leat_cache_frame *frame, uint8_t *stored, uint32_t n_ids,
                      uint32_t n_also) {
    static const struct leat_field fields[] = {{.dtype = LEAT_DTYPE_INT64, .is_list = true},
                                               {.dtype = LEAT_DTYPE_INT64, .is_list = true}};
    static const bool is_kept[] = {true, true};
    struct leat_cache_schema schema = {fields, is_kept, 2};
    uint32_t n = frame->span.n_records, *lengths = calloc(3 * n, sizeof(*lengths));
    int64_t *values = calloc(n_ids + n_also, sizeof(*values));
    struct leat_column columns[] = {
        {.values = values, .starts = lengths, .lengths = lengths + n},
        {.values = values, .starts = lengths, .lengths = lengths + 2 * n}};
    struct leat_block block = {.n_rows = n, .n_records = n, .columns = columns, .n_columns = 2};
    struct leat_cache_bytes bytes = {.data = NULL}, packed = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *made;

    for (uint32_t row = 0; row < n; row++) {
        lengths[n + row] = n_ids;
        lengths[2 * n + row] = n_also;
    }
    assert_int_equal(leat_cache_block_encode(&schema, &block, &bytes, &err), 0);
    frame->n_rows = n;
    assert_int_equal(leat_cache_frame_store(frame, LEAT_CACHE_RAW, &bytes, &packed, &made, &err),
                     0);
    assert_in_range(frame->n_stored, 0, ROOM);
    memcpy(stored, made, frame->n_stored);
    leat_cache_bytes_deinit(&bytes);
    leat_cache_bytes_deinit(&packed);
    free(values);
    free(lengths);
}

static void lie_different(struct leat_cache_frame *frame, uint8_t *stored) {
    lie_lists(frame, stored, 60, 1);
}

static void lie_long(struct leat_cache_frame *frame, uint8_t *stored) {
    lie_lists(frame, stored, 4000, 4000);
}

static void lie_short(struct leat_cache_frame *frame, uint8_t *stored) {
    lie_lists(frame, stored, 1, 5);
}

/* Stages check lengths in the pass, and the order and collation rely on it: lists that are cut
 * together have the same length, and no row has more tokens than a batch, or other than it must. */
static void test_lists_that_lie(void **state) {
    static const struct {
        lie_fn *lie;
        const char *source, *stages;
    } lies[] = {
        {lie_different, DOCUMENTS,
         "- pack: {fields: [ids, also], length: 90, split: true, value: 0}\n"
         "- batch: {batch_size: 4}"},
        {lie_different, DOCUMENTS,
         "- chunk: {fields: [ids, also], length: 20}\n- pad: {input: ids, length: 20, value: 0}\n"
         "- pad: {input: also, length: 20, value: 0}\n- batch: {batch_size: 4}"},
        {lie_long, DOCUMENTS,
         "- pad: {input: ids, longest: true, value: 0}\n"
         "- pad: {input: also, longest: true, value: 0}\n- batch: {max_tokens: 700, max_rows: 9}"},
        {lie_short, "jsonl: {paths: [docs.jsonl], fields: {ids: 'int64[5]', also: 'int64[5]'}}",
         "- batch: {max_tokens: 20, tokens_of: [ids]}"}};
    struct drive builds = {.options = {.only_builds = true}};
    char stages[512];

    (void)state;
    write_documents(1000, 8);
    for (size_t i = 0; i < 2 * sizeof(lies) / sizeof(lies[0]); i++) {
        const char *source = lies[i / 2].source;
        struct drive how = {.options = {.n_epochs = 1, .world_size = 1 + i % 2}};
        struct driven without, with;

        (void)snprintf(stages, sizeof(stages), "- select: {fields: [ids, also]}\n%s",
                       lies[i / 2].stages);
        without = drive_stream(source, "on_error: skip", stages, &how);
        assert_string_equal(without.error.message, "");
        remove_caches();
        (void)drive_stream(source, SKIPPING "\n    block_bytes: 4096", stages, &builds);
        write_lie(cache_name(), lies[i / 2].lie);
        with = drive_stream(source, SKIPPING, stages, &how);
        assert_same(&with, &without);
        assert_int_equal(with.n_damaged, 1);
        assert_non_null(strstr(with.cache_note.message, "the cached block is damaged: "));
    }
    remove_caches();
}

/* A damaged block is made again from the source, and if that is not there, the stream fails. */
static void test_damaged_without_source(void **state) {
    char name[LEAT_CACHE_NAME_MAX];
    struct leat_run_options run_options = {.n_epochs = 1};
    struct driven with;
    size_t n_bytes;
    uint8_t *bytes;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    bytes = build(CACHE "\n    block_bytes: 4096", name, &n_bytes);
    for (size_t i = 1000; i < n_bytes - 2000; i++)
        bytes[i] ^= 1;
    folder_write(name, bytes, n_bytes);
    free(bytes);
    assert_int_equal(truncate(folder_path("data.csv"), 5000), 0);
    with = drive_cached("", STAGES, &run_options);
    assert_int_equal(with.n_damaged, 0); /* other data, another key: nothing of it is looked at */
    assert_int_equal(with.n_cached, 0);
}

static void limit_files(rlim_t n_bytes, struct rlimit *ret_before) {
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, ret_before), 0);
    limit = *ret_before;
    limit.rlim_cur = n_bytes;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_disk_full(void **state) {
    char name[LEAT_CACHE_NAME_MAX];
    struct leat_run_options run_options = {.n_epochs = 3};
    struct drive inline_ = {.options = run_options};
    struct driven without, with;
    size_t n_whole;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    without = drive_stream(CSV, "", STAGES, &inline_);
    free(build(CACHE "\n    block_bytes: 4096", name, &n_whole));
    for (int i = 0; i < 60; i++) {
        rlim_t n = i == 0 ? 0 : draw(n_whole);
        struct rlimit before;

        remove_caches();
        limit_files(n, &before);
        with = drive_stream(CSV, CACHE "\n    block_bytes: 4096", STAGES, &inline_);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_same(&with, &without);
        assert_int_equal(with.cache_note.code, -EFBIG);
        with = drive_cached("", STAGES, &run_options); /* there is room again */
        assert_same(&with, &without);
        assert_string_equal(with.cache_note.message, "");
        assert_string_equal(cache_name(), name);
    }
}

static void test_too_large(void **state) {
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};
    struct driven without, with;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    without = drive_stream(CSV, "", STAGES, &inline_);
    remove_caches();
    with = drive_stream(CSV, "block_bytes: 4096\n    cache: {path: ., max_size: 5kB}", STAGES,
                        &inline_);
    assert_same(&with, &without);
    assert_int_equal(with.cache_note.code, -EDQUOT);
    assert_true(with.n_cached > 0 && with.n_cached < 2000); /* as much as fits is used */
}

static void test_no_folder(void **state) {
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};
    struct driven without, with;

    (void)state;
    write_data("data.csv", 0, 200, 0);
    without = drive_stream(CSV, "", STAGES, &inline_);
    with = drive_stream(CSV, "cache: {path: none/at/all}", STAGES, &inline_);
    assert_same(&with, &without);
    assert_int_equal(with.cache_note.code, -ENOENT);
    assert_non_null(
        strstr(with.cache_note.message, "none/at/all: cannot make the folder of the cache"));
}

/* ---- data that changes ---- */

struct change {
    uint64_t at; /* batches */
    uint64_t n_batches;
    int64_t n_records;
};

static void change_data(const struct leat_output *output, void *user) {
    struct change *change = user;

    (void)output;
    if (change->n_batches++ == change->at)
        write_data("data.csv", 5000, change->n_records, 0);
}

/* What is made while a file changes goes to no cache that could be found again. */
static void test_changing_data(void **state) {
    struct leat_run_options run_options = {.n_epochs = 2};
    struct drive inline_ = {.options = run_options};

    (void)state;
    for (uint64_t at = 0; at < 120; at += 7) {
        struct change change = {.at = at, .n_records = at % 2 ? 2000 : 1500};
        struct drive changed = {.options = {.n_epochs = 3, .max_map_jobs = 2},
                                .on_batch = change_data,
                                .user = &change};
        struct driven without, with;

        write_data("data.csv", 0, 2000, 0);
        remove_caches();
        (void)drive_stream(CSV, CACHE "\n    block_bytes: 4096", STAGES, &changed);
        assert_true(change.n_batches > at);
        without = drive_stream(CSV, "", STAGES, &inline_);
        with = drive_cached("", STAGES, &run_options);
        assert_same(&with, &without);
        with = drive_cached("", STAGES, &run_options);
        assert_same(&with, &without);
        assert_int_equal(with.n_made, 0);
    }
}

/* Many processes share a key: one builds, and all get the same. */
static void test_crowd(void **state) {
    struct leat_run_options run_options = {.n_epochs = 3};
    struct drive inline_ = {.options = run_options};
    struct driven without;

    (void)state;
    write_data("data.csv", 0, 2000, 0);
    without = drive_stream(CSV, "", STAGES, &inline_);
    for (int i = 0; i < 10; i++) {
        pid_t pids[6];

        remove_caches();
        for (size_t k = 0; k < 6; k++) {
            pids[k] = fork();
            if (pids[k] == 0) {
                struct driven with =
                    drive_stream(CSV, CACHE "\n    block_bytes: 4096", STAGES, &inline_);

                _exit(strcmp(with.digest, without.digest) != 0 || with.cache_note.code != 0);
            }
        }
        for (size_t k = 0; k < 6; k++) {
            int status;

            assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
            assert_int_equal(status, 0);
        }
        assert_non_null(strstr(cache_name(), ".leat"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_digest),
        cmocka_unit_test(test_made_once),
        cmocka_unit_test(test_built_before),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_quarantine),
        cmocka_unit_test(test_rows_that_are_dropped_later),
        cmocka_unit_test(test_killed_anywhere),
        cmocka_unit_test(test_damaged_anywhere),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_lists_that_lie),
        cmocka_unit_test(test_damaged_without_source),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_changing_data),
        cmocka_unit_test(test_crowd),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
