/* test_object.c: pipeline/io/object.c and fetch_socket.c: what a leat-fetch that lies, fails or
 * ends leads to. It is one of the test, on a thread. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/io/files.h"
#include "pipeline/io/object.h"
#include "proto/base/xxh3.h"
#include "proto/fetch.h"
#include "tests/pipeline/shared_stream.h"

#define OBJECT "0123456789abcdefghij" /* 20 bytes, in blocks of 8 */
#define URL    "https://h/a"

/* One answer of leat-fetch. */
struct say {
    enum { REPLIES, ENDS, REPLIES_SHORT } how;
    int code;
    bool is_kept;
    uint64_t n_bytes, block_bytes;
    const char *holds; /* the descriptor of the reply; NULL: there is none */
    size_t n_holds;
    bool has_hash;
};

#define LOOKS                                                                                      \
    { .n_bytes = 20, .block_bytes = 8 }
#define GIVES(n, text)                                                                             \
    { .n_bytes = (n), .holds = (text), .n_holds = sizeof(text) - 1 }
#define KEEPS(n, text)                                                                             \
    { .is_kept = true, .n_bytes = (n), .holds = (text), .n_holds = sizeof(text) - 1 }
#define KEEPS_GOOD(n, text)                                                                        \
    {                                                                                              \
        .is_kept = true, .n_bytes = (n), .holds = (text), .n_holds = sizeof(text) - 1,             \
        .has_hash = true                                                                           \
    }
#define FAILS(number)                                                                              \
    { .code = (number) }

struct fetch {
    const struct say *says;
    size_t n_says, n_said;
    int listener;
    struct leat_fetch_request last;
    pthread_t thread;
};

static void reply(int client, const struct say *say) {
    struct leat_fetch_reply packet = {.code = say->code,
                                      .is_kept = say->is_kept,
                                      .n_bytes = say->n_bytes,
                                      .block_bytes = say->block_bytes,
                                      .message = "said so"};
    struct iovec part = {&packet, say->how == REPLIES_SHORT ? 10 : sizeof(packet)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } room = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fd = say->holds ? memfd_create("block", MFD_CLOEXEC) : -1;
    XXH64_canonical_t hash;

    if (say->holds) {
        XXH64_canonicalFromHash(&hash, XXH3_64bits(say->holds, say->n_holds));
        (void)!pwrite(fd, say->holds, say->n_holds, 0);
        if (say->has_hash)
            (void)!pwrite(fd, &hash, sizeof(hash), (off_t)say->n_holds);
        message.msg_control = &room;
        message.msg_controllen = sizeof(room);
        room.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&room.header), &fd, sizeof(fd));
    }
    (void)sendmsg(client, &message, MSG_NOSIGNAL);
    if (fd >= 0)
        (void)close(fd);
}

static void *serve(void *user) {
    struct fetch *fetch = user;
    int client;

    while ((client = accept(fetch->listener, NULL, NULL)) >= 0) {
        while (recv(client, &fetch->last, sizeof(fetch->last), 0) > 0) {
            const struct say *say =
                &fetch->says[fetch->n_said < fetch->n_says ? fetch->n_said : fetch->n_says - 1];
            fetch->n_said++;
            if (say->how == ENDS)
                break;
            reply(client, say);
        }
        (void)close(client);
    }
    return NULL;
}

static void start(struct fetch *fetch, const struct say *says, size_t n_says) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *fetch = (struct fetch){.says = says, .n_says = n_says};
    fetch->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", folder_path("fetch.sock"));
    (void)unlink(address.sun_path);
    assert_int_equal(bind(fetch->listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fetch->listener, 8), 0);
    assert_int_equal(setenv(LEAT_FETCH_SOCKET_NAME, address.sun_path, 1), 0);
    assert_int_equal(pthread_create(&fetch->thread, NULL, serve, fetch), 0);
}

static void stop(struct fetch *fetch) {
    (void)shutdown(fetch->listener, SHUT_RDWR);
    (void)pthread_join(fetch->thread, NULL);
    (void)close(fetch->listener);
}

/* ---- functions ---- */

