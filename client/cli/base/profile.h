/* profile.h: what takes the time of a stream: a table of its stages, and what bounds it, in words.
 *
 * Of the daemon's counters, or of a run in this process. Owner: the one thread.
 */
#pragma once

#include "pipeline/run/run.h"
#include "proto/base/text.h"
#include "proto/leat.pb-c.h"

/* A line that says what bounds it, and a row a stage that did something. */
void leat_cli_profile_text(struct leat_text *text, const Leat__StreamStats *stats);
/* "bound_by": "trainers", "pipeline", "neither" or null, "verdict": that line, "stages": all of
 * them, with what follows from the counters too (mean_ns, share, ns_per_record); without braces. */
void leat_cli_profile_json(struct leat_text *text, const Leat__StreamStats *stats);

/* The counters of a run in this process, which nobody waits for. Names are lent; free it with
 * leat_cli_profile_free(). NULL: no memory. */
Leat__StreamStats *leat_cli_profile_of_run(const struct leat_run *run);
Leat__StreamStats *leat_cli_profile_free(Leat__StreamStats *stats);
