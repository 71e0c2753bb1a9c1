/* handover_bench: what handing a batch over costs, as figures in JSON, one line a size.
 *
 *     handover_bench [--seconds S] [--workers N] [--window N] [--sizes BYTES,BYTES,...] [--bin DIR]
 *
 * The whole path is real: leatd, its pool, the ring, the socket, libleat. So that little but the
 * handing over is measured, a record is one number which `pad` fills up to the size wanted: all
 * that making a batch takes is writing its bytes. The client reads every byte of every batch.
 *
 * batches_per_s      batches that came, were read and given back, each second
 * p50_us, p99_us     from asking for a batch to having read it
 * in_process_us      writing and reading as many bytes in this process, in as much memory as the
 *                    ring has; ratio: wall time of a batch handed over and read, over that
 * mapping            the line of /proc/self/maps in which the tensor's address lies: shared, not
 *                    writable; so nobody has copied anything
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/leat.h"
#include "tests/bench/daemon_process.h"
#include "tests/bench/read_bytes.h"

#ifndef LEAT_BENCH_BIN
#define LEAT_BENCH_BIN "build/release/bin"
#endif
#define MAX_SIZES   16
#define MAX_SAMPLES 4000000
#define N_RECORDS   100000
#define PAD_VALUE   7

struct options {
    double seconds;
    unsigned n_workers, window;
    const char *bin;
    size_t sizes[MAX_SIZES];
    size_t n_sizes;
};

struct result {
    size_t n_bytes; /* of the tensor */
    uint64_t n_batches, checksum;
    double wall_s, client_cpu_s, daemon_cpu_s, in_process_s;
    double ring_bytes;
    char mapping[256];
    float *samples_us;
    size_t n_samples;
};

static void parse_sizes(struct options *options, char *text) {
    options->n_sizes = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        size_t size = strtoull(word, NULL, 10);

        if (size < 4 || size % 4 || options->n_sizes == MAX_SIZES)
            give_up("--sizes: at most %d multiples of 4", MAX_SIZES);
        options->sizes[options->n_sizes++] = size;
    }
}

static void parse_options(int argc, char **argv, struct options *options) {
    static const struct option names[] = {
        {"seconds", 1, NULL, 's'}, {"workers", 1, NULL, 'w'}, {"window", 1, NULL, 'n'},
        {"sizes", 1, NULL, 'z'},   {"bin", 1, NULL, 'b'},     {NULL, 0, NULL, 0},
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) >= 0) {
        switch (letter) {
        case 's':
            options->seconds = strtod(optarg, NULL);
            break;
        case 'w':
            options->n_workers = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'n':
            options->window = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'z':
            parse_sizes(options, optarg);
            break;
        case 'b':
            options->bin = optarg;
            break;
        default:
            give_up("the head of handover_bench.c tells the options");
        }
    }
}

static void write_data(const char *path) {
    FILE *file = fopen(path, "w");

    for (int i = 0; file && i < N_RECORDS; i++)
        (void)fputs("{\"x\":[1]}\n", file);
    if (!file || fclose(file) != 0)
        give_up("%s: %s", path, strerror(errno));
}

static void write_config(const struct options *options, const char *data, char *config,
                         size_t size) {
    size_t n = (size_t)snprintf(config, size, "streams:\n");

    for (size_t i = 0; i < options->n_sizes; i++)
        n += (size_t)snprintf(config + n, size - n,
                              "  size%zu:\n"
                              "    source: { jsonl: { paths: [\"%s\"] } }\n"
                              "    stages:\n"
                              "      - cast: { input: x, dtype: int32 }\n"
                              "      - pad: { input: x, length: %zu, value: %d }\n"
                              "      - batch: { batch_size: 1 }\n",
                              options->sizes[i], data, options->sizes[i] / 4, PAD_VALUE);
}

static void find_mapping(const void *address, char *mapping, size_t size) {
    FILE *file = fopen("/proc/self/maps", "r");
    uintptr_t start, end;
    char line[512];

    mapping[0] = '\0';
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 &&
            (uintptr_t)address >= start && (uintptr_t)address < end)
            (void)snprintf(mapping, size, "%.*s", (int)strcspn(line, "\n"), line);
    }
    if (file)
        (void)fclose(file);
}

static void take_batch(struct leat_stream *stream, struct result *result) {
    const struct leat_tensor *tensor;
    struct leat_batch *batch = NULL;
    double start = now_s();
    int r = leat_stream_next(stream, -1, &batch);

    if (r == LEAT_END_EPOCH)
        return;
    if (r != 0)
        give_up("%s", leat_error_text(leat_stream_error(stream)));
    tensor = leat_batch_tensor(batch, 0);
    result->checksum += read_bytes(tensor->data, tensor->size_bytes);
    if (result->n_samples < MAX_SAMPLES)
        result->samples_us[result->n_samples++] = (float)((now_s() - start) * 1e6);
    if (!result->mapping[0])
        find_mapping(tensor->data, result->mapping, sizeof(result->mapping));
    result->n_bytes = tensor->size_bytes;
    result->n_batches++;
    leat_batch_release(batch);
}

