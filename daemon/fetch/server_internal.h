/* server_internal.h: parts of the server. See server.h. */
#pragma once

#include <stdbool.h>

#include "daemon/fetch/server.h"
#include "proto/base/error.h"
#include "proto/fetch.h"

/* A block that is fetched for clients. */
struct leat_fetch_block {
    struct leat_fetch_block *next;
    struct leat_fetch_server *server;
    struct leat_fetch_object *object;
    struct leat_block_range range;
    struct leat_transfer *transfer;  /* NULL: it has come */
    struct leat_block_writer writer; /* of what comes; begun if its hash is not NULL */
    int fd;                          /* -1: it comes, or was taken */
};

struct leat_fetch_client {
    struct leat_fetch_client *next;
    struct leat_fetch_server *server;
    int socket;
    struct leat_fetch_request request;
    bool is_waiting; /* for its reply */
    /* LIST */
    struct leat_text urls;
    size_t n_urls, n_pages;
    char *token;
    /* LIST, EXPECT and LOOK: its transfers */
    struct leat_fetch_look *looks;
    size_t n_looks, n_left;
    struct leat_error error; /* the first one */
    /* BLOCK and AHEAD */
    struct leat_fetch_object *object;
    /* STORE */
    struct leat_fetch_store *store; /* NULL: none is under way */
};

/* A transfer of a client. */
struct leat_fetch_look {
    struct leat_fetch_client *client;
    struct leat_fetch_object *object; /* NULL: of LIST */
    struct leat_transfer *transfer;   /* NULL: it has ended */
};

/* ---- server.c ---- */

/* fd: is not taken; -1: none. */
void leat_fetch_reply(struct leat_fetch_client *client, struct leat_fetch_reply *reply, int fd);
/* With the URL in front, unless it is "". */
void leat_fetch_reply_error(struct leat_fetch_client *client, const char *url,
                            const struct leat_error *err);

/* ---- server_look.c: LIST, EXPECT and LOOK ---- */

void leat_fetch_serve_list(struct leat_fetch_client *client);
void leat_fetch_serve_expect(struct leat_fetch_client *client, int fd);
void leat_fetch_serve_look(struct leat_fetch_client *client);
/* Finds out what client->object is (NULL: there was no memory), then serves LOOK or BLOCK. */
void leat_fetch_look_at(struct leat_fetch_client *client);
void leat_fetch_cancel_looks(struct leat_fetch_client *client);

/* ---- server_block.c: BLOCK and AHEAD ---- */

void leat_fetch_serve_block(struct leat_fetch_client *client);
void leat_fetch_serve_ahead(struct leat_fetch_client *client);
void leat_fetch_free_blocks(struct leat_fetch_server *server);

/* ---- server_store.c: STORE ---- */

/* fd is not taken. */
void leat_fetch_serve_store(struct leat_fetch_client *client, int fd);
void leat_fetch_cancel_store(struct leat_fetch_client *client);
