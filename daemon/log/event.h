/* event.h: the events that may be logged, and the values of one. Any thread.
 *
 * An event has a fixed name, a priority and a MESSAGE_ID (log_events.def), so that operators can
 * search for it. A value never breaks a line. Text that a client can choose is FOREIGN: at most 64
 * bytes of it are written, and all but [A-Za-z0-9._:-] as \xNN. Other texts have their control
 * characters, backslashes and bytes over 0x7e written as \xNN, so that every backslash of a value
 * begins one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum leat_log_level {
    LEAT_LOG_ERROR = 3, /* as syslog counts */
    LEAT_LOG_WARNING = 4,
    LEAT_LOG_NOTICE = 5,
    LEAT_LOG_INFO = 6,
    LEAT_LOG_DEBUG = 7,
};

/* Where an event comes from; each room has a level of its own. Name in code, name for people. */
#define LEAT_LOG_ROOMS(X)                                                                          \
    X(DAEMON, "daemon")   /* start, stop, limits of the machine */                                 \
    X(CONTROL, "control") /* what operators asked for */                                           \
    X(SESSION, "session") /* trainers that connect, leave or are refused */                        \
    X(STREAM, "stream")   /* runs, and the files that they read */                                 \
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
/* The names of a room and of a level, and the room or level of a name, or -ENOENT. */
const char *leat_log_room_name(enum leat_log_room room);
const char *leat_log_level_name(enum leat_log_level level);
int leat_log_find_room(const char *name);
int leat_log_find_level(const char *name);

/* The value as it is written, without anything that could end a line; it may hold quotes and the
 * backslashes of \xNN. Returns buffer. */
const char *leat_log_field_text(const struct leat_log_field *field, char *buffer, size_t size);
/* Write the escaped text, always terminated, and return its length. */
size_t leat_log_escape_foreign(const char *text, char *buffer, size_t size);
size_t leat_log_escape_plain(const char *text, char *buffer, size_t size);
