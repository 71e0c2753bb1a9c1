/* cutter_bench: how fast records are cut, as one line of JSON.
 *
 *     cutter_bench [BYTES [SECONDS]]
 *
 * GB/s (1e9 bytes) of leat_cutter_cut() and leat_cutter_index() on one thread, over made CSV in
 * pieces of 256 KiB: short rows with quoted names, long texts with quoted line ends, and rows with
 * stray quotes, which take the automaton; and over lines of 60 to 700 bytes, as of JSON Lines.
 * "cached" goes over one piece again and again, as the scan finds it after a read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pipeline/cut/cutter.h"
#include "proto/base/rng.h"

#define PIECE_BYTES (256U << 10)

static const struct leat_cutter csv = {
    .kind = LEAT_CUTTER_CSV, .delimiter = ',', .quote = '"', .max_record_bytes = 64U << 20};
static const struct leat_cutter lines = {.kind = LEAT_CUTTER_LINES, .max_record_bytes = 64U << 20};

typedef size_t row_fn(struct leat_rng *rng, char *out, size_t size);

static size_t short_row(struct leat_rng *rng, char *out, size_t size) {
    return (size_t)snprintf(
        out, size, "%u,%u,%u,\"Brown, Mr. Ab\"\"c%u\"\" de\",male,%s,0,%u,A/5 21%u,7.25,,%s\n",
        (unsigned)leat_rng_below(rng, 100000), (unsigned)leat_rng_below(rng, 2),
        (unsigned)leat_rng_below(rng, 3), (unsigned)leat_rng_below(rng, 100),
        leat_rng_below(rng, 5) ? "22" : "", (unsigned)leat_rng_below(rng, 5),
        (unsigned)leat_rng_below(rng, 1000), leat_rng_below(rng, 9) ? "S" : "");
}

static size_t long_row(struct leat_rng *rng, char *out, size_t size) {
    static const char sentence[] = "It was said, and not only once, that water finds its way.\n";
    size_t n = (size_t)snprintf(out, size, "%u,\"", (unsigned)leat_rng_below(rng, 100000));
    uint64_t n_sentences = 1 + leat_rng_below(rng, 40);

    for (uint64_t i = 0; i < n_sentences && n + sizeof(sentence) + 4 < size; i++) {
        memcpy(out + n, sentence, sizeof(sentence) - 1);
        n += sizeof(sentence) - 1;
    }
    return n + (size_t)snprintf(out + n, size - n, "\"\n");
}

static size_t stray_row(struct leat_rng *rng, char *out, size_t size) {
    return (size_t)snprintf(out, size, "%u,pipe of 1,5\" and some more of that,in stock,12.50\n",
                            (unsigned)leat_rng_below(rng, 100000));
}

static size_t line(struct leat_rng *rng, char *out, size_t size) {
    int n = 60 + (int)leat_rng_below(rng, 640);

    return (size_t)snprintf(out, size, "{\"t\": \"%0*u\"}\n", n - 10, (unsigned)n);
}

/* CPU time: the machine may do other things. */
static double now(void) {
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One pass over the data, piece by piece; returns bytes done. */
static size_t pass(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                   uint32_t *starts, uint32_t *ends) {
    size_t at = 0, n_sum = 0;
    struct leat_cut cut;

    while (at < n_bytes) {
        size_t n = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;
        leat_cutter_cut(cutter, data + at, n, at + n == n_bytes, &cut);
        if (starts)
            n_sum += leat_cutter_index(cutter, data + at, cut.n_bytes, starts, ends, PIECE_BYTES);
        at += cut.n_bytes;
    }
    return starts && !n_sum ? 0 : at;
}

static double measure(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                      double seconds, uint32_t *starts, uint32_t *ends) {
    double start, elapsed;
    size_t n_done = 0;

    (void)pass(cutter, data, n_bytes, starts, ends);
    start = now();
    do {
        n_done += pass(cutter, data, n_bytes, starts, ends);
        elapsed = now() - start;
    } while (elapsed < seconds);
    return (double)n_done / elapsed / 1e9;
}

static void bench(const char *name, const struct leat_cutter *cutter, row_fn *row, uint8_t *data,
                  size_t n_bytes, double seconds) {
    uint32_t *starts = calloc(PIECE_BYTES, sizeof(*starts)), *ends = calloc(PIECE_BYTES, 4);
    struct leat_rng rng = {.state = 1};
    size_t n = 0;
    double cut, cached, both;

    while (n + 8192 < n_bytes)
        n += row(&rng, (char *)data + n, n_bytes - n);
    if (!starts || !ends)
        exit(1);
    cut = measure(cutter, data, n, seconds, NULL, NULL);
    cached = measure(cutter, data, PIECE_BYTES, seconds, NULL, NULL);
    both = measure(cutter, data, PIECE_BYTES, seconds, starts, ends);
    printf("\"%s\": {\"cut_gb_s\": %.2f, \"cut_cached_gb_s\": %.2f, \"cut_and_index_cached_gb_s\": "
           "%.2f, \"index_cached_gb_s\": %.2f}",
           name, cut, cached, both, 1 / (1 / both - 1 / cached));
    free(starts);
    free(ends);
}

int main(int argc, char **argv) {
    size_t n_bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 64U << 20;
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.5;
    uint8_t *data;

    if (n_bytes < 1U << 20 || !(data = malloc(n_bytes))) {
        fprintf(stderr, "cutter_bench: at least 1048576 bytes\n");
        return 1;
    }
    printf("{\"bytes\": %zu, ", n_bytes);
    bench("short_rows", &csv, short_row, data, n_bytes, seconds);
    printf(", ");
    bench("long_texts", &csv, long_row, data, n_bytes, seconds);
    printf(", ");
    bench("stray_quotes", &csv, stray_row, data, n_bytes, seconds);
    printf(", ");
    bench("lines", &lines, line, data, n_bytes, seconds);
    printf("}\n");
    free(data);
    return 0;
}
