/* explain.h: what `leatctl explain` prints: a plan for people and for programs. */
#pragma once

#include "pipeline/inspect/forecast.h"

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
    bool has_index; /* there is a folder for indexes of streams that name none */
    const struct leat_forecast *forecast; /* NULL: nobody asked */
};

/* malloc'ed; NULL when memory is out. */
char *leat_explain(const struct leat_plan *plan, const struct leat_explain_options *options);

/* The short form of leat_explain: text or JSON, without a forecast. */
char *leat_plan_explain(const struct leat_plan *plan, uint32_t n_workers, bool as_json);
