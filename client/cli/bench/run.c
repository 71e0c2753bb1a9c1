/* run.c: one run of a case. The measured time begins with the batch that ends the warm-up, and ends
 * with the last batch. The daemon is asked for its counters at both ends. It is about as far ahead
 * at one as at the other, so the differences belong to the batches in between. At the end of the
 * stream it is no longer ahead: then the totals are divided by all batches. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "client/cli/base/consumer.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/bench/bench.h"
#include "client/stream/batch.h"
#include "proto/base/clock.h"

#define SECOND_NS   UINT64_C(1000000000)
#define MAX_WARM_NS SECOND_NS

struct mark {
    uint64_t at_ns, wait_ns, n_batches, n_rows, n_bytes; /* of the trainer */
    bool is_known; /* the daemon has answered: all below is its own */
    double cpu_s, hwm_bytes, n_made, n_elements, n_source_bytes;
};

struct run {
    struct leat_cli_consumer consumer;
    const struct leat_bench *bench;
    const struct leat_bench_case *item;
    const char *address;
    uint64_t open_ns, first_ns;
    bool is_warm, has_ended;
    uint64_t sum; /* of all bytes */
    struct mark start, now;
};

static Leat__ControlReply *ask_verb(const struct run *run, Leat__ControlRequest__VerbCase verb,
                                    void *message) {
    int status;

    return leat_cli_control(run->address, verb, message, LEAT_CLI_CONTROL_TIMEOUT_MS, &status,
                            LEAT_ERROR_IGNORED);
}

static void ask_daemon(const struct run *run, struct mark *mark) {
    Leat__StatsRequest request = LEAT__STATS_REQUEST__INIT;
    Leat__ControlReply *status, *stats;

    request.stream = run->item->stream;
    status = ask_verb(run, LEAT__CONTROL_REQUEST__VERB_STATUS, NULL);
    stats = ask_verb(run, LEAT__CONTROL_REQUEST__VERB_STATS, &request);
    mark->is_known = status && stats && stats->stats->n_streams == 1;
    if (mark->is_known) {
        mark->cpu_s = (double)status->status->cpu_ns / 1e9;
        mark->hwm_bytes = (double)status->status->hwm_bytes;
        mark->n_made = (double)stats->stats->streams[0]->n_batches;
        mark->n_elements = (double)stats->stats->streams[0]->n_elements;
        mark->n_source_bytes = (double)stats->stats->streams[0]->n_source_bytes;
    }
    leat__control_reply__free_unpacked(status, NULL);
    leat__control_reply__free_unpacked(stats, NULL);
}

/* ---- the trainer ---- */

/* The sum of all bytes, taken as 8-byte words. */
static uint64_t read_bytes(const uint8_t *bytes, size_t n_bytes) {
    uint64_t sum = 0, word = 0;

    for (; n_bytes >= sizeof(word); bytes += sizeof(word), n_bytes -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        sum += word;
    }
    word = 0;
    memcpy(&word, bytes, n_bytes);
    return sum + word;
}

static void read_batch(struct run *run, const struct leat_batch *batch) {
    const struct leat_view *view = leat_batch_view(batch);

    for (size_t i = 0; i < view->header.n_tensors; i++) {
        run->sum += read_bytes(view->tensors[i].data, view->tensors[i].size_bytes);
        run->now.n_bytes += view->tensors[i].size_bytes;
    }
    run->now.n_rows += view->header.n_rows;
    run->now.n_batches++;
    run->now.at_ns = leat_now_ns();
    run->now.wait_ns = run->consumer.wait_ns;
}

static bool is_warm(const struct run *run) {
    uint64_t warm_ns = run->bench->n_seconds * SECOND_NS / 4;

    if (run->bench->n_epochs > 0)
        return true;
    if (run->bench->n_batches > 0)
        return run->now.n_batches > run->bench->n_batches / 10;
    return run->now.at_ns - run->first_ns >= (warm_ns < MAX_WARM_NS ? warm_ns : MAX_WARM_NS);
}

/* True if enough was measured. A slow stream is given the time for one batch at least. */
static bool is_enough(struct run *run) {
    if (run->bench->n_batches > 0)
        return run->now.n_batches - run->start.n_batches >= run->bench->n_batches;
    if (run->bench->n_epochs > 0)
        return false;
    run->consumer.deadline_ns = run->start.at_ns + run->bench->n_seconds * SECOND_NS;
    return run->now.at_ns >= run->consumer.deadline_ns;
}

