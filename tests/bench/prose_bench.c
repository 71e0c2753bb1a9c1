/* prose_bench: what a whole pipeline costs beside the tokenizer alone, on the same documents.
 *
 *     prose_bench --tokenizer FILE|DIR [--documents FILE] [--megabytes N] [--rounds N]
 *                 [--folder DIR] [--only alone|jsonl|csv]
 *
 * The documents (a file with a NUL between them; without --documents `megabytes` of made-up prose)
 * are tokenized from memory, and are written as JSON Lines and as CSV and run through source,
 * tokenize, pad to the longest of the batch, select and batch of 32, on this thread, up to the
 * batches. In each round all three take their turn, each with empty caches of words, and the ratios
 * are those of one round: so what else the machine does falls on all of them. Times are those of
 * the CPU, the kernel's part included. --only runs one of them, for profilers.
 *
 * Prints one line of JSON: MB/s are of the documents' text; ratios are the median, the least and
 * the largest of all rounds.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "pipeline/run/pipeline.h"
#include "pipeline/spec/yaml.h"
#include "pipeline/tokenizer/tokenizer.h"
#include "proto/base/text.h"

#define ROUNDS_MAX 99

enum contender { ALONE, JSONL, CSV, N_CONTENDERS };

static const char *const names[N_CONTENDERS] = {"alone", "jsonl", "csv"};

struct document {
    const char *text;
    size_t n_bytes;
};

struct bench {
    const char *tokenizer_path, *folder;
    struct leat_tokenizer *tokenizer;
    struct leat_text text; /* of all documents, a NUL behind each */
    struct document *documents;
    size_t n_documents, n_text_bytes;
    struct leat_plan *plans[N_CONTENDERS];
    double seconds[N_CONTENDERS][ROUNDS_MAX];
    uint64_t n_tokens[N_CONTENDERS];
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "prose_bench: %s: %s\n", what, why);
    exit(1);
}

static void die_of(const char *what, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    leat_error_print(err, text, sizeof(text));
    die(what, text);
}

