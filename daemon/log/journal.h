/* journal.h: writes an event to systemd's journal. journal.c; or journal-off.c in a build without
 * it. */
#pragma once

#include "daemon/log/event.h"

/* 0, or -errno: then nothing was written. */
int leat_journal_write(enum leat_event event, const struct leat_log_field *fields);
