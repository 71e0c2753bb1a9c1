/* model.c: see model.h. Counters of streams, stages and sessions are paired by their names
 * and numbers; what was not there before began in between, at 0. Streams that clients bring may
 * share a name: the nth of a name is paired with the nth of it. */
#include "client/cli/top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/json_writer.h"

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

/* The number of stages of the same name before that place. */
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

enum how { RATE, BYTES_RATE, SHARE, TRAINER_SHARE, TOTAL, IN_USE };

static const struct column {
    enum how how;
    size_t offset; /* in the figures */
    const char *key;
} columns[LEAT_TOP_N_COLUMNS] = {
#define LEAT_TOP_COLUMN(upper, title, width, how, member, key)                                     \
    [LEAT_TOP_COLUMN_##upper] = {how, offsetof(struct leat_stream_figures, member), key},
#include "pipeline/run/profile/figures.def"
};

static double figure_of(const struct leat_stream_figures *figures, const struct column *column) {
    return (double)*(const uint64_t *)(const void *)((const char *)figures + column->offset);
}

/* change: what the counters grew by in that time. */
static double value_of(const struct leat_top_model *model, const struct leat_top_stream *stream,
                       const struct leat_stream_figures *change, const struct column *column) {
    double n_trainers = stream->figures.n_sessions > 0 ? (double)stream->figures.n_sessions : 1;
    double s = model->seconds;

    if (column->how == TOTAL || column->how == IN_USE)
        return figure_of(&stream->figures, column);
    if (s <= 0)
        return 0;
    if (column->how == SHARE)
        return share(figure_of(change, column) / 1e9 / s);
    if (column->how == TRAINER_SHARE)
        return share(figure_of(change, column) / 1e9 / s / n_trainers);
    return figure_of(change, column) / s;
}

static int fill_stream(struct leat_top_model *model, struct leat_top_stream *stream, size_t nth,
                       const Leat__Update *update, const Leat__StreamStats *now,
                       const Leat__StreamStats *before) {
    const Leat__Stream *listed = stream_of(update, now->name, nth);
    struct leat_stream_figures old, change;

    *stream = (struct leat_top_stream){
        .name = now->name, .nth = nth, .stalled_ns = listed ? listed->stalled_ns : 0};
    leat_figures_of_message(leat_stream_figure_table, &now->base, &stream->figures);
    if (before)
        leat_figures_of_message(leat_stream_figure_table, &before->base, &old);
    leat_figures_subtract(leat_stream_figure_table, &stream->figures, before ? &old : NULL,
                          &change);
    stream->figures.n_sessions = listed ? listed->n_sessions : 0;
    stream->slots[0] = stream->figures.n_slots - stream->figures.n_slots_free;
    stream->slots[1] = stream->figures.n_slots;
    for (size_t i = 0; i < LEAT_TOP_N_COLUMNS; i++)
        stream->values[i] = value_of(model, stream, &change, &columns[i]);
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
                                         .rank = {session->rank, session->world_size},
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
    int order = falling(((const struct leat_top_stream *)a)->values[LEAT_TOP_COLUMN_BATCHES],
                        ((const struct leat_top_stream *)b)->values[LEAT_TOP_COLUMN_BATCHES]);

    return order ? order : stream_by_name(a, b);
}

static int stream_by_waits(const void *a, const void *b) {
    int order = falling(((const struct leat_top_stream *)a)->values[LEAT_TOP_COLUMN_WAITS],
                        ((const struct leat_top_stream *)b)->values[LEAT_TOP_COLUMN_WAITS]);

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

static void add_stage(struct leat_text *json, const struct leat_top_stage *stage) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", stage->name);
    leat_json_add_text(json, "role", stage->role);
    leat_json_add_double(json, "threads", stage->threads);
    leat_json_add_double(json, "used", stage->used);
    leat_json_add_double(json, "records_per_s", stage->records_rate);
    leat_json_add_uint(json, "p50_ns", stage->p50_ns);
    leat_json_add_uint(json, "p99_ns", stage->p99_ns);
    leat_json_add_uint(json, "n_errors", stage->n_errors);
    leat_json_close(json, '}');
}

static void add_stream(struct leat_text *json, const struct leat_top_stream *stream) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "name", stream->name);
    for (size_t i = 0; i < LEAT_TOP_N_COLUMNS; i++)
        if (columns[i].key)
            leat_json_add_double(json, columns[i].key, stream->values[i]);
    for (const struct leat_figure *figure = leat_stream_figure_table; figure->member; figure++)
        if (figure->places != LEAT_FIGURE_NOWHERE)
            leat_json_add_uint(json, figure->member, leat_figure_get(figure, &stream->figures));
    leat_json_add_uint(json, "stalled_ns", stream->stalled_ns);
    leat_json_open(json, "stages", '[');
    for (size_t i = 0; i < stream->n_stages; i++)
        add_stage(json, &stream->stages[i]);
    leat_json_close(json, ']');
    leat_json_close(json, '}');
}

static void add_trainer(struct leat_text *json, const struct leat_top_trainer *trainer) {
    leat_json_open(json, NULL, '{');
    leat_json_add_text(json, "stream", trainer->stream);
    leat_json_add_text(json, "client_name", trainer->client);
    leat_json_add_text(json, "state", trainer->state);
    leat_json_add_uint(json, "session", trainer->session);
    leat_json_add_uint(json, "pid", trainer->pid);
    leat_json_add_uint(json, "uid", trainer->uid);
    leat_json_add_uint(json, "rank", trainer->rank[0]);
    leat_json_add_uint(json, "world_size", trainer->rank[1]);
    leat_json_add_uint(json, "epoch", trainer->epoch);
    leat_json_add_uint(json, "step", trainer->step);
    leat_json_add_uint(json, "n_held", trainer->n_held);
    leat_json_add_uint(json, "window", trainer->window);
    leat_json_add_double(json, "batches_per_s", trainer->batch_rate);
    leat_json_add_double(json, "waits", trainer->waits);
    leat_json_add_double(json, "holds", trainer->holds);
    leat_json_close(json, '}');
}

void leat_top_model_json(struct leat_text *json, const struct leat_top_model *model) {
    const Leat__StatusReply *status = model->status;

    leat_json_open(json, NULL, '{');
    leat_json_add_double(json, "seconds", model->seconds);
    leat_json_add_double(json, "cpus", model->cpus);
    leat_json_add_double(json, "workers_busy", model->workers);
    leat_json_add_double(json, "loop", model->loop);
    if (status) {
        leat_json_add_uint(json, "n_workers", status->n_workers);
        leat_json_add_uint(json, "rss_bytes", status->rss_bytes);
        leat_json_add_uint(json, "ring_bytes", status->ring_bytes);
        leat_json_add_uint(json, "memory_used_bytes", status->memory_used_bytes);
        leat_json_add_uint(json, "memory_limit_bytes", status->memory_limit_bytes);
    }
    leat_json_open(json, "streams", '[');
    for (size_t i = 0; i < model->n_streams; i++)
        add_stream(json, &model->streams[i]);
    leat_json_close(json, ']');
    leat_json_open(json, "trainers", '[');
    for (size_t i = 0; i < model->n_trainers; i++)
        add_trainer(json, &model->trainers[i]);
    leat_json_close(json, ']');
    leat_json_close(json, '}');
    leat_text_add_bytes(json, "\n", 1);
}
