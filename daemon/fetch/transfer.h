/* transfer.h: requests to stores and web servers (libcurl's multi handle): a number of them at
 * once, signed where they go to S3, and tried again where that may help.
 *
 * Owner: the loop. Errors have the cause and no URL.
 */
#pragma once

#include <curl/curl.h>

#include "daemon/fetch/answer.h"
#include "daemon/fetch/credentials.h"
#include "daemon/fetch/object_url.h"
#include "proto/base/error.h"
#include "proto/base/text.h"

enum leat_transfer_kind {
    LEAT_TRANSFER_HEAD, /* what an object is */
    LEAT_TRANSFER_LIST,
    LEAT_TRANSFER_BLOCK,
    LEAT_TRANSFER_PUT,
    LEAT_TRANSFER_POST,
    LEAT_TRANSFER_DELETE,
};

struct leat_transfer;

struct leat_transfer_request {
    enum leat_transfer_kind kind;
    const char *url;         /* s3://, https:// or http:// */
    bool is_confined;        /* public hosts only */
    bool is_ahead;           /* nobody waits for it: behind all others */
    const char *token;       /* LIST: of the page before; "": none */
    const char *version;     /* BLOCK: what the object must be (leat_answer_version) */
    uint64_t first, n_bytes; /* BLOCK: which bytes; PUT: of the file */
    uint64_t object_size;    /* BLOCK */
    const char *upload;      /* PUT, POST and DELETE: of an upload in parts; NULL: of none */
    unsigned part;           /* PUT: which part, from 1 */
    const char *content;     /* POST: what is sent; NULL: an upload is begun */
    bool is_new;             /* PUT and POST: the object must not be there (-EEXIST) */
    int fd;                  /* PUT: the file, which outlives the transfer */
    /* BLOCK: what takes the bytes; `begin` comes before the first of each attempt. 0 or -errno. */
    int (*begin)(void *owner);
    int (*take)(void *owner, const void *data, size_t n);
    /* Called once, unless it is cancelled. err->code 0: all came as it should. The transfer is
     * freed afterwards. */
    void (*done)(void *owner, struct leat_transfer *transfer, struct leat_error *err);
    void *owner;
};

struct leat_transfer {
    struct leat_transfer *next, *previous;
    struct leat_transfer_request request; /* its texts are copies */
    struct leat_transfers *all;
    char *url, *version, *token, *upload, *content;
    uint64_t n_sent;  /* PUT */
    uint64_t n_taken; /* BLOCK: bytes of this attempt */
    int take_error;   /* BLOCK: why they were not taken */
    bool is_s3, is_active, has_renewed;
    bool has_head, has_more; /* all of the answer's head; more bytes than there may be */
    CURL *easy;
    struct curl_slist *headers;
    char reason[CURL_ERROR_SIZE];
    struct leat_answer answer;
    struct leat_text body;
    unsigned n_attempts;
    uint64_t begun_ns, again_ns; /* of the first attempt; of the next one */
};

struct leat_transfers {
    const struct leat_fetch_settings *settings;
    struct leat_credentials credentials;
    char *endpoint, *region, *ca_file;
    CURLM *multi;
    struct leat_transfer *first, *last; /* all, in the order in which they came */
    size_t n_active;
};

int leat_transfers_init(struct leat_transfers *transfers,
                        const struct leat_fetch_settings *settings, struct leat_error *err);
void leat_transfers_deinit(struct leat_transfers *transfers);

/* Texts of the request need not outlive the call. NULL: no memory. */
struct leat_transfer *leat_transfer_new(struct leat_transfers *transfers,
                                        const struct leat_transfer_request *request);
void leat_transfer_free(struct leat_transfer *transfer); /* also one that is under way */

/* Goes on with all, and waits for them, for one of the descriptors, or for at most a second. */
int leat_transfers_turn(struct leat_transfers *transfers, struct curl_waitfd *watched,
                        unsigned n_watched, struct leat_error *err);
