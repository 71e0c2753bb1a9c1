#include "daemon/core/endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/net/service_manager.h"
#include "daemon/trainer/session.h"
#include "daemon/users/client_log.h"
#include "proto/base/clock.h"

static const struct {
    const char *name; /* FileDescriptorName= of the socket unit; NAME.sock in the directory */
    int type;
    const char *group; /* whose members may connect; NULL: see group_of() */
    size_t setting;    /* offset of its path in the settings */
} kinds[LEAT_N_ENDPOINTS] = {
    [LEAT_ENDPOINT_TRAINER] = {"trainer", SOCK_SEQPACKET, "leat-clients",
                               offsetof(struct leat_settings, trainer_socket)},
    [LEAT_ENDPOINT_COPY] = {"copy", SOCK_STREAM, "leat-clients",
                            offsetof(struct leat_settings, copy_socket)},
    [LEAT_ENDPOINT_CONTROL] = {"control", SOCK_STREAM, NULL,
                               offsetof(struct leat_settings, control_socket)},
};

#define HTTP_NAME "http" /* the socket of metrics and status page; optional */

static int find_endpoint(const char *name) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -ENOENT;
}

static int adopt_named(struct leat_endpoints *endpoints, int take_fd, const char *name,
                       struct leat_error *err) {
    int i = find_endpoint(name);

    if (strcmp(name, HTTP_NAME) == 0 && !leat_http_is_open(endpoints->http))
        return leat_http_adopt(endpoints->http, take_fd, err);
    if (i < 0 || endpoints->listeners[i].fd >= 0) {
        (void)close(take_fd);
        return leat_error_set(err, -EINVAL,
                              "the service manager passed a socket with the name \"%.64s\"%s: set "
                              "FileDescriptorName= to trainer, copy, control or http",
                              name, i < 0 ? "" : " twice");
    }
    return leat_listener_adopt(&endpoints->listeners[i], take_fd, kinds[i].type, err);
}

/* The number of passed sockets, or -errno. */
static int adopt_all(struct leat_endpoints *endpoints, struct leat_error *err) {
    struct leat_passed_sockets passed;
    int r = leat_passed_sockets_take(&passed);

    if (r < 0)
        return leat_error_set(
            err, r, "the daemon cannot use the sockets of the service manager: %s", strerror(-r));
    for (int i = 0; i < passed.n && r == 0; i++)
        r = adopt_named(endpoints, LEAT_PASSED_FD + i, passed.names[i], err);
    return r < 0 ? r : passed.n;
}

void leat_endpoints_init(struct leat_endpoints *endpoints) {
    leat_http_init(endpoints->http);
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        endpoints->listeners[i].fd = endpoints->listeners[i].reserve_fd = -1;
}

int leat_endpoints_directory(char *buffer, size_t size, struct leat_error *err) {
    const char *runtime = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");

    if (runtime && runtime[0])
        (void)snprintf(buffer, size, "%.*s", (int)strcspn(runtime, ":"), runtime);
    else if (geteuid() == 0)
        (void)snprintf(buffer, size, "/run/leat");
    else if (user && user[0])
        (void)snprintf(buffer, size, "%s/leat", user);
    else
        return leat_error_set(err, -EINVAL,
                              "the daemon has no folder for its sockets: use --socket-dir DIR, or "
                              "set XDG_RUNTIME_DIR");
    return 0;
}

/* The group of a socket. All users may connect to the control socket, as two groups share it and
 * rights.h checks each request; but to a user's own daemon only if its settings name groups. */
static const char *group_of(const struct leat_endpoints *endpoints, int i) {
    const struct leat_config *given = &endpoints->env->settings->base;
    bool says_who = geteuid() == 0 || leat_config_given(given, "control_groups") ||
                    leat_config_given(given, "admin_groups");

    return kinds[i].group ? kinds[i].group : says_who ? NULL : "";
}

static void fit(const struct leat_endpoints *endpoints, const struct leat_listener *listener) {
    if (listener->path)
        (void)chmod(listener->path, group_of(endpoints, LEAT_ENDPOINT_CONTROL) ? 0600 : 0666);
}

