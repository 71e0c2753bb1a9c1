/* mixing_bench: how well each kind of shuffle mixes data that is sorted, and what it costs.
 *
 *     mixing_bench [--records N] [--record-bytes N] [--batch N] [--folder DIR] [--cache DIR]
 *                  [--table]
 *
 * JSON Lines of so many numbered records go through each shuffle and into batches, on this thread.
 * Where records came out is compared with where they stood:
 *
 * - distance: how far a record is moved, as the mean; 1 is that of a random permutation, N / 3.
 * - correlation: of places before and after (Spearman's rank correlation); 0 at random.
 * - neighbours: of records that stood side by side, the share that is in the same batch, in parts
 *   of what a random permutation has; 1 at random, as many as the batch is a part of the data
 *   (N / batch) if nothing is mixed.
 * - labels: if the data is sorted by a label of 100 values, the entropy of labels in a batch, as
 *   the mean over batches, in parts of that of a random permutation; worst: of the worst batch;
 *   labels_8: of 8 batches in line, as 8 ranks have them in a step.
 * - records_per_s, of CPU: what reading in another order costs shows here.
 *
 * With --cache there is one, which is built before anything is measured. Lanes need it.
 *
 * Prints a line of JSON for each, or with --table a table of Markdown. The same in every run, but
 * for times.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "pipeline/run/pipeline.h"
#include "pipeline/spec/yaml.h"
#include "proto/base/text.h"

#define N_LABELS 100

static const char *const shuffles[] = {
    "",
    "buffer_size: 1000",
    "buffer_size: 10000",
    "buffer_size: 100000",
    "blocks: true, block_size: 64, buffer_size: 1000",
    "blocks: true, block_size: 64, buffer_size: 16384",
    "blocks: true, block_size: 256, buffer_size: 1000",
    "blocks: true, block_size: 256, buffer_size: 10000",
    "blocks: true, block_size: 256, buffer_size: 100000",
    "blocks: true, block_size: 1024, buffer_size: 10000",
    "blocks: true, block_size: 1024, buffer_size: 100000",
    "blocks: true, block_size: 8192, buffer_size: 100000",
    "blocks: true, block_size: 64, buffer_size: 4096, lanes: 64",
    "global: true",
};

struct options {
    size_t n_records, record_bytes, batch_size;
    const char *folder, *cache;
    bool as_table;
};

struct order {
    uint32_t *records; /* [n]: which came out, in order */
    size_t n;
};

struct quality {
    double distance, correlation, neighbours, labels, worst, labels_8;
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "mixing_bench: %s: %s\n", what, why);
    exit(1);
}

static void die_of(const char *what, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    leat_error_print(err, text, sizeof(text));
    die(what, text);
}

static void *need(void *memory) {
    if (!memory)
        die("memory", "there is none left");
    return memory;
}

static double cpu_s(void) {
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- data and plan ---- */

static void write_data(const struct options *options, const char *path) {
    char *padding = need(malloc(options->record_bytes + 1));
    FILE *file = fopen(path, "wb");

    memset(padding, 'x', options->record_bytes);
    padding[options->record_bytes] = '\0';
    if (!file)
        die(path, "cannot be written");
    for (size_t i = 0; i < options->n_records; i++) {
        int n = snprintf(NULL, 0, "{\"id\":%zu,\"text\":\"\"}\n", i);
        size_t n_text = options->record_bytes > (size_t)n ? options->record_bytes - (size_t)n : 0;

        fprintf(file, "{\"id\":%zu,\"text\":\"%.*s\"}\n", i, (int)n_text, padding);
    }
    if (fclose(file) != 0)
        die(path, "cannot be written");
    free(padding);
}

static struct leat_plan *make_plan(const struct options *options, const char *path,
                                   const char *shuffle) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text yaml = {.data = NULL};
    struct leat_spec **specs = NULL;
    struct leat_value document;
    struct leat_plan *plan;
    size_t n_specs = 0;

    leat_text_add(
        &yaml,
        "streams:\n  mixing:\n    source: { jsonl: { paths: [\"%s\"] } }\n%s%s%s    stages:\n"
        "      - select: { fields: [id] }\n",
        path, options->cache ? "    cache: { path: \"" : "", options->cache ? options->cache : "",
        options->cache ? "\" }\n" : "");
    if (shuffle[0])
        leat_text_add(&yaml, "      - shuffle: { %s, seed: 1 }\n", shuffle);
    leat_text_add(&yaml, "      - batch: { batch_size: %zu }\n", options->batch_size);
    if (leat_yaml_parse(yaml.data, yaml.n_bytes, "bench", &document, &err) < 0 ||
        leat_yaml_streams(&document, "bench", &specs, &n_specs, &err) < 0)
        die_of("spec", &err);
    if (leat_pipeline_open(specs[0], &leat_opener_operator, &plan, &err) < 0)
        die_of("plan", &err);
    leat_spec_free(specs[0]);
    free(specs);
    free(yaml.data);
    leat_value_deinit(&document);
    return plan;
}

