#include "pipeline/io/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/io/fetch_socket.h"
#include "proto/base/xxh3.h"

#define ATTEMPTS    16     /* at a leat-fetch that is being restarted: some 10 s */
#define PAUSE_MS    100    /* before the second one; it doubles, */
#define PAUSE_MAX   3      /* so many times */
#define HASH_BYTES  262144 /* at a time */
#define NAMES_BYTES (UINT64_C(1) << 31)

struct leat_object {
    int socket; /* -1: not connected */
    struct leat_fetch_request request;
    uint64_t n_bytes, block_bytes;
    int fd; /* of bytes `first` to first + n_here; -1: none */
    uint64_t first, n_here;
    bool is_unchecked;
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
static int ask(int *socket, bool is_private, const struct leat_fetch_request *request, int fd,
               struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;
    int r = -ECONNRESET;

    *ret_fd = -1;
    for (unsigned i = 0; r == -ECONNRESET && i < ATTEMPTS; i++) {
        if (i > 1)
            pause_before(i - 2);
        why = LEAT_ERROR_INIT;
        if (*socket < 0)
            *socket = leat_fetch_connect(is_private, &why);
        if (*socket >= 0)
            r = leat_fetch_ask(*socket, request, fd, ret_reply, ret_fd, &why);
        else if (i == 0) /* it has not run before */
            r = why.code;
        if (r == -ECONNRESET)
            leat_file_close(socket);
    }
    if (r < 0)
        *err = why;
    return r < 0 && !why.code
               ? leat_error_set(
                     err, r,
                     "leat-fetch repeatedly ended unexpectedly: its log contains the reason")
               : r;
}

static int fill_request(const struct leat_opener *opener, enum leat_fetch_verb verb,
                        const char *url, struct leat_fetch_request *request,
                        struct leat_error *err) {
    if (strlen(url) >= sizeof(request->url))
        return leat_error_set(err, -ENAMETOOLONG, "%.64s...: the URL has more than %d bytes", url,
                              LEAT_FETCH_URL_MAX - 1);
    *request = (struct leat_fetch_request){
        .version = LEAT_FETCH_VERSION, .verb = verb, .is_confined = opener->allow_object != NULL};
    (void)strcpy(request->url, url);
    return opener->allow_object && url[0] ? opener->allow_object(opener, url, err) : 0;
}

/* One request with a connection of its own. */
static int ask_once(const struct leat_fetch_request *request, int fd,
                    struct leat_fetch_reply *ret_reply, int *ret_fd, struct leat_error *err) {
    int socket = -1;
    int r = ask(&socket, request->verb == LEAT_FETCH_STORE, request, fd, ret_reply, ret_fd, err);

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
    return leat_error_set(err, -EPROTO, "leat-fetch: the list of objects is truncated");
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
        return leat_error_set(err, -errno, "no memory for the names of objects: %s",
                              strerror(errno));
    r = leat_file_write(fd, urls, n, 0);
    if (r < 0)
        leat_error_set(err, r, "no memory for the names of objects: %s", strerror(-r));
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
    r = ask(socket, false, request, -1, reply, &fd, err);
    leat_file_close(&fd);
    if (r == 0 && reply->block_bytes == 0)
        r = leat_error_set(err, -EPROTO, "leat-fetch sent an empty block");
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

static int open_object(const struct leat_opener *opener, const char *url, bool is_new,
                       struct leat_object **ret_object, struct leat_error *err) {
    struct leat_object *object = calloc(1, sizeof(*object));
    struct leat_fetch_reply reply;
    int r;

