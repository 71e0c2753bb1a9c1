/* log.h: one line for each event, of keys and values (event.h).
 *
 * While the daemon runs, an event is what an operator must act on: bad clients, failed streams,
 * start and stop. In a quoted text a quote is \". A line that the reader of stderr does not take at
 * once is dropped and counted: the log never blocks the loop. Owner: loop.
 */
#pragma once

#include <stdbool.h>

#include "daemon/log/event.h"

enum leat_log_format {
    LEAT_LOG_AUTO, /* the journal if stderr leads there, else text */
    LEAT_LOG_TEXT,
    LEAT_LOG_JSON,
    LEAT_LOG_JOURNAL,
};

#define LEAT_LOG_LINE_MAX 4096

struct leat_log {
    int fd;
    enum leat_log_format format; /* never AUTO */
    enum leat_log_level levels[LEAT_N_LOG_ROOMS];
    uint64_t n_dropped;
    uint64_t n_dropped_told; /* so many of them were reported */
};

/* fd: where text and JSON go; not closed. JOURNAL without one becomes TEXT. level: of all rooms. */
void leat_log_init(struct leat_log *log, int fd, enum leat_log_format format,
                   enum leat_log_level level);
/* True if the event is important enough to be written. */
bool leat_log_wants(const struct leat_log *log, enum leat_event event);
void leat_log_write(struct leat_log *log, enum leat_event event,
                    const struct leat_log_field *fields);

/* Reports lines that were dropped since the last call; if that line is dropped too, reports later.
 */
void leat_log_tell_lost(struct leat_log *log);
