/* server_block.c: blocks of objects, now and ahead. See server_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/server_internal.h"
#include "proto/base/file.h"

#define READY_BLOCKS 2 /* times `requests`: that came ahead and nobody took yet */

static struct leat_fetch_block *find_block(const struct leat_fetch_server *server,
                                           const struct leat_fetch_object *object, uint64_t block) {
    struct leat_fetch_block *at = server->blocks;

    while (at && (at->object != object || at->block != block))
        at = at->next;
    return at;
}

static void free_block(struct leat_fetch_block *block) {
    struct leat_fetch_block **at = &block->server->blocks;

    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    if (block->transfer)
        leat_transfer_free(block->transfer);
    if (block->fd >= 0)
        block->server->n_ready--;
    leat_file_close(&block->fd);
    free(block);
}

void leat_fetch_free_blocks(struct leat_fetch_server *server) {
    while (server->blocks)
        free_block(server->blocks);
}

/* The one that came longest ago is last in the list. */
static void drop_ready(struct leat_fetch_server *server) {
    struct leat_fetch_block *oldest = NULL;

    if (server->n_ready <= READY_BLOCKS * (size_t)server->transfers.settings->requests)
        return;
    for (struct leat_fetch_block *at = server->blocks; at; at = at->next)
        if (at->fd >= 0)
            oldest = at;
    if (oldest)
        free_block(oldest);
}

static void reply_block(struct leat_fetch_client *client, uint64_t n_bytes, bool is_kept, int fd) {
    struct leat_fetch_reply reply = {.n_bytes = n_bytes, .is_kept = is_kept};

    leat_fetch_reply(client, &reply, fd);
}

/* ---- coming ---- */

/* Replies to all that wait for it. True: somebody did. */
static bool hand_out(struct leat_fetch_block *block, const struct leat_error *err) {
    uint64_t n_bytes = leat_block_bytes(&block->server->cache, block->object, block->block);
    bool is_wanted = false;

    for (struct leat_fetch_client *at = block->server->clients; at; at = at->next) {
        if (!at->is_waiting || at->request.verb != LEAT_FETCH_BLOCK ||
            at->object != block->object || at->request.block != block->block)
            continue;
        is_wanted = true;
        if (err->code < 0)
            leat_fetch_reply_error(at, "", err);
        else
            reply_block(at, n_bytes, false, block->fd);
    }
    return is_wanted;
}

static void on_block(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_block *block = owner;
    struct leat_fetch_server *server = block->server;

    block->transfer = NULL;
    if (err->code == 0) {
        block->fd = leat_block_cache_add(&server->cache, block->object, block->block,
                                         transfer->body.data, transfer->body.n_bytes);
        server->n_ready += block->fd >= 0;
        if (block->fd < 0)
            leat_error_set(err, block->fd, "no room for a block: %s", strerror(-block->fd));
    }
    if (err->code == -ESTALE)
        leat_fetch_object_forget(block->object);
    if (hand_out(block, err) || err->code < 0)
        free_block(block);
    else
        drop_ready(server);
}

/* NULL: no memory. */
static struct leat_fetch_block *begin_block(struct leat_fetch_server *server,
                                            struct leat_fetch_object *object, uint64_t number,
                                            bool is_confined, bool is_ahead) {
    struct leat_fetch_block *block = calloc(1, sizeof(*block));
    struct leat_transfer_request request = {.kind = LEAT_TRANSFER_BLOCK,
                                            .url = object->url,
                                            .is_confined = is_confined,
                                            .is_ahead = is_ahead,
                                            .version = object->version,
                                            .first = number * server->cache.block_bytes,
                                            .n_bytes =
                                                leat_block_bytes(&server->cache, object, number),
                                            .object_size = object->n_bytes,
                                            .done = on_block,
                                            .owner = block};

    if (!block)
        return NULL;
    *block = (struct leat_fetch_block){
        .server = server, .object = object, .block = number, .fd = -1, .next = server->blocks};
    server->blocks = block;
    block->transfer = leat_transfer_new(&server->transfers, &request);
    if (block->transfer)
        return block;
    free_block(block);
    return NULL;
}

