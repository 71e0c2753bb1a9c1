/* control_load: those who look: asks the control socket on so many connections, and subscribes on
 * others, until its standard input ends. Then it prints how many requests were answered and how
 * many updates came, as JSON.
 *
 *     control_load DIR CONNECTIONS SUBSCRIBERS INTERVAL_MS [KIND]
 *
 * stats    asks for the counters of all streams as soon as it has the answer before (this is what
 *          it does if nothing is said)
 * broken   sends thousands of frames that are no protobuf, when those before are answered
 * refused  likewise requests of another version, which are refused
 * large    likewise a request that takes long to be unpacked
 * unknown  likewise a request with many fields that nobody knows
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/leat.pb-c.h"
#include "tests/bench/daemon_process.h"

#define CONNECTIONS_MAX 128
#define REQUEST_MAX     (1U << 18)
#define N_VALUES        16000
#define N_UNKNOWN       65000
#define N_SMALL         3000

struct connection {
    struct leat_frame_decoder decoder;
    bool subscribes;
    size_t n_sent; /* bytes of the requests */
    unsigned long long n_asked;
    unsigned long long n_frames;
};

static uint8_t request_bytes[REQUEST_MAX];
static size_t request_size;
static unsigned n_requests = 1; /* in them */
static bool is_flood;

static void pack(Leat__ControlRequest *request) {
    request->version = 1;
    if (leat__control_request__get_packed_size(request) > REQUEST_MAX - LEAT_FRAME_HEAD_BYTES)
        give_up("a request is too long");
    request_size = leat__control_request__pack(request, request_bytes + LEAT_FRAME_HEAD_BYTES);
    leat_frame_head(request_bytes, (uint32_t)request_size);
    request_size += LEAT_FRAME_HEAD_BYTES;
}

static void pack_stats(void) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    pack(&request);
}

static void pack_subscribe(uint32_t interval_ms) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__SubscribeRequest subscribe = LEAT__SUBSCRIBE_REQUEST__INIT;

    subscribe.interval_ms = interval_ms;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SUBSCRIBE;
    request.subscribe = &subscribe;
    pack(&request);
}

static void put(const void *bytes, size_t n_bytes, size_t n_times) {
    for (; n_times > 0 && request_size + n_bytes <= REQUEST_MAX; n_times--) {
        memcpy(request_bytes + request_size, bytes, n_bytes);
        request_size += n_bytes;
    }
}

static void put_head(size_t n_bytes) {
    uint8_t head[LEAT_FRAME_HEAD_BYTES];

    leat_frame_head(head, (uint32_t)n_bytes);
    put(head, sizeof(head), 1);
}

/* check { spec { options { items { kind: 1 text: "x" } ... } } }, lengths in three bytes */
static void put_large(void) {
    static const uint8_t value[] = {0x22, 5, 0x08, 1, 0x12, 1, 'x'};
    static const uint8_t fields[] = {0x32, 0x12, 0x32};
    size_t n = N_VALUES * sizeof(value);

    put_head(2 + 3 * 4 + n);
    put("\x08\x01", 2, 1);
    for (size_t i = 0; i < 3; i++) {
        size_t inner = n + 4 * (2 - i);

        put((uint8_t[]){fields[i], (uint8_t)(inner | 0x80), (uint8_t)(inner >> 7 | 0x80),
                        (uint8_t)(inner >> 14)},
            4, 1);
    }
    put(value, sizeof(value), N_VALUES);
}

static bool pack_flood(const char *kind) {
    request_size = 0;
    n_requests = kind[0] == 'b' || kind[0] == 'r' ? N_SMALL : 1;
    if (strcmp(kind, "broken") == 0) {
        put("\1\0\0\0\x0a", 5, N_SMALL);
    } else if (strcmp(kind, "refused") == 0) {
        put("\4\0\0\0\x08\x02\x12\0", 8, N_SMALL);
    } else if (strcmp(kind, "large") == 0) {
        put_large();
    } else if (strcmp(kind, "unknown") == 0) {
        put_head(2 + 3 * N_UNKNOWN);
        put("\x08\x01", 2, 1);
        put("\xa2\x06\0", 3, N_UNKNOWN);
    } else {
        return false;
    }
    return true;
}

/* Whether there is something to be sent: the rest of the requests, or they are answered. */
static bool wants_to_send(struct connection *connection) {
    if (!is_flood || connection->subscribes)
        return false;
    if (connection->n_sent == request_size && connection->n_frames == connection->n_asked)
        connection->n_sent = 0;
    return connection->n_sent < request_size;
}