static double cpu_s(void) {
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- documents ---- */

/* Words by their rank: those of low numbers are short, and frequent (Zipf's law). */
static void add_word(struct leat_text *text, uint64_t rank, bool is_first) {
    static const char *const syllables[] = {"a",   "the", "in",   "to", "ver", "con", "ing", "re",
                                            "ly",  "an",  "tion", "er", "o",   "men", "pre", "sta",
                                            "ble", "di",  "ness", "un", "for", "mar", "e",   "lo"};
    size_t at = text->n_bytes;

    do {
        leat_text_add(text, "%s", syllables[rank % 24]);
        rank /= 24;
    } while (rank > 0);
    if (is_first)
        text->data[at] = (char)(text->data[at] - 'a' + 'A');
}

static uint64_t draw_rank(struct leat_rng *rng) {
    uint64_t n_bits = 1 + leat_rng_below(rng, 15);

    return leat_rng_below(rng, UINT64_C(1) << n_bits);
}

static void add_sentence(struct leat_text *text, struct leat_rng *rng, size_t *line_start) {
    bool is_speech = leat_rng_below(rng, 12) == 0;
    uint64_t n_words = 3 + leat_rng_below(rng, 20);

    leat_text_add(text, is_speech ? "\"" : "");
    for (uint64_t i = 0; i < n_words; i++) {
        add_word(text, draw_rank(rng), i == 0);
        if (i + 1 == n_words)
            leat_text_add(text, is_speech ? ".\"" : ".");
        else if (leat_rng_below(rng, 10) == 0)
            leat_text_add(text, leat_rng_below(rng, 30) ? "," : " \xe2\x80\x94");
        if (text->n_bytes - *line_start > 70) {
            leat_text_add(text, "\n");
            *line_start = text->n_bytes;
        } else {
            leat_text_add(text, " ");
        }
    }
}

static void make_documents(struct leat_text *text, size_t n_bytes) {
    struct leat_rng rng = {.state = 1};

    while (text->n_bytes < n_bytes) {
        size_t end = text->n_bytes + 500 + leat_rng_below(&rng, 8000), line_start = text->n_bytes;

        while (text->n_bytes < end) {
            add_sentence(text, &rng, &line_start);
            if (leat_rng_below(&rng, 6) == 0)
                leat_text_add(text, "\n\n");
        }
        leat_text_add_bytes(text, "", 1);
    }
}

static void read_documents(struct leat_text *text, const char *path) {
    struct leat_error err = LEAT_ERROR_INIT;
    char *data;
    size_t n;

    if (leat_opener_read(&leat_opener_operator, path, LEAT_TOKENIZER_FILE_BYTES_MAX * 4UL, &data,
                         &n, &err) < 0)
        die_of("--documents", &err);
    leat_text_add_bytes(text, data, n);
    if (n == 0 || data[n - 1])
        leat_text_add_bytes(text, "", 1);
    free(data);
}

static void split_documents(struct bench *bench) {
    const char *at = bench->text.data, *end = at + bench->text.n_bytes;
    size_t n = 0;

    for (const char *nul = at; nul < end && (nul = memchr(nul, 0, (size_t)(end - nul))); nul++)
        n++;
    bench->documents = calloc(n + 1, sizeof(*bench->documents));
    if (bench->text.failed || !bench->documents)
        die("documents", "out of memory");
    for (; at < end; at += bench->documents[bench->n_documents++].n_bytes + 1) {
        bench->documents[bench->n_documents] = (struct document){at, strlen(at)};
        bench->n_text_bytes += strlen(at);
    }
    if (bench->n_text_bytes == 0)
        die("documents", "there are none");
}

/* ---- files ---- */

static void add_csv_line(struct leat_text *line, const struct document *document) {
    const char *at = document->text, *end = at + document->n_bytes, *quote;

    leat_text_add_bytes(line, "\"", 1);
    for (; at < end; at = quote) {
        quote = memchr(at, '"', (size_t)(end - at));
        quote = quote ? quote + 1 : end;
        leat_text_add_bytes(line, at, (size_t)(quote - at));
        leat_text_add_bytes(line, "\"", quote[-1] == '"');
    }
    leat_text_add_bytes(line, "\"\n", 2);
}

static void add_json_line(struct leat_text *line, const struct document *document) {
    leat_text_add(line, "{\"t\": ");
    leat_text_add_json(line, document->text, document->n_bytes);
    leat_text_add(line, "}\n");
}

static void write_documents(const struct bench *bench, enum contender contender, const char *path) {
    struct leat_text lines = {.data = NULL};
    FILE *file = fopen(path, "wb");

    if (contender == CSV)
        leat_text_add(&lines, "t\n");
    for (size_t i = 0; i < bench->n_documents; i++)
        (contender == CSV ? add_csv_line : add_json_line)(&lines, &bench->documents[i]);
    if (lines.failed || !file || fwrite(lines.data, 1, lines.n_bytes, file) != lines.n_bytes ||
        fclose(file) != 0)
        die(path, "cannot be written");
    free(lines.data);
}

/* ---- pipelines ---- */

static struct leat_spec *make_spec(const struct bench *bench, const char *kind, const char *path) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text yaml = {.data = NULL};
    struct leat_spec **specs = NULL, *spec;
    struct leat_value document;
    size_t n_specs = 0;
    char *tokenizer = realpath(bench->tokenizer_path, NULL);

    leat_text_add(&yaml,
                  "streams:\n  prose:\n    source: { %s: { paths: [\"%s\"] } }\n    stages:\n"
                  "      - tokenize: { input: t, output: input_ids, tokenizer: \"%s\" }\n"
                  "      - pad: { input: input_ids, longest: true, value: 0 }\n"
                  "      - select: { fields: [input_ids] }\n"
                  "      - batch: { batch_size: 32 }\n",
                  kind, path, tokenizer ? tokenizer : bench->tokenizer_path);
    if (leat_yaml_parse(yaml.data, yaml.n_bytes, "bench", &document, &err) < 0 ||
        leat_yaml_streams(&document, "bench", &specs, &n_specs, &err) < 0)
        die_of("spec", &err);
    spec = specs[0];
    free(specs);
    free(yaml.data);
    free(tokenizer);
    leat_value_deinit(&document);
    return spec;
}

