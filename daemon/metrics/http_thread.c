/* http_thread.c: see http_thread.h. libmicrohttpd parses and writes; connections are accepted,
 * counted and timed out here, as it would spin when descriptors run out, and would let a client
 * that sends a byte now and then keep others out.
 *
 * A connection is for one question, as each answer says; it lives IDLE_S without a byte, and
 * LIFE_NS at most. Users who connect more often than rate_limit.h allows are refused at a Unix
 * socket. At a TCP socket the user is not known: all share one account, and wait in the backlog.
 */
#include "daemon/metrics/http_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/metrics/http_library.h"
#include "daemon/metrics/http_site.h"
#include "daemon/net/rate_limit.h"
#include "daemon/users/peer.h"
#include "proto/base/calls.h"

#define IDLE_S           10U
#define LIFE_NS          UINT64_C(30000000000)
#define PAUSE_MS         100 /* how long no connection is accepted if descriptors are short */
#define TICK_MS          1000
#define CONNECTION_BYTES (16U << 10)       /* for a request's head and its answer */
#define MAX_ACCEPTS      16                /* a turn */
#define REST_NS          UINT64_C(5000000) /* behind refusals */
#define NICENESS         10                /* after streams */
#define NOBODY           ((uid_t)-1)       /* each user by TCP */

struct connection {
    int fd; /* -1: free; closed by libmicrohttpd */
    bool may_look;
    uint64_t since_ns;
};

struct leat_http_thread {
    struct leat_http_shared *shared;
    int listen_fd;
    struct MHD_Daemon *server;
    struct leat_http_site site;
    bool is_ending;
    uint64_t resume_ns; /* accepts no connection until then */
    struct leat_rate_limit limit;
    struct connection connections[LEAT_HTTP_MAX_CONNECTIONS];
};

/* ---- connections ---- */

static struct connection *find_connection(struct leat_http_thread *thread, int fd) {
    for (size_t i = 0; i < LEAT_HTTP_MAX_CONNECTIONS; i++)
        if (thread->connections[i].fd == fd)
            return &thread->connections[i];
    return NULL;
}

static struct connection *connection_of(struct leat_http_thread *thread,
                                        struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        leat_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info ? find_connection(thread, info->connect_fd) : NULL;
}

static void on_connection(void *data, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    struct connection *row = connection_of(data, connection);

    (void)context;
    if (row && code == MHD_CONNECTION_NOTIFY_CLOSED)
        row->fd = -1;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *body,
                                  size_t *n_body, void **context) {
    struct leat_http_thread *thread = data;
    const struct connection *row = connection_of(thread, connection);

    (void)version;
    (void)body;
    (void)n_body;
    (void)context;
    return leat_http_site_answer(&thread->site, connection, row && row->may_look, method, url,
                                 uv_hrtime());
}

/* Returns a free place. If there is none, ends the oldest connection: each has one request, and
 * that one had the most time for it. */
static struct connection *make_room(struct leat_http_thread *thread) {
    struct connection *row = find_connection(thread, -1), *oldest = &thread->connections[0];

    if (row)
        return row;
    for (size_t i = 1; i < LEAT_HTTP_MAX_CONNECTIONS; i++)
        if (thread->connections[i].since_ns < oldest->since_ns)
            oldest = &thread->connections[i];
    (void)shutdown(oldest->fd, SHUT_RDWR);
    (void)leat_mhd.run(thread->server);
    return find_connection(thread, -1);
}

/* True if that user connects too often. */
static bool is_refused(struct leat_http_thread *thread, uid_t uid) {
    uint64_t now_ns = uv_hrtime(), opens_ns;

    if (leat_rate_limit_take(&thread->limit, uid, 0, now_ns) != LEAT_RATE_ALLOWED) {
        thread->resume_ns = now_ns + REST_NS;
        return true;
    }
    opens_ns = leat_rate_limit_next_ns(&thread->limit, uid, 0, now_ns);
    if (uid == NOBODY && opens_ns > now_ns)
        thread->resume_ns = opens_ns;
    return false;
}

/* True for each user by TCP, where users are not known; peer: of a Unix socket. */
static bool may_look(struct leat_http_thread *thread, const struct leat_peer *peer, int fd) {
    struct leat_http_shared *shared = thread->shared;
    bool may;

    if (shared->is_ip)
        return true;
    if (peer->uid == NOBODY || !shared->has_mutex)
        return false;
    uv_mutex_lock(&shared->mutex);
    may = leat_rights_of(&shared->rights, peer, fd) >= LEAT_RIGHT_READ;
    uv_mutex_unlock(&shared->mutex);
    return may;
}

