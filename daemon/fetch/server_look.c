/* server_look.c: lists of objects, and what each is. See server_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/fetch/listing.h"
#include "daemon/fetch/server_internal.h"
#include "proto/base/clock.h"
#include "proto/base/file.h"

#define OBJECTS_MAX   1000000 /* as leat_files has */
#define PAGES_MAX     10000
#define URLS_MAX      (UINT64_C(1) << 30) /* bytes of all names */
#define FRESH_NS      UINT64_C(10000000000)
#define BUCKET_PREFIX 5 /* s3:// */

static void forget(struct leat_fetch_client *client) {
    free(client->looks);
    free(client->urls.data);
    free(client->token);
    client->looks = NULL;
    client->urls = (struct leat_text){.data = NULL};
    client->token = NULL;
    client->n_looks = client->n_left = client->n_urls = client->n_pages = 0;
}

void leat_fetch_cancel_looks(struct leat_fetch_client *client) {
    for (size_t i = 0; i < client->n_looks; i++)
        if (client->looks[i].transfer)
            leat_transfer_free(client->looks[i].transfer);
    forget(client);
}

static void fail(struct leat_fetch_client *client, const char *url, const struct leat_error *err) {
    leat_fetch_reply_error(client, url, err);
    leat_fetch_cancel_looks(client);
}

/* Forgets all objects if there are too many, and none is in use. */
static void trim_catalog(struct leat_fetch_server *server) {
    if (server->catalog.n_objects > LEAT_CATALOG_MAX && !server->blocks && !server->transfers.first)
        leat_catalog_deinit(&server->catalog);
}

/* ---- versions ---- */

static void reply_look(struct leat_fetch_client *client, const struct leat_fetch_object *object) {
    struct leat_fetch_reply reply = {.n_bytes = object->n_bytes,
                                     .block_bytes = client->server->cache.block_bytes};

    memcpy(reply.identity, object->identity, sizeof(reply.identity));
    leat_fetch_reply(client, &reply, -1);
}

/* All that it waited for is known. */
static void finish_looks(struct leat_fetch_client *client) {
    struct leat_fetch_reply reply = {.code = 0};

    forget(client);
    if (client->request.verb == LEAT_FETCH_LOOK)
        reply_look(client, client->object);
    else if (client->request.verb == LEAT_FETCH_BLOCK)
        leat_fetch_serve_block(client);
    else
        leat_fetch_reply(client, &reply, -1);
}

static int take_head(struct leat_fetch_object *object, const struct leat_answer *answer,
                     struct leat_error *err) {
    const char *version = leat_answer_version(answer);

    if (!version[0])
        return leat_error_set(err, -EPROTO,
                              "the server sends neither an ETag nor a time of modification, so "
                              "leat-fetch could not notice changes");
    if (answer->n_bytes == LEAT_ANSWER_UNKNOWN)
        return leat_error_set(err, -EPROTO, "the server does not send the size of the object");
    return leat_fetch_object_set(object, version, answer->n_bytes) < 0 ? leat_error_oom(err) : 0;
}

static void on_head(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_look *look = owner;
    struct leat_fetch_client *client = look->client;

    look->transfer = NULL;
    if (err->code == 0)
        (void)take_head(look->object, &transfer->answer, err);
    if (err->code < 0)
        fail(client, look->object->url, err);
    else if (--client->n_left == 0)
        finish_looks(client);
}

/* Starts to look at the objects of client->looks. */
static void begin_looks(struct leat_fetch_client *client) {
    client->n_left = client->n_looks;
    for (size_t i = 0; i < client->n_looks; i++) {
        struct leat_fetch_look *look = &client->looks[i];
        struct leat_transfer_request request = {.kind = LEAT_TRANSFER_HEAD,
                                                .url = look->object->url,
                                                .is_confined = client->request.is_confined,
                                                .done = on_head,
                                                .owner = look};

        look->client = client;
        look->transfer = leat_transfer_new(&client->server->transfers, &request);
        if (!look->transfer) {
            leat_error_oom(&client->error);
            fail(client, "", &client->error);
            return;
        }
    }
    if (client->n_looks == 0)
        finish_looks(client);
}