static bool on_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct run *run = (struct run *)consumer;
    bool is_first = run->now.n_batches == 0, was_warm = run->is_warm;

    read_batch(run, batch);
    if (is_first)
        run->first_ns = run->now.at_ns;
    run->is_warm = was_warm || is_warm(run);
    if (is_first || run->is_warm != was_warm) { /* the stream may end before the warm-up does */
        run->start = run->now;
        ask_daemon(run, &run->start);
    }
    return !was_warm || !is_enough(run);
}

/* ---- the sample ---- */

/* The share of a counter of the daemon that belongs to the measured batches. */
static double share_of(const struct run *run, double before, double after) {
    const struct mark *start = &run->start, *end = &run->now;
    double n_batches = (double)(end->n_batches - start->n_batches);

    if (!start->is_known || !end->is_known || end->n_made <= 0)
        return NAN;
    if (run->has_ended || end->n_made <= start->n_made)
        return after / end->n_made * n_batches;
    return (after - before) / (end->n_made - start->n_made) * n_batches;
}

static void take_sample(const struct run *run, double *values) {
    const struct mark *start = &run->start, *end = &run->now;
    double s = (double)(end->at_ns - start->at_ns) / 1e9, rate = s > 0 ? 1 / s : NAN;
    double n_rows = (double)(end->n_rows - start->n_rows);
    bool is_known = start->is_known && end->is_known;

    values[LEAT_BENCH_WALL] = (double)(end->at_ns - run->open_ns) / 1e9;
    values[LEAT_BENCH_FIRST] = (double)(run->first_ns - run->open_ns) / 1e9;
    values[LEAT_BENCH_MEASURED] = s;
    values[LEAT_BENCH_BATCHES] = (double)(end->n_batches - start->n_batches);
    values[LEAT_BENCH_BATCH_RATE] = values[LEAT_BENCH_BATCHES] * rate;
    values[LEAT_BENCH_RECORD_RATE] = n_rows * rate;
    values[LEAT_BENCH_TOKEN_RATE] = share_of(run, start->n_elements, end->n_elements) * rate;
    values[LEAT_BENCH_SOURCE_RATE] =
        share_of(run, start->n_source_bytes, end->n_source_bytes) * rate;
    values[LEAT_BENCH_BYTE_RATE] = (double)(end->n_bytes - start->n_bytes) * rate;
    values[LEAT_BENCH_RECORD_CPU] =
        is_known && n_rows > 0 ? (end->cpu_s - start->cpu_s) / n_rows : NAN;
    values[LEAT_BENCH_WAITED] = (double)(end->wait_ns - start->wait_ns) / 1e9 * rate;
    values[LEAT_BENCH_MEMORY] = is_known ? end->hwm_bytes : NAN;
}

static int pull_stream(struct run *run, struct leat_bench_case *item, struct leat_error *err) {
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    int r;

    if (leat_client_new(run->address, &client) < 0)
        return leat_error_oom(err);
    leat_open_options_init(&options);
    options.delivery = (int32_t)run->bench->delivery;
    options.window = run->bench->window;
    options.n_epochs = run->bench->n_epochs;
    options.world_size = 1;
    options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    options.client_name = "leatctl bench";
    run->open_ns = leat_now_ns();
    r = leat_client_open(client, item->stream, &options, &stream);
    if (r < 0) {
        *err = *leat_client_error(client);
    } else {
        leat_digest_hex(leat_stream_digest(stream), item->digest);
        r = leat_cli_consume(&run->consumer, stream, err);
        run->has_ended = r == LEAT_END;
        ask_daemon(run, &run->now);
    }
    leat_stream_close(stream);
    leat_client_free(client);
    return r;
}

int leat_bench_run(const struct leat_bench *bench, struct leat_bench_case *item,
                   struct leat_error *err) {
    struct run run = {.consumer = {.on_batch = on_batch}, .bench = bench, .item = item};
    struct leat_cli_daemon daemon;
    int r = leat_cli_daemon_start_with(&daemon, item->file, (const char *const *)item->overrides,
                                       item->n_overrides, false, err);

    if (r < 0)
        return r;
    run.address = daemon.directory;
    r = pull_stream(&run, item, err);
    leat_cli_daemon_stop(&daemon);
    if (r < 0)
        return r;
    if (run.now.n_batches == 0)
        return leat_error_set(err, -ENODATA,
                              "%s: the stream %s gave no batches, so there is nothing to measure",
                              item->file, item->stream);
    if (item->n_samples < LEAT_BENCH_REPEAT_MAX)
        take_sample(&run, item->samples[item->n_samples++]);
    return 0;
}
