/* monitor.h: watches the daemon: takes a reading once a second, and gives it to the history and to
 * the HTTP listener. Owner: loop. */
#pragma once

#include "daemon/metrics/history.h"
#include "daemon/metrics/series.h"

struct leat_http;
struct leat_sessions;

struct leat_monitor {
    const struct leat_sessions *sessions; /* the streams that it watches */
    struct leat_http *http;               /* publishes the readings */
    struct leat_series series;
    struct leat_history history;
    uint64_t next_ns, next_count_ns, n_fds;
    bool has_history;
};

/* The history's limit, given the daemon's (UINT64_MAX: none). */
uint64_t leat_monitor_bytes(uint64_t limit_bytes);
int leat_monitor_init(struct leat_monitor *monitor, const struct leat_sessions *sessions,
                      struct leat_http *http, uint64_t max_bytes);
void leat_monitor_deinit(struct leat_monitor *monitor);
/* Called about once a second. */
void leat_monitor_tick(struct leat_monitor *monitor);
/* A reading of this moment, to be freed; NULL: memory is out. */
struct leat_reading *leat_monitor_read(struct leat_monitor *monitor);
