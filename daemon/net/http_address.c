#include "daemon/net/http_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UNIX_PREFIX "unix:"
#define HOST_MAX    64

/* "HOST:PORT" or "[HOST]:PORT": the host alone, and where the port begins (NULL: there is none). */
static int split(const char *text, char host[HOST_MAX], const char **ret_port) {
    const char *end = text[0] == '[' ? strchr(text, ']') : strrchr(text, ':');
    const char *begin = text + (text[0] == '[');
    size_t n;

    if ((text[0] == '[' && !end) || (text[0] != '[' && end != strchr(text, ':')))
        return -EINVAL;
    n = end ? (size_t)(end - begin) : strlen(text);
    if (n == 0 || n >= HOST_MAX)
        return -EINVAL;
    memcpy(host, begin, n);
    host[n] = '\0';
    end = text[0] == '[' ? end + 1 : text + n;
    if (*end != '\0' && *end != ':')
        return -EINVAL;
    *ret_port = *end ? end + 1 : NULL;
    return 0;
}

static int parse_port(const char *text, in_port_t *ret_port) {
    char *end;
    unsigned long port;

    if (!text || *text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    port = strtoul(text, &end, 10);
    if (errno || *end || port < 1 || port > 65535)
        return -EINVAL;
    *ret_port = htons((uint16_t)port);
    return 0;
}

/* 0; -EINVAL: no address; -EADDRNOTAVAIL: other machines reach it. */
static int parse_ip(const char *host, in_port_t port, struct leat_http_address *address) {
    struct sockaddr_in *v4 = &address->ip.v4;
    struct sockaddr_in6 *v6 = &address->ip.v6;

    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = port;
        address->n_ip = sizeof(*v4);
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ? 0 : -EADDRNOTAVAIL;
    }
    if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1)
        return -EINVAL;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    address->n_ip = sizeof(*v6);
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ? 0 : -EADDRNOTAVAIL;
}

int leat_http_address_parse(const char *text, struct leat_http_address *ret_address,
                            struct leat_error *err) {
    char host[HOST_MAX];
    const char *port_text;
    in_port_t port;
    int r;

    *ret_address = (struct leat_http_address){.n_ip = 0};
    if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0) {
        ret_address->path = text + strlen(UNIX_PREFIX);
        return ret_address->path[0]
                   ? 0
                   : leat_error_set(
                         err, -EINVAL,
                         "the form unix: needs a path, for example unix:/run/leat/http.sock");
    }
    r = split(text, host, &port_text);
    if (r == 0)
        r = parse_port(port_text, &port);
    if (r == 0)
        r = parse_ip(host, port, ret_address);
    if (r == -EADDRNOTAVAIL)
        return leat_error_set(
            err, -EINVAL,
            "%.64s is not a loopback address: use 127.0.0.1 or [::1]. To serve other machines, use "
            "unix:PATH behind a reverse proxy that asks for a login",
            text);
    if (r < 0)
        return leat_error_set(
            err, -EINVAL,
            "\"%.64s\" is not an address: write 127.0.0.1:PORT, [::1]:PORT or unix:PATH", text);
    return 0;
}

int leat_http_host_is_local(const char *host) {
    struct leat_http_address address = {.n_ip = 0};
    char name[HOST_MAX];
    const char *port;

    if (!host)
        return 1; /* a browser always sends one */
    if (split(host, name, &port) < 0)
        return 0;
    return strcasecmp(name, "localhost") == 0 || parse_ip(name, 0, &address) == 0;
}
