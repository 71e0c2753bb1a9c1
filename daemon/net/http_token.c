/* http_token.c: see http_token.h, and RFC 6750 for the header. */
#include "daemon/net/http_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME   "Bearer "
#define FILE_MAX (LEAT_HTTP_TOKEN_MAX + 2) /* with the end of its line */
#define NOT_FOR  (S_IWGRP | S_IRWXO)       /* rights that would make it no secret */
#define RIGHTS   07777U

static int check_file(int fd, const char *path, struct leat_error *err) {
    struct stat status;

    if (fstat(fd, &status) < 0)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return leat_error_set(err, -EINVAL, "%s is not a regular file", path);
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return leat_error_set(
            err, -EPERM, "%s belongs to uid %u, but it must belong to root or to the daemon's user",
            path, (unsigned)status.st_uid);
    if (status.st_mode & NOT_FOR)
        return leat_error_set(err, -EPERM,
                              "%s has mode %04o, so other users could read or change it: run chmod "
                              "0600, or chmod 0640 to let its group read it",
                              path, (unsigned)status.st_mode & RIGHTS);
    return 0;
}

static int take_line(const char *bytes, size_t n_bytes, const char *path,
                     struct leat_http_token *ret_token, struct leat_error *err) {
    size_t n = 0;

    while (n_bytes > 0 && (bytes[n_bytes - 1] == '\n' || bytes[n_bytes - 1] == '\r'))
        n_bytes--;
    while (n < n_bytes && bytes[n] > ' ' && bytes[n] <= '~')
        n++;
    if (n < n_bytes || n < LEAT_HTTP_TOKEN_MIN || n > LEAT_HTTP_TOKEN_MAX)
        return leat_error_set(err, -EINVAL,
                              "%s must contain one line of %d to %d visible ASCII characters, for "
                              "example the output of openssl rand -hex 32",
                              path, LEAT_HTTP_TOKEN_MIN, LEAT_HTTP_TOKEN_MAX);
    memcpy(ret_token->text, bytes, n);
    ret_token->n = n;
    return 0;
}

int leat_http_token_read(const char *path, struct leat_http_token *ret_token,
                         struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
    char bytes[FILE_MAX + 1];
    ssize_t n;

    if (fd < 0)
        return leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    r = check_file(fd, path, err);
    if (r == 0) {
        n = read(fd, bytes, sizeof(bytes));
        r = n < 0 ? leat_error_set(err, -errno, "%s: %s", path, strerror(errno))
                  : take_line(bytes, (size_t)n, path, ret_token, err);
    }
    (void)close(fd);
    return r;
}

/* Takes as many steps as the given text has bytes, whether it is right or wrong. */
static bool is_equal(const struct leat_http_token *token, const char *given) {
    size_t n = strlen(given);
    volatile unsigned char differs = n != token->n;

    for (size_t i = 0; i < n; i++)
        differs |=
            (unsigned char)((unsigned char)token->text[i % token->n] ^ (unsigned char)given[i]);
    return differs == 0;
}

bool leat_http_token_fits(const struct leat_http_token *token, const char *authorization,
                          const char *argument) {
    size_t n_scheme = strlen(SCHEME);

    if (token->n == 0)
        return true;
    if (authorization && strncasecmp(authorization, SCHEME, n_scheme) == 0)
        return is_equal(token, authorization + n_scheme);
    return argument && is_equal(token, argument);
}
