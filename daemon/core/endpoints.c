/* endpoints.c: see endpoints.h, sd_listen_fds(3). */
#include "daemon/core/endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/config/configuration.h"
#include "daemon/control/control.h"
#include "daemon/trainer/session.h"

static const struct {
    const char *name; /* FileDescriptorName= of the socket unit; NAME.sock in the directory */
    int type;
    const char *group; /* that may connect; NULL: see group_of() */
    size_t setting;    /* offset of its path in the settings */
} endpoints[LEAT_N_ENDPOINTS] = {
    [LEAT_ENDPOINT_TRAINER] = {"trainer", SOCK_SEQPACKET, "leat-clients",
                               offsetof(struct leat_settings, trainer_socket)},
    [LEAT_ENDPOINT_COPY] = {"copy", SOCK_STREAM, "leat-clients",
                            offsetof(struct leat_settings, copy_socket)},
    [LEAT_ENDPOINT_CONTROL] = {"control", SOCK_STREAM, NULL,
                               offsetof(struct leat_settings, control_socket)},
};

#define HTTP_NAME "http" /* of the socket of metrics and status page, if there is one */

static int find_endpoint(const char *name) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        if (strcmp(endpoints[i].name, name) == 0)
            return i;
    return -ENOENT;
}

static int adopt_named(struct leat_daemon *daemon, int take_fd, const char *name,
                       struct leat_error *err) {
    int i = find_endpoint(name);

    if (strcmp(name, HTTP_NAME) == 0 && !leat_http_is_open(&daemon->http))
        return leat_http_adopt(&daemon->http, take_fd, err);
    if (i < 0 || daemon->listeners[i].fd >= 0) {
        (void)close(take_fd);
        return leat_error_set(err, -EINVAL,
                              "the service manager passed a socket named \"%.64s\"%s; the names "
                              "are trainer, copy, control and http (FileDescriptorName=)",
                              name, i < 0 ? "" : " twice");
    }
    return leat_listener_adopt(&daemon->listeners[i], take_fd, endpoints[i].type, err);
}

/* How many were passed, or -errno. */
static int adopt_all(struct leat_daemon *daemon, struct leat_error *err) {
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names), r = 0;

    if (n < 0)
        return leat_error_set(err, n, "sockets of the service manager: %s", strerror(-n));
    for (int i = 0; i < n; i++) {
        if (r == 0)
            r = adopt_named(daemon, SD_LISTEN_FDS_START + i, names[i], err);
        free(names[i]);
    }
    free(names);
    return r < 0 ? r : n;
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
                              "where shall the sockets be? Give --socket-dir, or set "
                              "XDG_RUNTIME_DIR");
    return 0;
}

/* Everybody may connect to the control socket, and rights.h tells them what they may: two groups
 * share it. But to a daemon of somebody's own only if its settings say who. */
static const char *group_of(const struct leat_daemon *daemon, int i) {
    const struct leat_config *given = &daemon->settings->base;
    bool says_who = geteuid() == 0 || leat_config_given(given, "control_groups") ||
                    leat_config_given(given, "admin_groups");

    return endpoints[i].group ? endpoints[i].group : says_who ? NULL : "";
}

static void fit(const struct leat_daemon *daemon, const struct leat_listener *listener) {
    if (listener->path)
        (void)chmod(listener->path, group_of(daemon, LEAT_ENDPOINT_CONTROL) ? 0600 : 0666);
}

void leat_endpoints_fit_control(struct leat_daemon *daemon) {
    fit(daemon, &daemon->listeners[LEAT_ENDPOINT_CONTROL]);
    fit(daemon, &daemon->http.listener);
    leat_http_set_rights(&daemon->http, &daemon->rights);
}

static int bind_one(struct leat_daemon *daemon, int i, struct leat_error *err) {
    const char *setting =
        *(const char *const *)((const char *)daemon->settings + endpoints[i].setting);
    const char *directory = daemon->options.socket_dir;
    char fallback[4096], path[sizeof(fallback) + 32];

    if (setting && !directory) {
        char name[32];
        int r = leat_listener_bind(&daemon->listeners[i], setting, endpoints[i].type,
                                   group_of(daemon, i), err);

        (void)snprintf(name, sizeof(name), "%s_socket", endpoints[i].name);
        leat_configuration_blame(daemon->settings, name, err);
        return r;
    }
    if (!directory && leat_endpoints_directory(fallback, sizeof(fallback), err) < 0)
        return err->code;
    (void)snprintf(path, sizeof(path), "%s/%s.sock", directory ? directory : fallback,
                   endpoints[i].name);
    return leat_listener_bind(&daemon->listeners[i], path, endpoints[i].type, group_of(daemon, i),
                              err);
}

/* Beside sockets that were passed, only those that were asked for are made. */
static bool is_wanted(const struct leat_daemon *daemon, int i, int n_passed) {
    const char *setting =
        *(const char *const *)((const char *)daemon->settings + endpoints[i].setting);

    return daemon->listeners[i].fd < 0 && (n_passed == 0 || daemon->options.socket_dir || setting);
}

static int guard_http(struct leat_daemon *daemon, struct leat_error *err) {
    const char *file = daemon->settings->http_token_file;
    int r;

    leat_http_set_rights(&daemon->http, &daemon->rights);
    r = file ? leat_http_set_token(&daemon->http, file, err) : 0;
    if (r < 0)
        leat_configuration_blame(daemon->settings, "http_token_file", err);
    return r;
}

