/* control_why.c: the verb why: what bounds a stream, from the looks at its counters that there are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/look.h"
#include "daemon/verdict_text.h"

#define INTERVAL_MS     10000
#define INTERVAL_MS_MAX 30000

/* Of several of that name (a trainer's own may have any) the one that is being run. */
static const struct leat_stream *find(const struct leat_daemon *daemon, const char *name) {
    const struct leat_stream *found = NULL;

    for (const struct leat_stream *stream = daemon->streams.first; stream; stream = stream->next)
        if (strcmp(stream->name, name) == 0 && (!found || stream->n_refs > found->n_refs))
            found = stream;
    return found;
}

static void answer(struct leat_control *control, const struct leat_stream *stream,
                   uint64_t interval_ns) {
    struct leat_verdict_stage stages[LEAT_STREAM_MAX_STAGES];
    struct leat_text text = {.data = NULL}, json = {.data = NULL};
    Leat__ControlReply reply = LEAT__CONTROL_REPLY__INIT;
    Leat__WhyReply why = LEAT__WHY_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_verdict_facts facts;
    struct leat_verdict verdict;

    (void)leat_looks_facts(control->daemon, stream, interval_ns, stages, &facts);
    leat_verdict_make(&facts, &verdict);
    leat_verdict_text(stream->name, &facts, &verdict, &text);
    leat_verdict_json(stream->name, &facts, &verdict, &json);
    if (text.failed || json.failed) {
        leat_error_oom(&err);
        leat_control_fail(control, &err);
    } else {
        why.verdict = (char *)(uintptr_t)leat_bound_name(verdict.bound);
        why.text = text.data;
        why.json = json.data;
        reply.verb_case = LEAT__CONTROL_REPLY__VERB_WHY;
        reply.why = &why;
        leat_control_reply(control, &reply);
    }
    free(text.data);
    free(json.data);
}

void leat_control_why(struct leat_control *control, const Leat__ControlRequest *request,
                      struct leat_arena *arena) {
    const Leat__WhyRequest *why = request->why;
    const struct leat_stream *stream = find(control->daemon, why->stream);
    uint32_t interval_ms = why->interval_ms ? why->interval_ms : INTERVAL_MS;
    struct leat_error err = LEAT_ERROR_INIT;

    (void)arena;
    if (interval_ms > INTERVAL_MS_MAX)
        leat_error_set(&err, -ERANGE, "an interval of %u ms is above %d", interval_ms,
                       INTERVAL_MS_MAX);
    else if (!stream)
        leat_error_set(&err, -ENOENT, "there is no stream \"%.64s\"", why->stream);
    if (err.code)
        leat_control_fail(control, &err);
    else
        answer(control, stream, (uint64_t)interval_ms * UINT64_C(1000000));
}
