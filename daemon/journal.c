/* journal.c: every value is a field of its own, LEAT_KEY, framed by the native protocol, so that no
 * value can become a line or another field. */
#include "daemon/journal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define MAX_FIELDS  20
#define FIELD_BYTES 1200

static const char *const message_ids[LEAT_N_EVENTS] = {
#define LEAT_EVENT(upper, room, name, level, id, message) id,
#include "daemon/log_events.def"
#undef LEAT_EVENT
};

struct entry {
    struct iovec parts[MAX_FIELDS];
    char texts[MAX_FIELDS][FIELD_BYTES];
    int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct entry *entry, const char *format,
                                                      ...) {
    va_list ap;
    int n;

    if (entry->n == MAX_FIELDS)
        return;
    va_start(ap, format);
    n = vsnprintf(entry->texts[entry->n], FIELD_BYTES, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    entry->parts[entry->n].iov_base = entry->texts[entry->n];
    entry->parts[entry->n].iov_len = (size_t)n < FIELD_BYTES ? (size_t)n : FIELD_BYTES - 1;
    entry->n++;
}

static void add_field(struct entry *entry, const struct leat_log_field *field) {
    char key[32], value[FIELD_BYTES - 64];
    size_t n = strnlen(field->key, sizeof(key) - 1);

    for (size_t i = 0; i < n; i++)
        key[i] = (char)toupper((unsigned char)field->key[i]);
    key[n] = '\0';
    if (field->kind == LEAT_LOG_NUMBER) {
        add(entry, "LEAT_%s=%lld", key, (long long)field->number);
        return;
    }
    if (field->kind == LEAT_LOG_FOREIGN)
        (void)leat_log_escape_foreign(field->text ? field->text : "", value, sizeof(value));
    else
        (void)leat_log_escape_plain(field->text ? field->text : "", value, sizeof(value));
    add(entry, "LEAT_%s=%s", key, value);
}

int leat_journal_write(enum leat_event event, enum leat_log_level level, const char *name,
                       const char *message, const struct leat_log_field *fields) {
    struct entry entry;
    const char *error = NULL;
    char escaped[FIELD_BYTES / 2];

    entry.n = 0;
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++)
        if (strcmp(field->key, "error") == 0)
            error = field->text;
    if (error)
        (void)leat_log_escape_plain(error, escaped, sizeof(escaped));
    add(&entry, "MESSAGE=%s%s%s", message, error ? ": " : "", error ? escaped : "");
    add(&entry, "PRIORITY=%d", (int)level);
    add(&entry, "MESSAGE_ID=%s", message_ids[event]);
    add(&entry, "SYSLOG_IDENTIFIER=leatd");
    add(&entry, "LEAT_EVENT=%s", name);
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++)
        add_field(&entry, field);
    return sd_journal_sendv(entry.parts, entry.n);
}
