/* model.c: see model.h. Counters of streams, stages and sessions are paired by their names
 * and numbers; what was not there before began in between, at 0. Streams that clients bring may
 * share a name: the nth of a name is paired with the nth of it. */
#include "client/cli/top/model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A counter that fell began anew. */
static double grown(uint64_t now, uint64_t before) {
    return (double)(now >= before ? now - before : now);
}

static double share(double value) {
    return value > 1 ? 1 : value;
}

static const Leat__StreamStats *stats_of(const Leat__Update *update, const char *name, size_t nth) {
    for (size_t i = 0; update && update->stats && i < update->stats->n_streams; i++)
        if (strcmp(update->stats->streams[i]->name, name) == 0 && nth-- == 0)
            return update->stats->streams[i];
    return NULL;
}

static const Leat__Stream *stream_of(const Leat__Update *update, const char *name, size_t nth) {
    for (size_t i = 0; update->streams && i < update->streams->n_streams; i++)
        if (strcmp(update->streams->streams[i]->name, name) == 0 && nth-- == 0)
            return update->streams->streams[i];
    return NULL;
}

/* How many before the one at that place have its name. */
static size_t nth_of(const Leat__StatsReply *stats, size_t place) {
    size_t n = 0;

    for (size_t i = 0; i < place; i++)
        n += strcmp(stats->streams[i]->name, stats->streams[place]->name) == 0;
    return n;
}

/* ---- stages ---- */

static const Leat__StageStats *stage_before(const Leat__StreamStats *before, size_t place,
                                            const Leat__StageStats *stage) {
    if (!before || place >= before->n_stages ||
        strcmp(before->stages[place]->name, stage->name) != 0)
        return NULL;
    return before->stages[place];
}

static void fill_stage(const struct leat_top_model *model, struct leat_top_stage *stage,
                       size_t place, const Leat__StageStats *now, const Leat__StageStats *before) {
    bool is_loops = strcmp(now->role, "order") == 0;
    double n_threads = is_loops || !model->status ? 1 : model->status->n_workers;

    *stage = (struct leat_top_stage){.name = now->name,
                                     .role = now->role,
                                     .place = place,
                                     .p50_ns = now->p50_ns,
                                     .p99_ns = now->p99_ns,
                                     .n_errors = now->n_errors};
    if (model->seconds <= 0)
        return;
    stage->threads = grown(now->busy_ns, before ? before->busy_ns : 0) / 1e9 / model->seconds;
    stage->used = share(stage->threads / (n_threads > 0 ? n_threads : 1));
    stage->records_rate = grown(now->n_records, before ? before->n_records : 0) / model->seconds;
}

static int fill_stages(struct leat_top_model *model, struct leat_top_stream *stream,
                       const Leat__StreamStats *now, const Leat__StreamStats *before) {
    stream->stages = calloc(now->n_stages + 1, sizeof(*stream->stages));
    if (!stream->stages)
        return -ENOMEM;
    stream->n_stages = now->n_stages;
    for (size_t i = 0; i < now->n_stages; i++)
        fill_stage(model, &stream->stages[i], i, now->stages[i],
                   stage_before(before, i, now->stages[i]));
    return 0;
}

/* ---- streams ---- */

static void fill_rates(const struct leat_top_model *model, struct leat_top_stream *stream,
                       const Leat__StreamStats *now, const Leat__StreamStats *before) {
    double s = model->seconds;
    double n_trainers = stream->n_sessions > 0 ? stream->n_sessions : 1;

    if (s <= 0)
        return;
    stream->batch_rate = grown(now->n_batches, before ? before->n_batches : 0) / s;
    stream->row_rate = grown(now->n_rows, before ? before->n_rows : 0) / s;
    stream->token_rate = grown(now->n_elements, before ? before->n_elements : 0) / s;
    stream->byte_rate = grown(now->n_source_bytes, before ? before->n_source_bytes : 0) / s;
    stream->waits = share(grown(now->wait_ns, before ? before->wait_ns : 0) / 1e9 / s / n_trainers);
    stream->no_slot = share(grown(now->no_slot_ns, before ? before->no_slot_ns : 0) / 1e9 / s);
}

