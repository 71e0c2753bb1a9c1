/* object_url.h: URLs of objects, and those that are asked of servers for them. Pure. */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"
#include "proto/base/text.h"

#define LEAT_BUCKET_MAX 255

/* Parts of s3://bucket/key, https://host/path or http://host/path. */
struct leat_object_url {
    bool is_s3, is_tls;
    char host[LEAT_BUCKET_MAX + 1]; /* of s3: the bucket; else as written, perhaps with a port */
    const char *path;               /* within the URL, behind the slash */
};

/* Where buckets are. */
struct leat_store {
    const char *endpoint; /* NULL: AWS */
    const char *region;
};

/* -EINVAL: the URL is none of these, or has what none may have: a user, a query, a fragment,
 * control characters; parts "." and "..". */
int leat_object_url_parse(const char *url, struct leat_object_url *ret_url, struct leat_error *err);
/* Appends what a server is asked for: the object itself, */
void leat_object_url_add(struct leat_text *text, const struct leat_object_url *url,
                         const struct leat_store *store);
/* or one page of the list of all objects of its bucket whose keys begin as it. token: of the page
 * before; "": it is the first. Keys of the query are sorted. */
void leat_object_url_add_list(struct leat_text *text, const struct leat_object_url *url,
                              const struct leat_store *store, const char *token);
/* or an upload of it in parts: that they begin (upload NULL), one of them (from 1), or all (0). */
void leat_object_url_add_upload(struct leat_text *text, const struct leat_object_url *url,
                                const struct leat_store *store, const char *upload, unsigned part);
/* True of names and numbers of this machine and its link: localhost, 127.0.0.0/8, ::1,
 * 169.254.0.0/16, fe80::/10 and their like. host: without a port. */
bool leat_host_is_local(const char *host);
struct sockaddr;
bool leat_address_is_local(const struct sockaddr *address);
