/* control/spec.c: the verb that tells a stream's spec, as the settings have it with all that was
 * set in their place, for who is to compute something of it elsewhere. Owner: loop. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/core/daemon.h"

/* Paths in it are relative to its file, which was named relative to where the daemon began. */
static int make_absolute(Leat__StreamSpec *message) {
    char *path = message->file[0] ? realpath(message->file, NULL) : NULL;

    if (message->file[0] && !path)
        return -errno;
    if (path) {
        free(message->file);
        message->file = path;
    }
    return 0;
}

static int answer(struct leat_control *control, const char *name, struct leat_error *err) {
    struct leat_daemon *daemon = control->daemon;
    struct leat_daemon_stream *stream = leat_streams_find(&daemon->streams, name, err);
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    int r;

    if (!stream)
        return -ENOENT;
    r = leat_spec_pack(stream->spec, &reply.spec);
    leat_streams_unref(&daemon->streams, stream);
    if (r < 0)
        return leat_error_oom(err);
    r = make_absolute(reply.spec);
    reply.verb_case = LEAT__CONTROL_REPLY__VERB_SPEC;
    if (r == 0)
        leat_control_reply(control, &reply);
    else
        leat_error_set(err, r, "%s: %s", reply.spec->file, strerror(-r));
    leat_spec_message_free(reply.spec);
    return r;
}

void leat_control_spec(struct leat_control *control, const Leat__ControlRequest *request,
                       struct leat_arena *arena) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)arena;
    if (answer(control, request->spec->stream, &err) < 0)
        leat_control_fail(control, &err);
}
