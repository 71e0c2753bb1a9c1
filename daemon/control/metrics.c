/* control/metrics.c: the verbs history and metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/control.h"
#include "daemon/metrics/metrics.h"
#include "proto/frame.h"

#define REPLY_MAX (LEAT_CONTROL_FRAME_MAX - 4096)

void leat_control_history(struct leat_control *control, const Leat__ControlRequest *request,
                          struct leat_arena *arena) {
    const struct leat_history *samples = &control->controls->monitor->history;
    const char *name = request->history->stream[0] ? request->history->stream : NULL;
    struct leat_error err = LEAT_ERROR_INIT;
    Leat__HistoryReply history = LEAT__HISTORY_REPLY__INIT;
    int r;

    if (name && !leat_streams_peek(&control->controls->feeds->streams, name, &err) &&
        !leat_history_has(samples, name)) { /* a forgotten stream may have samples */
        leat_control_fail(control, &err);
        return;
    }
    r = leat_history_collect(samples, name, request->history->after_ns, REPLY_MAX, arena, &history);
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_HISTORY, r < 0 ? NULL : &history);
}

static int choose_format(const char *name, enum leat_metrics_format *ret_format,
                         struct leat_error *err) {
    *ret_format = LEAT_METRICS_OPENMETRICS;
    if (!name[0] || strcmp(name, LEAT_METRICS_NAME_OPENMETRICS) == 0)
        return 0;
    *ret_format = LEAT_METRICS_PROMETHEUS;
    if (strcmp(name, LEAT_METRICS_NAME_PROMETHEUS) == 0)
        return 0;
    return leat_error_set(
        err, -EINVAL,
        "\"%.32s\" is not a format of metrics: give \"" LEAT_METRICS_NAME_OPENMETRICS
        "\" or \"" LEAT_METRICS_NAME_PROMETHEUS "\"",
        name);
}

void leat_control_metrics(struct leat_control *control, const Leat__ControlRequest *request,
                          struct leat_arena *arena) {
    Leat__MetricsReply metrics = LEAT__METRICS_REPLY__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    enum leat_metrics_format format;
    struct leat_reading *reading;

    (void)arena;
    if (choose_format(request->metrics->format, &format, &err) < 0) {
        leat_control_fail(control, &err);
        return;
    }
    reading = leat_monitor_read(control->controls->monitor);
    if (reading)
        leat_metrics_render(&text, reading, format);
    free(reading);
    metrics.text = text.data;
    leat_control_answer(control, LEAT__CONTROL_REPLY__VERB_METRICS,
                        text.data && !text.failed ? &metrics : NULL);
    free(text.data);
}
