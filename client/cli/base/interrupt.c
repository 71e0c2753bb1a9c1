/* interrupt.c: see interrupt.h. A second signal ends the process at once. A signal between a read
 * of the flag and the wait interrupts nothing, so an alarm follows that interrupts the wait. */
#include "client/cli/base/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/calls.h"

static volatile sig_atomic_t was_seen, was_pipe;
static int pidfd = -1; /* of the process to end with; open until this one ends */

static void on_signal(int signal_number) {
    struct sigaction standard = {.sa_handler = SIG_DFL};

    was_seen = 1;
    (void)sigaction(signal_number, &standard, NULL);
    (void)alarm(1);
}

/* The output has no reader any more; the process ends after it has cleaned up. */
static void on_pipe(int signal_number) {
    (void)signal_number;
    was_seen = 1;
    was_pipe = 1;
}

static void on_alarm(int signal_number) {
    (void)signal_number;
}

void leat_cli_interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */
    struct sigaction alarm_action = {.sa_handler = on_alarm};
    struct sigaction pipe_action = {.sa_handler = on_pipe};

    was_seen = was_pipe = 0;
    (void)sigaction(SIGPIPE, &pipe_action, NULL);
    (void)sigaction(SIGALRM, &alarm_action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

int leat_cli_interrupt_end_with(uint64_t pid, struct leat_error *err) {
    pidfd = leat_process_open((pid_t)pid);
    if (pidfd >= 0)
        return 0;
    return leat_error_set(err, -errno, "--end-with %llu: %s", (unsigned long long)pid,
                          errno == ESRCH ? "there is no such process" : strerror(errno));
}

bool leat_cli_interrupt_seen(void) {
    struct pollfd process = {.fd = pidfd, .events = POLLIN};

    return was_seen || (pidfd >= 0 && poll(&process, 1, 0) > 0);
}

bool leat_cli_interrupt_was_pipe(void) {
    return was_pipe != 0;
}
