/* monitor.h: watches the daemon: takes a reading once a second, and gives it to the history and to
 * the HTTP listener. Owner: loop. */
#pragma once

#include "daemon/metrics/history.h"
#include "daemon/metrics/series.h"

struct leat_daemon;

struct leat_monitor {
    struct leat_series series;
    struct leat_history history;
    uint64_t next_ns, next_count_ns, n_fds;
    bool has_history;
};

/* What it may take, of what the daemon may take (UINT64_MAX: any). */
uint64_t leat_monitor_bytes(uint64_t limit_bytes);
int leat_monitor_init(struct leat_monitor *monitor, uint64_t max_bytes);
void leat_monitor_deinit(struct leat_monitor *monitor);
/* About once a second. */
void leat_monitor_tick(struct leat_monitor *monitor, struct leat_daemon *daemon);
/* As it is now, to be freed; or NULL. */
struct leat_reading *leat_monitor_read(struct leat_monitor *monitor, struct leat_daemon *daemon);
