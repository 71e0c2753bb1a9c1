/* test_transfer.c: daemon/fetch/transfer.c: what each answer of a server leads to, and how often it
 * is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/fetch/transfer.h"
#include "tests/daemon/shared_http.h"

#define BLOCK  "0123456789" /* of an object of 30 bytes, from its byte 10 */
#define LENGTH "Content-Length: 10\r\n"
#define RANGE  "Content-Range: bytes 10-19/30\r\n"
#define TAG    "ETag: \"v\"\r\n"

#define ANSWER(status, head, body) "HTTP/1.1 " status "\r\nConnection: close\r\n" head "\r\n" body
#define ERROR(status, code)                                                                        \
    ANSWER(status, "", "<Error><Code>" code "</Code><Message>said so</Message></Error>")

enum where { WEB, S3, LOCAL, LOCAL_V6 }; /* the last two: for a trainer */

/* What is asked, what the server answers, and what comes of it. */
struct row {
    const char *name;
    enum leat_transfer_kind kind;
    enum where where;
    bool is_new, is_whole; /* is_whole: all of the object is asked for */
    const char *answers[3];
    size_t n_answers;
    int code;
    const char *message; /* has this in it */
    size_t n_requests;
};

static int bell = -1; /* rings when a transfer is done, so that nothing waits for more */

struct told {
    bool is_done, takes_none;
    struct leat_error err;
    char bytes[64];
    size_t n_bytes;
    struct leat_answer answer;
};

/* Takes the place of libc's for libcurl: two names are those of this machine. */
__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict ret_addresses) {
    typeof(&getaddrinfo) libcs;

    *(void **)&libcs = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strcmp(node, "inner.example") == 0)
        node = "127.0.0.1";
    else if (node && strcmp(node, "inner6.example") == 0)
        node = "::1";
    return libcs(node, service, hints, ret_addresses);
}

static int begin(void *owner) {
    ((struct told *)owner)->n_bytes = 0;
    return 0;
}

static int take(void *owner, const void *data, size_t n) {
    struct told *told = owner;

    if (told->takes_none)
        return -ENOSPC;
    assert_true(told->n_bytes + n < sizeof(told->bytes));
    memcpy(told->bytes + told->n_bytes, data, n);
    told->n_bytes += n;
    return 0;
}

static void done(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct told *told = owner;

    assert_false(told->is_done);
    told->is_done = true;
    told->err = *err;
    told->answer = transfer->answer;
    assert_int_equal(eventfd_write(bell, 1), 0);
}

static struct leat_fetch_settings settings_of(const struct http_server *server) {
    return (struct leat_fetch_settings){
        .requests = 4, .timeout = 3, .endpoint = http_url(server), .region = "here"};
}

static struct leat_transfer_request request_of(const struct row *row, char *url, size_t size,
                                               const struct http_server *server) {
    static const char *const hosts[] = {
        [WEB] = "127.0.0.1", [LOCAL] = "inner.example", [LOCAL_V6] = "inner6.example"};

    if (row->where == S3)
        (void)snprintf(url, size, "s3://bucket/key");
    else
        (void)snprintf(url, size, "http://%s:%u/key", hosts[row->where], http_port(server));
    return (struct leat_transfer_request){.kind = row->kind,
                                          .url = url,
                                          .is_new = row->is_new,
                                          .is_confined = row->where >= LOCAL,
                                          .version = "\"v\"",
                                          .first = row->is_whole ? 0 : 10,
                                          .n_bytes = 10,
                                          .object_size = row->is_whole ? 10 : 30,
                                          .begin = begin,
                                          .take = take,
                                          .done = done};
}

static void wait_for(struct leat_transfers *transfers, const bool *is_done) {
    struct curl_waitfd watched = {.fd = bell, .events = CURL_WAIT_POLLIN};
    struct leat_error err = LEAT_ERROR_INIT;
    eventfd_t n;

    while (!*is_done)
        assert_int_equal(leat_transfers_turn(transfers, &watched, 1, &err), 0);
    assert_int_equal(eventfd_read(bell, &n), 0);
}