static int accept_one(struct leat_http_thread *thread) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    int fd = accept4(thread->listen_fd, (struct sockaddr *)&address, &size,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct leat_peer peer = {.uid = NOBODY};
    struct connection *row;

    if (fd < 0)
        return -errno;
    if (leat_peer_identify(&peer, fd) < 0)
        peer.uid = NOBODY;
    row = is_refused(thread, peer.uid) ? NULL : make_room(thread);
    if (!row) {
        (void)close(fd);
        return 0;
    }
    *row = (struct connection){
        .fd = fd, .may_look = may_look(thread, &peer, fd), .since_ns = uv_hrtime()};
    if (leat_mhd.add_connection(thread->server, fd, (struct sockaddr *)&address, size) != MHD_YES)
        row->fd = -1; /* it has closed it */
    return 0;
}

static void accept_some(struct leat_http_thread *thread) {
    for (int i = 0; i < MAX_ACCEPTS && thread->resume_ns <= uv_hrtime(); i++) {
        int r = accept_one(thread);

        if (r == -EAGAIN)
            return;
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS) {
            thread->resume_ns = uv_hrtime() + UINT64_C(1000000) * PAUSE_MS;
            return;
        }
    }
}

static void expire(struct leat_http_thread *thread, uint64_t now_ns) {
    for (size_t i = 0; i < LEAT_HTTP_MAX_CONNECTIONS; i++) {
        struct connection *row = &thread->connections[i];

        if (row->fd >= 0 && now_ns - row->since_ns > LIFE_NS)
            (void)shutdown(row->fd, SHUT_RDWR);
    }
}

/* ---- the turn ---- */

static void take_readings(struct leat_http_thread *thread) {
    struct leat_reading *reading;

    while (read(thread->shared->pipe[0], &reading, sizeof(reading)) == (ssize_t)sizeof(reading)) {
        if (!reading) {
            thread->is_ending = true;
            return;
        }
        atomic_fetch_sub(&thread->shared->n_pending, 1);
        leat_http_site_take(&thread->site, reading);
    }
}

static int next_timeout(const struct leat_http_thread *thread, uint64_t now_ns) {
    MHD_UNSIGNED_LONG_LONG ms;
    uint64_t most_ms = TICK_MS;

    if (thread->resume_ns > now_ns)
        most_ms = (thread->resume_ns - now_ns) / UINT64_C(1000000) + 1;
    if (leat_mhd.get_timeout(thread->server, &ms) == MHD_YES && ms < most_ms)
        return (int)ms;
    return (int)most_ms;
}

static void turn(struct leat_http_thread *thread) {
    const union MHD_DaemonInfo *info =
        leat_mhd.get_daemon_info(thread->server, MHD_DAEMON_INFO_EPOLL_FD);
    uint64_t now_ns = uv_hrtime();
    struct pollfd items[] = {
        {.fd = thread->shared->pipe[0], .events = POLLIN},
        {.fd = info->epoll_fd, .events = POLLIN},
        {.fd = thread->resume_ns > now_ns ? -1 : thread->listen_fd, .events = POLLIN},
    };

    (void)poll(items, sizeof(items) / sizeof(items[0]), next_timeout(thread, now_ns));
    if (items[0].revents)
        take_readings(thread);
    if (items[2].revents)
        accept_some(thread);
    expire(thread, uv_hrtime());
    (void)leat_mhd.run(thread->server);
}

void leat_http_thread_run(struct leat_http_thread *thread) {
    (void)setpriority(PRIO_PROCESS, (id_t)leat_thread_id(), NICENESS); /* of this thread alone */
    while (!thread->is_ending)
        turn(thread);
}

/* ---- life ---- */

static struct MHD_Daemon *start_server(struct leat_http_thread *thread) {
    return leat_mhd.start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, thread,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)LEAT_HTTP_MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, thread, MHD_OPTION_END);
}

int leat_http_thread_new(struct leat_http_shared *shared, int listen_fd, uint64_t history_bytes,
                         struct leat_http_thread **ret_thread) {
    struct leat_http_thread *thread = calloc(1, sizeof(*thread));
    int r;

    if (!thread)
        return -ENOMEM;
    for (size_t i = 0; i < LEAT_HTTP_MAX_CONNECTIONS; i++)
        thread->connections[i].fd = -1;
    thread->shared = shared;
    thread->listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
    r = thread->listen_fd < 0
            ? -errno
            : leat_http_site_init(&thread->site, shared->is_ip, &shared->token, history_bytes);
    if (r == 0) {
        thread->server = start_server(thread);
        r = thread->server ? 0 : -ENOMEM;
    }
    if (r < 0) {
        leat_http_thread_free(thread);
        return r;
    }
    *ret_thread = thread;
    return 0;
}

struct leat_http_thread *leat_http_thread_free(struct leat_http_thread *thread) {
    if (!thread)
        return NULL;
    if (thread->server)
        leat_mhd.stop_daemon(thread->server);
    leat_http_site_deinit(&thread->site);
    if (thread->listen_fd >= 0)
        (void)close(thread->listen_fd);
    free(thread);
    return NULL;
}
