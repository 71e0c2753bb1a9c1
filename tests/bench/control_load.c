/* control_load: those who look: asks the control socket for counters as fast as it answers, on so
 * many connections, and subscribes on others, until its standard input ends. Then it prints how
 * many requests were answered and how many updates came, as JSON.
 *
 *     control_load DIR CONNECTIONS SUBSCRIBERS INTERVAL_MS
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
#define REQUEST_MAX     64

struct connection {
    struct leat_frame_decoder decoder;
    bool subscribes;
    unsigned long long n_frames;
};

static uint8_t request_bytes[REQUEST_MAX];
static size_t request_size;

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
        if (!connection->subscribes)
            ask(fd);
    }
}

static void serve(struct pollfd *fds, struct connection *connections, unsigned n) {
    while (poll(fds, n + 1, -1) > 0 && !fds[n].revents)
        for (unsigned i = 0; i < n; i++)
            if (fds[i].revents)
                receive(fds[i].fd, &connections[i]);
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

    if (argc != 5)
        give_up("usage: control_load DIR CONNECTIONS SUBSCRIBERS INTERVAL_MS");
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
        if (at + 1 == n_asking)
            pack_stats();
        ask(fds[at].fd);
    }
    fds[n] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    serve(fds, connections, n);
    print(connections, n);
    return 0;
}