static char *check_row(const struct row *row, struct told *told) {
    struct http_server *server = http_start(row->answers, row->n_answers);
    struct leat_fetch_settings settings = settings_of(server);
    struct leat_transfers transfers;
    struct leat_transfer_request request;
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_requests;
    char url[128], *requests;

    assert_int_equal(leat_transfers_init(&transfers, &settings, &err), 0);
    request = request_of(row, url, sizeof(url), server);
    request.owner = told;
    request.fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(pwrite(request.fd, BLOCK BLOCK, 20, 0), 20);
    assert_non_null(leat_transfer_new(&transfers, &request));
    wait_for(&transfers, &told->is_done);
    leat_transfers_deinit(&transfers);
    (void)close(request.fd);
    requests = http_stop(server, &n_requests);
    if (told->err.code != row->code || !strstr(told->err.message, row->message) ||
        n_requests != (row->where < LOCAL ? row->n_requests : 0))
        fail_msg("%s: %d, %s, after %zu requests", row->name, told->err.code, told->err.message,
                 n_requests);
    return requests;
}

#define THIS_MACHINE "cannot connect: streams that trainers describe may not read from this machine"

/* One answer; and several, the last of which is good. */
#define ONE(name, kind, where, is_new, is_whole, code, message, answer)                            \
    { name, kind, where, is_new, is_whole, {answer}, 1, code, message, 1 }
#define OF_BLOCK(name, code, message, answer)                                                      \
    ONE(name, LEAT_TRANSFER_BLOCK, WEB, 0, 0, code, message, answer)
#define OF_HEAD(name, code, message, answer)                                                       \
    ONE(name, LEAT_TRANSFER_HEAD, WEB, 0, 0, code, message, answer)
#define AGAIN(name, n, ...)                                                                        \
    { name, LEAT_TRANSFER_BLOCK, WEB, 0, 0, {__VA_ARGS__}, n, 0, "", n }
#define GOOD ANSWER("206 Partial Content", LENGTH RANGE TAG, BLOCK)