/* Each returns its result, and what it got as a text. */
typedef int do_it(char *got, struct leat_error *err);

static int list(char *got, struct leat_error *err) {
    char *urls = NULL;
    size_t n = 0;
    int r = leat_object_list(&leat_opener_any, "s3://b/", &urls, &n, err);

    assert_true((r == 0) == (urls != NULL) || r == 0);
    for (size_t i = 0; r == 0 && i < n; i++)
        got[i] = urls[i] ? urls[i] : ' ';
    free(urls);
    return r;
}

static int expect(char *got, struct leat_error *err) {
    (void)got;
    return leat_object_expect(&leat_opener_any, URL "\0", sizeof(URL), err);
}

static int look(char *got, struct leat_error *err) {
    struct leat_file_state state = {.n_bytes = 0};
    int r = leat_object_look(&leat_opener_any, URL, &state, err);

    (void)snprintf(got, 99, "%llu", (unsigned long long)state.n_bytes);
    return r;
}

static int read_all(char *got, struct leat_error *err) {
    char *data = NULL;
    size_t n;
    int r = leat_object_read_all(&leat_opener_any, URL, 20, &data, &n, err);

    if (r == 0)
        memcpy(got, data, n + 1);
    free(r == 0 ? data : NULL);
    return r;
}

static int read_some(char *got, struct leat_error *err) {
    struct leat_object *object = NULL;
    size_t n = 0;
    int r = leat_object_open(&leat_opener_any, URL, &object, err);

    if (r == 0)
        r = leat_object_read(object, got, 5, 10, &n, err);
    got[n] = '\0';
    leat_object_close(object);
    return r;
}

/* Twice of one block: it is taken once. */
static int read_twice(char *got, struct leat_error *err) {
    struct leat_object *object = NULL;
    size_t n = 0, n_more = 0;
    int r = leat_object_open(&leat_opener_any, URL, &object, err);

    if (r == 0)
        r = leat_object_read(object, got, 2, 16, &n, err);
    if (r == 0)
        r = leat_object_read(object, got + n, 50, 18, &n_more, err);
    got[n + n_more] = '\0';
    leat_object_close(object);
    return r;
}

static int read_behind(char *got, struct leat_error *err) {
    struct leat_object *object = NULL;
    size_t n = 1;
    int r = leat_object_open(&leat_opener_any, URL, &object, err);

    if (r == 0)
        r = leat_object_read(object, got, 5, 20, &n, err);
    assert_true(r < 0 || n == 0);
    leat_object_close(object);
    return r;
}

static int read_part_at(char *got, size_t n, uint64_t offset, bool is_unchecked,
                        struct leat_error *err) {
    struct leat_object *object = NULL, *other;
    int r = leat_object_open(&leat_opener_any, URL, &object, err);

    if (r < 0)
        return r;
    other = leat_object_dup(object, is_unchecked);
    leat_object_close(object);
    leat_object_read_ahead(other, n, offset);
    r = leat_object_read_part(other, got, n, offset, err);
    got[r == 0 ? n : 0] = '\0';
    leat_object_close(other);
    return r;
}

static int read_part(char *got, struct leat_error *err) {
    return read_part_at(got, 6, 3, false, err);
}

static int read_part_unchecked(char *got, struct leat_error *err) {
    return read_part_at(got, 6, 3, true, err);
}

static int read_part_behind(char *got, struct leat_error *err) {
    return read_part_at(got, 6, 15, false, err);
}

static int store(char *got, struct leat_error *err) {
    char url[3000];

    (void)got;
    memset(url, 'x', sizeof(url));
    url[sizeof(url) - 1] = '\0';
    return leat_object_store(0, url, true, err);
}

