#include "daemon/fetch/object_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define UNRESERVED "-._~"
#define OF_PATHS   "-._~!$&'()*+,;=:@/%" /* what a path of https:// may have as it is */

static int refuse(const char *url, const char *why, struct leat_error *err) {
    return leat_error_set(err, -EINVAL, "%.256s: %s", url, why);
}

/* "." or ".." as a part, also written as %2e. */
static bool has_dots(const char *path) {
    while (path) {
        size_t n_dots = 0;

        for (;;) {
            size_t n = path[0] == '.' ? 1 : strncasecmp(path, "%2e", 3) == 0 ? 3 : 0;

            if (n == 0)
                break;
            path += n;
            n_dots++;
        }
        if ((n_dots == 1 || n_dots == 2) && (path[0] == '/' || path[0] == '\0'))
            return true;
        path = strchr(path, '/');
        path = path ? path + 1 : NULL;
    }
    return false;
}

static bool is_host(const char *host, bool is_s3) {
    size_t n = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");

    if (is_s3 || n == 0 || host[n] == '\0')
        return n > 0 && host[n] == '\0' && host[0] != '.' && host[0] != '-';
    return host[n] == ':' && strlen(host + n + 1) >= 1 && strlen(host + n + 1) <= 5 &&
           strspn(host + n + 1, "0123456789") == strlen(host + n + 1);
}

int leat_object_url_parse(const char *url, struct leat_object_url *ret_url,
                          struct leat_error *err) {
    const char *colon = strstr(url, "://"), *host = colon ? colon + 3 : NULL, *slash;

    *ret_url = (struct leat_object_url){.is_s3 = strncmp(url, "s3://", 5) == 0,
                                        .is_tls = strncmp(url, "https://", 8) == 0};
    if (!host || !(ret_url->is_s3 || ret_url->is_tls || strncmp(url, "http://", 7) == 0))
        return refuse(url, "does not begin with s3://, https:// or http://", err);
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return refuse("a URL", "contains control characters", err);
    slash = strchr(host, '/');
    if (memchr(host, '@', slash ? (size_t)(slash - host) : strlen(host)))
        return refuse("a URL",
                      "contains a user name or a password: do not write secrets into a URL", err);
    if (!slash || (size_t)(slash - host) >= sizeof(ret_url->host))
        return refuse(url, "has no path after the host or bucket", err);
    memcpy(ret_url->host, host, (size_t)(slash - host));
    if (!is_host(ret_url->host, ret_url->is_s3))
        return refuse(url,
                      ret_url->is_s3 ? "does not contain a valid bucket name"
                                     : "does not contain a valid host name",
                      err);
    ret_url->path = slash + 1;
    if (!ret_url->is_s3 && strpbrk(ret_url->path, "?#\\"))
        return refuse(
            "a URL", "contains a query, a fragment or a backslash, which leat does not allow", err);
    if (has_dots(ret_url->path))
        return refuse(url, "contains the part \".\" or \"..\", which leat does not allow", err);
    return 0;
}

static void add_encoded(struct leat_text *text, const char *bytes, const char *kept) {
    for (; *bytes; bytes++) {
        unsigned char byte = (unsigned char)*bytes;

        if (byte < 0x80 && (isalnum(byte) || strchr(kept, byte)))
            leat_text_add_bytes(text, bytes, 1);
        else
            leat_text_add(text, "%%%02X", byte);
    }
}

/* Names with dots have no certificate as hosts. */
static void add_bucket(struct leat_text *text, const char *bucket, const struct leat_store *store) {
    if (store->endpoint)
        leat_text_add(text, "%s/%s/", store->endpoint, bucket);
    else if (strchr(bucket, '.'))
        leat_text_add(text, "https://s3.%s.amazonaws.com/%s/", store->region, bucket);
    else
        leat_text_add(text, "https://%s.s3.%s.amazonaws.com/", bucket, store->region);
}

void leat_object_url_add(struct leat_text *text, const struct leat_object_url *url,
                         const struct leat_store *store) {
    if (url->is_s3) {
        add_bucket(text, url->host, store);
        add_encoded(text, url->path, UNRESERVED "/");
    } else {
        leat_text_add(text, "%s://%s/", url->is_tls ? "https" : "http", url->host);
        add_encoded(text, url->path, OF_PATHS);
    }
}

void leat_object_url_add_list(struct leat_text *text, const struct leat_object_url *url,
                              const struct leat_store *store, const char *token) {
    add_bucket(text, url->host, store);
    leat_text_add(text, "?");
    if (token[0]) {
        leat_text_add(text, "continuation-token=");
        add_encoded(text, token, UNRESERVED);
        leat_text_add(text, "&");
    }
    leat_text_add(text, "list-type=2&prefix=");
    add_encoded(text, url->path, UNRESERVED);
}

void leat_object_url_add_upload(struct leat_text *text, const struct leat_object_url *url,
                                const struct leat_store *store, const char *upload, unsigned part) {
    leat_object_url_add(text, url, store);
    leat_text_add(text, upload ? "?" : "?uploads=");
    if (part > 0)
        leat_text_add(text, "partNumber=%u&", part);
    if (upload) {
        leat_text_add(text, "uploadId=");
        add_encoded(text, upload, UNRESERVED);
    }
}

static bool is_local_v4(uint32_t host_order) {
    return host_order >> 24 == 127 || host_order >> 24 == 0 || host_order >> 16 == 0xa9fe;
}

static bool is_local_v6(const struct in6_addr *address) {
    uint32_t last;

    memcpy(&last, address->s6_addr + 12, sizeof(last));
    if (IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_V4COMPAT(address))
        return is_local_v4(ntohl(last));
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
           IN6_IS_ADDR_LINKLOCAL(address);
}

bool leat_address_is_local(const struct sockaddr *address) {
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        return is_local_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof(v6));
        return is_local_v6(&v6.sin6_addr);
    }
    return true;
}

bool leat_host_is_local(const char *host) {
    struct in_addr v4;
    struct in6_addr v6;
    size_t n = strcspn(host, ":");
    char name[LEAT_BUCKET_MAX + 1];

    if (inet_pton(AF_INET6, host, &v6) == 1)
        return is_local_v6(&v6);
    if (n >= sizeof(name))
        return true;
    memcpy(name, host, n);
    name[n] = '\0';
    if (inet_aton(name, &v4))
        return is_local_v4(ntohl(v4.s_addr));
    return strcasecmp(name, "localhost") == 0 ||
           (n >= 10 && strcasecmp(name + n - 10, ".localhost") == 0);
}
