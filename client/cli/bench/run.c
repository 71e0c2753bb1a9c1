/* run.c: see run.h. Measured is from the end of the warm-up, which is a batch, to the
 * last batch. At both ends the daemon is asked for its counters; what it had made ahead by then is
 * about the same, so the differences are what the batches in between took. Where the stream ended,
 * it had been ahead until then: there, what it took in all is shared out by batches. */
#include "client/cli/bench/run.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "client/cli/base/clock.h"
#include "client/cli/base/consumer.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/stream/batch.h"

#define SECOND_NS   UINT64_C(1000000000)
#define MAX_WARM_NS SECOND_NS

/* What the daemon says of itself and the stream. */
struct counters {
    bool is_known;
    double cpu_s, hwm_bytes;
    double n_batches, n_elements, n_source_bytes;
};

/* Where everybody stood. */
struct mark {
    uint64_t at_ns, wait_ns, n_batches, n_rows, n_bytes;
    double own_cpu_s;
    struct counters daemon;
};

struct run {
    struct leat_cli_consumer consumer;
    const struct leat_bench *bench;
    const struct leat_bench_case *item;
    const char *address;
    uint64_t open_ns, first_ns, n_batches, n_rows, n_bytes;
    bool is_warm, has_ended;
    uint64_t sum; /* of all bytes */
    struct mark start, end;
};

/* ---- counters ---- */

static Leat__ControlReply *ask(const struct run *run, Leat__ControlRequest *request,
                               Leat__ControlReply__VerbCase verb) {
    struct leat_error err = LEAT_ERROR_INIT;
    int status;

    return leat_cli_control(run->address, request, verb, LEAT_CLI_CONTROL_TIMEOUT_MS, &status,
                            &err);
}

static void read_stream(const struct run *run, struct counters *counters) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    stats.stream = run->item->stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    reply = ask(run, &request, LEAT__CONTROL_REPLY__VERB_STATS);
    if (reply && reply->stats->n_streams == 1) {
        counters->n_batches = (double)reply->stats->streams[0]->n_batches;
        counters->n_elements = (double)reply->stats->streams[0]->n_elements;
        counters->n_source_bytes = (double)reply->stats->streams[0]->n_source_bytes;
        counters->is_known = true;
    }
    leat__control_reply__free_unpacked(reply, NULL);
}

static void read_daemon(const struct run *run, struct counters *ret_counters) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    *ret_counters = (struct counters){.is_known = false};
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATUS;
    request.status = &empty;
    reply = ask(run, &request, LEAT__CONTROL_REPLY__VERB_STATUS);
    if (!reply)
        return;
    ret_counters->cpu_s = (double)reply->status->cpu_ns / 1e9;
    ret_counters->hwm_bytes = (double)reply->status->hwm_bytes;
    leat__control_reply__free_unpacked(reply, NULL);
    read_stream(run, ret_counters);
}

static double own_cpu_s(void) {
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return NAN;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* ---- the trainer ---- */

/* The sum of all bytes, taken as 8-byte words. */
static uint64_t read_bytes(const void *data, size_t n_bytes) {
    const uint8_t *bytes = data;
    uint64_t sum = 0, word = 0;
    size_t i = 0;

    for (; i + sizeof(word) <= n_bytes; i += sizeof(word)) {
        memcpy(&word, bytes + i, sizeof(word));
        sum += word;
    }
    word = 0;
    memcpy(&word, bytes + i, n_bytes - i);
    return sum + word;
}

static void read_batch(struct run *run, const struct leat_batch *batch) {
    const struct leat_view *view = leat_batch_view(batch);

    for (size_t i = 0; i < view->header.n_tensors; i++) {
        run->sum += read_bytes(view->tensors[i].data, view->tensors[i].size_bytes);
        run->n_bytes += view->tensors[i].size_bytes;
    }
    run->n_rows += view->header.n_rows;
    run->n_batches++;
}

static void set_mark(const struct run *run, uint64_t now_ns, struct mark *ret_mark) {
    ret_mark->at_ns = now_ns;
    ret_mark->wait_ns = run->consumer.wait_ns;
    ret_mark->n_batches = run->n_batches;
    ret_mark->n_rows = run->n_rows;
    ret_mark->n_bytes = run->n_bytes;
}

static void begin(struct run *run, uint64_t now_ns) {
    set_mark(run, now_ns, &run->start);
    run->start.own_cpu_s = own_cpu_s();
    read_daemon(run, &run->start.daemon);
}

static bool is_warm(const struct run *run, uint64_t now_ns) {
    const struct leat_bench_length *length = &run->bench->length;
    uint64_t warm_ns = length->seconds * SECOND_NS / 4;

    if (length->n_epochs > 0)
        return true;
    if (length->n_batches > 0)
        return run->n_batches > length->n_batches / 10;
    return now_ns - run->first_ns >= (warm_ns < MAX_WARM_NS ? warm_ns : MAX_WARM_NS);
}

/* Whether enough was measured. A slow stream is given the time for one batch at least. */
static bool is_enough(struct run *run, uint64_t now_ns) {
    const struct leat_bench_length *length = &run->bench->length;
    uint64_t end_ns = run->start.at_ns + length->seconds * SECOND_NS;

    if (length->n_batches > 0)
        return run->n_batches - run->start.n_batches >= length->n_batches;
    if (length->n_epochs > 0)
        return false;
    run->consumer.deadline_ns = end_ns;
    return now_ns >= end_ns;
}

static bool on_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct run *run = (struct run *)consumer;
    uint64_t now_ns;

    read_batch(run, batch);
    now_ns = leat_cli_now_ns();
    set_mark(run, now_ns, &run->end);
    if (run->n_batches == 1) {
        run->first_ns = now_ns;
        begin(run, now_ns); /* should the stream end before it is warm */
    }
    if (run->is_warm)
        return !is_enough(run, now_ns);
    run->is_warm = is_warm(run, now_ns);
    if (run->is_warm && run->n_batches > 1)
        begin(run, now_ns);
    return true;
}

