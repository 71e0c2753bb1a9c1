/* exec/helper.h: a program that runs beside us and exchanges lines: one process and its three
 * pipes.
 *
 * It has a session of its own, inherits nothing but the pipes, and dies with the thread that
 * started it. Only leat_helper_end() waits. Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

#define LEAT_HELPER_SAID_MAX 200 /* bytes kept of a line on stderr */

/* The command and its environment. Immutable. */
struct leat_helper_how {
    char **command;            /* NULL-terminated; the first is the path of the program */
    char **environment;        /* NULL-terminated */
    const char *directory;     /* NULL: ours */
    uint64_t max_memory_bytes; /* address space; 0: unlimited */
    uint64_t max_tasks;        /* of its user; 0: unlimited */
    size_t max_line_bytes;
};

struct leat_helper {
    pid_t pid; /* 0: there is none */
    int pidfd, in, out, errors;
    struct leat_text to; /* to be written, from n_written on */
    size_t n_written;
    struct leat_text from; /* read; lines before n_taken were taken */
    size_t n_taken, n_searched;
    bool has_closed;                     /* its stdout */
    bool is_skipping;                    /* discarding the rest of a long line */
    char said[LEAT_HELPER_SAID_MAX + 1]; /* the current or last line of stderr */
    size_t n_said;
    bool is_said;     /* the line in `said` is whole */
    char heard[4096]; /* read of stderr */
    size_t n_heard, n_listened;
};

void leat_helper_init(struct leat_helper *helper);
/* Starts a process, where there is none. A program that cannot be started is an error. */
int leat_helper_start(struct leat_helper *helper, const struct leat_helper_how *how,
                      struct leat_error *err);
/* Kills the process group, and forgets what was read and written. *ret_status: waitpid's if it had
 * ended before; else -1. May be NULL. */
void leat_helper_kill(struct leat_helper *helper, int *ret_status);
/* Closes its stdin, waits up to timeout_ms for its end, then kills it. */
void leat_helper_end(struct leat_helper *helper, int timeout_ms);
/* Frees a helper that was killed or never started. */
void leat_helper_deinit(struct leat_helper *helper);

static inline size_t leat_helper_n_unwritten(const struct leat_helper *helper) {
    return helper->to.n_bytes - helper->n_written;
}
/* Writes what the pipe takes. What the process does not read any more counts as written. */
void leat_helper_write(struct leat_helper *helper);
/* Reads from stdout. 1: something was read; 0: nothing; -E2BIG: a line is longer than allowed and
 * is discarded; -ENOMEM. */
int leat_helper_read(struct leat_helper *helper, const struct leat_helper_how *how);
/* The next line without its end, valid until the next read. */
bool leat_helper_next_line(struct leat_helper *helper, const char **ret_line, size_t *ret_n_bytes);
/* The next line of stderr, shortened, without control characters; NULL: none yet. Valid until the
 * next call. */
const char *leat_helper_listen(struct leat_helper *helper);
/* The current or last line of stderr; "" if there was none. */
const char *leat_helper_last_words(struct leat_helper *helper);