static int fill_stream(struct leat_top_model *model, struct leat_top_stream *stream, size_t nth,
                       const Leat__Update *update, const Leat__StreamStats *now,
                       const Leat__StreamStats *before) {
    const Leat__Stream *listed = stream_of(update, now->name, nth);

    *stream = (struct leat_top_stream){.name = now->name,
                                       .nth = nth,
                                       .n_slots = now->n_slots,
                                       .n_slots_free = now->n_slots_free,
                                       .n_jobs = now->n_jobs,
                                       .n_blocks = now->n_blocks,
                                       .n_batches = now->n_batches,
                                       .n_bad_records = now->n_bad_records,
                                       .n_sessions = listed ? (uint32_t)listed->n_sessions : 0,
                                       .stalled_ns = listed ? listed->stalled_ns : 0};
    fill_rates(model, stream, now, before);
    return fill_stages(model, stream, now, before);
}

static int fill_streams(struct leat_top_model *model, const Leat__Update *now,
                        const Leat__Update *before) {
    int r = 0;

    for (size_t i = 0; r == 0 && now->stats && i < now->stats->n_streams; i++) {
        const Leat__StreamStats *stats = now->stats->streams[i];
        size_t nth = nth_of(now->stats, i);

        r = fill_stream(model, &model->streams[i], nth, now, stats,
                        stats_of(before, stats->name, nth));
        model->n_streams = i + 1;
    }
    return r;
}

/* ---- trainers ---- */

static const Leat__Trainer *trainer_before(const Leat__TrainersReply *before, uint64_t session) {
    for (size_t i = 0; before && i < before->n_trainers; i++)
        if (before->trainers[i]->session->id == session)
            return before->trainers[i];
    return NULL;
}

static void fill_trainer(const struct leat_top_model *model, struct leat_top_trainer *trainer,
                         const Leat__Trainer *now, const Leat__Trainer *before) {
    const Leat__Session *session = now->session;
    double s = model->seconds;

    *trainer = (struct leat_top_trainer){.stream = now->stream,
                                         .client = session->client_name,
                                         .state = session->state,
                                         .session = session->id,
                                         .epoch = session->epoch,
                                         .step = session->step,
                                         .pid = session->pid,
                                         .uid = session->uid,
                                         .rank = session->rank,
                                         .world = session->world_size,
                                         .n_held = session->n_held,
                                         .window = session->window};
    if (s <= 0)
        return;
    trainer->batch_rate = grown(session->n_batches, before ? before->session->n_batches : 0) / s;
    trainer->waits = share(grown(now->wait_ns, before ? before->wait_ns : 0) / 1e9 / s);
    trainer->holds = share(grown(now->hold_ns, before ? before->hold_ns : 0) / 1e9 / s);
}

/* ---- all ---- */

static void fill_status(struct leat_top_model *model, const Leat__Update *now,
                        const Leat__Update *before) {
    const Leat__StatusReply *then = before ? before->status : NULL;

    model->status = now->status;
    if (!then || !now->status || now->at_ns <= before->at_ns)
        return;
    model->seconds = (double)(now->at_ns - before->at_ns) / 1e9;
    model->cpus = grown(now->status->cpu_ns, then->cpu_ns) / 1e9 / model->seconds;
    model->workers =
        grown(now->status->worker_busy_ns, then->worker_busy_ns) / 1e9 / model->seconds;
    model->loop =
        share(grown(now->status->loop_busy_ns, then->loop_busy_ns) / 1e9 / model->seconds);
}

int leat_top_model_init(struct leat_top_model *model, const Leat__Update *now,
                        const Leat__Update *before, const Leat__TrainersReply *trainers,
                        const Leat__TrainersReply *trainers_before) {
    size_t n_streams = now->stats ? now->stats->n_streams : 0;
    size_t n_trainers = trainers ? trainers->n_trainers : 0;
    int r = -ENOMEM;

    *model = (struct leat_top_model){.seconds = 0};
    fill_status(model, now, before);
    model->streams = calloc(n_streams + 1, sizeof(*model->streams));
    model->trainers = calloc(n_trainers + 1, sizeof(*model->trainers));
    if (model->streams && model->trainers)
        r = fill_streams(model, now, before);
    for (size_t i = 0; r == 0 && i < n_trainers; i++)
        if (trainers->trainers[i]->session)
            fill_trainer(model, &model->trainers[model->n_trainers++], trainers->trainers[i],
                         trainer_before(trainers_before, trainers->trainers[i]->session->id));
    if (r < 0)
        leat_top_model_deinit(model);
    return r;
}