    if (!object)
        return leat_error_oom(err);
    object->socket = object->fd = -1;
    r = fill_request(opener, LEAT_FETCH_LOOK, url, &object->request, err);
    object->request.is_new = is_new;
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

int leat_object_open(const struct leat_opener *opener, const char *url,
                     struct leat_object **ret_object, struct leat_error *err) {
    return open_object(opener, url, false, ret_object, err);
}

struct leat_object *leat_object_close(struct leat_object *object) {
    if (!object)
        return NULL;
    leat_file_close(&object->socket);
    leat_file_close(&object->fd);
    free(object);
    return NULL;
}

void leat_object_rest(struct leat_object *object) {
    leat_file_close(&object->socket);
    leat_file_close(&object->fd);
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

/* Asks for the block with those bytes. */
static int take_block(struct leat_object *object, uint64_t first, uint64_t n,
                      struct leat_error *err) {
    struct leat_fetch_reply reply;
    int r;

    leat_file_close(&object->fd);
    object->request.verb = LEAT_FETCH_BLOCK;
    object->request.first = object->first = first;
    object->request.n_bytes = object->n_here = n;
    object->request.is_damaged = false;
    r = ask(&object->socket, false, &object->request, -1, &reply, &object->fd, err);
    if (r == 0 && object->fd >= 0 && reply.is_kept && !object->is_unchecked &&
        !is_whole(object->fd, n)) {
        leat_file_close(&object->fd);
        object->request.is_damaged = true;
        r = ask(&object->socket, false, &object->request, -1, &reply, &object->fd, err);
    }
    if (r == 0 && (object->fd < 0 || reply.n_bytes != n))
        r = leat_error_set(err, -EPROTO, "leat-fetch did not send the expected block, at byte %llu",
                           (unsigned long long)first);
    if (r < 0)
        leat_file_close(&object->fd);
    return r;
}

static int read_copy(const struct leat_object *object, void *data, size_t n, uint64_t offset,
                     struct leat_error *err) {
    ssize_t n_read = leat_file_read(object->fd, data, n, offset - object->first);

    if (n_read == (ssize_t)n)
        return 0;
    return leat_error_set(err, n_read < 0 ? (int)n_read : -EIO,
                          "cannot read byte %llu of the local copy: %s", (unsigned long long)offset,
                          n_read < 0 ? strerror((int)-n_read) : "the local copy is truncated");
}

int leat_object_read(struct leat_object *object, void *data, size_t size, uint64_t offset,
                     size_t *ret_n, struct leat_error *err) {
    uint64_t first = offset - offset % object->block_bytes, left = object->n_bytes - first;
    int r = 0;

    *ret_n = 0;
    if (offset >= object->n_bytes)
        return 0;
    if (object->fd < 0 || object->first != first)
        r = take_block(object, first, left < object->block_bytes ? left : object->block_bytes, err);
    if (r < 0)
        return r;
    if (size > object->first + object->n_here - offset)
        size = (size_t)(object->first + object->n_here - offset);
    r = read_copy(object, data, size, offset, err);
    *ret_n = r == 0 ? size : 0;
    return r;
}

/* ---- parts ---- */

struct leat_object *leat_object_dup(const struct leat_object *object, bool is_unchecked) {
    struct leat_object *other = malloc(sizeof(*other));

    if (!other)
        return NULL;
    *other = *object;
    other->socket = other->fd = -1;
    other->is_unchecked = is_unchecked;
    return other;
}

static size_t piece_of(size_t n) {
    return n < LEAT_FETCH_BLOCK_MAX ? n : LEAT_FETCH_BLOCK_MAX;
}

int leat_object_read_part(struct leat_object *object, void *data, size_t n, uint64_t offset,
                          struct leat_error *err) {
    int r = 0;

    if (offset > object->n_bytes || n > object->n_bytes - offset)
        return leat_error_set(err, -EBADMSG, "the object ends too early, at byte %llu",
                              (unsigned long long)object->n_bytes);
    for (size_t at = 0; r == 0 && at < n; at += piece_of(n - at)) {
        r = take_block(object, offset + at, piece_of(n - at), err);
        if (r == 0)
            r = read_copy(object, (uint8_t *)data + at, piece_of(n - at), offset + at, err);
    }
    leat_file_close(&object->fd);
    return r;
}

void leat_object_read_ahead(struct leat_object *object, size_t n, uint64_t offset) {
    struct leat_fetch_reply reply;
    int fd;

    object->request.verb = LEAT_FETCH_AHEAD;
    object->request.first = offset;
    object->request.n_bytes = piece_of(n);
    (void)ask(&object->socket, false, &object->request, -1, &reply, &fd, LEAT_ERROR_IGNORED);
    leat_file_close(&fd);
}

static int read_whole(struct leat_object *object, char *data, struct leat_error *err) {
    size_t at = 0, n = 1;
    int r = 0;

    while (r == 0 && n > 0 && at < object->n_bytes) {
        r = leat_object_read(object, data + at, object->n_bytes - at, at, &n, err);
        at += n;
    }
    return r;
}

int leat_object_read_all(const struct leat_opener *opener, const char *url, size_t limit_bytes,
                         char **ret_data, size_t *ret_size, struct leat_error *err) {
    struct leat_error why = LEAT_ERROR_INIT;
    struct leat_object *object = NULL;
    int r = open_object(opener, url, true, &object, err);

    if (r < 0)
        return r;
    if (object->n_bytes > limit_bytes) {
        r = leat_error_set(err, -EFBIG, "%s: the object is larger than %zu bytes", url,
                           limit_bytes);
    } else if (!(*ret_data = malloc(object->n_bytes + 1))) {
        r = leat_error_oom(err);
    } else if ((r = read_whole(object, *ret_data, &why)) < 0) {
        free(*ret_data);
        leat_error_set(err, r, "%.256s: %.200s", url, why.message);
    } else {
        (*ret_data)[object->n_bytes] = '\0';
        *ret_size = object->n_bytes;
    }
    leat_object_close(object);
    return r;
}

/* ---- storing ---- */

int leat_object_store(int fd, const char *url, bool is_new, struct leat_error *err) {
    static const struct leat_opener any = {.allow_object = NULL};
    struct leat_fetch_request request;
    struct leat_fetch_reply reply;
    int no_fd = -1, r = fill_request(&any, LEAT_FETCH_STORE, url, &request, err);

    request.is_new = is_new;
    if (r == 0)
        r = ask_once(&request, fd, &reply, &no_fd, err);
    leat_file_close(&no_fd);
    return r;
}