static void answers_and_what_they_lead_to(void **state) {
    static const struct row rows[] = {
        OF_BLOCK("a block", 0, "", GOOD),
        ONE("all of an object", LEAT_TRANSFER_BLOCK, WEB, 0, 1, 0, "",
            ANSWER("200 OK", LENGTH TAG, BLOCK)),
        OF_BLOCK("a version by time", 0, "",
                 ANSWER("206 x", RANGE "Last-Modified: \"v\"\r\n", BLOCK)),
        OF_BLOCK("no version", 0, "", ANSWER("206 x", RANGE, BLOCK)),
        OF_BLOCK("a head that informs first", 0, "",
                 "HTTP/1.1 103 Early Hints\r\nETag: \"w\"\r\n\r\n" GOOD),
        /* other bytes than those that were asked for */
        OF_BLOCK("no range", -EPROTO, "sent another range than requested",
                 ANSWER("206 x", TAG, BLOCK)),
        OF_BLOCK("another start", -EPROTO, "another range",
                 ANSWER("206 x", "Content-Range: bytes 11-19/30\r\n" TAG, BLOCK)),
        OF_BLOCK("another end", -EPROTO, "another range",
                 ANSWER("206 x", "Content-Range: bytes 10-20/30\r\n" TAG, BLOCK)),
        OF_BLOCK("another size", -EPROTO, "another range",
                 ANSWER("206 x", "Content-Range: bytes 10-19/31\r\n" TAG, BLOCK)),
        OF_BLOCK("another version", -ESTALE, "its ETag differs",
                 ANSWER("206 x", RANGE "ETag: \"w\"\r\n", BLOCK)),
        OF_BLOCK("a few bytes", -EPROTO, "sent 3 bytes instead of 10",
                 ANSWER("206 x", RANGE TAG "Content-Length: 3\r\n", "012")),
        OF_BLOCK("no bytes", -EPROTO, "sent 0 bytes instead of 10",
                 ANSWER("206 x", RANGE TAG "Content-Length: 0\r\n", "")),
        OF_BLOCK("too many bytes", -EPROTO, "sent more than requested",
                 ANSWER("206 x", RANGE TAG, BLOCK "x")),
        OF_BLOCK("the whole object", -EPROTO, "does not support range requests",
                 ANSWER("200 OK", TAG, BLOCK BLOCK BLOCK)),
        OF_BLOCK("a whole that is small", -EPROTO, "does not support range requests",
                 ANSWER("200 OK", TAG, BLOCK)),
        ONE("a whole that is larger", LEAT_TRANSFER_BLOCK, WEB, 0, 1, -EPROTO,
            "sent more than requested", ANSWER("200 OK", TAG, BLOCK BLOCK)),
        OF_BLOCK("no content", -EIO, "HTTP 204", ANSWER("204 x", TAG, "")),
        OF_HEAD("part of a head", -EIO, "HTTP 206", ANSWER("206 x", TAG RANGE, "")),
        /* refusals */
        OF_HEAD("not there", -ENOENT, "HTTP 404", ANSWER("404 x", "", "")),
        OF_BLOCK("a code", -ENOENT, "HTTP 404 NoSuchKey: said so", ERROR("404 x", "NoSuchKey")),
        OF_HEAD("forbidden", -EACCES, "HTTP 403", ANSWER("403 x", "", "")),
        OF_HEAD("unauthorized", -EACCES, "HTTP 401", ANSWER("401 x", "", "")),
        OF_BLOCK("changed", -ESTALE, "changed since it was listed (HTTP 412)",
                 ANSWER("412 x", "", "")),
        OF_BLOCK("shorter now", -ESTALE, "changed since it was listed (HTTP 416)",
                 ANSWER("416 x", "", "")),
        OF_HEAD("moved", -EIO, "is redirected (HTTP 307) to http://other/: use that URL",
                ANSWER("307 x", "Location: http://other/\r\n", "")),
        OF_HEAD("moved somewhere", -EIO, "is redirected (HTTP 301)", ANSWER("301 x", "", "")),
        OF_HEAD("a teapot", -EIO, "HTTP 418", ANSWER("418 x", "", "")),
        OF_HEAD("a conflict of a reader", -EIO, "HTTP 409", ANSWER("409 x", "", "")),
        OF_HEAD("not implemented", -EIO, "HTTP 501", ANSWER("501 x", "", "")),
        OF_BLOCK("a long refusal", -ENOENT, "HTTP 404",
                 ANSWER("404 x", "", "<Error><Code>C</Code>") BLOCK),
        ONE("another region", LEAT_TRANSFER_HEAD, S3, 0, 0, -EIO,
            "the bucket is in region there, not in here (HTTP 400)",
            ANSWER("400 x", "x-amz-bucket-region: there\r\n", "")),
        ONE("this region", LEAT_TRANSFER_HEAD, S3, 0, 0, -ENOENT, "HTTP 404",
            ANSWER("404 x", "x-amz-bucket-region: here\r\n", "")),
        ONE("no credentials", LEAT_TRANSFER_HEAD, S3, 0, 0, -EACCES,
            "no credentials were found: set AWS_ACCESS_KEY_ID", ANSWER("403 x", "", "")),
        ONE("is there already", LEAT_TRANSFER_PUT, S3, 1, 0, -EEXIST, "already exists (HTTP 412)",
            ANSWER("412 x", "", "")),
        /* what is tried again */
        AGAIN("408", 2, ANSWER("408 x", "", ""), GOOD),
        AGAIN("429", 2, ANSWER("429 x", "Retry-After: 1\r\n", ""), GOOD),
        AGAIN("500, 502", 3, ANSWER("500 x", "", ""), ANSWER("502 x", "", ""), GOOD),
        AGAIN("503, 504", 3, ANSWER("503 x", "", ""), ANSWER("504 x", "", ""), GOOD),
        OF_BLOCK("later than the timeout", -EIO, "HTTP 503; leat-fetch gave up after 1 attempts",
                 ANSWER("503 x", "Retry-After: 60\r\n", "")),
        AGAIN("as late as nobody waits", 2, ANSWER("503 x", "Retry-After: 99999999\r\n", ""), GOOD),
        AGAIN("late by a date", 2,
              ANSWER("503 x", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", ""), GOOD),
        AGAIN("nothing", 2, "", GOOD),
        AGAIN("a reset", 2, "!", GOOD),
        AGAIN("half a head", 2, "HTTP/1.1 206 x\r\nETag", GOOD),
        AGAIN("half a block", 2, ANSWER("206 x", LENGTH RANGE TAG, "0123"), GOOD),
        AGAIN("half a block, then busy", 3, ANSWER("206 x", LENGTH RANGE TAG, "01"),
              ANSWER("503 x", "", BLOCK), GOOD),
        {"a conflict of a writer",
         LEAT_TRANSFER_PUT,
         S3,
         1,
         0,
         {ANSWER("409 x", "", ""), ANSWER("200 OK", TAG, "")},
         2,
         0,
         "",
         2},
        {"a beginning that is busy",
         LEAT_TRANSFER_POST,
         S3,
         0,
         0,
         {ANSWER("503 x", "", ""), ANSWER("200 OK", "", "<a/>")},
         2,
         0,
         "",
         2},
        ONE("a deletion", LEAT_TRANSFER_DELETE, S3, 0, 0, 0, "", ANSWER("204 x", "", "")),
        {"a list that is busy",
         LEAT_TRANSFER_LIST,
         S3,
         0,
         0,
         {ANSWER("503 x", "", "<a"), ANSWER("200 OK", "", "<a/>")},
         2,
         0,
         "",
         2},
        /* what is none of HTTP */
        OF_BLOCK("another protocol", -EIO, "HTTP/0.9", "SSH-2.0-OpenSSH_9.2\r\n"),
        OF_BLOCK("a length that is none", -EIO, "",
                 ANSWER("206 x", "Content-Length: -5\r\n", BLOCK)),
        AGAIN("chunks that are none", 2,
              ANSWER("206 x", RANGE TAG "Transfer-Encoding: chunked\r\n", "zzzz\r\n"), GOOD),
        /* this machine, by a name that only the resolver knows to be it */
        ONE("this machine", LEAT_TRANSFER_HEAD, LOCAL, 0, 0, -EACCES, THIS_MACHINE, GOOD),
        ONE("its other address", LEAT_TRANSFER_HEAD, LOCAL_V6, 0, 0, -EACCES, THIS_MACHINE, GOOD),
    };

    (void)state;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct told told = {.is_done = false};
        char *requests = check_row(&rows[k], &told);

        assert_true(rows[k].where < LOCAL || !requests[0]);
        if (rows[k].kind == LEAT_TRANSFER_BLOCK && told.err.code == 0) {
            assert_int_equal(told.n_bytes, 10);
            assert_memory_equal(told.bytes, BLOCK, 10);
            assert_true(rows[k].is_whole || strstr(requests, "Range: bytes=10-19\r\n"));
            assert_non_null(strstr(requests, "If-Match: \"v\"\r\n"));
        }
        free(requests);
    }
}

/* ---- credentials ---- */

/* A refusal makes it look for credentials again, once. */
static void credentials_are_renewed(void **state) {
    static const struct {
        const char *answers[2];
        int code;
        size_t n_requests;
    } rows[] = {
        {{ERROR("400 x", "ExpiredToken"), ANSWER("200 OK", TAG LENGTH, "")}, 0, 2},
        {{ANSWER("403 x", "", ""), ANSWER("200 OK", TAG LENGTH, "")}, 0, 2},
        {{ANSWER("401 x", "", ""), ANSWER("403 x", "", "")}, -EACCES, 2},
        {{ANSWER("404 x", "", ""), ANSWER("200 OK", TAG LENGTH, "")}, -ENOENT, 1},
    };

    (void)state;
    (void)setenv("AWS_ACCESS_KEY_ID", "k", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
    (void)setenv("AWS_SESSION_TOKEN", "the-token", 1);
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct row row = {"renewal", LEAT_TRANSFER_HEAD,
                          S3,        0,
                          0,         {rows[k].answers[0], rows[k].answers[1]},
                          2,         rows[k].code,
                          "",        rows[k].n_requests};
        struct told told = {.is_done = false};
        char *requests = check_row(&row, &told);

        assert_non_null(strstr(requests, "x-amz-security-token: the-token\r\n"));
        assert_non_null(strstr(requests, "/here/s3/aws4_request"));
        free(requests);
    }
    (void)unsetenv("AWS_SESSION_TOKEN");
    (void)setenv("AWS_SECRET_ACCESS_KEY", "s\n", 1);
    free(check_row(&(struct row){"secret",
                                 LEAT_TRANSFER_HEAD,
                                 S3,
                                 0,
                                 0,
                                 {GOOD},
                                 1,
                                 -EACCES,
                                 "the credentials in the environment contain",
                                 0},
                   &(struct told){.is_done = false}));
    (void)unsetenv("AWS_ACCESS_KEY_ID");
    (void)unsetenv("AWS_SECRET_ACCESS_KEY");
}

/* ---- what the other side of it does ---- */

static void a_block_that_nobody_can_take(void **state) {
    static const struct row row = {"no room",
                                   LEAT_TRANSFER_BLOCK,
                                   WEB,
                                   0,
                                   0,
                                   {GOOD},
                                   1,
                                   -ENOSPC,
                                   "there is no memory for a block",
                                   1};
    struct told told = {.takes_none = true};

    (void)state;
    free(check_row(&row, &told));
}

static void check_request(struct leat_transfer_request *request, const char *const *answers,
                          int code, const char *message) {
    struct http_server *server = http_start(answers, 1);
    struct leat_fetch_settings settings = settings_of(server);
    struct told told = {.is_done = false};
    struct leat_transfers transfers;
    size_t n_requests;

    assert_int_equal(leat_transfers_init(&transfers, &settings, LEAT_ERROR_IGNORED), 0);
    request->owner = &told;
    request->done = done;
    assert_non_null(leat_transfer_new(&transfers, request));
    wait_for(&transfers, &told.is_done);
    if (told.err.code != code || !strstr(told.err.message, message))
        fail_msg("%d %s", told.err.code, told.err.message);
    leat_transfers_deinit(&transfers);
    free(http_stop(server, &n_requests));
}

/* The file of an upload gets shorter, or the answer to a list does not end. */
static void sizes_that_lie(void **state) {
    static const char *const stored[] = {ANSWER("200 OK", TAG, "")};
    int fd = memfd_create("file", MFD_CLOEXEC);
    struct leat_transfer_request put = {
        .kind = LEAT_TRANSFER_PUT, .url = "s3://bucket/key", .fd = fd, .n_bytes = 20};
    struct leat_transfer_request list = {.kind = LEAT_TRANSFER_LIST, .url = "s3://bucket/"};
    struct leat_transfer_request head = {
        .kind = LEAT_TRANSFER_BLOCK, .url = "s3://bucket/key", .n_bytes = 5, .object_size = 9};
    size_t n = 17 << 20;
    char *endless = malloc(n + 100), *refusal = malloc(n + 100);

    (void)state;
    assert_true(endless && refusal);
    assert_int_equal(pwrite(fd, BLOCK, 10, 0), 10);
    check_request(&put, stored, -EIO, "");
    (void)close(fd);
    memset(endless, 'x', n);
    endless[n] = '\0';
    memcpy(endless, ANSWER("200 OK", "", ""), strlen(ANSWER("200 OK", "", "")));
    check_request(&list, (const char *const[]){endless}, -EPROTO, "sent more than requested");
    memcpy(refusal, endless, n + 1);
    memcpy(refusal, "HTTP/1.1 404 x\r\nAccept: 0\r\n\r\n", 29);
    check_request(&head, (const char *const[]){refusal}, -EPROTO, "sent more than requested");
    free(endless);
    free(refusal);
}

static void nobody_listens(void **state) {
    static const char *const answers[] = {""};
    struct http_server *server = http_start(answers, 1);
    struct leat_transfer_request request = {.kind = LEAT_TRANSFER_HEAD, .url = NULL};
    char url[64];
    size_t n_requests;

    (void)state;
    (void)snprintf(url, sizeof(url), "%s/a", http_url(server));
    free(http_stop(server, &n_requests));
    request.url = url;
    check_request(&request, answers, -EIO, "; leat-fetch gave up after ");
    request.url = "http://nowhere.invalid/a";
    check_request(&request, answers, -EIO, "nowhere.invalid");
    request.url = "s3://bucket";
    check_request(&request, answers, -EINVAL, "no path");
    request.url = "http://localhost/a";
    request.is_confined = true;
    check_request(&request, answers, -EACCES, "may not read from this machine");
    request.url = "http://nowhere.invalid/a";
    check_request(&request, answers, -EIO, "nowhere.invalid");
}

/* One request at a time: those for which somebody waits come before those that are ahead. */
struct order {
    struct told told;
    char **names, name;
};

static void note(void *owner, struct leat_transfer *transfer, struct leat_error *err) {
    struct order *order = owner;

    done(&order->told, transfer, err);
    *(*order->names)++ = order->name;
}

static void who_waits_comes_first(void **state) {
    static const char *const answers[] = {ANSWER("200 OK", TAG LENGTH, "")};
    struct http_server *server = http_start(answers, 1);
    struct leat_fetch_settings settings = settings_of(server);
    struct leat_transfers transfers;
    char names[5] = "", *at = names;
    struct order orders[4];
    struct leat_transfer *cancelled = NULL;
    size_t n_requests;

    (void)state;
    settings.requests = 1;
    settings.ca_file = "/dev/null";
    assert_int_equal(leat_transfers_init(&transfers, &settings, LEAT_ERROR_IGNORED), 0);
    for (int i = 0; i < 5; i++) {
        struct leat_transfer_request request = {.kind = LEAT_TRANSFER_HEAD,
                                                .url = "s3://bucket/key",
                                                .is_ahead = i < 2,
                                                .done = note,
                                                .owner = i < 4 ? &orders[i] : NULL};
        struct leat_transfer *transfer = leat_transfer_new(&transfers, &request);
        if (i < 4)
            orders[i] = (struct order){.names = &at, .name = (char)('a' + i)};
        else
            cancelled = transfer;
        assert_non_null(transfer);
    }
    leat_transfer_free(cancelled);
    wait_for(&transfers, &orders[1].told.is_done);
    assert_string_equal(names, "cdab");
    assert_non_null(
        leat_transfer_new(&transfers, &(struct leat_transfer_request){.kind = LEAT_TRANSFER_HEAD,
                                                                      .url = "s3://b/k"}));
    leat_transfers_deinit(&transfers); /* what is under way ends with them */
    free(http_stop(server, &n_requests));
}

static int set_environment(void **state) {
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                        "AWS_PROFILE",       "AWS_SESSION_TOKEN",
                                        "http_proxy",        "HTTP_PROXY",
                                        "all_proxy",         "ALL_PROXY"};

    (void)state;
    bell = eventfd(0, EFD_CLOEXEC);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
    return bell < 0 || setenv("HOME", "/nonexistent", 1) ||
           setenv("AWS_EC2_METADATA_DISABLED", "true", 1) ||
           curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_what_they_lead_to),
        cmocka_unit_test(credentials_are_renewed),
        cmocka_unit_test(a_block_that_nobody_can_take),
        cmocka_unit_test(sizes_that_lie),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(who_waits_comes_first),
    };

    return cmocka_run_group_tests(tests, set_environment, NULL);
}