static void flood(int fd, struct connection *connection) {
    ssize_t n = send(fd, request_bytes + connection->n_sent, request_size - connection->n_sent,
                     MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0 && errno != EAGAIN)
        give_up("control socket: %s", strerror(errno));
    if (connection->n_sent == 0 && n > 0)
        connection->n_asked += n_requests;
    connection->n_sent += n > 0 ? (size_t)n : 0;
}

static void ask(int fd) {
    if (send(fd, request_bytes, request_size, MSG_NOSIGNAL) != (ssize_t)request_size)
        give_up("control socket: %s", strerror(errno));
}

static int open_socket(const char *directory) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock",
                         directory) >= sizeof(address.sun_path))
        give_up("%s is too long", directory);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        give_up("%s: %s", address.sun_path, strerror(errno));
    return fd;
}

static void receive(int fd, struct connection *connection) {
    struct leat_error err = LEAT_ERROR_INIT;
    const uint8_t *frame;
    uint8_t *space;
    size_t size;
    ssize_t n;

    if (leat_frame_decoder_space(&connection->decoder, 1 << 16, &space, &size) < 0)
        give_up("out of memory");
    n = recv(fd, space, size, 0);
    if (n <= 0)
        give_up("the daemon closed a connection of %s",
                connection->subscribes ? "a subscriber" : "requests");
    leat_frame_decoder_filled(&connection->decoder, (size_t)n);
    while (leat_frame_decoder_next(&connection->decoder, &frame, &size, &err) > 0) {
        connection->n_frames++;
        if (!connection->subscribes && !is_flood)
            ask(fd);
    }
}

static void serve(struct pollfd *fds, struct connection *connections, unsigned n) {
    while (poll(fds, n + 1, -1) > 0 && !fds[n].revents)
        for (unsigned i = 0; i < n; i++) {
            if (fds[i].revents & ~POLLOUT)
                receive(fds[i].fd, &connections[i]);
            if (fds[i].revents & POLLOUT)
                flood(fds[i].fd, &connections[i]);
            fds[i].events = (short)(POLLIN | (wants_to_send(&connections[i]) ? POLLOUT : 0));
        }
}

static void print(const struct connection *connections, unsigned n) {
    unsigned long long n_answers = 0, n_updates = 0;

    for (unsigned i = 0; i < n; i++)
        *(connections[i].subscribes ? &n_updates : &n_answers) += connections[i].n_frames;
    printf("{\"answers\": %llu, \"updates\": %llu, \"cpu_s\": %.3f}\n", n_answers, n_updates,
           own_cpu_s());
}

int main(int argc, char **argv) {
    static struct connection connections[CONNECTIONS_MAX];
    struct pollfd fds[CONNECTIONS_MAX + 1];
    unsigned n_asking, n;

    if (argc != 5 && argc != 6)
        give_up("usage: control_load DIR CONNECTIONS SUBSCRIBERS INTERVAL_MS [KIND]");
    is_flood = argc == 6 && strcmp(argv[5], "stats") != 0;
    n_asking = (unsigned)strtoul(argv[2], NULL, 10);
    n = n_asking + (unsigned)strtoul(argv[3], NULL, 10);
    if (n_asking > CONNECTIONS_MAX || n > CONNECTIONS_MAX)
        give_up("at most %d connections", CONNECTIONS_MAX);
    pack_subscribe((uint32_t)strtoul(argv[4], NULL, 10));
    for (unsigned i = 0; i < n; i++) {
        unsigned at = n - 1 - i; /* subscribers first: then only stats are asked for */

        fds[at] = (struct pollfd){.fd = open_socket(argv[1]), .events = POLLIN};
        connections[at].subscribes = at >= n_asking;
        leat_frame_decoder_init(&connections[at].decoder, LEAT_CONTROL_FRAME_MAX);
        if (at + 1 == n_asking && !is_flood)
            pack_stats();
        if (at >= n_asking || !is_flood)
            ask(fds[at].fd);
        else
            fds[at].events |= POLLOUT;
    }
    if (is_flood && !pack_flood(argv[5]))
        give_up("%s: stats, broken, refused, large or unknown", argv[5]);
    fds[n] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    serve(fds, connections, n);
    print(connections, n);
    return 0;
}