void leat_endpoints_fit_control(struct leat_endpoints *endpoints) {
    fit(endpoints, &endpoints->listeners[LEAT_ENDPOINT_CONTROL]);
    fit(endpoints, &endpoints->http->listener);
    leat_http_set_rights(endpoints->http, &endpoints->controls->rights);
}

static int bind_one(struct leat_endpoints *endpoints, int i, struct leat_error *err) {
    const char *setting =
        *(const char *const *)((const char *)endpoints->env->settings + kinds[i].setting);
    const char *directory = endpoints->directory;
    char fallback[4096], path[sizeof(fallback) + 32];

    if (setting && !directory) {
        char name[32];
        int r = leat_listener_bind(&endpoints->listeners[i], setting, kinds[i].type,
                                   group_of(endpoints, i), err);

        (void)snprintf(name, sizeof(name), "%s_socket", kinds[i].name);
        leat_configuration_blame(endpoints->env->settings, name, err);
        return r;
    }
    if (!directory && leat_endpoints_directory(fallback, sizeof(fallback), err) < 0)
        return err->code;
    (void)snprintf(path, sizeof(path), "%s/%s.sock", directory ? directory : fallback,
                   kinds[i].name);
    return leat_listener_bind(&endpoints->listeners[i], path, kinds[i].type, group_of(endpoints, i),
                              err);
}

/* If sockets were passed, only those that are configured are made besides. */
static bool is_wanted(const struct leat_endpoints *endpoints, int i, int n_passed) {
    const char *setting =
        *(const char *const *)((const char *)endpoints->env->settings + kinds[i].setting);

    return endpoints->listeners[i].fd < 0 && (n_passed == 0 || endpoints->directory || setting);
}

static int guard_http(struct leat_endpoints *endpoints, struct leat_error *err) {
    const char *file = endpoints->env->settings->http_token_file;
    int r;

    leat_http_set_rights(endpoints->http, &endpoints->controls->rights);
    r = file ? leat_http_set_token(endpoints->http, file, err) : 0;
    if (r < 0)
        leat_configuration_blame(endpoints->env->settings, "http_token_file", err);
    return r;
}

int leat_endpoints_open(struct leat_endpoints *endpoints, struct leat_error *err) {
    int n_passed = adopt_all(endpoints, err), r = n_passed < 0 ? n_passed : 0;

    for (int i = 0; i < LEAT_N_ENDPOINTS && r == 0; i++)
        if (is_wanted(endpoints, i, n_passed))
            r = bind_one(endpoints, i, err);
    /* a daemon that belongs to a process may share its file with that of the machine */
    if (r == 0 && endpoints->env->settings->http_listen && !endpoints->is_of_process &&
        !leat_http_is_open(endpoints->http)) {
        r = leat_http_bind(endpoints->http, endpoints->env->settings->http_listen,
                           group_of(endpoints, LEAT_ENDPOINT_CONTROL), err);
        leat_configuration_blame(endpoints->env->settings, "http_listen", err);
    }
    return r == 0 && leat_http_is_open(endpoints->http) ? guard_http(endpoints, err) : r;
}

