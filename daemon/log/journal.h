/* journal.h: an event as an entry of systemd's journal. journal.c, or journal-off.c where leat is
 * built without it. */
#pragma once

#include "daemon/log/log.h"

/* 0, or -errno: then nothing was written. */
int leat_journal_write(enum leat_event event, const struct leat_log_field *fields);
