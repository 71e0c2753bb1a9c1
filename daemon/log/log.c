/* log.c: text and JSON lines; the journal is in journal.c. */
#include "daemon/log/log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/log/journal.h"

#define JSON_SPECIAL "\"\\"

/* A line being written; what does not fit is cut. */
struct line {
    char bytes[LEAT_LOG_LINE_MAX];
    size_t n;
    bool is_cut;
};

static void add_bytes(struct line *line, const char *bytes, size_t n) {
    size_t space = sizeof(line->bytes) - 2 - line->n; /* keep room for '}' and '\n' */

    if (n > space) {
        n = space;
        line->is_cut = true;
    }
    memcpy(line->bytes + line->n, bytes, n);
    line->n += n;
}

static void add(struct line *line, const char *text) {
    add_bytes(line, text, strlen(text));
}

static void add_time(struct line *line) {
    struct timespec now;
    struct tm parts;
    char text[64];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   now.tv_nsec / 1000000);
    add(line, text);
}

/* Adds the text in quotes, with a backslash before each of `special`. The escaped text holds no
 * control character. */
static void add_quoted(struct line *line, const char *text, const char *special) {
    add(line, "\"");
    while (*text) {
        size_t n = strcspn(text, special);

        add_bytes(line, text, n);
        text += n;
        if (!*text)
            break;
        add(line, "\\");
        add_bytes(line, text++, 1);
    }
    add(line, "\"");
}

static void format_text(struct line *line, enum leat_event event,
                        const struct leat_log_field *fields) {
    char value[LEAT_LOG_LINE_MAX / 2];

    add_time(line);
    add(line, " ");
    add(line, leat_log_level_name(leat_log_events[event].level));
    add(line, " event=");
    add(line, leat_log_events[event].name);
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++) {
        add(line, " ");
        add(line, field->key);
        add(line, "=");
        (void)leat_log_field_text(field, value, sizeof(value));
        if (field->kind == LEAT_LOG_PLAIN)
            add_quoted(line, value, "\"");
        else
            add(line, value);
    }
}

/* A member for which there is no room is left out, so that the line stays valid JSON. */
static void add_json_field(struct line *line, const struct leat_log_field *field) {
    char value[LEAT_LOG_LINE_MAX / 4];
    size_t n_before = line->n;

    add(line, ",\"");
    add(line, field->key);
    add(line, "\":");
    (void)leat_log_field_text(field, value, sizeof(value));
    if (field->kind == LEAT_LOG_NUMBER)
        add(line, value);
    else
        add_quoted(line, value, JSON_SPECIAL);
    if (line->is_cut)
        line->n = n_before;
    line->is_cut = false;
}

static void format_json(struct line *line, enum leat_event event,
                        const struct leat_log_field *fields) {
    add(line, "{\"time\":\"");
    add_time(line);
    add(line, "\",\"level\":\"");
    add(line, leat_log_level_name(leat_log_events[event].level));
    add(line, "\",\"event\":\"");
    add(line, leat_log_events[event].name);
    add(line, "\",\"message\":");
    add_quoted(line, leat_log_events[event].message, JSON_SPECIAL);
    for (const struct leat_log_field *field = fields; field->kind != LEAT_LOG_END; field++)
        add_json_field(line, field);
    line->bytes[line->n++] = '}';
}

/* A pipe says POLLOUT when it has room for PIPE_BUF bytes, which is as much as a line has. */
static void emit(struct leat_log *log, struct line *line) {
    struct pollfd poll_fd = {.fd = log->fd, .events = POLLOUT};

    line->bytes[line->n++] = '\n';
    if (poll(&poll_fd, 1, 0) != 1 || !(poll_fd.revents & POLLOUT) ||
        write(log->fd, line->bytes, line->n) != (ssize_t)line->n)
        log->n_dropped++;
}

bool leat_log_wants(const struct leat_log *log, enum leat_event event) {
    const struct leat_log_event *what = &leat_log_events[event];

    return what->level <= log->levels[what->room];
}

void leat_log_write(struct leat_log *log, enum leat_event event,
                    const struct leat_log_field *fields) {
    struct line line = {.n = 0};

    if (!leat_log_wants(log, event))
        return;
    if (log->format == LEAT_LOG_JSON)
        format_json(&line, event, fields);
    else
        format_text(&line, event, fields);
    if (log->format != LEAT_LOG_JOURNAL) {
        emit(log, &line);
        return;
    }
    if (leat_journal_write(event, fields) < 0)
        emit(log, &line);
}

void leat_log_tell_lost(struct leat_log *log) {
    uint64_t n = log->n_dropped - log->n_dropped_told;

    if (n == 0)
        return;
    log->n_dropped_told = log->n_dropped;
    leat_log_write(log, LEAT_EVENT_LOG_LOST,
                   (struct leat_log_field[]){LEAT_LOG_N("lines", n), LEAT_LOG_FIELDS_END});
    if (log->n_dropped != log->n_dropped_told) /* this line was dropped too */
        log->n_dropped_told -= n;
}

static int leads_to_journal(int fd) {
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(fd, &status) == 0 &&
           status.st_dev == device && status.st_ino == inode;
}

void leat_log_init(struct leat_log *log, int fd, enum leat_log_format format,
                   enum leat_log_level level) {
    if (format == LEAT_LOG_AUTO)
        format = leads_to_journal(fd) ? LEAT_LOG_JOURNAL : LEAT_LOG_TEXT;
    *log = (struct leat_log){.fd = fd, .format = format};
    for (int i = 0; i < LEAT_N_LOG_ROOMS; i++)
        log->levels[i] = level;
}
