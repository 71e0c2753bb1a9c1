/* test_out_of_memory.c: fails the first, the second, the third ... allocation of a whole small
 * epoch of each source, with what reads, makes and keeps its rows. The epoch then gives the batches
 * that it gives otherwise, or it fails with an error: it never ends early, and nothing crashes.
 *
 * The allocators of this program stand before those of the C library and of a sanitizer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/run/pipeline.h"
#include "pipeline/tokenizer/json.h"
#include "tests/pipeline/shared_arrow_file.h"
#include "tests/pipeline/shared_cache_folder.h"
#include "tests/pipeline/shared_compress.h"
#include "tests/pipeline/shared_documents.h"
#include "tests/pipeline/shared_records.h"

/* ---- allocators that fail ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *memory, size_t size);
void *REAL(memalign)(size_t alignment, size_t size);

#define SHOWN __attribute__((visibility("default"))) /* to the libraries too */

static bool is_armed;
static bool is_lasting;            /* all that follow fail too */
static uint64_t n_asked, fails_at; /* since it was armed */

static bool fails(void) {
    if (!is_armed || ++n_asked < fails_at || (n_asked > fails_at && !is_lasting))
        return false;
    errno = ENOMEM;
    return true;
}

SHOWN void *malloc(size_t size) {
    return fails() ? NULL : REAL(malloc)(size);
}

SHOWN void *calloc(size_t n, size_t size) {
    return fails() ? NULL : REAL(calloc)(n, size);
}

SHOWN void *realloc(void *memory, size_t size) {
    return fails() ? NULL : REAL(realloc)(memory, size);
}

SHOWN void *reallocarray(void *memory, size_t n, size_t size) {
    size_t n_bytes;

    if (__builtin_mul_overflow(n, size, &n_bytes))
        return NULL;
    return realloc(memory, n_bytes);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : REAL(memalign)(alignment, size);
}

SHOWN void *mmap(void *address, size_t n_bytes, int protection, int flags, int fd, off_t offset) {
    if ((flags & MAP_ANONYMOUS) && fails())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, n_bytes, protection, flags, fd, offset);
}

/* The n-th allocation from now on fails. */
static void arm(uint64_t n) {
    n_asked = 0;
    fails_at = n;
    is_armed = true;
}

/* False: there were less than n. */
static bool disarm(void) {
    is_armed = false;
    return n_asked >= fails_at;
}

/* ---- an epoch ---- */

#define N_SLOTS    3
#define SLOT_BYTES (64U << 10)
#define ROUNDS_MAX 100000

struct epoch {
    struct leat_plan *plan;
    struct leat_run *run;
    bool is_free[N_SLOTS];
    bool has_ended; /* its end was taken */
    uint64_t n_rows;
    struct leat_blake2b blake;
    char digest[LEAT_DIGEST_HEX_SIZE];
    struct leat_error error; /* code 0: none */
};

_Alignas(LEAT_SLOT_ALIGN) static uint8_t slots[N_SLOTS][SLOT_BYTES];

static unsigned take_outputs(struct epoch *epoch) {
    struct leat_output output;
    unsigned n = 0;

    for (; leat_run_take_output(epoch->run, &output); n++) {
        epoch->has_ended |= output.kind == LEAT_OUTPUT_EPOCH_END && output.is_last;
        if (output.kind != LEAT_OUTPUT_BATCH)
            continue;
        leat_blake2b_update(&epoch->blake, output.slot.memory, output.used_bytes);
        epoch->n_rows += output.n_rows;
        epoch->is_free[output.slot.index] = true;
    }
    return n;
}

static void give_slots(struct epoch *epoch) {
    int r;

    for (uint32_t i = 0; i < N_SLOTS; i++) {
        struct leat_slot slot = {.memory = slots[i], .size_bytes = SLOT_BYTES, .index = i};

        if (!epoch->is_free[i])
            continue;
        memset(slots[i], 0, SLOT_BYTES);
        r = leat_run_give_slot(epoch->run, &slot);
        if (r < 0) {
            assert_int_equal(r, -ENOMEM);
            leat_error_oom(&epoch->error);
            leat_run_cancel(epoch->run);
            return;
        }
        epoch->is_free[i] = false;
    }
}