void leat_top_model_deinit(struct leat_top_model *model) {
    for (size_t i = 0; model->streams && i < model->n_streams; i++)
        free(model->streams[i].stages);
    free(model->streams);
    free(model->trainers);
    *model = (struct leat_top_model){.seconds = 0};
}

/* ---- order: the largest first, else as they are called ---- */

static int falling(double a, double b) {
    return a < b ? 1 : a > b ? -1 : 0;
}

static int stream_by_name(const void *left, const void *right) {
    const struct leat_top_stream *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : (a->nth > b->nth) - (a->nth < b->nth);
}

static int stream_by_batches(const void *a, const void *b) {
    int order = falling(((const struct leat_top_stream *)a)->batch_rate,
                        ((const struct leat_top_stream *)b)->batch_rate);

    return order ? order : stream_by_name(a, b);
}

static int stream_by_waits(const void *a, const void *b) {
    int order = falling(((const struct leat_top_stream *)a)->waits,
                        ((const struct leat_top_stream *)b)->waits);

    return order ? order : stream_by_name(a, b);
}

static int stage_by_place(const void *a, const void *b) {
    return -falling((double)((const struct leat_top_stage *)a)->place,
                    (double)((const struct leat_top_stage *)b)->place);
}

static int stage_by_use(const void *a, const void *b) {
    int order =
        falling(((const struct leat_top_stage *)a)->used, ((const struct leat_top_stage *)b)->used);

    return order ? order : stage_by_place(a, b);
}

static int trainer_by_session(const struct leat_top_trainer *a, const struct leat_top_trainer *b) {
    return a->session < b->session ? -1 : a->session > b->session;
}

static int trainer_by_waiting(const void *left, const void *right) {
    const struct leat_top_trainer *a = left, *b = right;
    int order = falling(a->waits, b->waits);

    return order ? order : trainer_by_session(a, b);
}

static int trainer_by_stream(const void *left, const void *right) {
    const struct leat_top_trainer *a = left, *b = right;
    int order = strcmp(a->stream, b->stream);

    return order ? order : trainer_by_session(a, b);
}

static int trainer_by_rate(const void *left, const void *right) {
    const struct leat_top_trainer *a = left, *b = right;
    int order = falling(a->batch_rate, b->batch_rate);

    return order ? order : trainer_by_session(a, b);
}

typedef int comparison(const void *a, const void *b);

void leat_top_model_sort_streams(struct leat_top_model *model, enum leat_top_stream_order order) {
    static comparison *const comparisons[] = {stream_by_name, stream_by_batches, stream_by_waits};

    qsort(model->streams, model->n_streams, sizeof(*model->streams), comparisons[order]);
}

void leat_top_model_sort_stages(struct leat_top_stream *stream, enum leat_top_stage_order order) {
    static comparison *const comparisons[] = {stage_by_place, stage_by_use};

    qsort(stream->stages, stream->n_stages, sizeof(*stream->stages), comparisons[order]);
}

void leat_top_model_sort_trainers(struct leat_top_model *model, enum leat_top_trainer_order order) {
    static comparison *const comparisons[] = {trainer_by_waiting, trainer_by_stream,
                                              trainer_by_rate};

    qsort(model->trainers, model->n_trainers, sizeof(*model->trainers), comparisons[order]);
}

/* ---- for programs ---- */

static void add_name(struct leat_text *text, const char *key, const char *value) {
    leat_text_add(text, "\"%s\": ", key);
    leat_text_add_json(text, value, strlen(value));
    leat_text_add(text, ", ");
}

