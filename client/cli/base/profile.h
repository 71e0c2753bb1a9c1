/* profile.h: where the time of a stream goes: a table of its stages, and in words what bounds it.
 * By the daemon's counters, or by a run in this process. Owner: the one thread. */
#pragma once

#include "pipeline/run/pipeline.h"
#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

/* A line that says what bounds the stream, and a row for each stage that did something. */
void leat_cli_profile_text(struct leat_text *text, const Leat__StreamStats *stats);
/* Members without braces: "bound_by" ("trainers", "pipeline", "neither" or null), "verdict" (that
 * line), "stages" (with mean_ns, share and ns_per_record besides the counters). */
void leat_cli_profile_json(struct leat_text *json, const Leat__StreamStats *stats);

/* The counters of a run in this process, which has no trainers. It borrows names from the run; free
 * it with free(). NULL: no memory. */
Leat__StreamStats *leat_cli_profile_of_run(const struct leat_run *run);