static void make_plan(struct bench *bench, enum contender contender) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *spec;
    char path[4096], *real;

    (void)mkdir(bench->folder, 0755);
    (void)snprintf(path, sizeof(path), "%s/prose.%s", bench->folder, names[contender]);
    write_documents(bench, contender, path);
    real = realpath(path, NULL);
    spec = make_spec(bench, names[contender], real ? real : path);
    if (leat_pipeline_open(spec, &leat_opener_operator, &bench->plans[contender], &err) < 0)
        die_of(names[contender], &err);
    leat_spec_free(spec);
    free(real);
}

/* One slot: it is free again as soon as its batch is there. */
static void give_slot(struct leat_run *run, struct leat_slot *slot) {
    size_t need = leat_run_slot_need(run);

    if (slot->size_bytes < need) {
        free(slot->memory);
        slot->memory = aligned_alloc(LEAT_SLOT_ALIGN, leat_slot_align(2 * need));
        slot->size_bytes = leat_slot_align(2 * need);
    }
    if (!slot->memory || leat_run_give_slot(run, slot) < 0)
        die("slot", "out of memory");
}

static void drive(struct leat_run *run, struct leat_slot *slot) {
    struct leat_output output;

    for (;;) {
        switch (leat_pipeline_step(run)) {
        case LEAT_RUN_JOB:
            break;
        case LEAT_RUN_NEEDS_SLOT:
            give_slot(run, slot);
            break;
        case LEAT_RUN_WAITING:
            break;
        default:
            return;
        }
        while (leat_run_take_output(run, &output))
            continue;
    }
}

static uint64_t run_pipeline(struct leat_plan *plan) {
    const struct leat_run_options options = {
        .n_epochs = 1, .world_size = 1, .max_map_jobs = 1, .opener = &leat_opener_operator};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_slot slot = {.memory = NULL};
    struct leat_run_stats stats;
    struct leat_run *run;

    if (leat_run_new(plan, &options, &run, &err) < 0)
        die_of("run", &err);
    drive(run, &slot);
    if (leat_run_error(run))
        die_of("run", leat_run_error(run));
    leat_run_get_stats(run, &stats);
    leat_run_free(run);
    free(slot.memory);
    return stats.counts.figures.n_elements;
}

/* ---- the tokenizer alone ---- */

static uint64_t run_alone(const struct bench *bench) {
    static const struct leat_truncation whole = {.is_on = false};
    static const struct leat_padding bare = {.is_on = false};
    const struct leat_encode_options options = {
        .adds_special_tokens = true, .truncation = &whole, .padding = &bare};
    struct leat_tokenizer_context *context;
    struct leat_error err = LEAT_ERROR_INIT;
    uint64_t n_tokens = 0;

    if (leat_tokenizer_context_new(bench->tokenizer, &context) < 0)
        die("tokenizer", "out of memory");
    for (size_t i = 0; i < bench->n_documents; i++) {
        const struct document *document = &bench->documents[i];
        const struct leat_encoding *encodings;
        size_t n_encodings;

        if (leat_tokenizer_encode(bench->tokenizer, context, document->text, document->n_bytes,
                                  NULL, 0, &options, &encodings, &n_encodings, &err) < 0)
            die_of("tokenizer", &err);
        n_tokens += encodings[0].n;
    }
    leat_tokenizer_context_free(context);
    return n_tokens;
}

/* ---- rounds ---- */

/* A function of its own, that profilers can be told to watch. */
__attribute__((noinline)) static void take_turn(struct bench *bench, enum contender contender,
                                                size_t round) {
    double start = cpu_s();

    bench->n_tokens[contender] =
        contender == ALONE ? run_alone(bench) : run_pipeline(bench->plans[contender]);
    bench->seconds[contender][round] = cpu_s() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double *seconds, size_t n) {
    double sorted[ROUNDS_MAX];

    memcpy(sorted, seconds, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare);
    return sorted[n / 2];
}