static void what_leat_fetch_says(void **state) {
    static const struct {
        const char *name;
        do_it *function;
        struct say says[5];
        size_t n_says;
        int code;
        const char *got; /* or the message */
    } rows[] = {
        {"a list", list, {GIVES(22, "s3://b/abc\0s3://b/def\0")}, 1, 0, "s3://b/abc s3://b/def "},
        {"an empty list", list, {GIVES(0, "")}, 1, 0, ""},
        {"a list that is cut off",
         list,
         {GIVES(22, "s3://b/abc\0s3://b/d")},
         1,
         -EPROTO,
         "the list of objects is truncated"},
        {"a list without an end",
         list,
         {GIVES(21, "s3://b/abc\0s3://b/def")},
         1,
         -EPROTO,
         "the list of objects is truncated"},
        {"a list that nobody sent", list, {LOOKS}, 1, -EPROTO, "the list of objects is truncated"},
        {"a list of any size", list, {GIVES(UINT64_MAX, "s3://b/abc\0")}, 1, -ENOMEM, ""},
        {"a list that fails", list, {FAILS(-EACCES)}, 1, -EACCES, "said so"},
        {"expected", expect, {{.n_bytes = 0}}, 1, 0, ""},
        {"expected in vain", expect, {FAILS(-ENOENT)}, 1, -ENOENT, "said so"},
        {"a look", look, {LOOKS}, 1, 0, "20"},
        {"a look at no blocks",
         look,
         {{.n_bytes = 20}},
         1,
         -EPROTO,
         "leat-fetch sent an empty block"},
        {"a look with a descriptor",
         look,
         {{.n_bytes = 7, .block_bytes = 8, .holds = "x"}},
         1,
         0,
         "7"},
        {"a look that fails", look, {FAILS(-EIO)}, 1, -EIO, "said so"},
        {"another version",
         look,
         {{.code = 5}},
         1,
         -EPROTO,
         "leat-fetch and leat have different versions"},
        {"half a reply",
         look,
         {{.how = REPLIES_SHORT}},
         1,
         -EPROTO,
         "leat-fetch and leat have different versions"},
        {"an end, then a look", look, {{.how = ENDS}, LOOKS}, 2, 0, "20"},
        {"two ends, then a look", look, {{.how = ENDS}, {.how = ENDS}, LOOKS}, 3, 0, "20"},
        {"a block", read_some, {LOOKS, GIVES(8, "89abcdef")}, 2, 0, "abcde"},
        {"a block that is kept", read_some, {LOOKS, KEEPS_GOOD(8, "89abcdef")}, 2, 0, "abcde"},
        {"an end, then a block",
         read_some,
         {LOOKS, {.how = ENDS}, GIVES(8, "89abcdef")},
         3,
         0,
         "abcde"},
        {"a kept block without a hash",
         read_some,
         {LOOKS, KEEPS(8, "89abcdef"), GIVES(8, "89abcdef")},
         3,
         0,
         "abcde"},
        {"a kept block with another hash",
         read_some,
         {LOOKS, KEEPS(8, "89abcdefXXXXXXXX"), GIVES(8, "89abcdef")},
         3,
         0,
         "abcde"},
        {"a kept block that is short",
         read_some,
         {LOOKS, KEEPS(8, "89"), GIVES(8, "89abcdef")},
         3,
         0,
         "abcde"},
        {"a kept block that is gone",
         read_some,
         {LOOKS, KEEPS(8, "89"), FAILS(-EIO)},
         3,
         -EIO,
         "said so"},
        {"a block of another size",
         read_some,
         {LOOKS, GIVES(7, "89abcde")},
         2,
         -EPROTO,
         "did not send the expected block, at byte 8"},
        {"a block that nobody sent",
         read_some,
         {LOOKS, {.n_bytes = 8}},
         2,
         -EPROTO,
         "did not send the expected block, at byte 8"},
        {"a block that is cut off",
         read_some,
         {LOOKS, GIVES(8, "89abc")},
         2,
         -EIO,
         "cannot read byte 10 of the local copy: the local copy is truncated"},
        {"a block that fails", read_some, {LOOKS, FAILS(-ESTALE)}, 2, -ESTALE, "said so"},
        {"the last block, twice", read_twice, {LOOKS, GIVES(4, "ghij"), FAILS(-EIO)}, 3, 0, "ghij"},
        {"behind the end", read_behind, {LOOKS, FAILS(-EIO)}, 2, 0, ""},
        {"a part", read_part, {LOOKS, {.code = 0}, GIVES(6, "345678")}, 3, 0, "345678"},
        {"a part after a failure ahead",
         read_part,
         {LOOKS, FAILS(-EIO), GIVES(6, "345678")},
         3,
         0,
         "345678"},
        {"a part that is damaged",
         read_part,
         {LOOKS, {.code = 0}, KEEPS(6, "34567X"), GIVES(6, "345678")},
         4,
         0,
         "345678"},
        {"a part for one who checks",
         read_part_unchecked,
         {LOOKS, {.code = 0}, KEEPS(6, "34567X")},
         3,
         0,
         "34567X"},
        {"a part that is cut off",
         read_part,
         {LOOKS, {.code = 0}, GIVES(6, "345")},
         3,
         -EIO,
         "the local copy is truncated"},
        {"a part behind the end",
         read_part_behind,
         {LOOKS, {.code = 0}},
         2,
         -EBADMSG,
         "the object ends too early, at byte 20"},
        {"all of it",
         read_all,
         {LOOKS, GIVES(8, "01234567"), GIVES(8, "89abcdef"), GIVES(4, "ghij")},
         4,
         0,
         OBJECT},
        {"all but the end",
         read_all,
         {LOOKS, GIVES(8, "01234567"), FAILS(-EIO)},
         3,
         -EIO,
         URL ": said so"},
        {"all of nothing", read_all, {{.n_bytes = 0, .block_bytes = 8}}, 1, 0, ""},
        {"all of too much",
         read_all,
         {{.n_bytes = 21, .block_bytes = 8}},
         1,
         -EFBIG,
         "the object is larger than 20 bytes"},
        {"a URL that is too long",
         store,
         {LOOKS},
         1,
         -ENAMETOOLONG,
         "the URL has more than 2047 bytes"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct fetch fetch;
        char got[100] = "";
        int r;
        start(&fetch, rows[k].says, rows[k].n_says);
        r = rows[k].function(got, &err);
        stop(&fetch);
        if (r != rows[k].code || (r < 0 && !strstr(err.message, rows[k].got)) ||
            (r == 0 && strcmp(got, rows[k].got) != 0))
            fail_msg("%s: %d %s, \"%s\"", rows[k].name, r, err.message, got);
        assert_int_equal(err.code, r);
    }
}

/* The objects of a list that an entry means, in the order of files in folders. */
static void what_an_entry_means(void **state) {
    static const char keys[] = "s3://b/web/b.csv\0s3://b/web/a/z.csv\0s3://b/web/a.csv\0"
                               "s3://b/web/a/\0s3://b/web/a/.hidden/x.csv\0s3://b/web/.csv\0"
                               "s3://b/web/a-b/c.csv.gz\0s3://b/web/c.txt\0s3://b/webs/d.csv\0"
                               "s3://b/web/a/y.csv\0s3://b/web/.x/y.csv\0";
    static const struct {
        const char *entry, *suffix;
        int code;
        const char *names; /* or the message */
    } rows[] = {
        {"s3://b/web/", ".csv", 0, "a/y.csv a/z.csv a-b/c.csv.gz a.csv b.csv "},
        {"s3://b/web/", NULL, 0, "a/y.csv a/z.csv a-b/c.csv.gz a.csv b.csv c.txt "},
        {"s3://b/web/*.csv", NULL, 0, "a.csv b.csv "},
        {"s3://b/web/*/*", NULL, 0, "a/y.csv a/z.csv a-b/c.csv.gz "},
        {"s3://b/web/[bc].*", NULL, 0, "b.csv c.txt "},
        {"s3://b/web/", ".parquet", -ENOENT,
         "s3://b/web/: no object with this prefix matches `suffix`"},
        {"s3://b/other/", NULL, -ENOENT, "s3://b/other/: no object with this prefix exists"},
        {"s3://b/web/*.parquet", NULL, -ENOENT, "no object matches this pattern"},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct say says[] = {
            {.n_bytes = sizeof(keys) - 1, .holds = keys, .n_holds = sizeof(keys) - 1}, {.code = 0}};
        char *suffixes[] = {(char *)(uintptr_t)rows[k].suffix}, got[300] = "";
        struct leat_texts texts = {suffixes, rows[k].suffix ? 1 : 0};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_files files;
        struct fetch fetch;
        int r;
        start(&fetch, says, 2);
        r = leat_files_expand(&files, &rows[k].entry, 1, NULL, &texts, &leat_opener_any, &err);
        stop(&fetch);
        for (size_t i = 0; i < files.n_paths; i++) {
            assert_memory_equal(files.paths[i], "s3://b/web/", 11);
            (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ",
                           files.paths[i] + 11);
        }
        if (r != rows[k].code || (r < 0 && !strstr(err.message, rows[k].names)) ||
            (r == 0 && strcmp(got, rows[k].names) != 0))
            fail_msg("%s: %d %s, \"%s\"", rows[k].entry, r, err.message, got);
        assert_int_equal(fetch.last.verb, r == 0 ? LEAT_FETCH_EXPECT : LEAT_FETCH_LIST);
        leat_files_deinit(&files);
    }
}

/* A service that is not there at all is told at once; one that ends again and again, in the end. */
static void a_service_that_is_not_there(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    char got[100], long_path[300];

    (void)state;
    assert_int_equal(setenv(LEAT_FETCH_SOCKET_NAME, folder_path("none.sock"), 1), 0);
    assert_int_equal(look(got, &err), -ENOENT);
    assert_non_null(
        strstr(err.message, "start leat-fetch with `systemctl enable --now leat-fetch.socket`"));
    memset(long_path, 'x', sizeof(long_path));
    long_path[299] = '\0';
    assert_int_equal(setenv(LEAT_FETCH_SOCKET_NAME, long_path, 1), 0);
    err = LEAT_ERROR_INIT;
    assert_int_equal(look(got, &err), -ENAMETOOLONG);
}

static void a_service_that_always_ends(void **state) {
    static const struct say ends[] = {{.how = ENDS}};
    struct leat_error err = LEAT_ERROR_INIT;
    struct fetch fetch;
    char got[100];

    (void)state;
    start(&fetch, ends, 1);
    assert_int_equal(look(got, &err), -ECONNRESET);
    assert_non_null(strstr(err.message, "leat-fetch repeatedly ended unexpectedly"));
    stop(&fetch);
    assert_in_range(fetch.n_said, 5, 50);
}

/* A trainer's opener is asked before leat-fetch is. */
static int allow_a(const struct leat_opener *opener, const char *url, struct leat_error *err) {
    (void)opener;
    return strncmp(url, "s3://a/", 7) == 0 ? 0
                                           : leat_error_set(err, -EACCES, "%s: not for you", url);
}

static void what_may_not_be_read_is_not_asked_for(void **state) {
    static const struct leat_opener confined = {.allow_object = allow_a};
    static const struct say says[] = {GIVES(0, "")};
    struct fetch fetch;
    struct leat_file_state file_state;
    struct leat_object *object;
    size_t n;
    char *urls;

    (void)state;
    start(&fetch, says, 1);
    for (size_t i = 0; i < 4; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        int r = i == 0   ? leat_object_list(&confined, "s3://a", &urls, &n, &err)
                : i == 1 ? leat_object_expect(&confined, "s3://a/x\0s3://b/x", 18, &err)
                : i == 2 ? leat_object_look(&confined, "s3://b/x", &file_state, &err)
                         : leat_object_open(&confined, "s3://b/x", &object, &err);
        assert_int_equal(r, -EACCES);
        assert_non_null(strstr(err.message, ": not for you"));
    }
    assert_int_equal(fetch.n_said, 0);
    assert_int_equal(leat_object_list(&confined, "s3://a/", &urls, &n, LEAT_ERROR_IGNORED), 0);
    free(urls);
    stop(&fetch);
    assert_true(fetch.last.is_confined);
    assert_int_equal(fetch.n_said, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_leat_fetch_says),
        cmocka_unit_test(what_an_entry_means),
        cmocka_unit_test(a_service_that_is_not_there),
        cmocka_unit_test(a_service_that_always_ends),
        cmocka_unit_test(what_may_not_be_read_is_not_asked_for),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
