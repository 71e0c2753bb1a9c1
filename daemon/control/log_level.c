/* control/log_level.c: the verb log-level: tells and sets the least important level that is logged,
 * of all rooms or of one, until the daemon ends or its setting changes. Owner: loop. */
#include <errno.h>
#include <stdio.h>

#include "daemon/control/control.h"
#include "daemon/log/log.h"

static void set(struct leat_control *control, int room, int level) {
    struct leat_log *log = control->controls->env->log;
    char what[64];

    (void)snprintf(what, sizeof(what), "log level of %s: %s",
                   room < 0 ? "all rooms" : leat_log_room_name((enum leat_log_room)room),
                   leat_log_level_name((enum leat_log_level)level));
    leat_control_log(control, what);
    for (int i = 0; i < LEAT_N_LOG_ROOMS; i++)
        if (room < 0 || room == i)
            log->levels[i] = (enum leat_log_level)level;
}

static int parse(const Leat__LogLevelRequest *request, int *ret_room, int *ret_level,
                 struct leat_error *err) {
    *ret_room = request->room[0] ? leat_log_find_room(request->room) : -1;
    *ret_level = request->level[0] ? leat_log_find_level(request->level) : 0;
    if (request->room[0] && *ret_room < 0)
        return leat_error_set(err, -ENOENT,
                              "the log has no room \"%.32s\": `leatctl log-level` lists the rooms",
                              request->room);
    if (*ret_level < 0)
        return leat_error_set(
            err, -EINVAL, "\"%.32s\" is not a level: give error, warning, notice, info or debug",
            request->level);
    return 0;
}

void leat_control_log_level(struct leat_control *control, const Leat__ControlRequest *request,
                            struct leat_arena *arena) {
    Leat__LogLevelReply message = LEAT__LOG_LEVEL_REPLY__INIT;
    Leat__RoomLevel levels[LEAT_N_LOG_ROOMS], *rooms[LEAT_N_LOG_ROOMS];
    struct leat_error err = LEAT_ERROR_INIT;
    int room, level;

    (void)arena;
    if (parse(request->log_level, &room, &level, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    if (level > 0)
        set(control, room, level);
    for (int i = 0; i < LEAT_N_LOG_ROOMS; i++) {
        rooms[i] = &levels[i];
        leat__room_level__init(rooms[i]);
        levels[i].room = (char *)(uintptr_t)leat_log_room_name((enum leat_log_room)i);
        levels[i].level =
            (char *)(uintptr_t)leat_log_level_name(control->controls->env->log->levels[i]);
    }
    message.rooms = rooms;
    message.n_rooms = LEAT_N_LOG_ROOMS;
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_LOG_LEVEL, &message);
}
