/* shared_http.c: see shared_http.h. */
#include "tests/daemon/shared_http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS_MAX (1U << 20)

struct http_server {
    const char *const *answers;
    size_t n_answers, n_requests, n_bytes;
    int listener;
    unsigned port;
    char url[64], *requests; /* [REQUESTS_MAX] */
    pthread_t thread;
};

/* Reads a head and the body that it announces, behind what was read so far. False: none came. */
static bool read_request(struct http_server *server, int fd) {
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char *start = server->requests + server->n_bytes, *end = NULL, *length;
    size_t n = 0, n_wanted = SIZE_MAX;

    while (n < n_wanted) {
        ssize_t more = recv(fd, start + n, REQUESTS_MAX - 1 - server->n_bytes - n, 0);

        if (more <= 0)
            return false;
        n += (size_t)more;
        start[n] = '\0';
        if (!end && (end = strstr(start, "\r\n\r\n")) && strcasestr(start, "\r\nExpect: 100-") &&
            send(fd, go_on, strlen(go_on), MSG_NOSIGNAL) < 0)
            return false;
        length = end ? strcasestr(start, "\r\nContent-Length: ") : NULL;
        if (end)
            n_wanted = (size_t)(end + 4 - start) +
                       (length && length < end ? strtoul(length + 18, NULL, 10) : 0);
    }
    server->n_bytes += n;
    return true;
}

static void serve(struct http_server *server, int fd) {
    size_t i = server->n_requests < server->n_answers ? server->n_requests : server->n_answers - 1;
    struct linger reset = {.l_onoff = 1};
    const char *answer = server->answers[i];

    if (!read_request(server, fd))
        return;
    server->n_requests++;
    if (answer[0] == '!')
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    answer += answer[0] == '!';
    for (size_t at = 0, n = strlen(answer); at < n;) {
        ssize_t sent = send(fd, answer + at, n - at, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        at += (size_t)sent;
    }
}

static void *run(void *user) {
    struct http_server *server = user;
    int fd;

    while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
        serve(server, fd);
        (void)close(fd);
    }
    return NULL;
}

struct http_server *http_start(const char *const *answers, size_t n_answers) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct http_server *server = calloc(1, sizeof(*server));
    socklen_t size = sizeof(address);
    int r;

    assert(server && n_answers > 0);
    server->answers = answers;
    server->n_answers = n_answers;
    server->requests = calloc(1, REQUESTS_MAX);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    r = bind(server->listener, (const struct sockaddr *)&address, sizeof(address));
    assert(r == 0 && server->requests);
    r = listen(server->listener, 64);
    assert(r == 0);
    r = getsockname(server->listener, (struct sockaddr *)&address, &size);
    assert(r == 0);
    server->port = ntohs(address.sin_port);
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", server->port);
    r = pthread_create(&server->thread, NULL, run, server);
    assert(r == 0);
    return server;
}

const char *http_url(const struct http_server *server) {
    return server->url;
}

unsigned http_port(const struct http_server *server) {
    return server->port;
}

char *http_stop(struct http_server *server, size_t *ret_n_requests) {
    char *requests = server->requests;

    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
    *ret_n_requests = server->n_requests;
    free(server);
    return requests;
}
