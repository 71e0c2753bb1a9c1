/* object.c: see object.h. */
#include "pipeline/io/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "pipeline/io/fetch_socket.h"

#define ATTEMPTS    16     /* at a leat-fetch that is being restarted: some 10 s */
#define PAUSE_MS    100    /* before the second one; it doubles, */
#define PAUSE_MAX   3      /* so many times */
#define HASH_BYTES  262144 /* at a time */
#define NAMES_BYTES (UINT64_C(1) << 31)

struct leat_object {
    int socket; /* -1: not connected */
    struct leat_fetch_request request;
    uint64_t n_bytes, block_bytes;
    int fd; /* of `block`; -1: none */
    uint64_t block, n_block_bytes;
};

/* ---- asking ---- */

static void pause_before(unsigned attempt) {
    struct timespec pause = {
        .tv_nsec = 1000000L * ((long)PAUSE_MS << (attempt < PAUSE_MAX ? attempt : PAUSE_MAX))};

    pause.tv_sec = pause.tv_nsec / 1000000000L;
    pause.tv_nsec %= 1000000000L;
    (void)nanosleep(&pause, NULL);
}

/* Connects if *socket is -1. */
static int ask(int *socket, const struct leat_fetch_request *request, int fd,
               struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;
    int r = -ECONNRESET;

    *ret_fd = -1;
    for (unsigned i = 0; r == -ECONNRESET && i < ATTEMPTS; i++) {
        if (i > 1)
            pause_before(i - 2);
        why = LEAT_ERROR_INIT;
        if (*socket < 0)
            *socket = leat_fetch_connect(&why);
        if (*socket >= 0)
            r = leat_fetch_ask(*socket, request, fd, ret_reply, ret_fd, &why);
        else if (i == 0) /* it has not run before */
            r = why.code;
        if (r == -ECONNRESET)
            leat_file_close(socket);
    }
    if (r < 0)
        *err = why;
    return r < 0 && !why.code ? leat_error_set(err, r, "leat-fetch ends again and again") : r;
}

static int fill_request(const struct leat_opener *opener, enum leat_fetch_verb verb,
                        const char *url, struct leat_fetch_request *request,
                        struct leat_error *err) {
    if (strlen(url) >= sizeof(request->url))
        return leat_error_set(err, -ENAMETOOLONG, "%.64s...: a URL of more than %d bytes", url,
                              LEAT_FETCH_URL_MAX - 1);
    *request = (struct leat_fetch_request){
        .version = LEAT_FETCH_VERSION, .verb = verb, .is_confined = opener->allow_object != NULL};
    (void)strcpy(request->url, url);
    return opener->allow_object && url[0] ? opener->allow_object(opener, url, err) : 0;
}

/* One request with a connection of its own. */
static int ask_once(const struct leat_fetch_request *request, int fd,
                    struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err) {
    int socket = -1, r = ask(&socket, request, fd, ret_reply, ret_fd, err);

    leat_file_close(&socket);
    return r;
}

static int read_names(int fd, uint64_t n_bytes, char **ret_urls, struct leat_error *err) {
    ssize_t n;

    *ret_urls = n_bytes < NAMES_BYTES ? malloc(n_bytes + 1) : NULL;
    if (!*ret_urls)
        return leat_error_oom(err);
    n = leat_file_read(fd, *ret_urls, n_bytes, 0);
    if (n == (ssize_t)n_bytes && (n == 0 || (*ret_urls)[n - 1] == '\0'))
        return 0;
    free(*ret_urls);
    *ret_urls = NULL;
    return leat_error_set(err, -EPROTO, "leat-fetch: the list of objects is cut short");
}

/* A prefix that is no folder is that of other objects, too. */
static int allow_below(const struct leat_opener *opener, const char *prefix,
                       struct leat_error *err) {
    char other[LEAT_FETCH_URL_MAX];

    if (!opener->allow_object || strlen(prefix) + 2 > sizeof(other))
        return 0;
    (void)snprintf(other, sizeof(other), "%sx", prefix);
    return opener->allow_object(opener, other, err);
}

