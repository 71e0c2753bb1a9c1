#include "daemon/metrics/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/metrics/http_library.h"

#define BACKLOG     64
#define MAX_PENDING 4
#define STACK_BYTES (256U << 10)

void leat_http_init(struct leat_http *http) {
    *http = (struct leat_http){.listener = {.fd = -1, .reserve_fd = -1}, .shared.pipe = {-1, -1}};
}

bool leat_http_is_open(const struct leat_http *http) {
    return http->listener.fd >= 0;
}

void leat_http_set_rights(struct leat_http *http, const struct leat_rights *rights) {
    if (!http->shared.has_mutex)
        http->shared.has_mutex = uv_mutex_init(&http->shared.mutex) == 0;
    if (!http->shared.has_mutex)
        return;
    uv_mutex_lock(&http->shared.mutex);
    http->shared.rights = *rights;
    uv_mutex_unlock(&http->shared.mutex);
}

int leat_http_set_token(struct leat_http *http, const char *path, struct leat_error *err) {
    return leat_http_token_read(path, &http->shared.token, err);
}

static int bind_ip(struct leat_http *http, const struct leat_http_address *address,
                   const char *text, struct leat_error *err) {
    int fd = socket(address->ip.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;

    http->listener.fd = fd;
    http->shared.is_ip = true;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, &address->ip.any, address->n_ip) < 0 || listen(fd, BACKLOG) < 0)
        return leat_error_set(err, -errno, "%s: %s%s", text, strerror(errno),
                              fd < 0 && errno == EAFNOSUPPORT
                                  ? " (the unit does not allow such sockets: see leatd-http.socket)"
                                  : "");
    return 0;
}

int leat_http_bind(struct leat_http *http, const char *text, const char *group,
                   struct leat_error *err) {
    struct leat_http_address address;
    int r = leat_http_address_parse(text, &address, err);

    if (r < 0)
        return r;
    if (address.path)
        return leat_listener_bind(&http->listener, address.path, SOCK_STREAM, group, err);
    return bind_ip(http, &address, text, err);
}

int leat_http_adopt(struct leat_http *http, int take_fd, struct leat_error *err) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int type = 0, flags = fcntl(take_fd, F_GETFL);
    socklen_t n_type = sizeof(type);

    http->listener.fd = take_fd;
    http->listener.is_passed = true;
    if (getsockname(take_fd, (struct sockaddr *)&address, &size) < 0 ||
        getsockopt(take_fd, SOL_SOCKET, SO_TYPE, &type, &n_type) < 0 || type != SOCK_STREAM)
        return leat_error_set(err, -EINVAL, "the socket named http is not a stream socket");
    http->shared.is_ip = address.ss_family != AF_UNIX;
    if (fcntl(take_fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return leat_error_set(err, -errno, "the daemon cannot use the socket named http: %s",
                              strerror(errno));
    return 0;
}

static void run_thread(void *data) {
    leat_http_thread_run(data);
}

int leat_http_start(struct leat_http *http, uint64_t history_bytes, struct leat_error *err) {
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
    int r;

    if (!leat_http_is_open(http))
        return 0;
    r = leat_http_library_load(err);
    if (r < 0)
        return r;
    if (pipe2(http->shared.pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        return leat_error_set(err, -errno, "http: %s", strerror(errno));
    r = leat_http_thread_new(&http->shared, http->listener.fd, history_bytes, &http->thread);
    if (r == 0)
        r = uv_thread_create_ex(&http->uv_thread, &options, run_thread, http->thread);
    http->has_thread = r == 0;
    return r < 0 ? leat_error_set(err, r, "the HTTP listener cannot start: %s", strerror(-r)) : 0;
}

static int send_pointer(const struct leat_http *http, struct leat_reading *reading) {
    ssize_t n;

    do {
        n = write(http->shared.pipe[1], &reading, sizeof(reading));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(reading) ? 0 : -EPIPE;
}

void leat_http_publish(struct leat_http *http, const struct leat_reading *reading) {
    struct leat_reading *copy;

    if (!http->has_thread || http->is_stopping ||
        atomic_load(&http->shared.n_pending) >= MAX_PENDING)
        return;
    copy = leat_reading_copy(reading);
    if (!copy)
        return;
    atomic_fetch_add(&http->shared.n_pending, 1);
    if (send_pointer(http, copy) < 0) {
        atomic_fetch_sub(&http->shared.n_pending, 1);
        free(copy);
    }
}

void leat_http_stop(struct leat_http *http) {
    if (http->has_thread && !http->is_stopping)
        (void)send_pointer(http, NULL);
    http->is_stopping = true;
    leat_listener_stop(&http->listener);
}

void leat_http_deinit(struct leat_http *http) {
    leat_http_stop(http);
    if (http->has_thread)
        (void)uv_thread_join(&http->uv_thread);
    http->has_thread = false;
    http->thread = leat_http_thread_free(http->thread);
    if (http->shared.has_mutex)
        uv_mutex_destroy(&http->shared.mutex);
    http->shared.has_mutex = false;
    for (int i = 0; i < 2; i++) {
        if (http->shared.pipe[i] >= 0)
            (void)close(http->shared.pipe[i]);
        http->shared.pipe[i] = -1;
    }
}
