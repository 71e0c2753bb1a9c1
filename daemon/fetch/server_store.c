/* server_store.c: a file becomes an object: by one request, or in parts if it is large. See
 * server_internal.h.
 *
 * An upload in parts begins, its parts go up at once, and the store joins them. One that fails is
 * given up, so that the store keeps none of its parts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/fetch/listing.h"
#include "daemon/fetch/server_internal.h"
#include "proto/base/file.h"

#define PARTS_MAX 10000U /* of S3 */

struct part {
    struct leat_fetch_store *store;
    struct leat_transfer *transfer; /* NULL: it is not under way */
    char *etag;                     /* NULL: it is not there yet */
};

struct leat_fetch_store {
    struct leat_fetch_client *client;
    struct leat_transfer *transfer; /* all but a part; NULL: none is under way */
    int fd;
    uint64_t n_bytes, part_bytes;
    char *upload; /* its name; NULL: it is none in parts, or has not begun */
    struct part *parts;
    unsigned n_parts, n_left;
    struct leat_error error; /* why it is given up */
};

static void cancel_parts(struct leat_fetch_store *store) {
    for (unsigned i = 0; i < store->n_parts; i++) {
        if (store->parts[i].transfer)
            leat_transfer_free(store->parts[i].transfer);
        free(store->parts[i].etag);
    }
    free(store->parts);
    store->parts = NULL;
    store->n_parts = 0;
}

void leat_fetch_cancel_store(struct leat_fetch_client *client) {
    struct leat_fetch_store *store = client->store;

    client->store = NULL;
    if (!store)
        return;
    cancel_parts(store);
    if (store->transfer)
        leat_transfer_free(store->transfer);
    leat_file_close(&store->fd);
    free(store->upload);
    free(store);
}

/* ---- ends ---- */

static void finish(struct leat_fetch_store *store) {
    struct leat_fetch_client *client = store->client;
    struct leat_fetch_object *object =
        leat_catalog_get(&client->server->catalog, client->request.url);
    struct leat_fetch_reply reply = {.code = 0};

    if (object) /* what was there before */
        leat_fetch_object_forget(object);
    if (store->error.code < 0)
        leat_fetch_reply_error(client, client->request.url, &store->error);
    else
        leat_fetch_reply(client, &reply, -1);
    leat_fetch_cancel_store(client);
}

static bool begin(struct leat_fetch_store *store, struct leat_transfer **transfer,
                  struct leat_transfer_request *request) {
    request->url = store->client->request.url;
    *transfer = leat_transfer_new(&store->client->server->transfers, request);
    return *transfer != NULL;
}

static void on_given_up(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_store *store = owner;

    (void)transfer;
    (void)err; /* that it failed before is what counts */
    store->transfer = NULL;
    finish(store);
}

static void fail(struct leat_fetch_store *store, const struct leat_error *err) {
    struct leat_transfer_request request = {
        .kind = LEAT_TRANSFER_DELETE, .upload = store->upload, .done = on_given_up, .owner = store};

    store->error = *err;
    cancel_parts(store);
    if (!store->upload || !begin(store, &store->transfer, &request))
        finish(store);
}

static void fail_oom(struct leat_fetch_store *store) {
    struct leat_error err = LEAT_ERROR_INIT;

    leat_error_oom(&err);
    fail(store, &err);
}

/* ---- in parts ---- */

static void on_joined(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_store *store = owner;

    store->transfer = NULL;
    if (err->code == 0)
        (void)leat_upload_ended_parse(transfer->body.n_bytes > 0 ? transfer->body.data : "",
                                      transfer->body.n_bytes, err);
    if (err->code < 0)
        fail(store, err);
    else
        finish(store);
}

static void add_etag(struct leat_text *text, const char *etag) {
    for (; *etag; etag++)
        leat_text_add(text,
                      *etag == '"'   ? "&quot;"
                      : *etag == '&' ? "&amp;"
                      : *etag == '<' ? "&lt;"
                                     : "%c",
                      *etag);
}

static void join(struct leat_fetch_store *store) {
    struct leat_transfer_request request = {.kind = LEAT_TRANSFER_POST,
                                            .upload = store->upload,
                                            .is_new = store->client->request.is_new,
                                            .done = on_joined,
                                            .owner = store};
    struct leat_text text = {.data = NULL};

    leat_text_add(&text, "<CompleteMultipartUpload>");
    for (unsigned i = 0; i < store->n_parts; i++) {
        leat_text_add(&text, "<Part><PartNumber>%u</PartNumber><ETag>", i + 1);
        add_etag(&text, store->parts[i].etag);
        leat_text_add(&text, "</ETag></Part>");
    }
    leat_text_add(&text, "</CompleteMultipartUpload>");
    request.content = text.data;
    if (text.failed || !begin(store, &store->transfer, &request))
        fail_oom(store);
    free(text.data);
}

