/* journal-off.c: no journal in this build; the log falls back to text. */
#include <errno.h>

#include "daemon/log/journal.h"

int leat_journal_write(enum leat_event event, const struct leat_log_field *fields) {
    (void)event;
    (void)fields;
    return -EOPNOTSUPP;
}
