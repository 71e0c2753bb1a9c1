/* explain.h: a plan as `leatctl explain` prints it: as text, JSON, or a drawing. */
#pragma once

#include "pipeline/inspect/forecast.h"
#include "pipeline/inspect/share.h"

enum leat_explain_format {
    LEAT_EXPLAIN_TEXT,
    LEAT_EXPLAIN_JSON,
    LEAT_EXPLAIN_DOT,
    LEAT_EXPLAIN_SVG,
};

struct leat_explain_options {
    enum leat_explain_format format;
    uint32_t n_workers; /* for memory */
    bool is_unfused;
    bool has_index; /* There is a folder for indexes of streams that name none. */
    const struct leat_forecast *forecast; /* NULL: none */
    struct leat_node_ranks ranks;         /* of the node whose share is told */
};

/* The caller frees the text; NULL: no memory. */
char *leat_explain(const struct leat_plan *plan, const struct leat_explain_options *options);
