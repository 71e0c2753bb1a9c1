#include "daemon/net/service_manager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Digits only. False: `text` is no such number. */
static bool parse(const char *text, uint64_t max, uint64_t *number) {
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtoumax(text, &end, 10);
    return errno == 0 && end[0] == '\0' && *number <= max;
}

/* True if the variable names this process. */
static bool is_for_us(const char *text) {
    uint64_t pid;

    return parse(text, INT32_MAX, &pid) && (pid_t)pid == getpid();
}

static int read_names(struct leat_passed_sockets *sockets, const char *names) {
    for (int i = 0; i < sockets->n; i++) {
        size_t n = names ? strcspn(names, ":") : 0;

        if (n >= LEAT_PASSED_NAME)
            return -EINVAL;
        if (!names) {
            (void)strcpy(sockets->names[i], "unknown");
            continue;
        }
        memcpy(sockets->names[i], names, n);
        sockets->names[i][n] = '\0';
        if ((names[n] == '\0') != (i == sockets->n - 1))
            return -EINVAL; /* there are fewer or more names than sockets */
        names += n + 1;
    }
    return 0;
}

static int take(struct leat_passed_sockets *sockets) {
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    uint64_t n;

    if (!pid || !is_for_us(pid) || !count)
        return 0;
    if (!parse(count, INT32_MAX - LEAT_PASSED_FD, &n))
        return -EINVAL;
    if (n > LEAT_PASSED_MAX)
        return -E2BIG;
    sockets->n = (int)n;
    for (int fd = LEAT_PASSED_FD; fd < LEAT_PASSED_FD + sockets->n; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return -errno;
    return read_names(sockets, getenv("LISTEN_FDNAMES"));
}

int leat_passed_sockets_take(struct leat_passed_sockets *sockets) {
    int r;

    sockets->n = 0;
    r = take(sockets);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return r;
}

uint64_t leat_watchdog_us(void) {
    const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t us;

    return text && (!pid || is_for_us(pid)) && parse(text, UINT64_MAX - 1, &us) ? us : 0;
}
