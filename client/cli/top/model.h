/* model.h: what `leatctl top` shows: what happened between two updates of the daemon, as rates
 * and shares. Pure. Owner: the one thread. Texts are lent by the later update.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/run/profile/figures.h"
#include "proto/base/text.h"

/* Columns of streams, see figures.def. */
enum leat_top_column {
#define LEAT_TOP_COLUMN(upper, ...) LEAT_TOP_COLUMN_##upper,
#include "pipeline/run/profile/figures.def"
    LEAT_TOP_N_COLUMNS,
};

struct leat_top_stage {
    const char *name, *role;
    size_t place;        /* in the stream */
    double threads;      /* busy at it, on average */
    double used;         /* of those that could be: 0..1 */
    double records_rate; /* a second */
    uint64_t p50_ns, p99_ns;
    uint64_t n_errors;
};

struct leat_top_stream {
    const char *name;
    size_t nth; /* of those of its name, as the daemon tells them */
    struct leat_stream_figures figures;
    double values[LEAT_TOP_N_COLUMNS]; /* of columns: a second, a share, or the figure itself */
    uint64_t slots[2];                 /* in use, of all */
    uint64_t stalled_ns;
    size_t n_stages;
    struct leat_top_stage *stages;
};

struct leat_top_trainer {
    const char *stream, *client, *state;
    uint64_t session, epoch, step, pid, uid, n_held, window;
    uint64_t rank[2]; /* of so many */
    double batch_rate, waits, holds;
};

struct leat_top_model {
    double seconds;       /* between the updates; 0: there is one only, and no rates */
    double cpus, workers; /* busy, on average */
    double loop;          /* 0..1 */
    const Leat__StatusReply *status;
    size_t n_streams, n_trainers;
    struct leat_top_stream *streams;
    struct leat_top_trainer *trainers;
};

enum leat_top_stream_order { LEAT_TOP_BY_NAME, LEAT_TOP_BY_BATCHES, LEAT_TOP_BY_WAITS };
enum leat_top_stage_order { LEAT_TOP_BY_PLACE, LEAT_TOP_BY_USE };
enum leat_top_trainer_order { LEAT_TOP_BY_WAITING, LEAT_TOP_BY_STREAM, LEAT_TOP_BY_RATE };

/* before, trainers, trainers_before: may be NULL. -ENOMEM. */
int leat_top_model_init(struct leat_top_model *model, const Leat__Update *now,
                        const Leat__Update *before, const Leat__TrainersReply *trainers,
                        const Leat__TrainersReply *trainers_before);
void leat_top_model_deinit(struct leat_top_model *model);

void leat_top_model_sort_streams(struct leat_top_model *model, enum leat_top_stream_order order);
void leat_top_model_sort_stages(struct leat_top_stream *stream, enum leat_top_stage_order order);
void leat_top_model_sort_trainers(struct leat_top_model *model, enum leat_top_trainer_order order);

/* One line. */
void leat_top_model_json(struct leat_text *json, const struct leat_top_model *model);
