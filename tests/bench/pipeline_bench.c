/* pipeline_bench: an epoch through the real daemon and the real client, as figures in JSON.
 *
 *     pipeline_bench [--rows N] [--workers N] [--data FILE] [--vocab FILE] [--config FILE]
 *                    [--stream NAME] [--epochs N] [--window N] [--folder DIR] [--bin DIR]
 *                    [--cache DIR] [--start STEP]
 *
 * Without --config it runs the reference pipeline: CSV of `rows` rows -> a text of about 145 bytes
 * -> tokens (shortest, a vocabulary of 30,000) -> pad 64 -> shuffle 1000 -> batch 32 -> prefetch 4.
 * Data and vocabulary are made in `folder` unless they are there. The client reads every byte of
 * every tensor. The wall time is from before opening to the end of the last epoch.
 *
 * With --start it is measured instead how long it takes to run to that step, and to start there:
 * from before opening to the batch of that step. A --cache is built by an epoch before.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/leat.h"
#include "tests/bench/daemon_process.h"
#include "tests/bench/read_bytes.h"

#ifndef LEAT_BENCH_BIN
#define LEAT_BENCH_BIN "build/release/bin"
#endif
#ifndef LEAT_BENCH_SOURCE
#define LEAT_BENCH_SOURCE "tests/bench"
#endif

struct options {
    unsigned long long n_rows, n_epochs, start;
    unsigned n_workers, window;
    const char *data, *vocab, *config, *stream, *folder, *bin, *cache;
};

struct result {
    double first_batch_s, wall_s, waited_s, client_cpu_s, daemon_cpu_s;
    unsigned long long n_batches, n_rows, n_bytes;
    uint64_t checksum;
};

static const char config_format[] =
    "streams:\n"
    "  bench:\n"
    "    source: { csv: { paths: [\"%s\"] } }\n"
    "    stages:\n"
    "      - template:\n"
    "          output: text\n"
    "          join: \" \"\n"
    "          parts: [\"Passenger class: {Pclass}\", \"Name: {Name}\", \"Sex: {Sex}\",\n"
    "                  \"Age: {Age}\", \"Siblings/spouses: {SibSp}\", \"Parents/children: "
    "{Parch}\",\n"
    "                  \"Ticket: {Ticket}\", \"Fare: {Fare}\", \"Cabin: {Cabin}\", \"Port: "
    "{Embarked}\"]\n"
    "      - tokenize: { input: text, output: input_ids, vocab: \"%s\", mode: shortest,\n"
    "                    unknown: skip, max_length: 64 }\n"
    "      - pad: { input: input_ids, length: 64, value: 0, mask: attention_mask }\n"
    "      - cast: { input: Survived, output: labels, dtype: int64 }\n"
    "      - select: { fields: [input_ids, attention_mask, labels] }\n"
    "      - shuffle: { buffer_size: 1000, seed: 42 }\n"
    "      - batch: { batch_size: 32 }\n"
    "      - prefetch: { prefetch_size: 4 }\n"
    "%s";

static void parse_options(int argc, char **argv, struct options *options) {
    static const struct option names[] = {
        {"rows", 1, NULL, 'r'},   {"workers", 1, NULL, 'w'}, {"data", 1, NULL, 'd'},
        {"vocab", 1, NULL, 'v'},  {"config", 1, NULL, 'c'},  {"stream", 1, NULL, 's'},
        {"epochs", 1, NULL, 'e'}, {"window", 1, NULL, 'n'},  {"folder", 1, NULL, 'f'},
        {"bin", 1, NULL, 'b'},    {"cache", 1, NULL, 'C'},   {"start", 1, NULL, 'S'},
        {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        switch (letter) {
        case 'r':
            options->n_rows = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            options->n_workers = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'd':
            options->data = optarg;
            break;
        case 'v':
            options->vocab = optarg;
            break;
        case 'c':
            options->config = optarg;
            break;
        case 's':
            options->stream = optarg;
            break;
        case 'e':
            options->n_epochs = strtoull(optarg, NULL, 10);
            break;
        case 'n':
            options->window = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'f':
            options->folder = optarg;
            break;
        case 'b':
            options->bin = optarg;
            break;
        case 'C':
            options->cache = optarg;
            break;
        case 'S':
            options->start = strtoull(optarg, NULL, 10);
            break;
        default:
            give_up("the head of pipeline_bench.c tells the options");
        }
    }
}

static void run_command(const char *command) {
    if (system(command) != 0)
        give_up("failed: %s", command);
}

/* Makes what is not there yet; the names tell what it was made from. */
static void make_data(const struct options *options, char *data, char *vocab, size_t size) {
    char command[8192];

    (void)mkdir(options->folder, 0755);
    (void)snprintf(data, size, "%s", options->data ? options->data : "");
    if (!options->data) {
        (void)snprintf(data, size, "%s/titanic-%llu.csv", options->folder, options->n_rows);
        (void)snprintf(command, sizeof(command),
                       "test -s '%s' || { '%s/../tests/bench/gen_titanic' %llu 1 '%s.new' && mv "
                       "'%s.new' '%s'; }",
                       data, options->bin, options->n_rows, data, data, data);
        run_command(command);
    }
    (void)snprintf(vocab, size, "%s", options->vocab ? options->vocab : "");
    if (!options->vocab) {
        (void)snprintf(vocab, size, "%s/titanic-30000.vocab.txt", options->folder);
        (void)snprintf(command, sizeof(command),
                       "test -s '%s' || { '%s/../tests/bench/gen_titanic' 20000 7 '%s.csv' && "
                       "python3 '%s/gen_vocab.py' --csv '%s.csv' --tokens 30000 > '%s.new' && mv "
                       "'%s.new' '%s'; }",
                       vocab, options->bin, vocab, LEAT_BENCH_SOURCE, vocab, vocab, vocab, vocab);
        run_command(command);
    }
}

