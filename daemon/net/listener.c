#include "daemon/net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/net/socket_closer.h"
#include "daemon/users/peer.h"
#include "proto/base/clock.h"

#define BACKLOG      512
#define PAUSE_MS     100
#define REST_MS      5
#define MAX_ACCEPTS  16 /* a turn of the loop; each takes up to 50 us */
#define MAX_REFUSALS 32 /* a turn; then the listener rests */

#define STALE_TRIES    25
#define STALE_PAUSE_NS 20000000

/* ---- making the socket ---- */

static int make_address(const char *path, struct sockaddr_un *ret_address, struct leat_error *err) {
    size_t n = strlen(path);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n == 0 || n >= sizeof(ret_address->sun_path))
        return leat_error_set(
            err, -ENAMETOOLONG,
            "the socket %s: its path has %zu bytes, but the system allows 1 to %zu", path, n,
            sizeof(ret_address->sun_path) - 1);
    memcpy(ret_address->sun_path, path, n);
    return 0;
}

/* As connect(): 0 or -errno. */
static int try_address(const struct sockaddr_un *address, int type) {
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

    if (fd < 0)
        return -errno;
    r = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* 0 if no process listens at that path, so that the file may be removed; else an error. A killed
 * daemon's child that has not become a program yet keeps the socket for a moment. */
static int check_stale(const struct sockaddr_un *address, int type, struct leat_error *err) {
    const struct timespec pause = {.tv_nsec = STALE_PAUSE_NS};
    struct stat status;
    int n_tries = 0, r;

    if (lstat(address->sun_path, &status) < 0)
        return errno == ENOENT
                   ? 0
                   : leat_error_set(err, -errno, "the daemon cannot use the socket %s: %s",
                                    address->sun_path, strerror(errno));
    if (!S_ISSOCK(status.st_mode))
        return leat_error_set(err, -EEXIST,
                              "%s exists and is not a socket: remove it, or use another folder",
                              address->sun_path);
    while ((r = try_address(address, type)) == 0 && ++n_tries < STALE_TRIES)
        (void)nanosleep(&pause, NULL);
    if (r == -ECONNREFUSED || r == -ENOENT)
        return 0;
    if (r == 0 || r == -EAGAIN || r == -EPROTOTYPE)
        return leat_error_set(
            err, -EADDRINUSE,
            "another leatd is running on %s: stop it, or use another folder (--socket-dir)",
            address->sun_path);
    return leat_error_set(err, r, "the daemon cannot use the socket %s: %s", address->sun_path,
                          strerror(-r));
}

static int make_directory(const char *path, struct leat_error *err) {
    char *copy = strdup(path), *directory;
    int r = 0;

    if (!copy)
        return leat_error_oom(err);
    directory = dirname(copy);
    /* root's directory is open to all, whatever the umask: the sockets' own modes decide */
    if (mkdir(directory, 0700) == 0)
        r = geteuid() == 0 && chmod(directory, 0755) < 0 ? -errno : 0;
    else if (errno != EEXIST)
        r = -errno;
    if (r < 0)
        (void)leat_error_set(err, r, "the daemon cannot create the folder of the socket %s: %s",
                             path, strerror(-r));
    free(copy);
    return r;
}

static struct group *find_group(const char *group) {
    return group && geteuid() == 0 ? getgrnam(group) : NULL;
}

static mode_t choose_mode(const char *group, const struct group *entry) {
    return !group ? 0666 : entry ? 0660 : 0600;
}

static int set_access(const char *path, mode_t mode, const struct group *entry,
                      struct leat_error *err) {

    if ((entry && chown(path, (uid_t)-1, entry->gr_gid) < 0) || chmod(path, mode) < 0)
        return leat_error_set(err, -errno,
                              "the daemon cannot set the group and mode of the socket %s: %s", path,
                              strerror(errno));
    return 0;
}

/* Binds with the right group and mode from the first moment, so that a trainer that connects
 * between two daemons is not refused. If root may not do so, set_access() does it later. */
static int bind_for(int fd, const struct sockaddr_un *address, mode_t mode,
                    const struct group *entry) {
    gid_t gid = getegid();
    bool is_other = entry && setegid(entry->gr_gid) == 0;
    mode_t mask = umask(0777 & ~mode);
    int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;

    (void)umask(mask);
    if (is_other && setegid(gid) < 0 && r == 0)
        r = -errno;
    return r;
}

static int bind_and_listen(int fd, const struct sockaddr_un *address, const char *group,
                           struct leat_error *err) {
    const struct group *entry = find_group(group);
    mode_t mode = choose_mode(group, entry);
    int r;

    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return leat_error_set(err, -errno, "the daemon cannot remove the old socket %s: %s",
                              address->sun_path, strerror(errno));
    r = bind_for(fd, address, mode, entry);
    if (r < 0)
        return leat_error_set(err, r, "the daemon cannot create the socket %s: %s",
                              address->sun_path, strerror(-r));
    (void)leat_socket_refuse_descriptors(fd); /* accepted sockets inherit it */
    r = set_access(address->sun_path, mode, entry, err);
    if (r == 0 && listen(fd, BACKLOG) < 0)
        r = leat_error_set(err, -errno, "the daemon cannot listen on %s: %s", address->sun_path,
                           strerror(errno));
    return r;
}

int leat_listener_bind(struct leat_listener *listener, const char *path, int type,
                       const char *group, struct leat_error *err) {
    struct sockaddr_un address;
    struct stat status;
    int r = make_address(path, &address, err);

    if (r == 0)
        r = make_directory(path, err);
    if (r == 0)
        r = check_stale(&address, type, err);
    if (r < 0)
        return r;
    listener->fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return leat_error_set(err, -errno, "socket: %s", strerror(errno));
    r = bind_and_listen(listener->fd, &address, group, err);
    if (r < 0)
        return r;
    if (lstat(path, &status) == 0) {
        listener->path = strdup(path);
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    return 0;
}

int leat_listener_adopt(struct leat_listener *listener, int take_fd, int type,
                        struct leat_error *err) {
    int found = 0, flags = fcntl(take_fd, F_GETFL);
    socklen_t size = sizeof(found);

    listener->fd = take_fd;
    listener->is_passed = true;
    if (getsockopt(take_fd, SOL_SOCKET, SO_TYPE, &found, &size) < 0 || found != type)
        return leat_error_set(err, -EPROTOTYPE,
                              "the socket from the service manager has the wrong type: set %s=",
                              type == SOCK_SEQPACKET ? "ListenSequentialPacket" : "ListenStream");
    (void)leat_socket_refuse_descriptors(take_fd);
    if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(take_fd, F_SETFD, FD_CLOEXEC) < 0)
        return leat_error_set(err, -errno,
                              "the daemon cannot use the socket from the service manager: %s",
                              strerror(errno));
    return 0;
}

/* ---- accepting ---- */

static void keep_reserve(struct leat_listener *listener) {
    if (listener->has_reserve && listener->reserve_fd < 0)
        listener->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int accept_one(struct leat_listener *listener) {
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && listener->reserve_fd >= 0) {
        (void)close(listener->reserve_fd);
        listener->reserve_fd = -1;
        fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
    return fd < 0 ? -errno : fd;
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void go_on(struct leat_listener *listener) {
    listener->is_paused = false;
    (void)uv_timer_stop(&listener->timer);
    keep_reserve(listener);
    (void)uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

static void on_timer(uv_timer_t *timer) {
    go_on(timer->data);
}

static void stop_polling(struct leat_listener *listener, uint64_t ms) {
    (void)uv_poll_stop(&listener->poll);
    (void)uv_timer_start(&listener->timer, on_timer, ms, 0);
}

static void pause_listening(struct leat_listener *listener) {
    listener->is_paused = true;
    stop_polling(listener, PAUSE_MS);
    listener->on_exhausted(listener);
}

/* True if its user connects too often; then on_refuse has taken the descriptor. */
static bool is_refused(struct leat_listener *listener, int fd) {
    struct leat_error err = LEAT_ERROR_INIT;
    enum leat_rate_answer answer;
    struct leat_peer peer;

    if (leat_peer_identify(&peer, fd) < 0)
        return false; /* on_accept reports it */
    answer = leat_rate_limit_take(listener->limit, peer.uid, *listener->n_at_once, leat_now_ns());
    if (answer == LEAT_RATE_ALLOWED)
        return false;
    leat_error_set(&err, -EDQUOT,
                   "this user connects too often: at most %llu connections at once, and then %d "
                   "per second, are allowed",
                   (unsigned long long)(LEAT_RATE_AT_ONCE + *listener->n_at_once),
                   LEAT_RATE_PER_SECOND);
    listener->on_refuse(listener, fd, peer.uid, answer == LEAT_RATE_EXPLAINED ? &err : NULL);
    return true;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct leat_listener *listener = poll->data;
    int n_refused = 0;

    (void)status;
    (void)events;
    for (int i = 0; i < MAX_ACCEPTS && n_refused < MAX_REFUSALS && listener->fd >= 0; i++) {
        int r = accept_one(listener);

        if (r == -EINTR || r == -ECONNABORTED)
            continue;
        if (r == -EAGAIN)
            break;
        if (r >= 0 && is_refused(listener, r)) {
            n_refused++;
            continue;
        }
        if (r >= 0)
            r = listener->on_accept(listener, r);
        if (r < 0) { /* out of descriptors or memory: neither is cured by trying again at once */
            pause_listening(listener);
            break;
        }
    }
    keep_reserve(listener);
    if (n_refused > 0 && !listener->is_paused && listener->fd >= 0)
        stop_polling(listener, REST_MS);
}

int leat_listener_start(struct leat_listener *listener, uv_loop_t *loop, bool with_reserve) {
    int r = uv_poll_init(loop, &listener->poll, listener->fd);

    if (r < 0)
        return r;
    (void)uv_timer_init(loop, &listener->timer);
    listener->has_handles = true;
    listener->poll.data = listener->timer.data = listener;
    listener->has_reserve = with_reserve;
    keep_reserve(listener);
    return uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

void leat_listener_resume(struct leat_listener *listener) {
    if (listener->is_paused && listener->fd >= 0)
        go_on(listener);
}

static void remove_file(struct leat_listener *listener) {
    struct stat status;

    if (listener->path && lstat(listener->path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        (void)unlink(listener->path);
    free(listener->path);
    listener->path = NULL;
}

void leat_listener_stop(struct leat_listener *listener) {
    if (listener->has_handles) {
        uv_close((uv_handle_t *)&listener->poll, NULL);
        uv_close((uv_handle_t *)&listener->timer, NULL);
        listener->has_handles = false;
    }
    remove_file(listener);
    if (listener->fd >= 0)
        (void)close(listener->fd);
    if (listener->reserve_fd >= 0)
        (void)close(listener->reserve_fd);
    listener->fd = listener->reserve_fd = -1;
}
