/* address.c: see address.h. The error names each socket that was tried with its reason, since
 * "connection refused" alone does not say where to look. */
#include "client/transport/address.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_PLACES 2

struct search {
    const char *socket_name;
    int type;
    int timeout_ms;
    struct sockaddr_un place; /* that was tried last */
    char tried[LEAT_ERROR_MESSAGE_MAX / 2];
    int code; /* of the last try */
};

static int is_known_name(const char *name) {
    return strcmp(name, LEAT_SOCKET_TRAINER) == 0 || strcmp(name, LEAT_SOCKET_COPY) == 0 ||
           strcmp(name, LEAT_SOCKET_CONTROL) == 0;
}

/* The socket's path for an address. 0 or -ENAMETOOLONG. */
static int socket_path(const char *address, const char *socket_name, struct sockaddr_un *ret) {
    const char *slash = strrchr(address, '/');
    const char *base = slash ? slash + 1 : address;
    struct stat status;
    int n;

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (is_known_name(base))
        n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%.*s%s", (int)(base - address), address,
                     socket_name);
    else if (stat(address, &status) == 0 && S_ISSOCK(status.st_mode))
        n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", address);
    else
        n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", address, socket_name);
    return n < 0 || (size_t)n >= sizeof(ret->sun_path) ? -ENAMETOOLONG : 0;
}

static void limit_sends(int fd, int timeout_ms) {
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000};

    if (timeout_ms > 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int connect_socket(const struct sockaddr_un *address, int type, int timeout_ms,
                          int *ret_fd) {
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    int r = 0;

    if (fd < 0)
        return -errno;
    limit_sends(fd, timeout_ms);
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)
        r = -errno;
    if (r < 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return r;
}

int leat_address_connect_again(const struct sockaddr_un *place, int type, int timeout_ms,
                               int *ret_fd) {
    return connect_socket(place, type | SOCK_NONBLOCK, timeout_ms, ret_fd);
}

/* The name of the group that owns the socket, or the nearest folder above it that stat() finds. */
static void group_of(const char *path, char *ret_name, size_t size) {
    char place[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct group *group;
    struct stat status;

    (void)snprintf(place, sizeof(place), "%s", path);
    while (stat(place, &status) < 0) {
        char *slash = strrchr(place, '/');

        if (!slash || slash == place) {
            (void)snprintf(ret_name, size, "leat-clients");
            return;
        }
        *slash = '\0';
    }
    group = getgrgid(status.st_gid);
    if (group)
        (void)snprintf(ret_name, size, "%s", group->gr_name);
    else
        (void)snprintf(ret_name, size, "%u", (unsigned)status.st_gid);
}

static int fail_denied(const char *path, struct leat_error *err) {
    struct passwd *user = getpwuid(geteuid());
    char group[64], name[64];

    group_of(path, group, sizeof(group));
    if (user)
        (void)snprintf(name, sizeof(name), "%s", user->pw_name);
    else
        (void)snprintf(name, sizeof(name), "#%u", (unsigned)geteuid());
    return leat_error_set(err, -EACCES,
                          "you may not use %s, because you are not in the group %s: ask an "
                          "operator to add you (usermod -aG %s %s), then log in again",
                          path, group, group, name);
}

/* 0; -errno, without a message if the next candidate may be tried. */
static int try_place(struct search *search, const char *place, int *ret_fd,
                     struct leat_error *err) {
    struct sockaddr_un address;
    size_t n_tried = strlen(search->tried);
    int r = socket_path(place, search->socket_name, &address);

    if (r < 0)
        return leat_error_set(
            err, r, "the path of the socket \"%.200s\" is too long: it may have at most %zu bytes",
            place, sizeof(address.sun_path) - 1);
    r = connect_socket(&address, search->type, search->timeout_ms, ret_fd);
    if (r == -EAGAIN)
        r = -ETIMEDOUT;
    search->place = address;
    if (r == 0)
        return 0;
    if (r == -EACCES || r == -EPERM)
        return fail_denied(address.sun_path, err);
    if (r == -EPROTOTYPE)
        return leat_error_set(
            err, r, "the socket %s has another purpose: give the folder of the sockets instead",
            address.sun_path);
    (void)snprintf(search->tried + n_tried, sizeof(search->tried) - n_tried, "%s%s (%s)",
                   n_tried ? ", " : "", address.sun_path, strerror(-r));
    search->code = r;
    return r;
}

static size_t list_places(const char *address, char *buffer, size_t size,
                          const char *places[MAX_PLACES]) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    size_t n = 0;

    if (!address)
        address = getenv("LEAT_SOCKET");
    if (address && address[0]) {
        places[n++] = address;
        return n;
    }
    if (runtime && runtime[0] == '/') {
        (void)snprintf(buffer, size, "%s/leat", runtime);
        places[n++] = buffer;
    }
    places[n++] = "/run/leat";
    return n;
}

int leat_address_connect(const char *address, const char *socket_name, int type, int timeout_ms,
                         int *ret_fd, struct sockaddr_un *ret_place, struct leat_error *err) {
    struct search search = {.socket_name = socket_name, .type = type, .timeout_ms = timeout_ms};
    const char *places[MAX_PLACES];
    char buffer[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
    size_t n_places = list_places(address, buffer, sizeof(buffer), places);

    for (size_t i = 0; i < n_places; i++) {
        struct leat_error local = LEAT_ERROR_INIT;
        int r = try_place(&search, places[i], ret_fd, &local);

        if (r == 0 && ret_place)
            *ret_place = search.place;
        if (r == 0)
            return 0;
        if (local.code)
            return leat_error_set(err, r, "%s", local.message);
        if (r != -ENOENT && r != -ECONNREFUSED && r != -ENOTDIR)
            break;
    }
    if (search.code != -ENOENT && search.code != -ECONNREFUSED && search.code != -ENOTDIR)
        return leat_error_set(err, search.code, "cannot connect to %s", search.tried);
    return leat_error_set(err, -ECONNREFUSED,
                          "no leatd answers at %s: start one (systemctl start leatd, or leatd "
                          "--config FILE), or set LEAT_SOCKET to the folder of its sockets",
                          search.tried);
}
