/* journal.c: an entry is a datagram in which each value is a field LEAT_KEY (systemd's "Native
 * Journal Protocol"). Values have no line breaks (event.h), so that none can become another field.
 * sd_journal_sendv(3) is not used because it waits for a journal that does not read. */
#include "daemon/log/journal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_PARTS   (LEAT_LOG_MAX_FIELDS + 8)
#define FIELD_BYTES 1200

struct entry {
    struct iovec parts[MAX_PARTS];
    char texts[MAX_PARTS][FIELD_BYTES];
    int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct entry *entry, const char *format,
                                                      ...) {
    va_list ap;
    int n;

    if (entry->n == MAX_PARTS)
        return;
    va_start(ap, format);
    n = vsnprintf(entry->texts[entry->n], FIELD_BYTES, format, ap);
    va_end(ap);
    if (n < 0)
        return;
    entry->parts[entry->n].iov_base = entry->texts[entry->n];
    n = n < FIELD_BYTES - 1 ? n : FIELD_BYTES - 2;
    entry->texts[entry->n][n] = '\n';
    entry->parts[entry->n].iov_len = (size_t)n + 1;
    entry->n++;
}

static bool is_speech(const char *key) {
    return strcmp(key, "error") == 0 || strcmp(key, "text") == 0;
}

static void add_field(struct entry *entry, const struct leat_log_field *field) {
    char key[32], value[FIELD_BYTES - 64];
    size_t n = strnlen(field->key, sizeof(key) - 1);

    for (size_t i = 0; i < n; i++)
        key[i] = (char)toupper((unsigned char)field->key[i]);
    key[n] = '\0';
    add(entry, "LEAT_%s=%s", key, leat_log_field_text(field, value, sizeof(value)));
}

/* Cuts text that does not fit. */
__attribute__((format(printf, 2, 3))) static void extend(char text[static FIELD_BYTES],
                                                         const char *format, ...) {
    size_t n = strlen(text);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text + n, FIELD_BYTES - n, format, ap);
    va_end(ap);
}

/* MESSAGE, for people: the event's message, its error or text, and other values in parentheses. */
static void add_message(struct entry *entry, const char *message,
                        const struct leat_log_field *fields) {
    char text[FIELD_BYTES] = "", value[FIELD_BYTES / 2];
    const char *before = " (";

    extend(text, "%s", message);
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++)
        if (is_speech(field->key) && field->text && field->text[0])
            extend(text, ": %s", leat_log_field_text(field, value, sizeof(value)));
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++) {
        if (is_speech(field->key) || (field->kind != LEAT_LOG_NUMBER && !field->text))
            continue;
        extend(text, "%s%s=%s", before, field->key,
               leat_log_field_text(field, value, sizeof(value)));
        before = ", ";
    }
    add(entry, "MESSAGE=%s%s", text, before[0] == ',' ? ")" : "");
}

static int send_entry(struct entry *entry) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen = sizeof(address),
                             .msg_iov = entry->parts,
                             .msg_iovlen = (size_t)entry->n};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r = 0;

    if (fd < 0)
        return -errno;
    if (sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

int leat_journal_write(enum leat_event event, const struct leat_log_field *fields) {
    const struct leat_log_event *what = &leat_log_events[event];
    struct entry entry;

    entry.n = 0;
    add_message(&entry, what->message, fields);
    add(&entry, "PRIORITY=%d", (int)what->level);
    add(&entry, "MESSAGE_ID=%s", what->id);
    add(&entry, "SYSLOG_IDENTIFIER=leatd");
    add(&entry, "LEAT_EVENT=%s", what->name);
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++)
        add_field(&entry, field);
    return send_entry(&entry);
}
