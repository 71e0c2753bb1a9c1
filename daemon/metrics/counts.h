/* counts.h: the figures as they are now, of a stream and of the daemon. Owner: loop. */
#pragma once

#include "daemon/metrics/reading.h"
#include "daemon/stream/stream.h"

struct leat_feed;
struct leat_sessions;

/* Fills the figures of a stream: of its ended and running runs, and of its trainers up to now. */
void leat_stream_read_counts(const struct leat_sessions *sessions,
                             const struct leat_daemon_stream *stream,
                             struct leat_stream_counts *ret_counts);
/* Fills the figures of the daemon, except n_fds, which takes time to count, and n_streams_other. */
void leat_daemon_read_figures(const struct leat_sessions *sessions, uint64_t now_ns,
                              struct leat_daemon_figures *ret_figures);
/* Adds the slots of a run to gauges of slots. */
void leat_feed_add_slots(const struct leat_feed *feed, uint64_t *n_slots, uint64_t *n_slots_free);
