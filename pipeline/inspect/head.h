/* head.h: the first records as they are after a stage, on the calling thread (`leatctl head`). May
 * block. */
#pragma once

#include "pipeline/plan/plan.h"
#include "proto/base/text.h"

struct leat_head_bad {
    uint64_t n_skipped;      /* before the last record that is given */
    struct leat_error first; /* code 0: none */
};

/* Appends n_records lines of JSON (fewer if the data ends) as they are after the MAP stage numbered
 * `after_stage` (index in the spec; -1: as the source gives them; ORDER and COLLATE stages: as the
 * last MAP stage before it left them). Bad records are skipped or end it, as the spec's on_error
 * says. */
int leat_head(const struct leat_spec *spec, const struct leat_opener *opener, int after_stage,
              uint64_t n_records, struct leat_text *text, struct leat_head_bad *ret_bad,
              struct leat_error *err);