/* ---- the run ---- */

static void give_slot(struct leat_run *run, struct leat_slot *slot) {
    size_t n = leat_run_slot_need(run);

    if (slot->size_bytes < n) {
        free(slot->memory);
        slot->size_bytes = leat_slot_align(2 * n);
        slot->memory = need(aligned_alloc(LEAT_SLOT_ALIGN, slot->size_bytes));
    }
    if (leat_run_give_slot(run, slot) < 0)
        die("slot", "is too small");
}

static void take_batch(struct order *order, size_t n_records, const struct leat_output *output) {
    const struct leat_slot_header *header = output->slot.memory;
    const struct leat_slot_tensor *tensor = (const struct leat_slot_tensor *)(header + 1);
    const int64_t *ids =
        (const int64_t *)(const void *)((const uint8_t *)output->slot.memory + tensor->offset);

    for (uint32_t i = 0; i < output->n_rows && order->n < n_records; i++)
        order->records[order->n++] = (uint32_t)ids[i];
}

static void drive(struct leat_run *run, struct order *order, size_t n_records) {
    struct leat_slot slot = {.memory = NULL};
    struct leat_output output;
    int r;

    while ((r = leat_pipeline_step(run)) != LEAT_RUN_ENDED) {
        if (r == LEAT_RUN_NEEDS_SLOT)
            give_slot(run, &slot);
        while (leat_run_take_output(run, &output))
            if (output.kind == LEAT_OUTPUT_BATCH)
                take_batch(order, n_records, &output);
    }
    free(slot.memory);
}

/* Seconds of CPU. */
static double run_epoch(struct leat_plan *plan, struct order *order, size_t n_records) {
    const struct leat_run_options options = {
        .n_epochs = 1, .world_size = 1, .max_map_jobs = 1, .opener = &leat_opener_operator};
    struct leat_error err = LEAT_ERROR_INIT;
    double start = cpu_s();
    struct leat_run *run;

    order->n = 0;
    if (leat_run_new(plan, &options, &run, &err) < 0)
        die_of("run", &err);
    drive(run, order, n_records);
    if (leat_run_error(run))
        die_of("run", leat_run_error(run));
    leat_run_free(run);
    if (order->n != n_records)
        die("run", "not all records came out");
    return cpu_s() - start;
}

static void build_cache(const struct options *options, const char *path) {
    struct order order = {.records = need(calloc(options->n_records, sizeof(uint32_t)))};
    struct leat_plan *plan = make_plan(options, path, "");

    (void)run_epoch(plan, &order, options->n_records);
    leat_plan_unref(plan);
    free(order.records);
}

/* ---- quality ---- */

static void measure_places(const struct order *order, struct quality *quality) {
    double n = (double)order->n, distance = 0, squares = 0;

    for (size_t i = 0; i < order->n; i++) {
        double moved = (double)order->records[i] - (double)i;

        distance += fabs(moved);
        squares += moved * moved;
    }
    quality->distance = distance / n / (n / 3);
    quality->correlation = 1 - 6 * squares / (n * (n * n - 1));
}

/* Of neighbours in the data, how many are in one batch. At random each has (batch - 1) others. */
static void measure_neighbours(const struct order *order, size_t batch, struct quality *quality) {
    uint32_t *batches = need(calloc(order->n, sizeof(*batches)));
    double n = (double)order->n, n_together = 0;

    for (size_t i = 0; i < order->n; i++)
        batches[order->records[i]] = (uint32_t)(i / batch);
    for (size_t i = 1; i < order->n; i++)
        n_together += batches[i] == batches[i - 1];
    quality->neighbours = n_together / (n - 1) / ((double)(batch - 1) / (n - 1));
    free(batches);
}

static double entropy_of(const struct order *order, size_t first, size_t batch) {
    size_t counts[N_LABELS] = {0};
    double entropy = 0;

    for (size_t i = first; i < first + batch; i++)
        counts[(size_t)order->records[i] * N_LABELS / order->n]++;
    for (size_t i = 0; i < N_LABELS; i++)
        if (counts[i] > 0)
            entropy -= (double)counts[i] / (double)batch * log2((double)counts[i] / (double)batch);
    return entropy;
}

