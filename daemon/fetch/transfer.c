/* transfer.c: see transfer.h.
 *
 * libcurl 7.88 signs right for S3 only if x-amz-content-sha256 is a header of the request and the
 * keys of its query are sorted.
 */
#include "daemon/fetch/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/fetch/listing.h"
#include "proto/base/clock.h"
#include "proto/base/file.h"

#define NS_OF_S          UINT64_C(1000000000)
#define TURN_MS          1000
#define CONNECT_MS       10000L
#define BUFFER_BYTES     (512L << 10)
#define ERROR_BYTES_MAX  65536 /* of the body of a refusal */
#define PAUSE_NS         (NS_OF_S / 10)
#define PAUSE_MAX_NS     (5 * NS_OF_S)
#define RESOLVE_ATTEMPTS 3
#define UNSIGNED         "UNSIGNED-PAYLOAD"
#define EMPTY_SHA256     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* ---- what comes ---- */

static long status_of(const struct leat_transfer *transfer) {
    long status = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t on_header(char *data, size_t size, size_t n, void *user) {
    struct leat_transfer *transfer = user;

    if (size * n >= 5 && memcmp(data, "HTTP/", 5) == 0) {
        leat_answer_begin(&transfer->answer);
        transfer->has_head = false;
    } else {
        leat_answer_take(&transfer->answer, data, size * n);
        transfer->has_head |= data[0] == '\r' || data[0] == '\n';
    }
    return size * n;
}

static size_t body_limit(long status) {
    return status >= 300 ? ERROR_BYTES_MAX : LEAT_LISTING_BYTES_MAX;
}

/* Bytes of a block. */
static size_t take_bytes(struct leat_transfer *transfer, const char *data, size_t n) {
    const struct leat_transfer_request *request = &transfer->request;

    if (n > request->n_bytes - transfer->n_taken) {
        transfer->has_more = true;
        return 0;
    }
    if (transfer->n_taken == 0)
        transfer->take_error = request->begin(request->owner);
    if (transfer->take_error == 0)
        transfer->take_error = request->take(request->owner, data, n);
    transfer->n_taken += n;
    return transfer->take_error < 0 ? 0 : n;
}

static size_t on_body(char *data, size_t size, size_t n, void *user) {
    struct leat_transfer *transfer = user;
    long status = status_of(transfer);

    if (transfer->request.kind == LEAT_TRANSFER_BLOCK && status < 300)
        return take_bytes(transfer, data, size * n);
    if (size * n > body_limit(status) - transfer->body.n_bytes) {
        transfer->has_more = true;
        return 0;
    }
    leat_text_add_bytes(&transfer->body, data, size * n);
    return transfer->body.failed ? 0 : size * n;
}

/* ---- what goes ---- */

static size_t on_read(char *buffer, size_t size, size_t n, void *user) {
    struct leat_transfer *transfer = user;
    uint64_t left = transfer->request.n_bytes - transfer->n_sent;
    size_t n_wanted = left < size * n ? (size_t)left : size * n;
    ssize_t n_read = leat_file_read(transfer->request.fd, buffer, n_wanted,
                                    transfer->request.first + transfer->n_sent);

    if (n_read != (ssize_t)n_wanted)
        return CURL_READFUNC_ABORT;
    transfer->n_sent += n_wanted;
    return n_wanted;
}

static int on_seek(void *user, curl_off_t offset, int origin) {
    struct leat_transfer *transfer = user;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > transfer->request.n_bytes)
        return CURL_SEEKFUNC_FAIL;
    transfer->n_sent = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* Opens the socket of a confined request. Its host's name may resolve to any address, so the
 * address is checked too. */
static curl_socket_t on_open_socket(void *user, curlsocktype purpose,
                                    struct curl_sockaddr *address) {
    (void)user;
    (void)purpose;
    if (leat_address_is_local(&address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- one attempt ---- */

static bool add_header(struct leat_transfer *transfer, const char *name, const char *value) {
    struct leat_text line = {.data = NULL};
    struct curl_slist *more;

    leat_text_add(&line, "%s: %s", name, value);
    more = line.failed ? NULL : curl_slist_append(transfer->headers, line.data);
    if (line.data)
        explicit_bzero(line.data, line.n_bytes);
    free(line.data);
    transfer->headers = more ? more : transfer->headers;
    return more != NULL;
}

static bool has_content(const struct leat_transfer *transfer) {
    return transfer->request.kind == LEAT_TRANSFER_PUT ||
           (transfer->request.kind == LEAT_TRANSFER_POST && transfer->content);
}

static int sign(struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_transfers *all = transfer->all;
    struct leat_text text = {.data = NULL};
    int r = leat_credentials_get(&all->credentials, all->settings, err);

    if (r < 0 || !all->credentials.is_there)
        return r;
    if (!add_header(transfer, "x-amz-content-sha256",
                    has_content(transfer) ? UNSIGNED : EMPTY_SHA256) ||
        (all->credentials.token[0] &&
         !add_header(transfer, "x-amz-security-token", all->credentials.token)))
        return leat_error_oom(err);
    leat_text_add(&text, "aws:amz:%s:s3", all->region);
    if (!text.failed) {
        (void)curl_easy_setopt(transfer->easy, CURLOPT_AWS_SIGV4, text.data);
        (void)curl_easy_setopt(transfer->easy, CURLOPT_USERNAME, all->credentials.key);
        (void)curl_easy_setopt(transfer->easy, CURLOPT_PASSWORD, all->credentials.secret);
    }
    free(text.data);
    return text.failed ? leat_error_oom(err) : 0;
}

/* A range of all of an object is none: servers that know no ranges will do then. */
static bool is_part(const struct leat_transfer *transfer) {
    return transfer->request.kind == LEAT_TRANSFER_BLOCK &&
           transfer->request.n_bytes < transfer->request.object_size;
}

static bool add_conditions(struct leat_transfer *transfer) {
    char range[64];

    if (transfer->request.is_new)
        return add_header(transfer, "If-None-Match", "*");
    if (transfer->request.kind != LEAT_TRANSFER_BLOCK)
        return true;
    if (is_part(transfer)) {
        (void)snprintf(
            range, sizeof(range), "%llu-%llu", (unsigned long long)transfer->request.first,
            (unsigned long long)(transfer->request.first + transfer->request.n_bytes - 1));
        (void)curl_easy_setopt(transfer->easy, CURLOPT_RANGE, range);
    }
    return transfer->version[0] != '"' || add_header(transfer, "If-Match", transfer->version);
}

static int make_url(struct leat_transfer *transfer, struct leat_text *ret_url,
                    struct leat_error *err) {
    struct leat_store store = {transfer->all->endpoint, transfer->all->region};
    struct leat_object_url url;
    int r = leat_object_url_parse(transfer->url, &url, err);

    if (r < 0)
        return r;
    transfer->is_s3 = url.is_s3;
    if (transfer->request.is_confined && !url.is_s3 && leat_host_is_local(url.host))
        return leat_error_set(err, -EACCES,
                              "streams that trainers describe may not read from this machine");
    if (transfer->request.kind == LEAT_TRANSFER_LIST)
        leat_object_url_add_list(ret_url, &url, &store, transfer->token);
    else if (transfer->upload || transfer->request.kind == LEAT_TRANSFER_POST)
        leat_object_url_add_upload(ret_url, &url, &store, transfer->upload, transfer->request.part);
    else
        leat_object_url_add(ret_url, &url, &store);
    return ret_url->failed ? leat_error_oom(err) : 0;
}

static void set_content(struct leat_transfer *transfer) {
    CURL *easy = transfer->easy;

    if (transfer->request.kind == LEAT_TRANSFER_PUT) {
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
        (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
                               (curl_off_t)transfer->request.n_bytes);
        (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    } else if (transfer->request.kind == LEAT_TRANSFER_POST) {
        const char *content = transfer->content ? transfer->content : "";

        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(content));
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, content);
    } else if (transfer->request.kind == LEAT_TRANSFER_DELETE) {
        (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
}

static void set_options(struct leat_transfer *transfer, const char *url) {
    const struct leat_transfers *all = transfer->all;
    long stall_s = all->settings->timeout / 4 > 1 ? (long)(all->settings->timeout / 4) : 1;
    CURL *easy = transfer->easy;

    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "leat-fetch/" LEAT_VERSION);
    (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall_s);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->reason);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (all->ca_file)
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, all->ca_file);
    if (transfer->request.kind == LEAT_TRANSFER_HEAD)
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (transfer->request.is_confined && !transfer->is_s3) {
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
        (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    }
}

static void end_attempt(struct leat_transfer *transfer) {
    if (transfer->is_active) {
        (void)curl_multi_remove_handle(transfer->all->multi, transfer->easy);
        transfer->all->n_active--;
    }
    transfer->is_active = false;
    curl_easy_cleanup(transfer->easy);
    transfer->easy = NULL;
    for (struct curl_slist *header = transfer->headers; header; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
}

static int begin_attempt(struct leat_transfer *transfer, struct leat_error *err) {
    struct leat_text url = {.data = NULL};
    int r = make_url(transfer, &url, err);

    transfer->easy = curl_easy_init();
    transfer->body.n_bytes = transfer->n_sent = transfer->n_taken = 0;
    transfer->take_error = 0;
    transfer->has_more = transfer->has_head = false;
    transfer->reason[0] = '\0';
    leat_answer_begin(&transfer->answer);
    if (r == 0 && !transfer->easy)
        r = leat_error_oom(err);
    if (r == 0)
        set_options(transfer, url.data);
    if (r == 0 && transfer->is_s3)
        r = sign(transfer, err);
    if (r == 0 &&
        (!add_conditions(transfer) || (transfer->request.kind == LEAT_TRANSFER_POST &&
                                       !add_header(transfer, "Content-Type", "application/xml"))))
        r = leat_error_oom(err);
    free(url.data);
    if (r == 0) {
        set_content(transfer);
        (void)curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
        r = curl_multi_add_handle(transfer->all->multi, transfer->easy) == CURLM_OK
                ? 0
                : leat_error_oom(err);
    }
    if (r < 0) {
        end_attempt(transfer);
        return r;
    }
    if (transfer->n_attempts++ == 0)
        transfer->begun_ns = leat_now_ns();
    transfer->is_active = true;
    transfer->all->n_active++;
    return 0;
}

/* ---- what became of it ---- */

static bool is_writing(const struct leat_transfer *transfer) {
    return transfer->request.kind == LEAT_TRANSFER_PUT ||
           transfer->request.kind == LEAT_TRANSFER_POST;
}

static bool may_help(const struct leat_transfer *transfer, CURLcode code, long status) {
    switch (code) {
    case CURLE_OK:
        return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
               status == 504 || (status == 409 && is_writing(transfer));
    case CURLE_COULDNT_RESOLVE_HOST:
        return transfer->n_attempts < RESOLVE_ATTEMPTS;
    case CURLE_COULDNT_CONNECT:
        return !transfer->request.is_confined || transfer->is_s3;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return true;
    default:
        return false;
    }
}

static int fail_connection(const struct leat_transfer *transfer, CURLcode code,
                           struct leat_error *err) {
    if (transfer->has_more)
        return leat_error_set(err, -EPROTO, "the server sent more than requested");
    if (code == CURLE_COULDNT_CONNECT && transfer->request.is_confined && !transfer->is_s3)
        return leat_error_set(err, -EACCES,
                              "cannot connect: streams that trainers describe may not read from "
                              "this machine or from link-local addresses");
    return leat_error_set(err, -EIO, "%.300s",
                          transfer->reason[0] ? transfer->reason : curl_easy_strerror(code));
}

static int fail_status(const struct leat_transfer *transfer, long status, struct leat_error *err) {
    int code = status == 404 ? -ENOENT : status == 401 || status == 403 ? -EACCES : -EIO;
    struct leat_store_error cause;

    leat_store_error_parse(transfer->body.n_bytes > 0 ? transfer->body.data : "",
                           transfer->body.n_bytes, &cause);
    if (transfer->is_s3 && transfer->answer.region[0] &&
        strcmp(transfer->answer.region, transfer->all->region) != 0)
        return leat_error_set(err, -EIO,
                              "the bucket is in region %s, not in %s (HTTP %ld): set AWS_REGION, "
                              "or `region` of `fetch`",
                              transfer->answer.region, transfer->all->region, status);
    if (status == 412 && is_writing(transfer))
        return leat_error_set(err, -EEXIST, "already exists (HTTP 412)");
    if (status == 412 || status == 416)
        return leat_error_set(err, -ESTALE, "changed since it was listed (HTTP %ld)", status);
    if (status >= 300 && status < 400)
        return leat_error_set(err, -EIO, "is redirected (HTTP %ld)%s%.200s%s", status,
                              transfer->answer.location[0] ? " to " : "", transfer->answer.location,
                              transfer->answer.location[0] ? ": use that URL" : "");
    return leat_error_set(
        err, code, "HTTP %ld%s%s%s%.200s%s", status, cause.code[0] ? " " : "", cause.code,
        cause.message[0] ? ": " : "", cause.message,
        transfer->is_s3 && code == -EACCES && !transfer->all->credentials.is_there
            ? "; no credentials were found: set AWS_ACCESS_KEY_ID, or provide ~/.aws or a role"
            : "");
}

/* An error if the bytes are not those that were asked for. */
static int check_block(const struct leat_transfer *transfer, long status, struct leat_error *err) {
    const struct leat_transfer_request *request = &transfer->request;
    const struct leat_answer *answer = &transfer->answer;

    if (is_part(transfer) && status == 200)
        return leat_error_set(
            err, -EPROTO,
            "the server does not support range requests: it sent the whole object (HTTP 200)");
    if (leat_answer_version(answer)[0] &&
        strcmp(leat_answer_version(answer), transfer->version) != 0)
        return leat_error_set(err, -ESTALE, "changed since it was listed: its ETag differs");
    if (is_part(transfer) &&
        (answer->first != request->first || answer->end != request->first + request->n_bytes ||
         answer->object_size != request->object_size))
        return leat_error_set(err, -EPROTO, "the server sent another range than requested");
    if (transfer->n_taken != request->n_bytes)
        return leat_error_set(err, -EPROTO, "the server sent %llu bytes instead of %llu",
                              (unsigned long long)transfer->n_taken,
                              (unsigned long long)request->n_bytes);
    return 0;
}

static int check_answer(const struct leat_transfer *transfer, CURLcode code, long status,
                        struct leat_error *err) {
    if (code != CURLE_OK && !(transfer->has_more && is_part(transfer) && status == 200))
        return fail_connection(transfer, code, err);
    if (status != 200 && !(status == 206 && is_part(transfer)) &&
        !(status == 204 && transfer->request.kind == LEAT_TRANSFER_DELETE))
        return fail_status(transfer, status, err);
    return transfer->request.kind == LEAT_TRANSFER_BLOCK ? check_block(transfer, status, err) : 0;
}

/* Sets when to try again; false: not within the timeout. */
static bool try_again(struct leat_transfer *transfer) {
    uint64_t now = leat_now_ns(), pause = PAUSE_NS, timeout_ns;

    for (unsigned i = 1; i < transfer->n_attempts && pause < PAUSE_MAX_NS; i++)
        pause *= 2;
    pause = pause / 2 + (uint64_t)(now / 1000 % 1000) * (pause / 2000);
    if (transfer->answer.retry_after_s != LEAT_ANSWER_UNKNOWN &&
        transfer->answer.retry_after_s < 86400 && transfer->answer.retry_after_s * NS_OF_S > pause)
        pause = transfer->answer.retry_after_s * NS_OF_S;
    timeout_ns = (uint64_t)transfer->all->settings->timeout * NS_OF_S;
    transfer->again_ns = now + pause;
    return transfer->again_ns < transfer->begun_ns + timeout_ns;
}

/* Credentials that have expired may have been renewed where they come from. */
static bool may_renew(struct leat_transfer *transfer, long status) {
    bool may = transfer->is_s3 && (status == 400 || status == 401 || status == 403) &&
               transfer->all->credentials.is_there && !transfer->has_renewed;

    if (may)
        leat_credentials_forget(&transfer->all->credentials);
    transfer->has_renewed |= may;
    return may;
}

static void finish(struct leat_transfer *transfer, struct leat_error *err) {
    end_attempt(transfer);
    transfer->request.done(transfer->request.owner, transfer, err);
    leat_transfer_free(transfer);
}

static void end_transfer(struct leat_transfer *transfer, CURLcode code) {
    struct leat_error err = LEAT_ERROR_INIT;
    long status = status_of(transfer);
    char cause[LEAT_ERROR_MESSAGE_MAX];

    if (code == CURLE_OK && !transfer->has_head) /* the connection was lost within it */
        code = CURLE_GOT_NOTHING;
    if (transfer->body.failed) {
        leat_error_oom(&err);
    } else if (transfer->take_error < 0) {
        leat_error_set(&err, transfer->take_error, "there is no memory for a block: %s",
                       strerror(-transfer->take_error));
    } else if (check_answer(transfer, code, status, &err) < 0 && err.code != -ESTALE) {
        bool may_again = !transfer->has_more && may_help(transfer, code, status);

        if ((may_again && try_again(transfer)) ||
            (code == CURLE_OK && may_renew(transfer, status))) {
            end_attempt(transfer);
            return;
        }
        if (may_again) {
            memcpy(cause, err.message, sizeof(cause));
            (void)snprintf(err.message, sizeof(err.message),
                           "%.400s; leat-fetch gave up after %u attempts", cause,
                           transfer->n_attempts);
        }
    }
    finish(transfer, &err);
}

/* ---- all of them ---- */

/* A libcurl of another Linux, as a wheel has it, knows another place than this system has. NULL:
 * libcurl's own place is right, or there is none. */
static const char *system_ca_file(void) {
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Ubuntu, Arch */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, Red Hat, Amazon */
        "/etc/ssl/ca-bundle.pem",             /* SUSE */
        "/etc/ssl/cert.pem",                  /* Alpine */
    };
    const char *own = curl_version_info(CURLVERSION_NOW)->cainfo;

    for (size_t i = 0; own && access(own, R_OK) < 0 && i < sizeof(places) / sizeof(places[0]); i++)
        if (access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}

int leat_transfers_init(struct leat_transfers *transfers,
                        const struct leat_fetch_settings *settings, struct leat_error *err) {
    const char *ca_file = settings->ca_file;
    int r;

    *transfers = (struct leat_transfers){.settings = settings};
    r = leat_store_find(settings, &transfers->endpoint, &transfers->region, err);
    if (r < 0)
        return r;
    ca_file = ca_file ? ca_file : getenv("AWS_CA_BUNDLE");
    ca_file = ca_file ? ca_file : getenv("CURL_CA_BUNDLE");
    ca_file = ca_file ? ca_file : system_ca_file();
    transfers->ca_file = ca_file ? strdup(ca_file) : NULL;
    transfers->multi = curl_multi_init();
    if (!transfers->multi || (ca_file && !transfers->ca_file))
        return leat_error_oom(err);
    (void)curl_multi_setopt(transfers->multi, CURLMOPT_MAXCONNECTS, (long)settings->requests * 2);
    return 0;
}

void leat_transfers_deinit(struct leat_transfers *transfers) {
    while (transfers->first)
        leat_transfer_free(transfers->first);
    if (transfers->multi)
        (void)curl_multi_cleanup(transfers->multi);
    leat_credentials_forget(&transfers->credentials);
    free(transfers->endpoint);
    free(transfers->region);
    free(transfers->ca_file);
}

struct leat_transfer *leat_transfer_new(struct leat_transfers *transfers,
                                        const struct leat_transfer_request *request) {
    struct leat_transfer *transfer = calloc(1, sizeof(*transfer));

    if (!transfer)
        return NULL;
    transfer->request = *request;
    transfer->all = transfers;
    transfer->url = strdup(request->url);
    transfer->version = strdup(request->version ? request->version : "");
    transfer->token = strdup(request->token ? request->token : "");
    transfer->upload = request->upload ? strdup(request->upload) : NULL;
    transfer->content = request->content ? strdup(request->content) : NULL;
    transfer->previous = transfers->last;
    *(transfers->last ? &transfers->last->next : &transfers->first) = transfer;
    transfers->last = transfer;
    if (transfer->url && transfer->version && transfer->token &&
        !transfer->upload == !request->upload && !transfer->content == !request->content)
        return transfer;
    leat_transfer_free(transfer);
    return NULL;
}

void leat_transfer_free(struct leat_transfer *transfer) {
    struct leat_transfers *all = transfer->all;

    end_attempt(transfer);
    *(transfer->previous ? &transfer->previous->next : &all->first) = transfer->next;
    *(transfer->next ? &transfer->next->previous : &all->last) = transfer->previous;
    free(transfer->url);
    free(transfer->version);
    free(transfer->token);
    free(transfer->upload);
    free(transfer->content);
    free(transfer->body.data);
    free(transfer);
}

/* The next that can begin: one for which somebody waits before one that is ahead. */
static struct leat_transfer *find_next(const struct leat_transfers *transfers, uint64_t now) {
    struct leat_transfer *found = NULL;

    for (struct leat_transfer *at = transfers->first; at; at = at->next) {
        if (at->is_active || at->again_ns > now || (found && at->request.is_ahead))
            continue;
        if (!at->request.is_ahead)
            return at;
        found = at;
    }
    return found;
}

static void begin_some(struct leat_transfers *transfers) {
    while (transfers->n_active < (size_t)transfers->settings->requests) {
        struct leat_transfer *next = find_next(transfers, leat_now_ns());
        struct leat_error err = LEAT_ERROR_INIT;

        if (!next)
            break;
        if (begin_attempt(next, &err) < 0)
            finish(next, &err);
    }
}

/* Milliseconds until the next attempt is due. */
static int next_due(const struct leat_transfers *transfers) {
    uint64_t now = leat_now_ns(), soonest = now + NS_OF_S / 1000 * TURN_MS;

    for (const struct leat_transfer *at = transfers->first; at; at = at->next)
        if (!at->is_active && at->again_ns > now && at->again_ns < soonest)
            soonest = at->again_ns;
    return (int)((soonest - now) / (NS_OF_S / 1000)) + 1;
}

int leat_transfers_turn(struct leat_transfers *transfers, struct curl_waitfd *watched,
                        unsigned n_watched, struct leat_error *err) {
    const struct CURLMsg *message;
    int n_running, n_left;
    CURLMcode code;

    begin_some(transfers);
    code = curl_multi_perform(transfers->multi, &n_running);
    while (code == CURLM_OK && (message = curl_multi_info_read(transfers->multi, &n_left))) {
        struct leat_transfer *transfer = NULL;

        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        if (message->msg == CURLMSG_DONE && transfer)
            end_transfer(transfer, message->data.result);
    }
    begin_some(transfers);
    if (code == CURLM_OK)
        code = curl_multi_poll(transfers->multi, watched, n_watched, next_due(transfers), NULL);
    return code == CURLM_OK ? 0
                            : leat_error_set(err, -EIO, "libcurl: %s", curl_multi_strerror(code));
}