void leat_fetch_look_at(struct leat_fetch_client *client) {
    client->looks = client->object ? calloc(1, sizeof(*client->looks)) : NULL;
    if (!client->looks) {
        leat_error_oom(&client->error);
        fail(client, "", &client->error);
        return;
    }
    client->looks[0].object = client->object;
    client->n_looks = 1;
    begin_looks(client);
}

void leat_fetch_serve_look(struct leat_fetch_client *client) {
    client->object = leat_catalog_get(&client->server->catalog, client->request.url);
    if (client->object && client->object->version && !client->request.is_new)
        reply_look(client, client->object);
    else
        leat_fetch_look_at(client);
}

/* ---- what is going to be read ---- */

static size_t count_urls(const char *urls, size_t n) {
    size_t n_urls = 0;

    for (size_t at = 0; at < n; at += strlen(urls + at) + 1)
        n_urls++;
    return n_urls;
}

static int expect(struct leat_fetch_client *client, const char *urls, size_t n) {
    struct leat_fetch_object *before = NULL;
    uint64_t now = leat_now_ns();

    client->looks = calloc(count_urls(urls, n) + 1, sizeof(*client->looks));
    if (!client->looks)
        return -ENOMEM;
    for (size_t at = 0; at < n; at += strlen(urls + at) + 1) {
        struct leat_fetch_object *object =
            strlen(urls + at) < LEAT_FETCH_URL_MAX
                ? leat_catalog_get(&client->server->catalog, urls + at)
                : NULL;

        if (!object)
            return -ENOMEM;
        object->before = before;
        if (before)
            before->after = object;
        object->after =
            NULL; /* at last: it may be named twice in a row, and must not follow itself */
        before = object;
        if (!object->version || now - object->looked_at_ns > FRESH_NS)
            client->looks[client->n_looks++].object = object;
    }
    return 0;
}

void leat_fetch_serve_expect(struct leat_fetch_client *client, int fd) {
    off_t n = lseek(fd, 0, SEEK_END);
    char *urls = n > 0 && (uint64_t)n <= URLS_MAX ? malloc((size_t)n) : NULL;
    int r = urls ? 0 : -ENOMEM;

    trim_catalog(client->server);
    if (r == 0 && (leat_file_read(fd, urls, (size_t)n, 0) != n || urls[n - 1] != '\0'))
        r = -EPROTO;
    if (r == 0)
        r = expect(client, urls, (size_t)n);
    free(urls);
    if (r == 0) {
        begin_looks(client);
        return;
    }
    leat_error_set(&client->error, r, "leat-fetch has no memory to check so many objects: %s",
                   strerror(-r));
    client->n_looks = 0;
    fail(client, "", &client->error);
}

/* ---- lists ---- */

static void on_page(void *owner, struct leat_transfer *transfer, struct leat_error *err);

static void begin_page(struct leat_fetch_client *client) {
    struct leat_transfer_request request = {.kind = LEAT_TRANSFER_LIST,
                                            .url = client->request.url,
                                            .is_confined = client->request.is_confined,
                                            .token = client->token,
                                            .done = on_page,
                                            .owner = client->looks};

    client->looks->transfer = leat_transfer_new(&client->server->transfers, &request);
    if (client->looks->transfer)
        return;
    leat_error_oom(&client->error);
    fail(client, "", &client->error);
}