static void run_to_end(struct epoch *epoch) {
    int r, n_rounds = 0;

    while ((r = leat_pipeline_step(epoch->run)) != LEAT_RUN_ENDED) {
        if (r == LEAT_RUN_NEEDS_SLOT)
            give_slots(epoch);
        if (take_outputs(epoch) == 0 && r == LEAT_RUN_WAITING)
            fail_msg("the run waits for nothing");
        assert_true(++n_rounds < ROUNDS_MAX);
    }
    (void)take_outputs(epoch);
}

static void hash_bad_records(struct epoch *epoch) {
    bool was_armed = is_armed;
    char *bad;

    is_armed = false;
    bad = folder_read("bad.jsonl");
    if (bad)
        leat_blake2b_text(&epoch->blake, bad);
    free(bad);
    is_armed = was_armed;
}

static void finish(struct epoch *epoch) {
    const struct leat_error *error = leat_run_error(epoch->run);
    uint8_t digest[LEAT_DIGEST_BYTES];

    hash_bad_records(epoch);
    if (error)
        epoch->error = *error;
    if (error && !error->code)
        fail_msg("an error without a code");
    if (!epoch->error.code && !epoch->has_ended)
        fail_msg("neither an end nor an error");
    leat_blake2b_final(&epoch->blake, digest);
    leat_digest_hex(digest, epoch->digest);
    leat_run_free(epoch->run);
}

/* 0 or the code, as its functions return it. */
static int run_epoch(const struct leat_spec *spec, struct epoch *epoch) {
    struct leat_run_options options = {.n_epochs = 1,
                                       .max_map_jobs = 2,
                                       .opener = &leat_opener_operator,
                                       .index_folder = folder_path(".")};
    int r;

    *epoch = (struct epoch){.plan = NULL};
    memset(epoch->is_free, 1, sizeof(epoch->is_free));
    leat_blake2b_init(&epoch->blake);
    r = leat_pipeline_open(spec, &leat_opener_operator, &epoch->plan, &epoch->error);
    if (r == 0)
        r = leat_run_new(epoch->plan, &options, &epoch->run, &epoch->error);
    if (r == 0) {
        run_to_end(epoch);
        finish(epoch);
        r = epoch->error.code;
    }
    leat_plan_unref(epoch->plan);
    return r;
}

/* ---- every allocation of it ---- */

