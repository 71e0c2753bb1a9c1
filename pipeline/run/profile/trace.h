/* trace.h: what happened when, of the runs of a stream: events in a ring of fixed size.
 *
 * Jobs measure themselves in any case; while there is a trace, what they bring back is put here, on
 * the runs' thread. Who reads takes the oldest; what finds no room is dropped and counted, a job
 * with its stages as one. Names of stages and files are kept once; both are limited. Nothing of a
 * run depends on it. Owner: the runs' thread.
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
    LEAT_TRACE_STAGE,  /* within the job of that thread that came before it */
    LEAT_TRACE_LOOP,   /* on the runs' thread */
    LEAT_TRACE_BATCH,  /* from made (by that thread) to handed out */
    LEAT_TRACE_COUNTS, /* from then on */
    LEAT_N_TRACE_KINDS,
};

struct leat_trace_event {
    enum leat_trace_kind kind;
    uint32_t name;   /* index into names */
    uint32_t thread; /* JOB, STAGE, BATCH: from 0 */
    uint32_t run;    /* of those traced, from 0 */
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
/* Bytes that one of that capacity may take at most. */
uint64_t leat_trace_bytes(size_t capacity);

/* Whether there is room for so many; if not, they count as dropped. */
bool leat_trace_has_room(struct leat_trace *trace, size_t n_events);
/* There must be room. */
void leat_trace_add(struct leat_trace *trace, const struct leat_trace_event *event);
/* The oldest; false: none. */
bool leat_trace_take(struct leat_trace *trace, struct leat_trace_event *ret_event);

/* The index of a text that lives as long as the program; 0 if there are too many. */
uint32_t leat_trace_name(struct leat_trace *trace, const char *name);
/* A file that was not there yet: its index; LEAT_TRACE_NO_FILE: there are too many. */
uint32_t leat_trace_add_file(struct leat_trace *trace, const char *name);
