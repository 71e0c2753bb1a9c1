#include "daemon/core/reload_ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/core/endpoints.h"
#include "proto/exchange.h"

static int open_socket(const char *directory, struct leat_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char fallback[4096];
    int fd;

    if (!directory && leat_endpoints_directory(fallback, sizeof(fallback), err) < 0)
        return err->code;
    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock",
                         directory ? directory : fallback) >= sizeof(address.sun_path))
        return leat_error_set(err, -ENAMETOOLONG, "the path of the control socket is too long");
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    leat_error_set(err, -errno, "%s: %s", address.sun_path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return err->code;
}

int leat_reload_ask(const char *directory, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    int fd = open_socket(directory, err), r;

    if (fd < 0)
        return fd;
    r = leat_exchange_ask(fd, LEAT__CONTROL_REQUEST__VERB_RELOAD, NULL, -1, &reply, err);
    if (r == 0)
        leat__control_reply__free_unpacked(reply, NULL);
    (void)close(fd);
    return r;
}