/* Runs of a case; of more allocations than that each so-manieth fails. The two kinds of failure try
 * different ones. LEAT_TEST_RUNS is another number: with 3000, nearly all of them fail in turn. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUNS_MAX 120
#else
#define RUNS_MAX 1000
#endif

static uint64_t runs_max(void) {
    const char *given = getenv("LEAT_TEST_RUNS");

    return given ? strtoull(given, NULL, 10) : RUNS_MAX;
}

struct one_case {
    const char *source, *options, *stages;
};

static void check_failed(const struct one_case *one, uint64_t n, int r, const struct epoch *epoch,
                         const struct epoch *whole) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(&epoch->error, text, sizeof(text));
    if (r != epoch->error.code)
        fail_msg("%s\nallocation %llu: returns %d, and the error is %d: %s", one->source,
                 (unsigned long long)n, r, epoch->error.code, text);
    if (r != 0 && r != -ENOMEM)
        fail_msg("%s\n%s%s\nallocation %llu: is told as %d: %s", one->source, one->options,
                 one->stages, (unsigned long long)n, r, text);
    if (r == 0 && strcmp(epoch->digest, whole->digest) != 0)
        fail_msg("%s\n%s\n%s\nallocation %llu: %llu rows and no error, there are %llu", one->source,
                 one->options, one->stages, (unsigned long long)n,
                 (unsigned long long)epoch->n_rows, (unsigned long long)whole->n_rows);
}

static void remove_made(void) {
    remove_caches();
    (void)unlink(folder_path("bad.jsonl"));
}

/* is_warm: what the first epoch cached is there. */
static void check(const struct one_case *one, bool is_warm) {
    struct leat_spec *spec = stream_spec(one->source, one->options, one->stages);
    struct epoch whole, epoch;
    bool has_failed = true;
    uint64_t n_failed = 0, stride;

    remove_made();
    if (run_epoch(spec, &whole) < 0)
        fail_msg("%s\n%s: %s", one->stages, whole.error.path, whole.error.message);
    assert_true(whole.n_rows > 0);
    arm(UINT64_MAX);
    (void)run_epoch(spec, &epoch);
    (void)disarm();
    stride = 1 + n_asked / runs_max();
    for (uint64_t n = 1 + (is_lasting ? stride / 2 : 0); has_failed; n += stride) {
        int r;

        if (!is_warm)
            remove_made();
        arm(n);
        r = run_epoch(spec, &epoch);
        has_failed = disarm();
        n_failed += r < 0;
        check_failed(one, n, r, &epoch, &whole);
    }
    assert_true(n_failed > 0);
    leat_spec_free(spec);
}

static void check_all(const struct one_case *cases, size_t n, bool is_warm) {
    for (size_t i = 0; i < n; i++)
        for (int lasts = 0; lasts < 2; lasts++) {
            is_lasting = lasts;
            check(&cases[i], is_warm);
        }
}

/* ---- data ---- */

#define ROWS  40 /* of a file */
#define SMALL "block_bytes: 4096"
#define SKIP  SMALL "\n    on_error: skip"
#define INT   "- cast: {input: id, dtype: int64}\n"
#define ID    "- select: {fields: [id]}\n"
#define BATCH "- batch: {batch_size: 16}"
#define N(a)  (sizeof(a) / sizeof((a)[0]))

#define WRITE_ROWS(name, head, n, format, ...)                                                     \
    do {                                                                                           \
        struct leat_text text_ = {.data = NULL};                                                   \
        leat_text_add(&text_, "%s", head);                                                         \
        for (size_t i = 0; i < (n); i++)                                                           \
            leat_text_add(&text_, format, __VA_ARGS__);                                            \
        folder_write(name, text_.data, text_.n_bytes);                                             \
        free(text_.data);                                                                          \
    } while (0)

static void compress(const char *name, enum format format) {
    static const char *const suffixes[] = {"gz", "zst", "lz4", "bz2", "xz"};
    char *text = folder_read(name), packed[64];
    struct blob blob = compress_text(format, text, strlen(text), 1000);

    (void)snprintf(packed, sizeof(packed), "%s.%s", name, suffixes[format]);
    folder_write(packed, blob.data, blob.n_bytes);
    blob_free(&blob);
    free(text);
}

static const char *const copied[][2] = {
    {"tokenizer/data/wordlevel.json", "wordlevel.json"},
    {"tokenizer/data/bert-uncased.json", "bert-uncased.json"},
    {"tokenizer/data/gpt2.json", "gpt2.json"},
    {"tokenizer/data/t5.json", "t5.json"},
    {"tokenizer/data/llama2.json", "llama2.json"},
    {"pipeline/data/arrow/lz4.arrow", "lz4.arrow"},
    {"pipeline/data/arrow/zstd.arrow", "zstd.arrow"},
    {"pipeline/data/arrow/dictionaries.arrow", "dictionaries.arrow"},
};

static void copy_file(const char *from, const char *to) {
    struct leat_error err = LEAT_ERROR_INIT;
    char *data = NULL;
    size_t n;

    assert_int_equal(leat_opener_read(&leat_opener_any, from, 1U << 30, &data, &n, &err), 0);
    folder_write(to, data, n);
    free(data);
}

