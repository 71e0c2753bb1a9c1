/* log.h: one line an event, of keys and values.
 *
 * An event has a fixed name, a priority and a MESSAGE_ID (log_events.def), so that operators can
 * search for it. What is logged while running is what an operator must act on: bad clients, failed
 * streams, start and stop. Values never break a line: whatever a client can choose is FOREIGN: at
 * most 64 bytes, all but [A-Za-z0-9._:-] as \xNN; other texts have their control characters,
 * backslashes and bytes over 0x7e written as \xNN, so that every backslash of a value begins one;
 * a quote in a text between quotes is \". A line that the reader of stderr does not take at once is
 * dropped and counted: the log never blocks the loop. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

enum leat_log_format {
    LEAT_LOG_AUTO, /* the journal if stderr leads there, else text */
    LEAT_LOG_TEXT,
    LEAT_LOG_JSON,
    LEAT_LOG_JOURNAL,
};

enum leat_log_level {
    LEAT_LOG_ERROR = 3, /* as syslog counts */
    LEAT_LOG_WARNING = 4,
    LEAT_LOG_NOTICE = 5,
    LEAT_LOG_INFO = 6,
    LEAT_LOG_DEBUG = 7,
};

/* Where an event comes from: each room has a level of its own. Name in code, name for people. */
#define LEAT_LOG_ROOMS(X)                                                                          \
    X(DAEMON, "daemon")   /* start and stop, what the machine gives */                             \
    X(CONTROL, "control") /* what operators asked for */                                           \
    X(SESSION, "session") /* trainers that come, go and are refused */                             \
    X(STREAM, "stream")   /* what makes batches */                                                 \
    X(CACHE, "cache")                                                                              \
    X(TUNER, "tuner")

enum leat_log_room {
#define LEAT_LOG_ROOM(upper, name) LEAT_LOG_ROOM_##upper,
    LEAT_LOG_ROOMS(LEAT_LOG_ROOM)
#undef LEAT_LOG_ROOM
        LEAT_N_LOG_ROOMS
};

enum leat_event {
#define LEAT_EVENT(upper, room, name, level, id, message, advice) LEAT_EVENT_##upper,
#include "daemon/log/log_events.def"
#undef LEAT_EVENT
    LEAT_N_EVENTS
};

struct leat_log_event {
    const char *name;
    enum leat_log_room room;
    enum leat_log_level level;
    const char *id; /* MESSAGE_ID: 32 hexadecimal digits */
    const char *message;
    const char *advice; /* what an operator is to do */
};

extern const struct leat_log_event leat_log_events[LEAT_N_EVENTS];

enum leat_log_kind {
    LEAT_LOG_END = 0,
    LEAT_LOG_NUMBER,
    LEAT_LOG_PLAIN,   /* a text of our own, errors included */
    LEAT_LOG_FOREIGN, /* a text that a client chose */
};

struct leat_log_field {
    enum leat_log_kind kind;
    const char *key; /* lower case */
    const char *text;
    int64_t number;
};

/* Fields of a line; the last must be LEAT_LOG_FIELDS_END. */
#define LEAT_LOG_N(name, value)                                                                    \
    { .kind = LEAT_LOG_NUMBER, .key = (name), .number = (int64_t)(value) }
#define LEAT_LOG_T(name, value)                                                                    \
    { .kind = LEAT_LOG_PLAIN, .key = (name), .text = (value) }
#define LEAT_LOG_F(name, value)                                                                    \
    { .kind = LEAT_LOG_FOREIGN, .key = (name), .text = (value) }
#define LEAT_LOG_FIELDS_END                                                                        \
    { .kind = LEAT_LOG_END }

#define LEAT_LOG_MAX_FIELDS  20
#define LEAT_LOG_FOREIGN_MAX 64
#define LEAT_LOG_LINE_MAX    4096

struct leat_log {
    int fd;
    enum leat_log_format format; /* never AUTO */
    enum leat_log_level levels[LEAT_N_LOG_ROOMS];
    uint64_t n_dropped;
    uint64_t n_dropped_told; /* of them */
};

/* fd: where text and JSON go; not closed. JOURNAL without one becomes TEXT. level: of all rooms. */
void leat_log_init(struct leat_log *log, int fd, enum leat_log_format format,
                   enum leat_log_level level);
/* The names of a room and of a level; the one of that name, or -ENOENT. */
const char *leat_log_room_name(enum leat_log_room room);
const char *leat_log_level_name(enum leat_log_level level);
int leat_log_find_room(const char *name);
int leat_log_find_level(const char *name);
/* Whether that event is important enough to be written. */
bool leat_log_wants(const struct leat_log *log, enum leat_event event);
void leat_log_write(struct leat_log *log, enum leat_event event,
                    const struct leat_log_field *fields);

/* Tells of lines that were lost since it was last called; may lose that one too, and tell later. */
void leat_log_tell_lost(struct leat_log *log);

/* The value as it is written, without anything that could end a line: a quote and the backslashes
 * of \xNN may be in it. Returns buffer. */
const char *leat_log_field_text(const struct leat_log_field *field, char *buffer, size_t size);
/* The escaped forms, always terminated; return their length. */
size_t leat_log_escape_foreign(const char *text, char *buffer, size_t size);
size_t leat_log_escape_plain(const char *text, char *buffer, size_t size);
