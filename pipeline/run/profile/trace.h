/* trace.h: events of the runs of a stream in a ring of fixed size.
 *
 * Jobs always measure themselves. While there is a trace, their results are added here, on the
 * runs' thread. The reader takes the oldest event. An event that finds no room is dropped and
 * counted; a job with its stages counts as one. Names of stages and files are stored once, and
 * limited in number. Owner: the runs' thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_TRACE_NAMES_MAX 1024 /* of jobs and stages */
#define LEAT_TRACE_FILES_MAX 1024
#define LEAT_TRACE_FILE_MAX  128 /* bytes of a file's name: its end */
#define LEAT_TRACE_NO_FILE   UINT32_MAX

enum leat_trace_kind {
    LEAT_TRACE_JOB,    /* by a thread */
    LEAT_TRACE_STAGE,  /* within the last job of that thread */
    LEAT_TRACE_LOOP,   /* on the runs' thread */
    LEAT_TRACE_BATCH,  /* from when that thread made it to when it was handed out */
    LEAT_TRACE_COUNTS, /* from then on */
    LEAT_N_TRACE_KINDS,
};

struct leat_trace_event {
    enum leat_trace_kind kind;
    uint32_t name;   /* index into names */
    uint32_t thread; /* JOB, STAGE, BATCH: from 0 */
    uint32_t run;    /* number of the traced run, from 0 */
    uint32_t file;   /* JOB of a block: index into files, or LEAT_TRACE_NO_FILE */
    uint32_t n_rows; /* JOB, STAGE, LOOP, BATCH; COUNTS: slots free */
    uint64_t start_ns, duration_ns;
    uint64_t n_bytes; /* JOB, STAGE, BATCH; COUNTS: memory of the stream */
    uint64_t epoch;   /* BATCH; COUNTS: blocks in flight */
    uint64_t place;   /* BATCH: step; JOB of a block: its first record within the pass */
};

struct leat_trace {
    struct leat_trace_event *events; /* a ring */
    size_t capacity, first, n_events;
    uint64_t n_dropped;
    uint32_t n_runs;
    const char *names[LEAT_TRACE_NAMES_MAX]; /* static texts */
    uint32_t n_names;
    char *files[LEAT_TRACE_FILES_MAX];
    uint32_t n_files;
};

/* NULL: no memory. */
struct leat_trace *leat_trace_new(size_t capacity);
struct leat_trace *leat_trace_free(struct leat_trace *trace);
/* Most bytes that a trace of that capacity takes. */
uint64_t leat_trace_bytes(size_t capacity);

/* True if there is room for n_events. Else they count as dropped. */
bool leat_trace_has_room(struct leat_trace *trace, size_t n_events);
/* There must be room. */
void leat_trace_add(struct leat_trace *trace, const struct leat_trace_event *event);
/* Takes the oldest event; false: none. */
bool leat_trace_take(struct leat_trace *trace, struct leat_trace_event *ret_event);

/* The index of a static text; 0: there are too many. */
uint32_t leat_trace_name(struct leat_trace *trace, const char *name);
/* Adds a file. Returns its index; LEAT_TRACE_NO_FILE: there are too many. */
uint32_t leat_trace_add_file(struct leat_trace *trace, const char *name);
