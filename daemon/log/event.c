#include "daemon/log/event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct leat_log_event leat_log_events[LEAT_N_EVENTS] = {
#define LEAT_EVENT(upper, room, name, level, id, message, advice)                                  \
    {name, LEAT_LOG_ROOM_##room, level, id, message, advice},
#include "daemon/log/log_events.def"
#undef LEAT_EVENT
};

static const char *const room_names[LEAT_N_LOG_ROOMS] = {
#define LEAT_LOG_ROOM(upper, name) name,
    LEAT_LOG_ROOMS(LEAT_LOG_ROOM)
#undef LEAT_LOG_ROOM
};

static const char *const level_names[] = {[LEAT_LOG_ERROR] = "error",
                                          [LEAT_LOG_WARNING] = "warning",
                                          [LEAT_LOG_NOTICE] = "notice",
                                          [LEAT_LOG_INFO] = "info",
                                          [LEAT_LOG_DEBUG] = "debug"};

const char *leat_log_room_name(enum leat_log_room room) {
    return room_names[room];
}

const char *leat_log_level_name(enum leat_log_level level) {
    return level_names[level];
}

int leat_log_find_room(const char *name) {
    for (int i = 0; i < LEAT_N_LOG_ROOMS; i++)
        if (strcmp(room_names[i], name) == 0)
            return i;
    return -ENOENT;
}

int leat_log_find_level(const char *name) {
    for (int i = LEAT_LOG_ERROR; i <= LEAT_LOG_DEBUG; i++)
        if (strcmp(level_names[i], name) == 0)
            return i;
    return -ENOENT;
}

static int is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

static int is_foreign_plain(unsigned char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == ':' || byte == '-';
}

static size_t escape(const char *text, size_t max_bytes, int (*may_stay)(unsigned char),
                     char *buffer, size_t size) {
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (size_t i = 0; i < max_bytes && text[i]; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (n + 5 > size)
            break;
        if (may_stay(byte)) {
            buffer[n++] = (char)byte;
            continue;
        }
        buffer[n++] = '\\';
        buffer[n++] = 'x';
        buffer[n++] = digits[byte >> 4];
        buffer[n++] = digits[byte & 15];
    }
    buffer[n] = '\0';
    return n;
}

size_t leat_log_escape_foreign(const char *text, char *buffer, size_t size) {
    return escape(text, LEAT_LOG_FOREIGN_MAX, is_foreign_plain, buffer, size);
}

size_t leat_log_escape_plain(const char *text, char *buffer, size_t size) {
    return escape(text, SIZE_MAX, is_plain, buffer, size);
}

const char *leat_log_field_text(const struct leat_log_field *field, char *buffer, size_t size) {
    if (field->kind == LEAT_LOG_NUMBER)
        (void)snprintf(buffer, size, "%lld", (long long)field->number);
    else if (field->kind == LEAT_LOG_FOREIGN)
        (void)leat_log_escape_foreign(field->text ? field->text : "", buffer, size);
    else
        (void)leat_log_escape_plain(field->text ? field->text : "", buffer, size);
    return buffer;
}
