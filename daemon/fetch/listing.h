/* listing.h: what object stores answer, as XML: pages of lists, and errors. Pure, and bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

#define LEAT_LISTING_TEXT_MAX  2048 /* of a key, an ETag, a token */
#define LEAT_LISTING_BYTES_MAX (16U << 20)

struct leat_listing_item {
    char *key, *etag;
    uint64_t n_bytes;
};

/* One page of ListObjectsV2. */
struct leat_listing {
    struct leat_listing_item *items;
    size_t n_items, capacity;
    bool is_truncated;                     /* there is another page, */
    char token[LEAT_LISTING_TEXT_MAX + 1]; /* to be had with this */
};

/* -EBADMSG: it is no such page; with the reason. To be deinited in any case. */
int leat_listing_parse(const char *xml, size_t n_bytes, struct leat_listing *ret_listing,
                       struct leat_error *err);
void leat_listing_deinit(struct leat_listing *listing);

/* The answers to an upload in parts: its name where it begins, and the ETag of the object where all
 * parts are there. -EBADMSG: it is not that answer. */
int leat_upload_begun_parse(const char *xml, size_t n_bytes,
                            char ret_upload[LEAT_LISTING_TEXT_MAX + 1], struct leat_error *err);
int leat_upload_ended_parse(const char *xml, size_t n_bytes, struct leat_error *err);

/* The cause of a refusal; texts are "" where there are none. */
struct leat_store_error {
    char code[128], message[256];
};
void leat_store_error_parse(const char *xml, size_t n_bytes, struct leat_store_error *ret_error);
