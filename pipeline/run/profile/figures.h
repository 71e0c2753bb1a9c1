/* figures.h: what is counted of a stream and of its stages. figures.def lists the figures; whatever
 * is done with all of them goes over a table made of it. Plain data; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/run/profile/histogram.h"
#include "proto/leat.pb-c.h"

struct leat_stream_figures {
#define LEAT_STREAM_FIGURE(member, ...) uint64_t member;
#include "pipeline/run/profile/figures.def"
};

enum {
#define LEAT_STREAM_FIGURE(...) +1
    LEAT_N_STREAM_FIGURES = 0
#include "pipeline/run/profile/figures.def"
};

struct leat_stage_figures {
#define LEAT_STAGE_FIGURE(member, ...) uint64_t member;
#include "pipeline/run/profile/figures.def"
};

enum leat_stream_spread {
#define LEAT_STREAM_SPREAD(upper, ...) LEAT_SPREAD_##upper,
#include "pipeline/run/profile/figures.def"
    LEAT_N_SPREADS,
};

struct leat_stream_counts {
    struct leat_stream_figures figures;
    struct leat_spread spreads[LEAT_N_SPREADS];
};

enum leat_figure_kind { LEAT_FIGURE_COUNTER, LEAT_FIGURE_GAUGE };
enum leat_figure_unit { LEAT_FIGURE_NONE, LEAT_FIGURE_NS, LEAT_FIGURE_BYTES };
enum leat_figure_place { LEAT_FIGURE_NOWHERE = 0, LEAT_FIGURE_STATS = 1, LEAT_FIGURE_PAGE = 2 };

/* A row of figures.def; what it does not say is NULL. */
struct leat_figure {
    const char *member; /* NULL: the end of the table */
    enum leat_figure_kind kind;
    enum leat_figure_unit unit;
    const char *label;
    unsigned places; /* of enum leat_figure_place */
    const char *key, *metric, *metric_label, *help;
    size_t offset; /* in the struct of figures */
};

struct leat_figure_spread {
    enum leat_figure_unit unit;
    const struct leat_spread_bounds *bounds; /* in nanoseconds, bytes or numbers */
    const char *metric, *help;
};

extern const struct leat_figure leat_stream_figure_table[], leat_stage_figure_table[];
extern const struct leat_figure_spread leat_spread_table[LEAT_N_SPREADS];

static inline uint64_t leat_figure_get(const struct leat_figure *figure, const void *figures) {
    return *(const uint64_t *)(const void *)((const char *)figures + figure->offset);
}
static inline uint64_t *leat_figure_at(const struct leat_figure *figure, void *figures) {
    return (uint64_t *)(void *)((char *)figures + figure->offset);
}

/* True if it is a metric, and of several of its name the first one. */
bool leat_figure_is_first(const struct leat_figure *figure);

/* The struct of figures is the one that the table is of. */
void leat_figures_add(const struct leat_figure *table, void *sum, const void *more);
/* Subtracts counters; one that fell began at 0 again. Gauges keep their values. before NULL: all 0.
 */
void leat_figures_subtract(const struct leat_figure *table, const void *now, const void *before,
                           void *ret_change);

void leat_figures_clear_gauges(const struct leat_figure *table, void *figures);

/* Figures that have no field of their own in a message, for its field `figures`. */
struct leat_figure_list {
    size_t n;
    Leat__Figure of[LEAT_N_STREAM_FIGURES], *pointers[LEAT_N_STREAM_FIGURES];
};
/* Fills the fields of a message that have the names of figures, and its list with those that have
 * no field and are not 0. The list outlives the message; NULL: it has none. */
void leat_figures_to_message(const struct leat_figure *table, const void *figures,
                             ProtobufCMessage *message, struct leat_figure_list *list);
/* Figures that the message does not have are 0. */
void leat_figures_of_message(const struct leat_figure *table, const ProtobufCMessage *message,
                             void *ret_figures);

void leat_stream_counts_add(struct leat_stream_counts *sum, const struct leat_stream_counts *more);
static inline void leat_stream_counts_spread(struct leat_stream_counts *counts,
                                             enum leat_stream_spread spread, uint64_t value) {
    leat_spread_add(&counts->spreads[spread], leat_spread_table[spread].bounds, value);
}