/* The first tenth of a second warms up and is not counted. */
static void pull(const struct daemon_process *daemon, struct leat_stream *stream, double seconds,
                 struct result *result) {
    double start = now_s();

    while (now_s() - start < 0.1 + seconds / 10)
        take_batch(stream, result);
    result->n_batches = result->n_samples = 0;
    result->client_cpu_s = own_cpu_s();
    result->daemon_cpu_s = daemon_process_cpu_s(daemon);
    start = now_s();
    do
        for (int i = 0; i < 8; i++)
            take_batch(stream, result);
    while (now_s() - start < seconds);
    result->wall_s = now_s() - start;
    result->client_cpu_s = own_cpu_s() - result->client_cpu_s;
    result->daemon_cpu_s = daemon_process_cpu_s(daemon) - result->daemon_cpu_s;
}

static void hand_over(const struct daemon_process *daemon, const struct options *options,
                      size_t size, struct result *result) {
    struct leat_open_options how;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    char name[32];
    char *status;

    (void)snprintf(name, sizeof(name), "size%zu", size);
    leat_open_options_init(&how);
    how.window = options->window;
    if (leat_client_new(daemon->directory, &client) < 0)
        give_up("out of memory");
    if (leat_client_open(client, name, &how, &stream) < 0)
        give_up("%s", leat_error_text(leat_client_error(client)));
    pull(daemon, stream, options->seconds, result);
    status = daemon_process_ask(daemon, "status --json");
    result->ring_bytes = json_number(status, "ring_bytes");
    free(status);
    leat_stream_close(stream);
    leat_client_free(client);
}

static void write_words(int32_t *words, size_t n, int32_t value) {
    for (size_t i = 0; i < n; i++)
        words[i] = value;
    __asm__ volatile("" ::: "memory");
}

/* The same bytes written and read by this thread, going around in as much memory as the ring had.
 */
static void in_process(double seconds, struct result *result) {
    size_t n_buffers = (size_t)result->ring_bytes / result->n_bytes;
    size_t n_total = (n_buffers ? n_buffers : 1) * result->n_bytes;
    uint8_t *memory = mmap(NULL, n_total, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uint64_t n = 0, at = 0;
    double start;

    if (memory == MAP_FAILED)
        give_up("mmap: %s", strerror(errno));
    start = now_s();
    do {
        for (int i = 0; i < 8; i++, n++) {
            write_words((int32_t *)(void *)(memory + at), result->n_bytes / 4, PAD_VALUE);
            result->checksum += read_bytes(memory + at, result->n_bytes);
            at = at + 2 * result->n_bytes > n_total ? 0 : at + result->n_bytes;
        }
    } while (now_s() - start < seconds);
    result->in_process_s = (now_s() - start) / (double)n;
    (void)munmap(memory, n_total);
}

static int compare_samples(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static bool is_read_only(const char *mapping) {
    const char *rights = strchr(mapping, ' ');

    return rights && strncmp(rights + 1, "r--s", 4) == 0;
}

static void print_result(const struct result *result) {
    double each_s = result->wall_s / (double)result->n_batches;

    qsort(result->samples_us, result->n_samples, sizeof(float), compare_samples);
    printf("{\"bytes\": %zu, \"batches_per_s\": %.0f, \"mb_per_s\": %.0f, \"us\": %.2f, "
           "\"p50_us\": %.2f, \"p99_us\": %.2f, ",
           result->n_bytes, 1 / each_s, (double)result->n_bytes / each_s / 1e6, each_s * 1e6,
           (double)result->samples_us[result->n_samples / 2],
           (double)result->samples_us[result->n_samples * 99 / 100]);
    printf("\"in_process_us\": %.2f, \"ratio\": %.3f, \"client_cpu_us\": %.2f, \"daemon_cpu_us\": "
           "%.2f, \"ring_mb\": %.2f, ",
           result->in_process_s * 1e6, each_s / result->in_process_s,
           result->client_cpu_s / (double)result->n_batches * 1e6,
           result->daemon_cpu_s / (double)result->n_batches * 1e6, result->ring_bytes / 1e6);
    printf("\"is_read_only_mapping\": %s, \"mapping\": \"%s\", \"checksum\": \"%016" PRIx64 "\"}\n",
           is_read_only(result->mapping) ? "true" : "false", result->mapping, result->checksum);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    struct options options = {.seconds = 1,
                              .n_workers = 2,
                              .bin = LEAT_BENCH_BIN,
                              .sizes = {256, 4096, 65536, 262144, 1048576, 4194304, 16777216},
                              .n_sizes = 7};
    char data[64] = "/tmp/leat-handover.XXXXXX", config[8192];
    struct daemon_process daemon;
    float *samples = calloc(MAX_SAMPLES, sizeof(*samples));
    int fd = mkstemp(data), status = 0;

    parse_options(argc, argv, &options);
    if (fd < 0 || !samples)
        give_up("%s: %s", data, strerror(errno));
    (void)close(fd);
    write_data(data);
    write_config(&options, data, config, sizeof(config));
    daemon_process_start(&daemon, options.bin, config, NULL, options.n_workers);
    for (size_t i = 0; i < options.n_sizes; i++) {
        struct result result = {.samples_us = samples};

        hand_over(&daemon, &options, options.sizes[i], &result);
        in_process(options.seconds, &result);
        print_result(&result);
        status |= !is_read_only(result.mapping);
    }
    daemon_process_stop(&daemon);
    (void)unlink(data);
    free(samples);
    return status;
}
