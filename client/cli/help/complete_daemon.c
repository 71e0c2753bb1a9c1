/* complete_daemon.c: see complete_daemon.h. */
#include "client/cli/help/complete_daemon.h"

#include <inttypes.h>
#include <stdio.h>

#include "client/cli/base/daemon/control.h"

#define TIMEOUT_MS 500 /* somebody waits for it at a prompt */

static Leat__ControlReply *ask(Leat__ControlRequest *request,
                               Leat__ControlReply__VerbCase expected) {
    struct leat_error ignored = LEAT_ERROR_INIT;
    int status;

    return leat_cli_control(NULL, request, expected, TIMEOUT_MS, &status, &ignored);
}

void leat_cli_daemon_streams(leat_cli_on_name *on_name, void *context) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
    request.streams = &empty;
    reply = ask(&request, LEAT__CONTROL_REPLY__VERB_STREAMS);
    for (size_t i = 0; reply && i < reply->streams->n_streams; i++)
        on_name(context, reply->streams->streams[i]->name, "a stream of the daemon");
    if (reply)
        leat__control_reply__free_unpacked(reply, NULL);
}

void leat_cli_daemon_sessions(leat_cli_on_name *on_name, void *context) {
    Leat__Empty trainers = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRAINERS;
    request.trainers = &trainers;
    reply = ask(&request, LEAT__CONTROL_REPLY__VERB_TRAINERS);
    for (size_t i = 0; reply && i < reply->trainers->n_trainers; i++) {
        const Leat__Trainer *trainer = reply->trainers->trainers[i];
        char number[24];

        if (!trainer->session)
            continue;
        (void)snprintf(number, sizeof(number), "%" PRIu64, (uint64_t)trainer->session->id);
        on_name(context, number, trainer->stream);
    }
    if (reply)
        leat__control_reply__free_unpacked(reply, NULL);
}

void leat_cli_daemon_rooms(leat_cli_on_name *on_name, void *context) {
    Leat__LogLevelRequest log_level = LEAT__LOG_LEVEL_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_LOG_LEVEL;
    request.log_level = &log_level;
    reply = ask(&request, LEAT__CONTROL_REPLY__VERB_LOG_LEVEL);
    for (size_t i = 0; reply && i < reply->log_level->n_rooms; i++)
        on_name(context, reply->log_level->rooms[i]->room, reply->log_level->rooms[i]->level);
    if (reply)
        leat__control_reply__free_unpacked(reply, NULL);
}