static int write_files(void **state) {
    int r = folder_open(state);
    struct arrow_file *arrow = arrow_file_of_texts(50, 4, 5);

    WRITE_ROWS("a.csv", "id,text,age\n", ROWS, "%zu,\"ab %zu \"\"cc\"\"\",%zu\n", i, i % 7, i);
    WRITE_ROWS("b.csv", "id,text,age\n", 600, "%zu,b %zu,%zu\n", i, i % 7, i % 30);
    WRITE_ROWS("bad.csv", "", ROWS, "%zu,b %zu%s,%zu\n", i, i, i % 9 ? "" : ",more", i);
    WRITE_ROWS("a.jsonl", "", ROWS, "{\"id\": %zu, \"text\": \"ab %zu\", \"ids\": [1, %zu]}\n", i,
               i, i);
    WRITE_ROWS("b.jsonl", "", 200, "{\"id\": %zu, \"text\": \"b %zu\", \"ids\": [%zu]}\n", i, i, i);
    WRITE_ROWS("bad.jsonl.txt", "", ROWS, "{\"id\": %zu%s, \"ids\": [%zu, 3]}\n", i,
               i % 9 ? "" : "z", i);
    WRITE_ROWS("chat.jsonl", "", ROWS,
               "{\"m\": [{\"role\": \"user\", \"content\": \"u %zu\"}, "
               "{\"role\": \"assistant\", \"content\": \"a %zu\"}]}\n",
               i, i);
    WRITE_ROWS("a.txt", "", ROWS, "ab%.*s ccab\n", (int)i % 7, "abcabcabc");
    folder_write("a.arrow", arrow->bytes.data, arrow->bytes.n_bytes);
    arrow_file_free(arrow);
    for (int format = 0; format < N_FORMATS; format++) {
        compress("a.csv", (enum format)format);
        compress("b.csv", (enum format)format);
    }
    for (size_t i = 0; i < N(copied); i++)
        copy_file(copied[i][0], copied[i][1]);
    folder_print("vocab.txt", "a\nb\nc\n \nab\ncc\n");
    return r;
}

/* ---- cases ---- */

#define CHECK(name, is_warm, ...)                                                                  \
    static void name(void **state) {                                                               \
        static const struct one_case cases[] = {__VA_ARGS__};                                      \
                                                                                                   \
        (void)state;                                                                               \
        check_all(cases, N(cases), is_warm);                                                       \
    }

