/* server.c: connections and requests. See server.h. */
#include "daemon/fetch/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "daemon/fetch/server_internal.h"
#include "proto/base/file.h"
#include "proto/descriptor.h"

/* ---- replies ---- */

void leat_fetch_reply(struct leat_fetch_client *client, struct leat_fetch_reply *reply, int fd) {
    struct iovec part = {.iov_base = reply, .iov_len = sizeof(*reply)};

    client->is_waiting = false;
    /* A client that has gone is seen when it is read from. */
    (void)leat_descriptor_send(client->socket, &part, 1, fd, MSG_DONTWAIT);
}

void leat_fetch_reply_error(struct leat_fetch_client *client, const char *url,
                            const struct leat_error *err) {
    struct leat_fetch_reply reply = {.code = err->code};

    if (url[0])
        (void)snprintf(reply.message, sizeof(reply.message), "%.200s: %.300s", url, err->message);
    else
        (void)snprintf(reply.message, sizeof(reply.message), "%.500s", err->message);
    leat_fetch_reply(client, &reply, -1);
}

/* ---- requests ---- */

static bool is_request(const struct leat_fetch_request *request, size_t n) {
    size_t n_head = offsetof(struct leat_fetch_request, url);

    return n > n_head && request->version == LEAT_FETCH_VERSION &&
           request->url[n - n_head - 1] == '\0' && strlen(request->url) == n - n_head - 1;
}

static void serve(struct leat_fetch_client *client, size_t n, int fd) {
    static const struct leat_error wrong = {
        .code = -EPROTO,
        .message = "leat-fetch does not know this request: update the older of the two programs"};

    client->is_waiting = true;
    client->error = LEAT_ERROR_INIT;
    if (!is_request(&client->request, n))
        leat_fetch_reply_error(client, "", &wrong);
    else if (client->request.verb == LEAT_FETCH_LIST)
        leat_fetch_serve_list(client);
    else if (client->request.verb == LEAT_FETCH_EXPECT && fd >= 0)
        leat_fetch_serve_expect(client, fd);
    else if (client->request.verb == LEAT_FETCH_LOOK)
        leat_fetch_serve_look(client);
    else if (client->request.verb == LEAT_FETCH_BLOCK)
        leat_fetch_serve_block(client);
    else if (client->request.verb == LEAT_FETCH_AHEAD)
        leat_fetch_serve_ahead(client);
    else if (client->request.verb == LEAT_FETCH_STORE && fd >= 0)
        leat_fetch_serve_store(client, fd);
    else
        leat_fetch_reply_error(client, "", &wrong);
}

/* False: the client has gone, or sends before its reply came. */
static bool hear(struct leat_fetch_client *client) {
    struct leat_fetch_request ahead;
    int fd;
    ssize_t n =
        leat_descriptor_receive(client->socket, client->is_waiting ? &ahead : &client->request,
                                sizeof(client->request), &fd, MSG_DONTWAIT);
    bool is_fine = n == -EAGAIN || (n > 0 && !client->is_waiting);

    if (n > 0 && is_fine)
        serve(client, (size_t)n, fd);
    leat_file_close(&fd);
    return is_fine;
}

/* ---- clients ---- */

static void free_client(struct leat_fetch_client *client) {
    leat_fetch_cancel_looks(client);
    leat_fetch_cancel_store(client);
    leat_file_close(&client->socket);
    client->server->n_clients--;
    free(client);
}

static void add_client(struct leat_fetch_server *server, int take_socket) {
    struct leat_fetch_client *client =
        server->n_clients < LEAT_FETCH_CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;

    if (!client) {
        (void)close(take_socket);
        return;
    }
    client->server = server;
    client->socket = take_socket;
    client->next = server->clients;
    server->clients = client;
    server->n_clients++;
}

/* False: the program that started this one has ended. */
static bool hear_control(struct leat_fetch_server *server) {
    char byte;
    int fd;
    ssize_t n = leat_descriptor_receive(server->control, &byte, 1, &fd, MSG_DONTWAIT);

    if (fd >= 0)
        add_client(server, fd);
    return n != 0 && n != -ECONNRESET;
}

static void accept_client(struct leat_fetch_server *server) {
    int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0)
        add_client(server, fd);
}

/* ---- life ---- */

int leat_fetch_server_init(struct leat_fetch_server *server,
                           const struct leat_fetch_settings *settings, int take_listener,
                           int take_control, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;

    *server = (struct leat_fetch_server){.listener = take_listener, .control = take_control};
    if (leat_block_cache_init(&server->cache, settings->path, (uint64_t)settings->max_size,
                              (uint64_t)settings->block, &why) < 0)
        (void)fprintf(stderr,
                      "leat-fetch: cannot use its cache, and continues without its cache: %s\n",
                      why.message);
    return leat_transfers_init(&server->transfers, settings, err);
}

void leat_fetch_server_deinit(struct leat_fetch_server *server) {
    while (server->clients) {
        struct leat_fetch_client *client = server->clients;

        server->clients = client->next;
        free_client(client);
    }
    leat_fetch_free_blocks(server);
    leat_transfers_deinit(&server->transfers);
    leat_block_cache_deinit(&server->cache);
    leat_catalog_deinit(&server->catalog);
    leat_file_close(&server->listener);
    leat_file_close(&server->control);
}

static bool hear_all(struct leat_fetch_server *server, const struct curl_waitfd *watched) {
    const struct curl_waitfd *of_client = watched + 2;

    for (struct leat_fetch_client **at = &server->clients; *at; of_client++) {
        struct leat_fetch_client *client = *at;

        if (!of_client->revents || hear(client)) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        free_client(client);
    }
    if (watched[0].revents)
        accept_client(server);
    return !watched[1].revents || hear_control(server);
}

int leat_fetch_server_run(struct leat_fetch_server *server, const volatile int *is_stopped,
                          struct leat_error *err) {
    struct curl_waitfd *watched = calloc(LEAT_FETCH_CLIENTS_MAX + 2, sizeof(*watched));
    bool is_over = false;
    int r = watched ? 0 : leat_error_oom(err);

    while (r == 0 && !is_over && !*is_stopped) {
        /* Descriptors that are not there stay -1, as for poll(2). */
        unsigned n = 2;

        watched[0] = (struct curl_waitfd){.fd = server->listener, .events = CURL_WAIT_POLLIN};
        watched[1] = (struct curl_waitfd){.fd = server->control, .events = CURL_WAIT_POLLIN};
        for (struct leat_fetch_client *at = server->clients; at; at = at->next)
            watched[n++] = (struct curl_waitfd){.fd = at->socket, .events = CURL_WAIT_POLLIN};
        r = leat_transfers_turn(&server->transfers, watched, n, err);
        is_over = r == 0 && !hear_all(server, watched);
    }
    free(watched);
    return r;
}