int leat_object_list(const struct leat_opener *opener, const char *prefix, char **ret_urls,
                     size_t *ret_n, struct leat_error *err) {
    struct leat_fetch_request request;
    struct leat_fetch_reply reply;
    int fd, r = allow_below(opener, prefix, err);

    if (r == 0)
        r = fill_request(opener, LEAT_FETCH_LIST, prefix, &request, err);
    if (r < 0)
        return r;
    r = ask_once(&request, -1, &reply, &fd, err);
    if (r == 0)
        r = read_names(fd, reply.n_bytes, ret_urls, err);
    *ret_n = r == 0 ? reply.n_bytes : 0;
    leat_file_close(&fd);
    return r;
}

static int allow_all(const struct leat_opener *opener, const char *urls, size_t n,
                     struct leat_error *err) {
    int r = 0;

    for (size_t at = 0; r == 0 && opener->allow_object && at < n; at += strlen(urls + at) + 1)
        r = opener->allow_object(opener, urls + at, err);
    return r;
}

int leat_object_expect(const struct leat_opener *opener, const char *urls, size_t n,
                       struct leat_error *err) {
    struct leat_fetch_request request;
    struct leat_fetch_reply reply;
    int fd = -1, r = fill_request(opener, LEAT_FETCH_EXPECT, "", &request, err), ignored;

    if (r == 0)
        r = allow_all(opener, urls, n, err);
    if (r < 0)
        return r;
    fd = memfd_create("leat-urls", MFD_CLOEXEC);
    if (fd < 0)
        return leat_error_set(err, -errno, "no memory for names of objects: %s", strerror(errno));
    r = leat_file_write(fd, urls, n, 0);
    if (r < 0)
        leat_error_set(err, r, "no memory for names of objects: %s", strerror(-r));
    else
        r = ask_once(&request, fd, &reply, &ignored, err);
    leat_file_close(&fd);
    return r;
}

/* ---- what it is ---- */

static void fill_state(const struct leat_fetch_request *request, uint64_t n_bytes,
                       struct leat_file_state *state) {
    *state = (struct leat_file_state){.device = LEAT_OBJECT_DEVICE, .n_bytes = n_bytes};
    memcpy(&state->inode, request->identity, sizeof(state->inode));
    memcpy(&state->modified_ns, request->identity + sizeof(state->inode),
           sizeof(state->modified_ns));
}

static int look(int *socket, struct leat_fetch_request *request, struct leat_fetch_reply *reply,
                struct leat_error *err) {
    int fd, r;

    request->verb = LEAT_FETCH_LOOK;
    r = ask(socket, request, -1, reply, &fd, err);
    leat_file_close(&fd);
    if (r == 0 && reply->block_bytes == 0)
        r = leat_error_set(err, -EPROTO, "leat-fetch: blocks without bytes");
    if (r == 0)
        memcpy(request->identity, reply->identity, sizeof(request->identity));
    return r;
}

int leat_object_look(const struct leat_opener *opener, const char *url,
                     struct leat_file_state *ret_state, struct leat_error *err) {
    struct leat_fetch_request request;
    struct leat_fetch_reply reply;
    int socket = -1, r = fill_request(opener, LEAT_FETCH_LOOK, url, &request, err);

    if (r == 0)
        r = look(&socket, &request, &reply, err);
    if (r == 0)
        fill_state(&request, reply.n_bytes, ret_state);
    leat_file_close(&socket);
    return r;
}

/* ---- reading ---- */