/* ---- ahead ---- */

/* Goes to the block behind this one, in the order of reading. False: there is none. */
static bool step(const struct leat_fetch_server *server, struct leat_fetch_object **object,
                 uint64_t *block) {
    if (++*block < leat_n_blocks(&server->cache, *object))
        return true;
    do
        *object = (*object)->after;
    while (*object && (!(*object)->version || (*object)->n_bytes == 0));
    *block = 0;
    return *object != NULL;
}

/* True if the block follows one that was asked for before. */
static bool is_in_order(const struct leat_fetch_server *server,
                        const struct leat_fetch_object *object, uint64_t block) {
    const struct leat_fetch_object *before = object->before;

    if (block > 0)
        return object->n_asked >= block;
    return before && before->n_asked >= leat_n_blocks(&server->cache, before);
}

static void read_ahead(struct leat_fetch_client *client) {
    struct leat_fetch_server *server = client->server;
    struct leat_fetch_object *object = client->object;
    uint64_t block = client->request.block;

    for (int64_t i = 0; i < server->transfers.settings->requests; i++) {
        if (!step(server, &object, &block))
            break;
        if (!find_block(server, object, block) &&
            !leat_block_cache_has(&server->cache, object, block) &&
            !begin_block(server, object, block, client->request.is_confined, true))
            break;
    }
}

/* ---- requests ---- */

static int check_request(const struct leat_fetch_client *client, struct leat_error *err) {
    const struct leat_fetch_object *object = client->object;

    if (memcmp(object->identity, client->request.identity, sizeof(object->identity)) != 0)
        return leat_error_set(err, -ESTALE, "changed since it was listed");
    if (client->request.block >= leat_n_blocks(&client->server->cache, object))
        return leat_error_set(err, -EPROTO, "leat-fetch: there is no such block");
    return 0;
}

/* A block on its way, or come already; false: it is on the disk or not here at all. */
static bool take_from_list(struct leat_fetch_client *client) {
    struct leat_fetch_block *block =
        find_block(client->server, client->object, client->request.block);

    if (!block)
        return false;
    if (block->transfer) {
        block->transfer->request.is_ahead = false;
        return true;
    }
    (void)hand_out(block, &LEAT_ERROR_INIT);
    free_block(block);
    return true;
}

static void take_from_disk(struct leat_fetch_client *client) {
    struct leat_fetch_server *server = client->server;
    int fd = leat_block_cache_open(&server->cache, client->object, client->request.block);

    if (fd >= 0) {
        reply_block(client, leat_block_bytes(&server->cache, client->object, client->request.block),
                    true, fd);
    } else if (!begin_block(server, client->object, client->request.block,
                            client->request.is_confined, false)) {
        leat_error_oom(&client->error);
        leat_fetch_reply_error(client, "", &client->error);
    }
    leat_file_close(&fd);
}

void leat_fetch_serve_block(struct leat_fetch_client *client) {
    struct leat_fetch_server *server = client->server;
    struct leat_fetch_object *object = client->object =
        leat_catalog_get(&server->catalog, client->request.url);
    uint64_t block = client->request.block;
    bool is_ordered;

    /* Asked of one that ran before this one, which knows nothing of the object yet. */
    if (!object || !object->version) {
        leat_fetch_look_at(client);
        return;
    }
    if (check_request(client, &client->error) < 0) {
        leat_fetch_reply_error(client, "", &client->error);
        return;
    }
    if (client->request.is_damaged)
        leat_block_cache_remove(&server->cache, object, block);
    is_ordered = is_in_order(server, object, block);
    if ((is_ordered || block == 0) && object->n_asked <= block)
        object->n_asked = block + 1;
    if (!take_from_list(client))
        take_from_disk(client);
    if (is_ordered)
        read_ahead(client);
}