static void read_batch(const struct leat_batch *batch, struct result *result) {
    for (size_t i = 0; i < leat_batch_n_tensors(batch); i++) {
        const struct leat_tensor *tensor = leat_batch_tensor(batch, i);

        result->checksum += read_bytes(tensor->data, tensor->size_bytes);
        result->n_bytes += tensor->size_bytes;
    }
    result->n_rows += leat_batch_n_rows(batch);
    result->n_batches++;
}

static void pull(struct leat_stream *stream, double start, struct result *result) {
    for (;;) {
        struct leat_batch *batch = NULL;
        double before = now_s();
        int r = leat_stream_next(stream, -1, &batch);

        result->waited_s += now_s() - before;
        if (r == LEAT_END)
            break;
        if (r < 0)
            give_up("%s", leat_error_text(leat_stream_error(stream)));
        if (r == LEAT_END_EPOCH)
            continue;
        if (result->n_batches == 0)
            result->first_batch_s = now_s() - start;
        read_batch(batch, result);
        leat_batch_release(batch);
    }
    result->wall_s = now_s() - start;
}

/* From that step on, n_steps (0: all). */
static void measure(const struct daemon_process *daemon, const struct options *options,
                    unsigned long long first_step, unsigned long long n_steps,
                    struct result *result) {
    struct leat_open_options how;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    double start, own_before, daemon_before;

    leat_open_options_init(&how);
    how.n_epochs = options->n_epochs;
    how.first_step = first_step;
    how.n_steps = n_steps;
    how.window = options->window;
    if (leat_client_new(daemon->directory, &client) < 0)
        give_up("out of memory");
    own_before = own_cpu_s();
    daemon_before = daemon_process_cpu_s(daemon);
    start = now_s();
    if (leat_client_open(client, options->stream, &how, &stream) < 0)
        give_up("%s", leat_error_text(leat_client_error(client)));
    pull(stream, start, result);
    result->client_cpu_s = own_cpu_s() - own_before;
    result->daemon_cpu_s = daemon_process_cpu_s(daemon) - daemon_before;
    leat_stream_close(stream);
    leat_client_free(client);
}

