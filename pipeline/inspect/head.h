/* head.h: the first records as they are behind a stage (`leatctl head`). On the calling thread; may
 * block. */
#pragma once

#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

struct leat_head_bad {
    uint64_t n_skipped;      /* in front of the last record */
    struct leat_error first; /* code 0: none */
};

/* Appends the first n_records as lines of JSON, as they are behind the stage with index after_stage
 * in the spec (-1: the source). ORDER and COLLATE stages have no effect. Bad records are skipped or
 * end it, by the spec's on_error. */
int leat_head(const struct leat_spec *spec, const struct leat_opener *opener, int after_stage,
              uint64_t n_records, struct leat_text *text, struct leat_head_bad *ret_bad,
              struct leat_error *err);
