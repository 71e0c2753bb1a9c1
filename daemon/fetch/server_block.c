/* server_block.c: blocks of objects, now and ahead. See server_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/server_internal.h"
#include "proto/base/file.h"

#define READY_BLOCKS 2 /* times `requests`: that came ahead and nobody took yet */
#define AHEAD_TENTHS                                                                               \
    15 /* of `requests`: so that none is idle while the next block is still to come */

static struct leat_fetch_block *find_block(const struct leat_fetch_server *server,
                                           const struct leat_fetch_object *object,
                                           struct leat_block_range range) {
    struct leat_fetch_block *at = server->blocks;

    while (at && (at->object != object || at->range.first != range.first ||
                  at->range.n_bytes != range.n_bytes))
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
    if (block->writer.hash)
        leat_block_writer_drop(&block->writer);
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
    bool is_wanted = false;

    for (struct leat_fetch_client *at = block->server->clients; at; at = at->next) {
        if (!at->is_waiting || at->request.verb != LEAT_FETCH_BLOCK ||
            at->object != block->object || at->request.first != block->range.first ||
            at->request.n_bytes != block->range.n_bytes)
            continue;
        is_wanted = true;
        if (err->code < 0)
            leat_fetch_reply_error(at, "", err);
        else
            reply_block(at, block->range.n_bytes, false, block->fd);
    }
    return is_wanted;
}

/* Forgets the bytes of an earlier attempt. */
static int on_begin(void *owner) {
    struct leat_fetch_block *block = owner;

    if (block->writer.hash)
        leat_block_writer_drop(&block->writer);
    return leat_block_writer_begin(&block->writer, &block->server->cache, block->object,
                                   block->range);
}

static int on_bytes(void *owner, const void *data, size_t n) {
    struct leat_fetch_block *block = owner;

    return leat_block_writer_add(&block->writer, data, n);
}

static void on_block(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_block *block = owner;
    struct leat_fetch_server *server = block->server;

    (void)transfer;
    block->transfer = NULL;
    if (err->code == 0) {
        block->fd = leat_block_writer_finish(&block->writer);
        server->n_ready += block->fd >= 0;
        if (block->fd < 0)
            leat_error_set(err, block->fd, "there is no memory for a block: %s",
                           strerror(-block->fd));
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
                                            struct leat_fetch_object *object,
                                            struct leat_block_range range, bool is_confined,
                                            bool is_ahead) {
    struct leat_fetch_block *block = calloc(1, sizeof(*block));
    struct leat_transfer_request request = {.kind = LEAT_TRANSFER_BLOCK,
                                            .url = object->url,
                                            .is_confined = is_confined,
                                            .is_ahead = is_ahead,
                                            .version = object->version,
                                            .first = range.first,
                                            .n_bytes = range.n_bytes,
                                            .object_size = object->n_bytes,
                                            .begin = on_begin,
                                            .take = on_bytes,
                                            .done = on_block,
                                            .owner = block};

    if (!block)
        return NULL;
    *block = (struct leat_fetch_block){
        .server = server, .object = object, .range = range, .fd = -1, .next = server->blocks};
    server->blocks = block;
    block->transfer = leat_transfer_new(&server->transfers, &request);
    if (block->transfer)
        return block;
    free_block(block);
    return NULL;
}

/* ---- ahead ---- */

/* Goes to the block with the next number, in the order of reading. False: there is none. */
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

static void begin_ahead(struct leat_fetch_client *client, struct leat_fetch_object *object,
                        struct leat_block_range range) {
    struct leat_fetch_server *server = client->server;

    if (!find_block(server, object, range) && !leat_block_cache_has(&server->cache, object, range))
        (void)begin_block(server, object, range, client->request.is_confined, true);
}

static void read_ahead(struct leat_fetch_client *client, uint64_t number) {
    struct leat_fetch_server *server = client->server;
    struct leat_fetch_object *object = client->object;

    for (int64_t i = 0; i < server->transfers.settings->requests * AHEAD_TENTHS / 10; i++) {
        if (!step(server, &object, &number))
            break;
        begin_ahead(client, object, leat_block_number(&server->cache, object, number));
    }
}

/* ---- requests ---- */

static struct leat_block_range range_of(const struct leat_fetch_client *client) {
    return (struct leat_block_range){client->request.first, client->request.n_bytes};
}

static int check_request(const struct leat_fetch_client *client, struct leat_error *err) {
    const struct leat_fetch_object *object = client->object;
    struct leat_block_range range = range_of(client);

    if (memcmp(object->identity, client->request.identity, sizeof(object->identity)) != 0)
        return leat_error_set(err, -ESTALE, "changed since it was listed");
    if (range.n_bytes == 0 || range.n_bytes > LEAT_FETCH_BLOCK_MAX ||
        range.first >= object->n_bytes || range.n_bytes > object->n_bytes - range.first)
        return leat_error_set(
            err, -EPROTO,
            "leat-fetch: the requested range is empty, too large, or outside the object");
    return 0;
}

/* A block on its way, or come already; false: it is on the disk or not here at all. */
static bool take_from_list(struct leat_fetch_client *client) {
    struct leat_fetch_block *block = find_block(client->server, client->object, range_of(client));

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
    int fd = leat_block_cache_open(&server->cache, client->object, range_of(client));

    if (fd >= 0) {
        reply_block(client, client->request.n_bytes, true, fd);
    } else if (!begin_block(server, client->object, range_of(client), client->request.is_confined,
                            false)) {
        leat_error_oom(&client->error);
        leat_fetch_reply_error(client, "", &client->error);
    }
    leat_file_close(&fd);
}

/* True if the block is one of those that divide the object; its number. */
static bool find_number(const struct leat_fetch_client *client, uint64_t *ret_number) {
    const struct leat_block_cache *cache = &client->server->cache;

    *ret_number = client->request.first / cache->block_bytes;
    return client->request.first % cache->block_bytes == 0 &&
           leat_block_number(cache, client->object, *ret_number).n_bytes == client->request.n_bytes;
}

void leat_fetch_serve_block(struct leat_fetch_client *client) {
    struct leat_fetch_server *server = client->server;
    struct leat_fetch_object *object = client->object =
        leat_catalog_get(&server->catalog, client->request.url);
    bool is_numbered, is_ordered;
    uint64_t number;

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
        leat_block_cache_remove(&server->cache, object, range_of(client));
    is_numbered = find_number(client, &number);
    is_ordered = is_numbered && is_in_order(server, object, number);
    if (is_numbered && (is_ordered || number == 0) && object->n_asked <= number)
        object->n_asked = number + 1;
    if (!take_from_list(client))
        take_from_disk(client);
    if (is_ordered)
        read_ahead(client, number);
}

void leat_fetch_serve_ahead(struct leat_fetch_client *client) {
    struct leat_fetch_reply reply = {.code = 0};

    client->object = leat_catalog_get(&client->server->catalog, client->request.url);
    if (client->object && client->object->version && check_request(client, LEAT_ERROR_IGNORED) == 0)
        begin_ahead(client, client->object, range_of(client));
    leat_fetch_reply(client, &reply, -1);
}