/* Fails where any allocation of the first parser does, in a process that has not parsed yet. */
static void test_first_json(void **state) {
    static const char text[] = "{\"a\": [1, 2]}";
    bool has_failed = true;

    (void)state;
    for (uint64_t n = 1; has_failed; n++) {
        int status;
        pid_t child = fork();

        if (child == 0) {
            struct leat_json_node root;
            struct leat_json *json = NULL;
            int r;

            arm(n);
            (void)leat_json_is_utf8("\xc3\xa9", 2);
            r = leat_json_new(0, &json);
            if (r == 0)
                r = leat_json_parse(json, text, strlen(text), strlen(text), &root,
                                    LEAT_ERROR_IGNORED);
            leat_json_free(json);
            has_failed = disarm();
            _exit(!has_failed || r == 0 || r == -ENOMEM ? has_failed : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        has_failed = WEXITSTATUS(status) == 1;
    }
}

CHECK(test_csv, false, {"csv: {paths: [a.csv, b.csv]}", SKIP, INT ID BATCH},
      {"csv: {paths: [a.csv, b.csv]}", SMALL "\n    index: off", INT ID BATCH},
      {"csv: {paths: [a.csv, bad.csv], header: false, names: [id, text, age]}",
       SMALL "\n    on_error: quarantine\n    quarantine: bad.jsonl", INT ID BATCH})

CHECK(test_jsonl, false, {"jsonl: {paths: [a.jsonl, b.jsonl]}", SKIP, ID BATCH},
      {"jsonl: {paths: [a.jsonl, bad.jsonl.txt], fields: {id: int32, ids: 'ids list<int64>'}}",
       SMALL "\n    on_error: quarantine\n    quarantine: bad.jsonl\n    index: off",
       "- select: {fields: [id, ids]}\n- pad: {input: ids, longest: true, value: 0}\n" BATCH})

CHECK(test_text, false,
      {"text: {paths: [a.txt, a.txt]}", SKIP,
       "- tokenize: {vocab: vocab.txt}\n- select: {fields: [input_ids]}\n"
       "- pad: {input: input_ids, longest: true, value: 0}\n" BATCH})

CHECK(test_arrow, false,
      {"arrow: {paths: [lz4.arrow, lz4.arrow]}", SKIP,
       "- template: {output: one, parts: ['1']}\n- cast: {input: one, dtype: int32}\n"
       "- select: {fields: [one]}\n" BATCH},
      {"arrow: {paths: [zstd.arrow, zstd.arrow]}", SKIP,
       "- template: {output: one, parts: ['1']}\n- cast: {input: one, dtype: int32}\n"
       "- select: {fields: [one]}\n" BATCH},
      {"arrow: {paths: [dictionaries.arrow, dictionaries.arrow]}", SKIP,
       "- template: {output: one, parts: ['1']}\n- cast: {input: one, dtype: int32}\n"
       "- select: {fields: [one]}\n" BATCH},
      {"arrow: {paths: [a.arrow, a.arrow]}", SKIP, "- select: {fields: [n]}\n" BATCH},
      {"arrow: {paths: [a.arrow]}", SMALL "\n    index: off",
       "- lower: {input: t}\n- hash_bucket: {input: t, output: h, buckets: 10}\n- select: "
       "{fields: [n, h]}\n" BATCH})

CHECK(test_codecs, false, {"csv: {paths: '*.csv.gz'}", SKIP, INT ID BATCH},
      {"csv: {paths: [a.csv.zst, b.csv.zst]}", SKIP, INT ID BATCH},
      {"csv: {paths: [a.csv.lz4, b.csv.lz4]}", SKIP, INT ID BATCH},
      {"csv: {paths: [a.csv.bz2, b.csv.bz2]}", SKIP, INT ID BATCH},
      {"csv: {paths: [a.csv.xz, b.csv.xz]}", SKIP, INT ID BATCH})

CHECK(test_cache, false,
      {"csv: {paths: [a.csv, b.csv]}", SKIP "\n    cache: {path: .}", INT ID BATCH},
      {"jsonl: {paths: [a.jsonl, b.jsonl]}", SKIP "\n    cache: {path: .}",
       "- shuffle: {buffer_size: 50}\n- repeat: {count: 2}\n" ID BATCH})

CHECK(test_warm_cache, true,
      {"csv: {paths: [a.csv, b.csv]}", SKIP "\n    cache: {path: .}", INT ID BATCH},
      {"csv: {paths: [a.csv, b.csv]}", SKIP,
       "- filter: {input: text, equals: b 5}\n- shuffle: {buffer_size: 50, blocks: true}\n" INT ID
           BATCH})

CHECK(test_several, false,
      {"mix: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}], weights: [1, 2]}", SKIP,
       INT ID BATCH},
      {"concat: {sources: [{csv: {paths: a.csv}}, {csv: {paths: b.csv}}]}", SKIP, INT ID BATCH})

CHECK(test_order, false,
      {"csv: {paths: [a.csv, b.csv]}", SKIP,
       "- dedup: {input: age}\n- shuffle: {buffer_size: 20}\n" INT ID BATCH},
      {"csv: {paths: [a.csv, b.csv]}", SKIP "\n    index: off",
       INT "- shuffle: {buffer_size: 20}\n"
           "- skip: {count: 3}\n- take: {count: 300}\n" ID BATCH},
      {"jsonl: {paths: [a.jsonl, b.jsonl]}", SKIP,
       "- shuffle: {buffer_size: 20}\n- select: {fields: [ids]}\n- pack: {fields: ids, length: 16, "
       "value: 0}\n"
       "- batch: {batch_size: 4}"},
      {"jsonl: {paths: [a.jsonl, b.jsonl]}", SKIP,
       "- chunk: {fields: ids, length: 3}\n- select: {fields: [ids]}\n"
       "- bucket: {input: ids, boundaries: [2, 3]}\n- pad: {input: ids, longest: true, value: 0}\n"
       "- batch: {batch_size: 4}"})

#define TOKENIZE(name, more)                                                                       \
    {                                                                                              \
        "jsonl: {paths: [a.jsonl, b.jsonl]}", SKIP,                                                \
            "- tokenize: {input: text, output: out, tokenizer: " name ".json" more "}\n"           \
            "- select: {fields: [out]}\n- pad: {input: out, longest: true, value: 0}\n" BATCH      \
    }

CHECK(test_tokenizers, false, TOKENIZE("wordlevel", ""), TOKENIZE("bert-uncased", ""),
      TOKENIZE("gpt2", ", max_length: 3"), TOKENIZE("t5", ""), TOKENIZE("llama2", ""))

#define TEN(a) a a a a a a a a a a
#define LONG   TEN(TEN(TEN("(?:xy)?"))) /* its text for PCRE2 outgrows the first memory */

CHECK(test_stages, false,
      {"csv: {paths: [a.csv, b.csv]}", SKIP,
       "- strip: {input: text}\n- lower: {input: text}\n- replace: {input: text, old: b, new: dd}\n"
       "- regex_replace: {input: text, pattern: 'd+" LONG "', new: x}\n"
       "- template: {output: both, parts: ['{text} {age}']}\n"
       "- hash_bucket: {input: both, output: h, buckets: 100}\n"
       "- cast: {input: age, dtype: float32}\n- bin: {input: age, output: b, edges: [5, 9]}\n"
       "- clip: {input: age, min: 1, max: 20}\n- normalize: {input: age, mean: 3, std: 2}\n"
       "- one_hot: {input: text, output: o, categories: [ax 1, x 2], unknown: zeros}\n"
       "- sample: {fraction: 0.9, seed: 1}\n- filter: {input: b, min: 1}\n"
       "- select: {fields: [h, age, b, o]}\n" BATCH},
      {"jsonl: {paths: [chat.jsonl], fields: {m: json}}", SKIP,
       "- chat: {messages: m, template: chatml, output: t}\n"
       "- tokenize: {input: t, output: ids, tokenizer: gpt2.json}\n"
       "- causal_labels: {input: ids, output: labels, loss_on: all}\n"
       "- select: {fields: [ids, labels]}\n"
       "- pad: {input: ids, length: 200, value: 0, mask: mask}\n"
       "- pad: {input: labels, length: 200, value: -100}\n" BATCH},
      {"csv: {paths: [a.csv, b.csv]}", SKIP,
       "- instruction: {prompt: '{text} ', response: '{age}', output: t}\n"
       "- tokenize: {input: t, output: ids, tokenizer: gpt2.json}\n"
       "- select: {fields: [ids]}\n- pad: {input: ids, length: 40, value: 0}\n" BATCH})

CHECK(test_exec, false,
      {"jsonl: {paths: [a.jsonl, a.jsonl]}", SKIP,
       "- exec: {command: [/bin/cat], schema: {id: int64}}\n" ID BATCH})

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_json), cmocka_unit_test(test_csv),
        cmocka_unit_test(test_jsonl),      cmocka_unit_test(test_text),
        cmocka_unit_test(test_arrow),      cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_cache),      cmocka_unit_test(test_warm_cache),
        cmocka_unit_test(test_several),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_tokenizers), cmocka_unit_test(test_stages),
        cmocka_unit_test(test_exec),
    };

    return cmocka_run_group_tests(tests, write_files, folder_close);
}