static void print_ratio(const struct bench *bench, enum contender contender, size_t n_rounds) {
    double ratios[ROUNDS_MAX];

    for (size_t i = 0; i < n_rounds; i++)
        ratios[i] = bench->seconds[contender][i] / bench->seconds[ALONE][i];
    qsort(ratios, n_rounds, sizeof(*ratios), compare);
    printf(", \"%s_mb_s\": %.1f, \"%s_ratio\": [%.3f, %.3f, %.3f]", names[contender],
           (double)bench->n_text_bytes / 1e6 / median(bench->seconds[contender], n_rounds),
           names[contender], ratios[n_rounds / 2], ratios[0], ratios[n_rounds - 1]);
}

static void print_result(const struct bench *bench, size_t n_rounds) {
    printf("{\"documents\": %zu, \"bytes\": %zu, \"tokens\": %llu, \"rounds\": %zu, "
           "\"alone_mb_s\": %.1f",
           bench->n_documents, bench->n_text_bytes, (unsigned long long)bench->n_tokens[ALONE],
           n_rounds, (double)bench->n_text_bytes / 1e6 / median(bench->seconds[ALONE], n_rounds));
    print_ratio(bench, JSONL, n_rounds);
    print_ratio(bench, CSV, n_rounds);
    printf("}\n");
}

static void run_all(struct bench *bench, size_t n_rounds) {
    for (size_t round = 0; round < n_rounds; round++)
        for (enum contender i = ALONE; i < N_CONTENDERS; i++)
            take_turn(bench, i, round);
    for (enum contender i = JSONL; i < N_CONTENDERS; i++)
        if (bench->n_tokens[i] != bench->n_tokens[ALONE])
            die(names[i], "gives another number of tokens than the tokenizer alone");
    print_result(bench, n_rounds);
}

static void run_one(struct bench *bench, const char *only, size_t n_rounds) {
    for (enum contender i = ALONE; i < N_CONTENDERS; i++) {
        if (strcmp(names[i], only) != 0)
            continue;
        for (size_t round = 0; round < n_rounds; round++)
            take_turn(bench, i, round);
        printf("{\"tokens\": %llu, \"%s_mb_s\": %.1f}\n", (unsigned long long)bench->n_tokens[i],
               only, (double)bench->n_text_bytes / 1e6 / median(bench->seconds[i], n_rounds));
        return;
    }
    die(only, "is none of alone, jsonl and csv");
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"tokenizer", 1, NULL, 't'}, {"documents", 1, NULL, 'd'}, {"megabytes", 1, NULL, 'm'},
        {"rounds", 1, NULL, 'r'},    {"folder", 1, NULL, 'f'},    {"only", 1, NULL, 'o'},
        {NULL, 0, NULL, 0}};
    static struct bench bench = {.folder = "/tmp/leat-bench-data"};
    const char *documents = NULL, *only = NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = 32000000, n_rounds = 7;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 't')
            bench.tokenizer_path = optarg;
        else if (c == 'd')
            documents = optarg;
        else if (c == 'm')
            n_bytes = (size_t)(strtod(optarg, NULL) * 1e6);
        else if (c == 'r')
            n_rounds = strtoul(optarg, NULL, 10);
        else if (c == 'f')
            bench.folder = optarg;
        else if (c == 'o')
            only = optarg;
        else
            die("usage", "the head of prose_bench.c tells the options");
    }
    if (!bench.tokenizer_path || n_rounds < 1 || n_rounds > ROUNDS_MAX)
        die("usage", "--tokenizer FILE, and 1 to 99 --rounds");
    if (documents)
        read_documents(&bench.text, documents);
    else
        make_documents(&bench.text, n_bytes);
    split_documents(&bench);
    if (leat_tokenizer_open(bench.tokenizer_path, NULL, &bench.tokenizer, &err) < 0)
        die_of("tokenizer", &err);
    for (enum contender i = JSONL; i < N_CONTENDERS; i++)
        if (!only || strcmp(only, names[i]) == 0)
            make_plan(&bench, i);
    if (only)
        run_one(&bench, only, n_rounds);
    else
        run_all(&bench, n_rounds);
    for (enum contender i = JSONL; i < N_CONTENDERS; i++)
        leat_plan_unref(bench.plans[i]);
    leat_tokenizer_free(bench.tokenizer);
    free(bench.documents);
    free(bench.text.data);
    return 0;
}
