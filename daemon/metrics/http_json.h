/* http_json.h: history and latest reading for the status page. Any thread. */
#pragma once

#include "daemon/metrics/history.h"
#include "proto/base/text.h"

/* Bytes of all samples, and of one; the page asks for the rest. */
#define LEAT_HTTP_JSON_MAX (UINT32_C(64) << 10)

/* One object:
 *   version, now_ms, is_stale;
 *   figures: {name: number} by the members of figures.def and daemon_figures.def;
 *   columns: [[member, label, unit]] that the page shows for each stream;
 *   streams: [{name, is_own, is_other, verdict, figures, failure}];
 *   samples: [{at: "text of digits", t: ms of the wall clock, d, rss, ring, mem, cpu, loop, work,
 *              workers, sessions,
 *              streams: [{name, own, other, batches, rows, tokens, bytes, bad, wait, no_slot,
 *                         sessions, slots, free, jobs, blocks,
 *                         stages: [[name, role, busy, records]]}]}],
 *   has_more: there are samples after these. Times are nanoseconds. reading: NULL: none yet. */
void leat_http_json(struct leat_text *json, const struct leat_history *history,
                    const struct leat_reading *reading, enum leat_history_tier tier,
                    uint64_t after_ns, uint64_t now_ns, bool is_stale);