int leat_endpoints_open(struct leat_daemon *daemon, struct leat_error *err) {
    int n_passed = adopt_all(daemon, err), r = n_passed < 0 ? n_passed : 0;

    for (int i = 0; i < LEAT_N_ENDPOINTS && r == 0; i++)
        if (is_wanted(daemon, i, n_passed))
            r = bind_one(daemon, i, err);
    /* a daemon that belongs to a process may share its file with the machine's */
    if (r == 0 && daemon->settings->http_listen && !daemon->options.end_with &&
        !leat_http_is_open(&daemon->http)) {
        r = leat_http_bind(&daemon->http, daemon->settings->http_listen,
                           group_of(daemon, LEAT_ENDPOINT_CONTROL), err);
        leat_configuration_blame(daemon->settings, "http_listen", err);
    }
    return r == 0 && leat_http_is_open(&daemon->http) ? guard_http(daemon, err) : r;
}

/* A user's own, whose sockets nobody else may connect to. */
static bool is_own_socket(const struct leat_listener *listener) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(address) - 1;
    struct stat status;

    return listener->fd < 0 ||
           (getsockname(listener->fd, (struct sockaddr *)&address, &size) == 0 &&
            stat(address.sun_path, &status) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

bool leat_endpoints_are_private(const struct leat_daemon *daemon) {
    return daemon->options.end_with ||
           (geteuid() != 0 && is_own_socket(&daemon->listeners[LEAT_ENDPOINT_TRAINER]) &&
            is_own_socket(&daemon->listeners[LEAT_ENDPOINT_COPY]));
}

static int on_trainer(struct leat_listener *listener, int take_fd) {
    return leat_session_accept(listener->owner, take_fd, &leat_delivery_shared);
}

static int on_copy(struct leat_listener *listener, int take_fd) {
    return leat_session_accept(listener->owner, take_fd, &leat_delivery_copy);
}

static int on_control(struct leat_listener *listener, int take_fd) {
    return leat_control_accept(listener->owner, take_fd);
}

static void log_refusal(struct leat_daemon *daemon, uid_t uid, const struct leat_error *err) {
    if (err)
        leat_daemon_log_client(daemon, uid, LEAT_EVENT_REFUSED,
                               (struct leat_log_field[]){
                                   LEAT_LOG_N("uid", uid),
                                   LEAT_LOG_T("error", err->message),
                                   LEAT_LOG_FIELDS_END,
                               });
}

static void on_refused_trainer(struct leat_listener *listener, int take_fd, uid_t uid,
                               const struct leat_error *err) {
    log_refusal(listener->owner, uid, err);
    leat_session_turn_away(listener->owner, take_fd, &leat_delivery_shared, err);
}

static void on_refused_copy(struct leat_listener *listener, int take_fd, uid_t uid,
                            const struct leat_error *err) {
    log_refusal(listener->owner, uid, err);
    leat_session_turn_away(listener->owner, take_fd, &leat_delivery_copy, err);
}

static void on_refused_control(struct leat_listener *listener, int take_fd, uid_t uid,
                               const struct leat_error *err) {
    log_refusal(listener->owner, uid, err);
    leat_control_turn_away(listener->owner, take_fd, err);
}

static void on_exhausted(struct leat_listener *listener) {
    struct leat_daemon *daemon = listener->owner;
    uint64_t now_ns = leat_daemon_now_ns();

    if (daemon->exhausted_ns && now_ns - daemon->exhausted_ns < LEAT_CLIENT_LOG_NS)
        return;
    daemon->exhausted_ns = now_ns;
    leat_log_write(
        &daemon->log, LEAT_EVENT_DESCRIPTORS,
        (struct leat_log_field[]){LEAT_LOG_N("sessions", daemon->n_sessions), LEAT_LOG_FIELDS_END});
}

int leat_endpoints_start(struct leat_daemon *daemon, struct leat_error *err) {
    static const struct {
        int (*on_accept)(struct leat_listener *, int);
        void (*on_refuse)(struct leat_listener *, int, uid_t, const struct leat_error *);
    } guests[LEAT_N_ENDPOINTS] = {
        [LEAT_ENDPOINT_TRAINER] = {on_trainer, on_refused_trainer},
        [LEAT_ENDPOINT_COPY] = {on_copy, on_refused_copy},
        [LEAT_ENDPOINT_CONTROL] = {on_control, on_refused_control},
    };

    for (int i = 0; i < LEAT_N_ENDPOINTS; i++) {
        struct leat_listener *listener = &daemon->listeners[i];
        int r;

        if (listener->fd < 0)
            continue;
        listener->owner = daemon;
        listener->on_accept = guests[i].on_accept;
        listener->on_refuse = guests[i].on_refuse;
        listener->door = &daemon->door;
        listener->n_at_once = &daemon->users.limits.user[LEAT_CHARGE_SESSIONS];
        listener->on_exhausted = on_exhausted;
        r = leat_listener_start(listener, &daemon->loop, i == LEAT_ENDPOINT_CONTROL);
        if (r < 0)
            return leat_error_set(err, r, "listening on the %s socket: %s", endpoints[i].name,
                                  strerror(-r));
    }
    return leat_http_start(&daemon->http, leat_monitor_bytes(daemon->budget.limit_bytes), err);
}

void leat_endpoints_leave_trainers(struct leat_daemon *daemon) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        if (i != LEAT_ENDPOINT_CONTROL && daemon->listeners[i].is_passed)
            leat_listener_stop(&daemon->listeners[i]);
}

void leat_endpoints_stop(struct leat_daemon *daemon) {
    for (int i = 0; i < LEAT_N_ENDPOINTS; i++)
        leat_listener_stop(&daemon->listeners[i]);
    leat_http_stop(&daemon->http);
}