/* ---- the sample ---- */

/* What the daemon counted, for the batches that were measured. */
static double shared_out(const struct run *run, double before, double after) {
    const struct counters *start = &run->start.daemon, *end = &run->end.daemon;
    double n_batches = (double)(run->end.n_batches - run->start.n_batches);

    if (!start->is_known || !end->is_known || end->n_batches <= 0)
        return NAN;
    if (run->has_ended || end->n_batches <= start->n_batches)
        return after / end->n_batches * n_batches;
    return (after - before) / (end->n_batches - start->n_batches) * n_batches;
}

static void take_sample(const struct run *run, struct leat_bench_sample *ret_sample) {
    const struct mark *start = &run->start, *end = &run->end;
    double *values = ret_sample->values;
    double s = (double)(end->at_ns - start->at_ns) / 1e9;
    double n_rows = (double)(end->n_rows - start->n_rows);
    bool is_known = start->daemon.is_known && end->daemon.is_known;
    double rate = s > 0 ? 1 / s : NAN;
    double cpu_s = is_known ? end->daemon.cpu_s - start->daemon.cpu_s : NAN;

    values[LEAT_BENCH_WALL] = (double)(end->at_ns - run->open_ns) / 1e9;
    values[LEAT_BENCH_FIRST] = (double)(run->first_ns - run->open_ns) / 1e9;
    values[LEAT_BENCH_MEASURED] = s;
    values[LEAT_BENCH_BATCHES] = (double)(end->n_batches - start->n_batches);
    values[LEAT_BENCH_BATCH_RATE] = values[LEAT_BENCH_BATCHES] * rate;
    values[LEAT_BENCH_RECORD_RATE] = n_rows * rate;
    values[LEAT_BENCH_TOKEN_RATE] =
        shared_out(run, start->daemon.n_elements, end->daemon.n_elements) * rate;
    values[LEAT_BENCH_SOURCE_RATE] =
        shared_out(run, start->daemon.n_source_bytes, end->daemon.n_source_bytes) * rate;
    values[LEAT_BENCH_BYTE_RATE] = (double)(end->n_bytes - start->n_bytes) * rate;
    values[LEAT_BENCH_DAEMON_CPU] = cpu_s;
    values[LEAT_BENCH_RECORD_CPU] = n_rows > 0 ? cpu_s / n_rows : NAN;
    values[LEAT_BENCH_OWN_CPU] = end->own_cpu_s - start->own_cpu_s;
    values[LEAT_BENCH_WAITED] = (double)(end->wait_ns - start->wait_ns) / 1e9 * rate;
    values[LEAT_BENCH_MEMORY] = is_known ? end->daemon.hwm_bytes : NAN;
}

static int open_stream(struct run *run, struct leat_client *client, struct leat_stream **ret_stream,
                       struct leat_error *err) {
    const struct leat_bench *bench = run->bench;
    struct leat_open_options options;
    int r;

    leat_open_options_init(&options);
    options.delivery = (int32_t)bench->delivery;
    options.window = bench->window;
    options.n_epochs = bench->length.n_epochs;
    options.world_size = 1;
    options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    options.client_name = "leatctl bench";
    run->open_ns = leat_cli_now_ns();
    r = leat_client_open(client, run->item->stream, &options, ret_stream);
    if (r < 0)
        *err = *leat_client_error(client);
    return r;
}

static int pull(struct run *run, struct leat_bench_case *item, struct leat_error *err) {
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;
    int r;

    if (leat_client_new(run->address, &client) < 0)
        return leat_error_oom(err);
    r = open_stream(run, client, &stream, err);
    if (r == 0) {
        leat_digest_hex(leat_stream_digest(stream), item->digest);
        r = leat_cli_consume(&run->consumer, stream, err);
        run->has_ended = r == LEAT_END;
        run->end.own_cpu_s = own_cpu_s();
        read_daemon(run, &run->end.daemon);
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
    r = pull(&run, item, err);
    leat_cli_daemon_stop(&daemon);
    if (r < 0)
        return r;
    if (run.n_batches == 0)
        return leat_error_set(err, -ENODATA, "%s: the stream %s has no batches to measure",
                              item->file, item->stream);
    if (item->n_samples < LEAT_BENCH_REPEAT_MAX)
        take_sample(&run, &item->samples[item->n_samples++]);
    return 0;
}
