#include "pipeline/io/fetch_socket.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/descriptor.h"

#define PROGRAM "leat-fetch"

static int send_packet(int socket, const void *data, size_t n, int fd) {
    struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = n};

    return leat_descriptor_send(socket, &part, 1, fd, 0);
}

/* ---- a leat-fetch of this process ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of these two */
static int private_control = -1;                          /* -1: none runs */
static pid_t private_pid;

/* Beside this program, else where PATH says. */
static int spawn_program(int end, pid_t *ret_pid) {
    char path[4096 + sizeof(PROGRAM)], *slash;
    char *const arguments[] = {(char *)PROGRAM, (char *)"--private", NULL};
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM) - 1);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    int code;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    if (slash)
        (void)strcpy(slash + 1, PROGRAM);
    if (posix_spawn_file_actions_init(&actions) || posix_spawnattr_init(&attributes))
        return -ENOMEM;
    (void)sigemptyset(&signals);
    (void)posix_spawnattr_setsigmask(&attributes, &signals);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    code = posix_spawn_file_actions_adddup2(&actions, end, LEAT_FETCH_PRIVATE_FD);
    if (code == 0)
        code =
            slash ? posix_spawn(ret_pid, path, &actions, &attributes, arguments, environ) : ENOENT;
    if (code == ENOENT)
        code = posix_spawnp(ret_pid, PROGRAM, &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return -code;
}

static int start_private(struct leat_error *err) {
    int ends[2], r;

    if (private_control >= 0)
        return 0;
    r = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
    if (r == 0) {
        r = spawn_program(ends[1], &private_pid);
        (void)close(ends[1]);
        if (r < 0)
            (void)close(ends[0]);
    }
    if (r == -ENOENT)
        return leat_error_set(err, -ENOENT,
                              PROGRAM ", which reads data from object stores and web servers, is "
                                      "not installed: install the Debian package " PROGRAM);
    if (r < 0)
        return leat_error_set(err, r, PROGRAM " cannot be started: %s", strerror(-r));
    private_control = ends[0];
    return 0;
}

/* Its end of the socket is closed, so that it ends or has ended. */
static void collect_private(void) {
    (void)close(private_control);
    private_control = -1;
    while (waitpid(private_pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* If the one that was started has ended, another one is started. */
static int pass_to_private(int end, struct leat_error *err) {
    int r = 0;

    for (int i = 0; i < 2; i++) {
        if (start_private(err) < 0)
            return err->code;
        r = send_packet(private_control, "", 1, end);
        if (r != -EPIPE && r != -ECONNRESET)
            break;
        collect_private();
    }
    return r < 0
               ? leat_error_set(err, r, PROGRAM " ended unexpectedly: %s: try again", strerror(-r))
               : 0;
}

static int connect_private(struct leat_error *err) {
    int ends[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return leat_error_set(err, -errno, "cannot make a socket for " PROGRAM ": %s",
                              strerror(errno));
    (void)pthread_mutex_lock(&mutex);
    r = pass_to_private(ends[1], err);
    (void)pthread_mutex_unlock(&mutex);
    (void)close(ends[1]);
    if (r == 0)
        return ends[0];
    (void)close(ends[0]);
    return r;
}

/* ---- the service ---- */

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd, code;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    (void)strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    code = errno;
    (void)close(fd);
    return -code;
}

int leat_fetch_connect(bool is_private, struct leat_error *err) {
    const char *named = getenv(LEAT_FETCH_SOCKET_NAME);
    int fd;

    if (is_private)
        return connect_private(err);
    fd = connect_to(named && named[0] ? named : LEAT_FETCH_SOCKET);
    if (fd >= 0)
        return fd;
    if (named && named[0])
        return leat_error_set(err, fd,
                              "%s: cannot connect to " PROGRAM
                              ", which reads data from object stores and web servers: %s: start "
                              "leat-fetch with `systemctl enable --now leat-fetch.socket`",
                              named, strerror(-fd));
    return connect_private(err);
}

int leat_fetch_ask(int socket, const struct leat_fetch_request *request, int fd,
                   struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err) {
    size_t n = offsetof(struct leat_fetch_request, url) + strlen(request->url) + 1;
    int r = send_packet(socket, request, n, fd);
    ssize_t n_reply;

    *ret_fd = -1;
    if (r == -EPIPE || r == -ECONNRESET)
        return -ECONNRESET;
    if (r < 0)
        return leat_error_set(err, r, "cannot send a request to " PROGRAM ": %s", strerror(-r));
    n_reply = leat_descriptor_receive(socket, ret_reply, sizeof(*ret_reply), ret_fd, 0);
    if (n_reply == 0 || n_reply == -ECONNRESET)
        return -ECONNRESET;
    if (n_reply != (ssize_t)sizeof(*ret_reply) || ret_reply->code > 0)
        r = leat_error_set(err, -EPROTO,
                           PROGRAM
                           " and leat have different versions: install the same version of both");
    else if (ret_reply->code < 0)
        r = leat_error_set(err, ret_reply->code, "%.*s", LEAT_FETCH_MESSAGE_MAX - 1,
                           ret_reply->message);
    if (r < 0 && *ret_fd >= 0) {
        (void)close(*ret_fd);
        *ret_fd = -1;
    }
    return r;
}