static void print_result(const struct daemon_process *daemon, const struct options *options,
                         const struct result *result, double loop_busy_s, const char *stats) {
    double tokens = json_number(stats, "n_elements"), source = json_number(stats, "n_source_bytes");

    printf("{\"workers\": %u, \"rows\": %llu, \"batches\": %llu, \"wall_s\": %.3f, "
           "\"first_batch_s\": %.3f,\n",
           options->n_workers, result->n_rows, result->n_batches, result->wall_s,
           result->first_batch_s);
    printf(" \"rows_per_s\": %.0f, \"tokens_per_s\": %.0f, \"source_mb_per_s\": %.1f, "
           "\"batches_per_s\": %.0f, \"tensor_mb_per_s\": %.1f,\n",
           (double)result->n_rows / result->wall_s, tokens / result->wall_s,
           source / result->wall_s / 1e6, (double)result->n_batches / result->wall_s,
           (double)result->n_bytes / result->wall_s / 1e6);
    printf(" \"daemon_cpu_s\": %.2f, \"client_cpu_s\": %.2f, \"client_waited_share\": %.3f, "
           "\"loop_busy_share\": %.3f, \"daemon_hwm_mb\": %.1f, \"checksum\": \"%016llx\",\n",
           result->daemon_cpu_s, result->client_cpu_s, result->waited_s / result->wall_s,
           loop_busy_s / result->wall_s, (double)daemon_process_hwm_bytes(daemon) / 1e6,
           (unsigned long long)result->checksum);
    printf(" \"stats\": %s}\n", *stats ? stats : "null");
}

static int measure_start(const struct daemon_process *daemon, const struct options *options) {
    struct result epoch = {.n_rows = 0}, running = {.n_rows = 0}, starting = {.n_rows = 0};
    double daemon_before;

    if (options->cache)
        measure(daemon, options, 0, 0, &epoch);
    measure(daemon, options, 0, options->start + 1, &running);
    daemon_before = daemon_process_cpu_s(daemon);
    measure(daemon, options, options->start, 1, &starting);
    printf("{\"start_step\": %llu, \"with_cache\": %s, \"running_there_s\": %.3f, "
           "\"starting_there_s\": %.3f, \"share\": %.4f, \"daemon_cpu_s\": %.3f}\n",
           options->start, options->cache ? "true" : "false", running.wall_s,
           starting.first_batch_s, starting.first_batch_s / running.wall_s,
           daemon_process_cpu_s(daemon) - daemon_before);
    return starting.n_batches == 1 ? 0 : 1;
}

static int measure_epochs(const struct daemon_process *daemon, const struct options *options) {
    struct result result = {.n_rows = 0};
    char *before = daemon_process_ask(daemon, "status --json"), *after, *stats;

    measure(daemon, options, 0, 0, &result);
    after = daemon_process_ask(daemon, "status --json");
    stats = daemon_process_ask(daemon, "stats --json");
    print_result(daemon, options, &result,
                 (json_number(after, "loop_busy_ns") - json_number(before, "loop_busy_ns")) * 1e-9,
                 stats);
    free(before);
    free(after);
    free(stats);
    return result.n_rows ? 0 : 1;
}

int main(int argc, char **argv) {
    struct options options = {.n_rows = 2000000,
                              .n_epochs = 1,
                              .n_workers = 2,
                              .stream = "bench",
                              .folder = "/tmp/leat-bench-data",
                              .bin = LEAT_BENCH_BIN};
    struct daemon_process daemon;
    char data[1024], vocab[1024], cache[1100] = "", config[sizeof(config_format) + 4096];
    int r;

    parse_options(argc, argv, &options);
    if (options.cache)
        (void)snprintf(cache, sizeof(cache), "    cache: { path: \"%s\" }\n", options.cache);
    if (!options.config) {
        make_data(&options, data, vocab, sizeof(data));
        (void)snprintf(config, sizeof(config), config_format, data, vocab, cache);
    }
    daemon_process_start(&daemon, options.bin, config, options.config, options.n_workers);
    r = options.start > 0 ? measure_start(&daemon, &options) : measure_epochs(&daemon, &options);
    daemon_process_stop(&daemon);
    return r;
}
