#include "daemon/metrics/monitor.h"

#include <stdlib.h>

#include "daemon/metrics/http.h"
#include "daemon/system/process.h"
#include "daemon/trainer/sessions.h"
#include "proto/base/clock.h"

#define SECOND_NS UINT64_C(1000000000)
#define COUNT_NS  (10 * SECOND_NS) /* descriptors are counted once in so many seconds */
#define PART      64               /* of the memory limit, for the history */

uint64_t leat_monitor_bytes(uint64_t limit_bytes) {
    uint64_t bytes = limit_bytes / PART;

    if (bytes < LEAT_HISTORY_MIN_BYTES)
        return LEAT_HISTORY_MIN_BYTES;
    return bytes < LEAT_HISTORY_MAX_BYTES ? bytes : LEAT_HISTORY_MAX_BYTES;
}

int leat_monitor_init(struct leat_monitor *monitor, const struct leat_sessions *sessions,
                      struct leat_http *http, uint64_t max_bytes) {
    int r;

    *monitor = (struct leat_monitor){.sessions = sessions, .http = http};
    r = leat_history_init(&monitor->history, max_bytes);
    monitor->has_history = r == 0;
    return r;
}

void leat_monitor_deinit(struct leat_monitor *monitor) {
    if (monitor->has_history)
        leat_history_deinit(&monitor->history);
    monitor->has_history = false;
    leat_series_deinit(&monitor->series);
}

struct leat_reading *leat_monitor_read(struct leat_monitor *monitor) {
    struct leat_reading *reading = leat_series_read(&monitor->series, monitor->sessions);
    struct leat_process process;

    if (!reading)
        return NULL;
    if (reading->at_ns >= monitor->next_count_ns) {
        leat_process_read(&process);
        monitor->n_fds = process.n_fds;
        monitor->next_count_ns = reading->at_ns + COUNT_NS;
    }
    reading->figures.n_fds = monitor->n_fds;
    return reading;
}

void leat_monitor_tick(struct leat_monitor *monitor) {
    uint64_t now_ns = leat_now_ns();
    struct leat_reading *reading;

    if (now_ns < monitor->next_ns)
        return;
    monitor->next_ns = now_ns + SECOND_NS - SECOND_NS / 20;
    reading = leat_monitor_read(monitor);
    if (!reading)
        return;
    (void)leat_history_add(&monitor->history, reading);
    leat_http_publish(monitor->http, reading);
    free(reading);
}
