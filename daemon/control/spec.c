/* control/spec.c: the verb spec: a stream's spec with all overrides, for clients that compute
 * something from it. Owner: loop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/control.h"

/* Paths in the spec are relative to its file, whose name is relative to the daemon's directory. */
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

/* A variable of a program's environment may be a secret. */
static bool is_with_secrets(const char *name, const struct leat_value *value) {
    bool is_found = name && strcmp(name, "exec") == 0 && leat_value_get(value, "environment");

    for (size_t i = 0; !is_found && i < value->n_items; i++)
        is_found = is_with_secrets(value->keys ? value->keys[i].name : NULL, &value->items[i]);
    return is_found;
}

static bool has_secrets(const struct leat_spec *spec) {
    bool is_found = is_with_secrets(spec->source.kind, &spec->source.args);

    for (size_t i = 0; !is_found && i < spec->n_stages; i++)
        is_found = is_with_secrets(spec->stages[i].kind, &spec->stages[i].args);
    return is_found;
}

static int answer(struct leat_control *control, const char *name, struct leat_error *err) {
    struct leat_controls *controls = control->controls;
    struct leat_daemon_stream *stream = leat_streams_find(&controls->feeds->streams, name, err);
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    int r;

    if (!stream)
        return -ENOENT;
    if (control->right < LEAT_RIGHT_OPERATE && has_secrets(stream->spec)) {
        leat_streams_unref(&controls->feeds->streams, stream);
        return leat_rights_refuse(&controls->rights, LEAT_RIGHT_OPERATE, control->peer.uid,
                                  "the environment variables of the stream's program may be secret",
                                  err);
    }
    r = leat_spec_pack(stream->spec, &reply.spec);
    leat_streams_unref(&controls->feeds->streams, stream);
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
