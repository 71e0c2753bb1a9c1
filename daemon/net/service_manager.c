#include "daemon/net/service_manager.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

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

/* ---- messages: sd_notify(3), a datagram to $NOTIFY_SOCKET ---- */

/* One socket is kept for good, so that the watchdog is served even when descriptors run out. */
static uv_once_t once = UV_ONCE_INIT;
static int fd = -1;

static void open_socket(void) {
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int leat_notify(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = path ? strlen(path) : 0;

    if (n == 0)
        return 0;
    if ((path[0] != '/' && path[0] != '@') || n >= sizeof(address.sun_path))
        return -EINVAL;
    memcpy(address.sun_path, path, n);
    if (path[0] == '@') /* of the abstract kind */
        address.sun_path[0] = '\0';
    uv_once(&once, open_socket);
    if (fd < 0)
        return -EBADF;
    return sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0
               ? -errno
               : 1;
}
