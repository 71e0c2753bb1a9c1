/* exec/helper.c: see exec/helper.h.
 *
 * It uses vfork, since the daemon is large and has threads. The child borrows our memory and this
 * thread until execve, so it only makes system calls.
 */
#include "pipeline/stages/exec/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/utf8.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4U
#endif

#define READ_BYTES    65536
#define FIRST_FREE_FD 3
#define CANNOT_EXEC   127
#define OOM_SCORE     "500\n" /* killed before the daemon and the trainers */
#define KEPT_BYTES    (1U << 20)

/* ---- start ---- */

struct child {
    const struct leat_helper_how *how;
    int pipes[3]; /* the child's ends of stdin, stdout, stderr */
    pid_t parent;
    volatile int error; /* of execve */
};

/* Resets all signals: our handlers must not run in the child, on our memory. */
static void reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &standard, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void lower_limit(__rlimit_resource_t resource, uint64_t most) {
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur <= most)
        return;
    limit.rlim_cur = most;
    if (limit.rlim_max > most)
        limit.rlim_max = most;
    (void)setrlimit(resource, &limit);
}

static void set_limits(const struct leat_helper_how *how) {
    static const struct sched_param param = {.sched_priority = 0};
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    ssize_t n = fd < 0 ? -1 : write(fd, OOM_SCORE, sizeof(OOM_SCORE) - 1);

    (void)n; /* the score is optional */
    if (fd >= 0)
        (void)close(fd);
    (void)sched_setscheduler(0, SCHED_OTHER, &param);
    lower_limit(RLIMIT_CORE, 0);
    if (how->max_memory_bytes > 0)
        lower_limit(RLIMIT_AS, how->max_memory_bytes);
    if (how->max_tasks > 0)
        lower_limit(RLIMIT_NPROC, how->max_tasks);
}

/* Turns the child into the program. Its pipes' numbers are above stderr's, so none is overwritten.
 */
__attribute__((noreturn, noinline)) static void become(struct child *child) {
    const struct leat_helper_how *how = child->how;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != child->parent)
        _exit(CANNOT_EXEC);
    (void)setsid();
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    set_limits(how);
    for (int i = 0; i < 3; i++)
        if (dup2(child->pipes[i], i) < 0)
            child->error = errno;
    (void)syscall(SYS_close_range, FIRST_FREE_FD, ~0U, CLOSE_RANGE_CLOEXEC);
    if (how->directory && chdir(how->directory) < 0)
        child->error = errno;
    reset_signals();
    if (child->error == 0) {
        (void)execve(how->command[0], how->command, how->environment);
        child->error = errno;
    }
    _exit(CANNOT_EXEC);
}