static void measure_labels(const struct order *order, size_t batch, double *ret_mean,
                           double *ret_worst) {
    double sum = 0, worst = INFINITY;
    size_t n = order->n / batch;

    for (size_t i = 0; i < n; i++) {
        double entropy = entropy_of(order, i * batch, batch);

        sum += entropy;
        worst = entropy < worst ? entropy : worst;
    }
    *ret_mean = sum / (double)n;
    *ret_worst = worst;
}

/* What a random permutation has: in each batch as in the next. */
static double random_labels(size_t n_records, size_t batch) {
    struct order order = {.records = need(calloc(n_records, sizeof(uint32_t))), .n = n_records};
    struct leat_rng rng = {.state = 1};
    double mean, worst;

    for (size_t i = 0; i < n_records; i++) {
        size_t k = (size_t)leat_rng_below(&rng, i + 1);

        order.records[i] = order.records[k];
        order.records[k] = (uint32_t)i;
    }
    measure_labels(&order, batch, &mean, &worst);
    free(order.records);
    return mean;
}

static void print(const struct options *options, const char *shuffle, const struct quality *quality,
                  double seconds) {
    double rate = (double)options->n_records / seconds;

    if (options->as_table)
        printf("| `%s` | %.2f | %.2f | %.0f | %.2f | %.2f | %.1f M |\n",
               shuffle[0] ? shuffle : "none", quality->distance, quality->correlation,
               quality->neighbours, quality->labels, quality->worst, rate / 1e6);
    else
        printf("{\"shuffle\": \"%s\", \"distance\": %.4f, \"correlation\": %.4f, \"neighbours\": "
               "%.2f, \"labels\": %.4f, \"worst\": %.4f, \"labels_8\": %.4f, "
               "\"records_per_s\": %.0f}\n",
               shuffle, quality->distance, quality->correlation, quality->neighbours,
               quality->labels, quality->worst, quality->labels_8, rate);
    fflush(stdout);
}

static void measure(const struct options *options, const char *path, double labels, double labels_8,
                    const char *shuffle) {
    struct order order = {.records = need(calloc(options->n_records, sizeof(uint32_t)))};
    struct leat_plan *plan = make_plan(options, path, shuffle);
    double seconds = run_epoch(plan, &order, options->n_records);
    struct quality quality;
    double worst_8;

    measure_places(&order, &quality);
    measure_neighbours(&order, options->batch_size, &quality);
    measure_labels(&order, options->batch_size, &quality.labels, &quality.worst);
    measure_labels(&order, 8 * options->batch_size, &quality.labels_8, &worst_8);
    quality.labels_8 /= labels_8;
    quality.labels /= labels;
    quality.worst /= labels;
    print(options, shuffle, &quality, seconds);
    leat_plan_unref(plan);
    free(order.records);
}

/* ---- arguments ---- */

static void parse_options(int argc, char **argv, struct options *options) {
    static const struct option names[] = {
        {"records", 1, NULL, 'n'}, {"record-bytes", 1, NULL, 'r'}, {"batch", 1, NULL, 'b'},
        {"folder", 1, NULL, 'f'},  {"cache", 1, NULL, 'c'},        {"table", 0, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        switch (letter) {
        case 'n':
            options->n_records = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            options->record_bytes = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            options->batch_size = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            options->folder = optarg;
            break;
        case 'c':
            options->cache = optarg;
            break;
        case 't':
            options->as_table = true;
            break;
        default:
            exit(2);
        }
    }
    if (options->batch_size < 2 || options->n_records < 16 * options->batch_size ||
        options->n_records > UINT32_MAX || options->record_bytes > 1 << 20)
        die("arguments", "16 batches of two records at least, records of 1 MiB at most");
}

int main(int argc, char **argv) {
    struct options options = {
        .n_records = 1000000, .record_bytes = 100, .batch_size = 256, .folder = "."};
    char path[4096], *real;
    double labels, labels_8;

    parse_options(argc, argv, &options);
    (void)mkdir(options.folder, 0755);
    (void)snprintf(path, sizeof(path), "%s/mixing.jsonl", options.folder);
    write_data(&options, path);
    real = need(realpath(path, NULL));
    labels = random_labels(options.n_records, options.batch_size);
    labels_8 = random_labels(options.n_records, 8 * options.batch_size);
    if (options.as_table)
        printf("| `shuffle` | distance | correlation | neighbours | labels | worst | records/s |\n"
               "| --- | --- | --- | --- | --- | --- | --- |\n");
    if (options.cache)
        build_cache(&options, real);
    for (size_t i = 0; i < sizeof(shuffles) / sizeof(shuffles[0]); i++)
        if (options.cache || !strstr(shuffles[i], "lanes"))
            measure(&options, real, labels, labels_8, shuffles[i]);
    free(real);
    return 0;
}
