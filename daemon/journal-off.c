/* journal-off.c: no journal in this build; the log falls back to text. */
#include <errno.h>

#include "daemon/journal.h"

int leat_journal_write(enum leat_event event, enum leat_log_level level, const char *name,
                       const char *message, const struct leat_log_field *fields) {
    (void)event;
    (void)level;
    (void)name;
    (void)message;
    (void)fields;
    return -EOPNOTSUPP;
}