static void on_part(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct part *part = owner;
    struct leat_fetch_store *store = part->store;

    part->transfer = NULL;
    if (err->code == 0 && !transfer->answer.etag[0])
        leat_error_set(err, -EPROTO, "the store sends no ETag for an uploaded part");
    if (err->code < 0) {
        fail(store, err);
        return;
    }
    part->etag = strdup(transfer->answer.etag);
    if (!part->etag)
        fail_oom(store);
    else if (--store->n_left == 0)
        join(store);
}

static bool begin_parts(struct leat_fetch_store *store) {
    unsigned n = (unsigned)((store->n_bytes + store->part_bytes - 1) / store->part_bytes);

    store->parts = calloc(n, sizeof(*store->parts));
    if (!store->parts)
        return false;
    store->n_parts = store->n_left = n;
    for (unsigned i = 0; i < n; i++) {
        uint64_t first = i * store->part_bytes, left = store->n_bytes - first;
        struct leat_transfer_request request = {
            .kind = LEAT_TRANSFER_PUT,
            .upload = store->upload,
            .part = i + 1,
            .fd = store->fd,
            .first = first,
            .n_bytes = left < store->part_bytes ? left : store->part_bytes,
            .done = on_part,
            .owner = &store->parts[i]};

        store->parts[i].store = store;
        if (!begin(store, &store->parts[i].transfer, &request))
            return false;
    }
    return true;
}

static void on_begun(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_store *store = owner;
    char upload[LEAT_LISTING_TEXT_MAX + 1];

    store->transfer = NULL;
    if (err->code == 0)
        (void)leat_upload_begun_parse(transfer->body.n_bytes > 0 ? transfer->body.data : "",
                                      transfer->body.n_bytes, upload, err);
    if (err->code < 0) {
        fail(store, err);
        return;
    }
    store->upload = strdup(upload);
    if (!store->upload || !begin_parts(store))
        fail_oom(store);
}

/* ---- at once ---- */

static void on_put(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_fetch_store *store = owner;

    (void)transfer;
    store->transfer = NULL;
    store->error = *err;
    finish(store);
}

/* ---- requests ---- */

static int check(const struct leat_fetch_client *client, int fd, struct leat_error *err) {
    struct leat_object_url url;
    struct stat info;
    int r = leat_object_url_parse(client->request.url, &url, err);

    if (r < 0)
        return r;
    if (client->server->control < 0)
        return leat_error_set(err, -EPERM,
                              "leat-fetch does not upload objects while it runs as a service");
    if (!url.is_s3 || !url.path[0])
        return leat_error_set(err, -EINVAL, "leat-fetch can upload only to s3://bucket/");
    if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
        return leat_error_set(err, -EINVAL, "leat-fetch can upload only regular files");
    return 0;
}

static struct leat_fetch_store *new_store(struct leat_fetch_client *client, int fd) {
    struct leat_fetch_store *store = calloc(1, sizeof(*store));
    uint64_t part_bytes = (uint64_t)client->server->transfers.settings->part;
    struct stat info;

    if (!store)
        return NULL;
    *store = (struct leat_fetch_store){.client = client, .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    client->store = store;
    if (store->fd < 0 || fstat(store->fd, &info) < 0) {
        leat_fetch_cancel_store(client);
        return NULL;
    }
    store->n_bytes = (uint64_t)info.st_size;
    store->part_bytes = part_bytes * PARTS_MAX >= store->n_bytes
                            ? part_bytes
                            : (store->n_bytes + PARTS_MAX - 1) / PARTS_MAX;
    return store;
}

void leat_fetch_serve_store(struct leat_fetch_client *client, int fd) {
    struct leat_transfer_request request = {
        .kind = LEAT_TRANSFER_PUT, .is_new = client->request.is_new, .done = on_put};
    struct leat_fetch_store *store = NULL;

    if (check(client, fd, &client->error) == 0 && !(store = new_store(client, fd)))
        leat_error_set(&client->error, -ENOMEM, "there is no memory to upload a file");
    if (!store) {
        leat_fetch_reply_error(client, "", &client->error);
        return;
    }
    request.owner = store;
    request.fd = store->fd;
    request.n_bytes = store->n_bytes;
    if (store->n_bytes > store->part_bytes)
        request = (struct leat_transfer_request){
            .kind = LEAT_TRANSFER_POST, .done = on_begun, .owner = store};
    if (!begin(store, &store->transfer, &request))
        fail_oom(store);
}