static void add_stage(struct leat_text *text, const struct leat_top_stage *stage) {
    leat_text_add(text, "{");
    add_name(text, "name", stage->name);
    add_name(text, "role", stage->role);
    leat_text_add(text,
                  "\"threads\": %.4f, \"used\": %.4f, \"records_per_s\": %.1f, \"p50_ns\": %" PRIu64
                  ", \"p99_ns\": %" PRIu64 ", \"n_errors\": %" PRIu64 "}",
                  stage->threads, stage->used, stage->records_rate, stage->p50_ns, stage->p99_ns,
                  stage->n_errors);
}

static void add_stream(struct leat_text *text, const struct leat_top_stream *stream) {
    leat_text_add(text, "{");
    add_name(text, "name", stream->name);
    leat_text_add(text,
                  "\"batches_per_s\": %.3f, \"rows_per_s\": %.1f, \"tokens_per_s\": %.1f, "
                  "\"bytes_per_s\": %.1f, \"waits\": %.4f, \"no_slot\": %.4f, ",
                  stream->batch_rate, stream->row_rate, stream->token_rate, stream->byte_rate,
                  stream->waits, stream->no_slot);
    leat_text_add(text,
                  "\"n_slots\": %u, \"n_slots_free\": %u, \"n_jobs\": %u, \"n_blocks\": %u, "
                  "\"n_sessions\": %u, \"n_batches\": %" PRIu64 ", \"n_bad_records\": %" PRIu64
                  ", \"stalled_ns\": %" PRIu64 ", \"stages\": [",
                  stream->n_slots, stream->n_slots_free, stream->n_jobs, stream->n_blocks,
                  stream->n_sessions, stream->n_batches, stream->n_bad_records, stream->stalled_ns);
    for (size_t i = 0; i < stream->n_stages; i++) {
        leat_text_add(text, i ? ", " : "");
        add_stage(text, &stream->stages[i]);
    }
    leat_text_add(text, "]}");
}

static void add_trainer(struct leat_text *text, const struct leat_top_trainer *trainer) {
    leat_text_add(text, "{");
    add_name(text, "stream", trainer->stream);
    add_name(text, "client_name", trainer->client);
    add_name(text, "state", trainer->state);
    leat_text_add(text,
                  "\"session\": %" PRIu64 ", \"pid\": %u, \"uid\": %u, \"rank\": %u, "
                  "\"world_size\": %u, \"epoch\": %" PRIu64 ", \"step\": %" PRIu64
                  ", \"n_held\": %u, \"window\": %u, \"batches_per_s\": %.3f, \"waits\": %.4f, "
                  "\"holds\": %.4f}",
                  trainer->session, trainer->pid, trainer->uid, trainer->rank, trainer->world,
                  trainer->epoch, trainer->step, trainer->n_held, trainer->window,
                  trainer->batch_rate, trainer->waits, trainer->holds);
}

void leat_top_model_json(const struct leat_top_model *model, struct leat_text *text) {
    const Leat__StatusReply *status = model->status;

    leat_text_add(text,
                  "{\"seconds\": %.3f, \"cpus\": %.3f, \"workers_busy\": %.3f, \"loop\": "
                  "%.4f, ",
                  model->seconds, model->cpus, model->workers, model->loop);
    if (status)
        leat_text_add(text,
                      "\"n_workers\": %u, \"rss_bytes\": %" PRIu64 ", \"ring_bytes\": %" PRIu64
                      ", \"memory_used_bytes\": %" PRIu64 ", \"memory_limit_bytes\": %" PRIu64 ", ",
                      status->n_workers, status->rss_bytes, status->ring_bytes,
                      status->memory_used_bytes, status->memory_limit_bytes);
    leat_text_add(text, "\"streams\": [");
    for (size_t i = 0; i < model->n_streams; i++) {
        leat_text_add(text, i ? ", " : "");
        add_stream(text, &model->streams[i]);
    }
    leat_text_add(text, "], \"trainers\": [");
    for (size_t i = 0; i < model->n_trainers; i++) {
        leat_text_add(text, i ? ", " : "");
        add_trainer(text, &model->trainers[i]);
    }
    leat_text_add(text, "]}\n");
}
