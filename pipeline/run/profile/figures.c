#include "pipeline/run/profile/figures.h"

#include <string.h>

#define LEAT_FAILURES_HELP                                                                         \
    "The number of failures of the stream. The label reason has the value spec, data, file, "      \
    "changed, memory, program or other."
#define NOWHERE LEAT_FIGURE_NOWHERE
#define STATS   LEAT_FIGURE_STATS
#define PAGE    LEAT_FIGURE_PAGE

const struct leat_figure leat_stream_figure_table[] = {
#define LEAT_STREAM_FIGURE(member, kind, unit, ...)                                                \
    {#member, LEAT_FIGURE_##kind, LEAT_FIGURE_##unit, __VA_ARGS__,                                 \
     offsetof(struct leat_stream_figures, member)},
#include "pipeline/run/profile/figures.def"
    {.member = NULL},
};

const struct leat_figure leat_stage_figure_table[] = {
#define LEAT_STAGE_FIGURE(figure, kind_, unit_, metric_, help_)                                    \
    {.member = #figure,                                                                            \
     .kind = LEAT_FIGURE_##kind_,                                                                  \
     .unit = LEAT_FIGURE_##unit_,                                                                  \
     .metric = metric_,                                                                            \
     .help = help_,                                                                                \
     .offset = offsetof(struct leat_stage_figures, figure)},
#include "pipeline/run/profile/figures.def"
    {.member = NULL},
};

const struct leat_figure_spread leat_spread_table[LEAT_N_SPREADS] = {
#define LEAT_STREAM_SPREAD(upper, bounds, unit, metric, help)                                      \
    [LEAT_SPREAD_##upper] = {LEAT_FIGURE_##unit, &(bounds), metric, help},
#include "pipeline/run/profile/figures.def"
};

bool leat_figure_is_first(const struct leat_figure *figure) {
    return figure->metric && (!figure->metric_label || !figure[-1].metric ||
                              strcmp(figure[-1].metric, figure->metric) != 0);
}

void leat_figures_add(const struct leat_figure *table, void *sum, const void *more) {
    for (const struct leat_figure *figure = table; figure->member; figure++)
        *leat_figure_at(figure, sum) += leat_figure_get(figure, more);
}

void leat_figures_subtract(const struct leat_figure *table, const void *now, const void *before,
                           void *ret_change) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        uint64_t value = leat_figure_get(figure, now);
        uint64_t old = before ? leat_figure_get(figure, before) : 0;

        if (figure->kind == LEAT_FIGURE_COUNTER && old <= value)
            value -= old;
        *leat_figure_at(figure, ret_change) = value;
    }
}

void leat_figures_clear_gauges(const struct leat_figure *table, void *figures) {
    for (const struct leat_figure *figure = table; figure->member; figure++)
        if (figure->kind == LEAT_FIGURE_GAUGE)
            *leat_figure_at(figure, figures) = 0;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessage *message,
                                                  const char *name) {
    return protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
}

static void add_to_list(struct leat_figure_list *list, const struct leat_figure *figure,
                        uint64_t value) {
    Leat__Figure *item = &list->of[list->n];

    leat__figure__init(item);
    item->name = (char *)(uintptr_t)figure->member;
    item->value = value;
    list->pointers[list->n++] = item;
}

void leat_figures_to_message(const struct leat_figure *table, const void *figures,
                             ProtobufCMessage *message, struct leat_figure_list *list) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        const ProtobufCFieldDescriptor *field = find_field(message, figure->member);
        uint64_t value = leat_figure_get(figure, figures);
        void *at = field ? (char *)message + field->offset : NULL;

        if (!field && list && value)
            add_to_list(list, figure, value);
        else if (field && field->type == PROTOBUF_C_TYPE_UINT64)
            *(uint64_t *)at = value;
        else if (field && field->type == PROTOBUF_C_TYPE_UINT32)
            *(uint32_t *)at = (uint32_t)value;
        else if (field && field->type == PROTOBUF_C_TYPE_BOOL)
            *(protobuf_c_boolean *)at = value != 0;
    }
    if (list) {
        const ProtobufCFieldDescriptor *field = find_field(message, "figures");

        *(Leat__Figure ***)(void *)((char *)message + field->offset) = list->pointers;
        *(size_t *)(void *)((char *)message + field->quantifier_offset) = list->n;
    }
}

static uint64_t find_in_list(const ProtobufCMessage *message, const char *name) {
    const ProtobufCFieldDescriptor *field = find_field(message, "figures");
    const char *at = (const char *)message;
    Leat__Figure *const *figures;
    size_t n;

    if (!field)
        return 0;
    figures = *(Leat__Figure *const *const *)(const void *)(at + field->offset);
    n = *(const size_t *)(const void *)(at + field->quantifier_offset);
    for (size_t i = 0; i < n; i++)
        if (strcmp(figures[i]->name, name) == 0)
            return figures[i]->value;
    return 0;
}

void leat_figures_of_message(const struct leat_figure *table, const ProtobufCMessage *message,
                             void *ret_figures) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        const ProtobufCFieldDescriptor *field = find_field(message, figure->member);
        const void *at = field ? (const char *)message + field->offset : NULL;
        uint64_t value = 0;

        if (!field)
            value = find_in_list(message, figure->member);
        else if (field->type == PROTOBUF_C_TYPE_UINT64)
            value = *(const uint64_t *)at;
        else if (field->type == PROTOBUF_C_TYPE_UINT32)
            value = *(const uint32_t *)at;
        *leat_figure_at(figure, ret_figures) = value;
    }
}

void leat_stream_counts_add(struct leat_stream_counts *sum, const struct leat_stream_counts *more) {
    leat_figures_add(leat_stream_figure_table, &sum->figures, &more->figures);
    for (size_t i = 0; i < LEAT_N_SPREADS; i++)
        leat_spread_merge(&sum->spreads[i], &more->spreads[i]);
}
