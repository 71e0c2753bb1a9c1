/* notify.c: see notify.h and sd_notify(3): a datagram to $NOTIFY_SOCKET. */
#include "daemon/net/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

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