/* Blocks all signals, or a handler would run in the child, on our memory. */
static pid_t start_child(struct child *child) {
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    child->parent = getpid();
    pid = vfork();
    if (pid == 0)
        become(child);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -errno : pid;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Makes a pipe whose ends have numbers above stderr's, ours non-blocking. */
static int make_pipe(int *ret_ours, int *ret_theirs, bool we_write) {
    int ends[2], r = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        int fd = fcntl(ends[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);

        if (fd < 0)
            r = -errno;
        (void)close(ends[i]);
        ends[i] = fd;
    }
    *ret_ours = ends[we_write];
    *ret_theirs = ends[!we_write];
    if (r == 0 && fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0)
        r = -errno;
    return r;
}

static void close_pipes(struct leat_helper *helper) {
    close_fd(&helper->in);
    close_fd(&helper->out);
    close_fd(&helper->errors);
    close_fd(&helper->pidfd);
}

static void collect(const struct leat_helper *helper, int *status) {
    while (waitpid(helper->pid, status, 0) < 0 && errno == EINTR)
        ;
}

static int start(struct leat_helper *helper, struct child *child) {
    int r = make_pipe(&helper->in, &child->pipes[0], true);
    int status;

    if (r == 0)
        r = make_pipe(&helper->out, &child->pipes[1], false);
    if (r == 0)
        r = make_pipe(&helper->errors, &child->pipes[2], false);
    if (r == 0)
        r = start_child(child);
    if (r < 0)
        return r;
    helper->pid = r;
    helper->pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
    r = child->error ? -child->error : helper->pidfd < 0 ? -errno : 0;
    if (r < 0) {
        (void)kill(helper->pid, SIGKILL);
        collect(helper, &status);
        helper->pid = 0;
    }
    return r;
}

int leat_helper_start(struct leat_helper *helper, const struct leat_helper_how *how,
                      struct leat_error *err) {
    struct child child = {.how = how, .pipes = {-1, -1, -1}};
    int r = start(helper, &child);

    for (int i = 0; i < 3; i++)
        close_fd(&child.pipes[i]);
    if (r == 0)
        return 0;
    close_pipes(helper);
    return leat_error_set(err, r, "cannot start the program %s%s%s: %s", how->command[0],
                          how->directory ? " in " : "", how->directory ? how->directory : "",
                          strerror(-r));
}

/* ---- end ---- */

void leat_helper_init(struct leat_helper *helper) {
    *helper = (struct leat_helper){.pidfd = -1, .in = -1, .out = -1, .errors = -1};
}

/* Empties a text, and frees the memory of a huge line. */
static void empty(struct leat_text *text) {
    if (text->capacity > KEPT_BYTES) {
        free(text->data);
        *text = (struct leat_text){.data = NULL};
    }
    text->n_bytes = 0;
    text->failed = 0;
}

void leat_helper_kill(struct leat_helper *helper, int *ret_status) {
    siginfo_t info = {.si_pid = 0};
    int status = -1;

    if (helper->pid == 0)
        return;
    (void)waitid(P_PID, (id_t)helper->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    (void)kill(-helper->pid, SIGKILL); /* until it is collected its group is ours */
    (void)kill(helper->pid, SIGKILL);  /* it may not have called setsid yet */
    collect(helper, &status);
    if (ret_status)
        *ret_status = info.si_pid ? status : -1;
    close_pipes(helper);
    helper->pid = 0;
    empty(&helper->to);
    empty(&helper->from);
    helper->n_written = helper->n_taken = helper->n_searched = 0;
    helper->n_said = helper->n_heard = helper->n_listened = 0;
    helper->has_closed = helper->is_said = helper->is_skipping = false;
}

void leat_helper_end(struct leat_helper *helper, int timeout_ms) {
    struct pollfd item = {.fd = helper->pidfd, .events = POLLIN};

    if (helper->pid == 0)
        return;
    close_fd(&helper->in);
    close_fd(&helper->out);
    close_fd(&helper->errors);
    while (poll(&item, 1, timeout_ms) < 0 && errno == EINTR)
        ;
    leat_helper_kill(helper, NULL);
}

void leat_helper_deinit(struct leat_helper *helper) {
    free(helper->to.data);
    free(helper->from.data);
    leat_helper_init(helper);
}

/* ---- lines ---- */

void leat_helper_write(struct leat_helper *helper) {
    while (helper->in >= 0 && leat_helper_n_unwritten(helper) > 0) {
        ssize_t n =
            write(helper->in, helper->to.data + helper->n_written, leat_helper_n_unwritten(helper));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            close_fd(&helper->in); /* its exit status tells why */
            break;
        }
        helper->n_written += (size_t)n;
    }
    empty(&helper->to);
    helper->n_written = 0;
}

/* Removes the lines that were taken. */
static void compact(struct leat_helper *helper) {
    struct leat_text *from = &helper->from;

    if (helper->n_taken == 0)
        return;
    from->n_bytes -= helper->n_taken;
    memmove(from->data, from->data + helper->n_taken, from->n_bytes);
    helper->n_searched -= helper->n_taken;
    helper->n_taken = 0;
    if (from->n_bytes == 0)
        empty(from);
}

/* Looks for the end of a line that is too long in the n bytes read last. */
static void skip(struct leat_helper *helper, size_t n) {
    struct leat_text *from = &helper->from;
    char *start = from->data + from->n_bytes - n, *end = memchr(start, '\n', n);
    size_t n_left = end ? n - (size_t)(end + 1 - start) : 0;

    if (n_left > 0)
        memmove(start, end + 1, n_left);
    from->n_bytes -= n - n_left;
    helper->is_skipping = !end;
}

static bool is_too_long(const struct leat_helper *helper, size_t n, size_t max_line_bytes) {
    const struct leat_text *from = &helper->from;

    return from->n_bytes > max_line_bytes && !memchr(from->data + from->n_bytes - n, '\n', n);
}

int leat_helper_read(struct leat_helper *helper, const struct leat_helper_how *how) {
    struct leat_text *from = &helper->from;
    ssize_t n;

    if (helper->out < 0 || helper->has_closed)
        return 0;
    compact(helper);
    if (!leat_text_reserve(from, READ_BYTES))
        return -ENOMEM;
    do {
        n = read(helper->out, from->data + from->n_bytes, READ_BYTES);
    } while (n < 0 && errno == EINTR);
    helper->has_closed = n == 0 || (n < 0 && errno != EAGAIN);
    if (n <= 0)
        return 0;
    from->n_bytes += (size_t)n;
    if (helper->is_skipping)
        skip(helper, (size_t)n);
    else if (is_too_long(helper, (size_t)n, how->max_line_bytes)) {
        empty(from);
        helper->n_searched = 0;
        helper->is_skipping = true;
        return -E2BIG;
    }
    return 1;
}

bool leat_helper_next_line(struct leat_helper *helper, const char **ret_line, size_t *ret_n_bytes) {
    const struct leat_text *from = &helper->from;
    const char *start = from->data + helper->n_taken, *end = NULL;

    if (from->n_bytes > helper->n_searched)
        end = memchr(from->data + helper->n_searched, '\n', from->n_bytes - helper->n_searched);
    helper->n_searched = end ? (size_t)(end + 1 - from->data) : from->n_bytes;
    if (!end)
        return false;
    helper->n_taken = helper->n_searched;
    *ret_line = start;
    *ret_n_bytes = (size_t)(end - start);
    return true;
}

/* ---- stderr ---- */

/* True if the byte completes a line. A line that is too long is cut; an empty one does not count.
 */
static bool hear(struct leat_helper *helper, char byte) {
    if (helper->is_said)
        helper->n_said = 0;
    helper->is_said = byte == '\n' && helper->n_said > 0;
    if (byte != '\n' && helper->n_said < LEAT_HELPER_SAID_MAX)
        helper->said[helper->n_said++] = (unsigned char)byte < 0x20 || byte == 0x7f ? '?' : byte;
    return helper->is_said;
}

const char *leat_helper_last_words(struct leat_helper *helper) {
    helper->said[helper->n_said] = '\0';
    if (!leat_utf8_is_valid(helper->said, helper->n_said))
        for (size_t i = 0; i < helper->n_said; i++)
            if (helper->said[i] & 0x80)
                helper->said[i] = '?';
    return helper->said;
}

static bool refill(struct leat_helper *helper) {
    ssize_t n;

    do {
        n = read(helper->errors, helper->heard, sizeof(helper->heard));
    } while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        close_fd(&helper->errors);
    helper->n_heard = n > 0 ? (size_t)n : 0;
    helper->n_listened = 0;
    return n > 0;
}

const char *leat_helper_listen(struct leat_helper *helper) {
    do {
        while (helper->n_listened < helper->n_heard)
            if (hear(helper, helper->heard[helper->n_listened++]))
                return leat_helper_last_words(helper);
    } while (helper->errors >= 0 && refill(helper));
    return NULL;
}
