/* exec/helper.h: a program that runs beside us and talks lines: one process, its three pipes, its
 * end.
 *
 * It has a session of its own, gets nothing of ours but the pipes, and dies with the thread that
 * started it, so also with the process. Nothing here waits, but for leat_helper_end.
 * Owner: the job.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

#define LEAT_HELPER_SAID_MAX 200 /* bytes kept of a line on stderr */

/* How it is started. Immutable. */
struct leat_helper_how {
    char **command;            /* NULL-terminated; the first is the path of the program */
    char **environment;        /* NULL-terminated */
    const char *directory;     /* it works there; NULL: where we do */
    uint64_t max_memory_bytes; /* of its address space; 0: any */
    uint64_t max_tasks;        /* processes and threads of its user; 0: any */
    size_t max_line_bytes;
};

struct leat_helper {
    pid_t pid; /* 0: there is none */
    int pidfd, in, out, errors;
    struct leat_text to; /* to be written, from n_written on */
    size_t n_written;
    struct leat_text from; /* read; the lines before n_taken are done with */
    size_t n_taken, n_searched;
    bool has_closed;                     /* its stdout */
    bool is_skipping;                    /* the rest of a line that is too long */
    char said[LEAT_HELPER_SAID_MAX + 1]; /* the line of stderr that is being read, then the last */
    size_t n_said;
    bool is_said;     /* the line in `said` is whole */
    char heard[4096]; /* read of stderr */
    size_t n_heard, n_listened;
};

void leat_helper_init(struct leat_helper *helper);
/* There must be none. A program that cannot be started is an error. */
int leat_helper_start(struct leat_helper *helper, const struct leat_helper_how *how,
                      struct leat_error *err);
/* Kills it, with all of its process group, and forgets what was read and written. *ret_status: as
 * waitpid's, if it had ended before; else -1. May be NULL. */
void leat_helper_kill(struct leat_helper *helper, int *ret_status);
/* Closes its stdin and waits until it ends, at most for so long; then kills it. */
void leat_helper_end(struct leat_helper *helper, int timeout_ms);
/* Of one that was killed or never started. */
void leat_helper_deinit(struct leat_helper *helper);

static inline size_t leat_helper_n_unwritten(const struct leat_helper *helper) {
    return helper->to.n_bytes - helper->n_written;
}
/* As much as its pipe takes. What it does not read any more counts as written. */
void leat_helper_write(struct leat_helper *helper);
/* What there is on its stdout: 1: something, 0: nothing; -E2BIG: something, and a line that is
 * longer than allowed, which is passed over to its end; -ENOMEM. */
int leat_helper_read(struct leat_helper *helper, const struct leat_helper_how *how);
/* The next line without its end, valid until the next read. */
bool leat_helper_next_line(struct leat_helper *helper, const char **ret_line, size_t *ret_n_bytes);
/* The next line that it said on stderr, cut to a moderate length, without control characters; NULL:
 * none for now. Valid until the next call. */
const char *leat_helper_listen(struct leat_helper *helper);
/* The line on stderr that it is at, or that was the last; "" if it said nothing. */
const char *leat_helper_last_words(struct leat_helper *helper);
