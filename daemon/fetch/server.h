/* server.h: answers clients (proto/fetch.h): lists, versions and blocks of objects, which are read
 * ahead where a client reads one block after the other.
 *
 * Owner: the loop of leat-fetch. Clients are programs of its own user, or those that its socket
 * lets in.
 */
#pragma once

#include "daemon/fetch/block_cache.h"
#include "daemon/fetch/catalog.h"
#include "daemon/fetch/transfer.h"

#define LEAT_FETCH_CLIENTS_MAX 1024

struct leat_fetch_client;
struct leat_fetch_block;

struct leat_fetch_server {
    struct leat_transfers transfers;
    struct leat_block_cache cache;
    struct leat_catalog catalog;
    struct leat_fetch_client *clients;
    size_t n_clients;
    struct leat_fetch_block *blocks; /* that come, or have come and nobody took yet */
    size_t n_ready;
    int listener; /* -1: none; each connection is a client */
    int control;  /* -1: none; each packet brings a client, and its end is that of the server */
};

/* Takes the descriptors. */
int leat_fetch_server_init(struct leat_fetch_server *server,
                           const struct leat_fetch_settings *settings, int take_listener,
                           int take_control, struct leat_error *err);
void leat_fetch_server_deinit(struct leat_fetch_server *server);
/* Serves until the control socket ends, or *is_stopped. */
int leat_fetch_server_run(struct leat_fetch_server *server, const volatile int *is_stopped,
                          struct leat_error *err);