static int take_item(struct leat_fetch_client *client, const struct leat_listing_item *item,
                     struct leat_error *err) {
    const char *prefix = client->request.url, *slash = strchr(prefix + BUCKET_PREFIX, '/');
    struct leat_fetch_object *object;
    struct leat_text url = {.data = NULL};
    int r = 0;

    leat_text_add(&url, "%.*s/%s", (int)(slash - prefix), prefix, item->key);
    if (url.failed)
        r = leat_error_oom(err);
    else if (url.n_bytes >= LEAT_FETCH_URL_MAX || strncmp(url.data, prefix, strlen(prefix)) != 0)
        r = leat_error_set(err, -EPROTO,
                           "the store's list contains an object that leat-fetch did not request");
    if (r == 0) {
        object = leat_catalog_get(&client->server->catalog, url.data);
        leat_text_add_bytes(&client->urls, url.data, url.n_bytes + 1);
        if (!object || client->urls.failed ||
            leat_fetch_object_set(object, item->etag, item->n_bytes) < 0)
            r = leat_error_oom(err);
    }
    free(url.data);
    return r;
}

static void finish_list(struct leat_fetch_client *client) {
    struct leat_fetch_reply reply = {.n_bytes = client->urls.n_bytes};
    int fd = memfd_create("leat-urls", MFD_CLOEXEC);

    if (fd < 0 || leat_file_write(fd, client->urls.data, client->urls.n_bytes, 0) < 0) {
        leat_error_oom(&client->error);
        leat_fetch_reply_error(client, "", &client->error);
    } else {
        leat_fetch_reply(client, &reply, fd);
    }
    leat_file_close(&fd);
    forget(client);
}

/* A list that goes in circles gives the same token again, or never ends. */
static int check_progress(const struct leat_fetch_client *client,
                          const struct leat_listing *listing, struct leat_error *err) {
    if (listing->is_truncated && client->token && strcmp(client->token, listing->token) == 0)
        return leat_error_set(err, -EPROTO, "the store sends the same list of objects again");
    if (client->n_pages >= PAGES_MAX || client->n_urls > OBJECTS_MAX ||
        client->urls.n_bytes > URLS_MAX)
        return leat_error_set(err, -E2BIG,
                              "the store's list of objects is too long: leat-fetch stopped after "
                              "%zu objects in %zu pages. Use a pattern that matches fewer objects",
                              client->n_urls, client->n_pages);
    return 0;
}

static int take_page(struct leat_fetch_client *client, const struct leat_text *body,
                     bool *ret_is_last, struct leat_error *err) {
    struct leat_listing listing;
    int r = leat_listing_parse(body->n_bytes > 0 ? body->data : "", body->n_bytes, &listing, err);

    for (size_t i = 0; r == 0 && i < listing.n_items; i++)
        r = take_item(client, &listing.items[i], err);
    client->n_urls += listing.n_items;
    client->n_pages++;
    if (r == 0)
        r = check_progress(client, &listing, err);
    *ret_is_last = !listing.is_truncated;
    if (r == 0 && listing.is_truncated) {
        free(client->token);
        client->token = strdup(listing.token);
        r = client->token ? 0 : leat_error_oom(err);
    }
    leat_listing_deinit(&listing);
    return r;
}

static void on_page(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_look *look = owner;
    struct leat_fetch_client *client = look->client;
    bool is_last = false;

    look->transfer = NULL;
    if (err->code == 0)
        (void)take_page(client, &transfer->body, &is_last, err);
    if (err->code < 0)
        fail(client, client->request.url, err);
    else if (is_last)
        finish_list(client);
    else
        begin_page(client);
}

void leat_fetch_serve_list(struct leat_fetch_client *client) {
    struct leat_object_url url;

    trim_catalog(client->server);
    if (leat_object_url_parse(client->request.url, &url, &client->error) == 0 && !url.is_s3)
        leat_error_set(&client->error, -EINVAL,
                       "%.256s: a web server does not list its files, so \"*\" works only with "
                       "s3://: name each file",
                       client->request.url);
    client->looks = client->error.code == 0 ? calloc(1, sizeof(*client->looks)) : NULL;
    if (!client->looks && client->error.code == 0)
        leat_error_oom(&client->error);
    if (client->error.code < 0) {
        fail(client, "", &client->error);
        return;
    }
    client->looks->client = client;
    client->n_looks = 1;
    begin_page(client);
}