int leat_object_open(const struct leat_opener *opener, const char *url,
                     struct leat_object **ret_object, struct leat_error *err) {
    struct leat_object *object = calloc(1, sizeof(*object));
    struct leat_fetch_reply reply;
    int r;

    if (!object)
        return leat_error_oom(err);
    object->socket = object->fd = -1;
    r = fill_request(opener, LEAT_FETCH_LOOK, url, &object->request, err);
    if (r == 0)
        r = look(&object->socket, &object->request, &reply, err);
    if (r < 0) {
        leat_object_close(object);
        return r;
    }
    object->n_bytes = reply.n_bytes;
    object->block_bytes = reply.block_bytes;
    *ret_object = object;
    return 0;
}

struct leat_object *leat_object_close(struct leat_object *object) {
    if (!object)
        return NULL;
    leat_file_close(&object->socket);
    leat_file_close(&object->fd);
    free(object);
    return NULL;
}

void leat_object_state(const struct leat_object *object, struct leat_file_state *ret_state) {
    fill_state(&object->request, object->n_bytes, ret_state);
}

static bool is_whole(int fd, uint64_t n_bytes) {
    XXH3_state_t *state = XXH3_createState();
    uint8_t *chunk = malloc(HASH_BYTES);
    XXH64_canonical_t kept;
    uint64_t at = 0;
    ssize_t n = 1;

    if (state && chunk)
        (void)XXH3_64bits_reset(state);
    while (state && chunk && n > 0 && at < n_bytes) {
        n = leat_file_read(fd, chunk, n_bytes - at < HASH_BYTES ? n_bytes - at : HASH_BYTES, at);
        if (n > 0)
            (void)XXH3_64bits_update(state, chunk, (size_t)n);
        at += n > 0 ? (uint64_t)n : 0;
    }
    n = leat_file_read(fd, &kept, sizeof(kept), n_bytes);
    if (!state || !chunk || at < n_bytes || n != (ssize_t)sizeof(kept) ||
        XXH64_hashFromCanonical(&kept) != XXH3_64bits_digest(state))
        n = -1;
    free(chunk);
    (void)XXH3_freeState(state);
    return n >= 0;
}

static int take_block(struct leat_object *object, uint64_t block, struct leat_error *err) {
    uint64_t left = object->n_bytes - block * object->block_bytes;
    uint64_t n_wanted = left < object->block_bytes ? left : object->block_bytes;
    struct leat_fetch_reply reply;
    int r;

    leat_file_close(&object->fd);
    object->request.verb = LEAT_FETCH_BLOCK;
    object->request.block = block;
    object->request.is_damaged = false;
    r = ask(&object->socket, &object->request, -1, &reply, &object->fd, err);
    if (r == 0 && object->fd >= 0 && reply.is_kept && !is_whole(object->fd, n_wanted)) {
        leat_file_close(&object->fd);
        object->request.is_damaged = true;
        r = ask(&object->socket, &object->request, -1, &reply, &object->fd, err);
    }
    if (r == 0 && (object->fd < 0 || reply.n_bytes != n_wanted))
        r = leat_error_set(err, -EPROTO, "leat-fetch: block %llu is not what it was asked for",
                           (unsigned long long)block);
    object->block = block;
    object->n_block_bytes = n_wanted;
    if (r < 0)
        leat_file_close(&object->fd);
    return r;
}

int leat_object_read(struct leat_object *object, void *data, size_t size, uint64_t offset,
                     size_t *ret_n, struct leat_error *err) {
    uint64_t block = offset / object->block_bytes, at = offset % object->block_bytes;
    ssize_t n;
    int r = 0;

    *ret_n = 0;
    if (offset >= object->n_bytes)
        return 0;
    if (object->fd < 0 || object->block != block)
        r = take_block(object, block, err);
    if (r < 0)
        return r;
    if (size > object->n_block_bytes - at)
        size = (size_t)(object->n_block_bytes - at);
    n = leat_file_read(object->fd, data, size, at);
    if (n != (ssize_t)size)
        return leat_error_set(err, n < 0 ? (int)n : -EIO, "cannot read byte %llu of its copy: %s",
                              (unsigned long long)offset,
                              n < 0 ? strerror((int)-n) : "the copy is cut short");
    *ret_n = size;
    return 0;
}
