/* http-off.c: no HTTP listener in this build; a setting that wants one is refused. */
#include <errno.h>
#include <unistd.h>

#include "daemon/metrics/http.h"

void leat_http_init(struct leat_http *http) {
    *http = (struct leat_http){.listener = {.fd = -1, .reserve_fd = -1}, .shared.pipe = {-1, -1}};
}

bool leat_http_is_open(const struct leat_http *http) {
    (void)http;
    return false;
}

void leat_http_set_rights(struct leat_http *http, const struct leat_rights *rights) {
    (void)http;
    (void)rights;
}

int leat_http_set_token(struct leat_http *http, const char *path, struct leat_error *err) {
    (void)http;
    (void)path;
    (void)err;
    return 0;
}

int leat_http_bind(struct leat_http *http, const char *text, const char *group,
                   struct leat_error *err) {
    (void)http;
    (void)group;
    return leat_error_set(err, -EOPNOTSUPP,
                          "http_listen: %.64s: this leatd was built without HTTP: build it with "
                          "libmicrohttpd and -DLEAT_HTTP=ON",
                          text);
}

int leat_http_adopt(struct leat_http *http, int take_fd, struct leat_error *err) {
    (void)close(take_fd);
    return leat_http_bind(http, "a socket of the service manager", NULL, err);
}

int leat_http_start(struct leat_http *http, uint64_t history_bytes, struct leat_error *err) {
    (void)http;
    (void)history_bytes;
    (void)err;
    return 0;
}

void leat_http_publish(struct leat_http *http, const struct leat_reading *reading) {
    (void)http;
    (void)reading;
}

void leat_http_stop(struct leat_http *http) {
    (void)http;
}

void leat_http_deinit(struct leat_http *http) {
    (void)http;
}