/* True if no other user may connect to the socket, or there is none. */
static bool is_own_socket(const struct leat_listener *listener) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address) - 1;
    struct stat status;

    return listener->fd < 0 ||
           (getsockname(listener->fd, (struct sockaddr *)&address, &size) == 0 &&
            stat(address.sun_path, &status) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

bool leat_endpoints_are_private(const struct leat_endpoints *endpoints) {
    return endpoints->is_of_process ||
           (geteuid() != 0 && is_own_socket(&endpoints->listeners[LEAT_ENDPOINT_TRAINER]) &&
            is_own_socket(&endpoints->listeners[LEAT_ENDPOINT_COPY]));
}

static struct leat_endpoints *owner_of(const struct leat_listener *listener) {
    return listener->owner;
}

static int on_trainer(struct leat_listener *listener, int take_fd) {
    return leat_session_accept(owner_of(listener)->sessions, take_fd, &leat_delivery_shared);
}

static int on_copy(struct leat_listener *listener, int take_fd) {
    return leat_session_accept(owner_of(listener)->sessions, take_fd, &leat_delivery_copy);
}

static int on_control(struct leat_listener *listener, int take_fd) {
    return leat_control_accept(owner_of(listener)->controls, take_fd);
}

static void log_refusal(const struct leat_env *env, uid_t uid, const struct leat_error *err) {
    if (err)
        leat_client_log_event(env, uid, LEAT_EVENT_REFUSED,
                              (struct leat_log_field[]){
                                  LEAT_LOG_N("uid", uid),
                                  LEAT_LOG_T("error", err->message),
                                  LEAT_LOG_FIELDS_END,
                              });
}

static void on_refused_trainer(struct leat_listener *listener, int take_fd, uid_t uid,
                               const struct leat_error *err) {
    log_refusal(owner_of(listener)->env, uid, err);
    leat_session_turn_away(owner_of(listener)->sessions, take_fd, &leat_delivery_shared, err);
}

static void on_refused_copy(struct leat_listener *listener, int take_fd, uid_t uid,
                            const struct leat_error *err) {
    log_refusal(owner_of(listener)->env, uid, err);
    leat_session_turn_away(owner_of(listener)->sessions, take_fd, &leat_delivery_copy, err);
}

static void on_refused_control(struct leat_listener *listener, int take_fd, uid_t uid,
                               const struct leat_error *err) {
    log_refusal(owner_of(listener)->env, uid, err);
    leat_control_turn_away(owner_of(listener)->controls, take_fd, err);
}

static void on_exhausted(struct leat_listener *listener) {
    struct leat_endpoints *endpoints = owner_of(listener);
    uint64_t now_ns = leat_now_ns();

    if (endpoints->exhausted_ns && now_ns - endpoints->exhausted_ns < LEAT_CLIENT_LOG_NS)
        return;
    endpoints->exhausted_ns = now_ns;
    leat_log_write(
        endpoints->env->log, LEAT_EVENT_DESCRIPTORS,
        (struct leat_log_field[]){LEAT_LOG_N("sessions", endpoints->sessions->n_sessions),
                                  LEAT_LOG_FIELDS_END});
}

int leat_endpoints_start(struct leat_endpoints *endpoints, struct leat_error *err) {
    static const struct {
        int (*on_accept)(struct leat_listener *, int);
        void (*on_refuse)(struct leat_listener *, int, uid_t, const struct leat_error *);
    } guests[LEAT_N_ENDPOINTS] = {
        [LEAT_ENDPOINT_TRAINER] = {on_trainer, on_refused_trainer},
        [LEAT_ENDPOINT_COPY] = {on_copy, on_refused_copy},
        [LEAT_ENDPOINT_CONTROL] = {on_control, on_refused_control},
    };

    for (int i = 0; i < LEAT_N_ENDPOINTS; i++) {
        struct leat_listener *listener = &endpoints->listeners[i];
        int r;

        if (listener->fd < 0)
            continue;
        listener->owner = endpoints;
        listener->on_accept = guests[i].on_accept;
        listener->on_refuse = guests[i].on_refuse;
        listener->limit = &endpoints->limit;
        listener->n_at_once = &endpoints->env->users->limits.user[LEAT_CHARGE_SESSIONS];
        listener->on_exhausted = on_exhausted;
        r = leat_listener_start(listener, endpoints->env->loop, i == LEAT_ENDPOINT_CONTROL);
        if (r < 0)
            return leat_error_set(err, r, "the daemon cannot listen on the %s socket: %s",
                                  kinds[i].name, strerror(-r));
    }
    return leat_http_start(endpoints->http, leat_monitor_bytes(endpoints->env->budget->limit_bytes),
                           err);
}

void leat_endpoints_leave_trainers(struct leat_endpoints *endpoints) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        if (i != LEAT_ENDPOINT_CONTROL && endpoints->listeners[i].is_passed)
            leat_listener_stop(&endpoints->listeners[i]);
}

void leat_endpoints_resume(struct leat_endpoints *endpoints) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        leat_listener_resume(&endpoints->listeners[i]);
}

void leat_endpoints_stop(struct leat_endpoints *endpoints) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        leat_listener_stop(&endpoints->listeners[i]);
    leat_http_stop(endpoints->http);
}
