#include "pipeline/run/profile/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct leat_trace *leat_trace_new(size_t capacity) {
    struct leat_trace *trace = calloc(1, sizeof(*trace));

    if (!trace)
        return NULL;
    trace->events = calloc(capacity, sizeof(*trace->events));
    trace->capacity = capacity;
    (void)leat_trace_name(trace, "other");
    return trace->events ? trace : leat_trace_free(trace);
}

struct leat_trace *leat_trace_free(struct leat_trace *trace) {
    if (!trace)
        return NULL;
    for (uint32_t i = 0; i < trace->n_files; i++)
        free(trace->files[i]);
    free(trace->events);
    free(trace);
    return NULL;
}

uint64_t leat_trace_bytes(size_t capacity) {
    return sizeof(struct leat_trace) + capacity * sizeof(struct leat_trace_event) +
           LEAT_TRACE_FILES_MAX * (LEAT_TRACE_FILE_MAX + 1);
}

bool leat_trace_has_room(struct leat_trace *trace, size_t n_events) {
    if (trace->capacity - trace->n_events >= n_events)
        return true;
    trace->n_dropped += n_events;
    return false;
}

void leat_trace_add(struct leat_trace *trace, const struct leat_trace_event *event) {
    assert(trace->n_events < trace->capacity);
    trace->events[(trace->first + trace->n_events++) % trace->capacity] = *event;
}

bool leat_trace_take(struct leat_trace *trace, struct leat_trace_event *ret_event) {
    if (trace->n_events == 0)
        return false;
    *ret_event = trace->events[trace->first];
    trace->first = (trace->first + 1) % trace->capacity;
    trace->n_events--;
    return true;
}

uint32_t leat_trace_name(struct leat_trace *trace, const char *name) {
    uint32_t i = 0;

    while (i < trace->n_names && strcmp(trace->names[i], name) != 0)
        i++;
    if (i == LEAT_TRACE_NAMES_MAX)
        return 0;
    if (i == trace->n_names)
        trace->names[trace->n_names++] = name;
    return i;
}

uint32_t leat_trace_add_file(struct leat_trace *trace, const char *name) {
    size_t n = strlen(name);
    char *copy = trace->n_files < LEAT_TRACE_FILES_MAX
                     ? strdup(name + (n > LEAT_TRACE_FILE_MAX ? n - LEAT_TRACE_FILE_MAX : 0))
                     : NULL;

    if (!copy)
        return LEAT_TRACE_NO_FILE;
    trace->files[trace->n_files] = copy;
    return trace->n_files++;
}
