/* daemon.c: the daemon as this user reaches it: sockets and rights, its state, its unit. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/base/units.h"
#include "client/cli/doctor/doctor.h"
#include "client/leat.h"
#include "client/transport/address.h"

#define SHOW                                                                                       \
    "systemctl show '%s' --no-pager --property=LoadState,ActiveState,Result,NRestarts,"            \
    "NeedDaemonReload 2>/dev/null"
#define UNIT_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:-_.@"

#define STREAMS_MAX 16 /* findings about streams */

/* ---- sockets ---- */

static void add_socket(struct leat_doctor *doctor, const char *name, const char *path,
                       const char *what) {
    const struct passwd *user;
    const struct group *group;
    struct stat status;

    if (stat(path, &status) < 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "sockets", name, "%s: %s", path, what);
        return;
    }
    user = getpwuid(status.st_uid);
    group = getgrgid(status.st_gid);
    leat_doctor_add(doctor, LEAT_DOCTOR_OK, "sockets", name, "%s: %s; mode %04o, %s:%s", path, what,
                    (unsigned)status.st_mode & 07777U, user ? user->pw_name : "?",
                    group ? group->gr_name : "?");
}

/* The errors of leat_address_connect() say what to do about rights. */
static bool try_socket(struct leat_doctor *doctor, const char *name, int type, const char *what) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct sockaddr_un place;
    int fd = -1;

    if (leat_address_connect(NULL, name, type, LEAT_CLI_CONTROL_TIMEOUT_MS, &fd, &place, &err) <
        0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "sockets", name, "%s", err.message);
        leat_doctor_mend(doctor, "%s",
                         err.code == -EACCES
                             ? "ask an operator to add you to this group, then log in again"
                             : "start a daemon: systemctl start leatd.socket leatd-copy.socket "
                               "leatd-control.socket, or leatd --config FILE; if a daemon already "
                               "runs, set LEAT_SOCKET to the folder of its sockets");
        return false;
    }
    add_socket(doctor, name, place.sun_path, what);
    (void)close(fd);
    return true;
}

static void ask_status(struct leat_doctor *doctor) {
    struct leat_error err = LEAT_ERROR_INIT;
    int status;

    doctor->reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_STATUS, NULL,
                                     LEAT_CLI_CONTROL_TIMEOUT_MS, &status, &err);
    if (doctor->reply) {
        doctor->status = doctor->reply->status;
        return;
    }
    leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "sockets", "right to look", "%s", err.message);
    leat_doctor_mend(
        doctor, "%s",
        err.code == -EACCES
            ? "usermod -aG leat-clients USER, then log in again"
            : "read in `journalctl -u leatd` whether the daemon is stuck or overloaded");
}

void leat_doctor_sockets(struct leat_doctor *doctor) {
    bool is_there = try_socket(doctor, LEAT_SOCKET_CONTROL, SOCK_STREAM, "leatctl may connect");

    if (!is_there)
        return;
    ask_status(doctor); /* before this process counts as a trainer by connecting like one */
    (void)try_socket(doctor, LEAT_SOCKET_TRAINER, SOCK_SEQPACKET, "trainers may connect");
    (void)try_socket(doctor, LEAT_SOCKET_COPY, SOCK_STREAM,
                     "trainers with delivery: copy may connect");
}

/* ---- groups ---- */

static bool is_active(gid_t gid) {
    gid_t groups[256];
    int n = getgroups((int)(sizeof(groups) / sizeof(*groups)), groups);

    for (int i = 0; i < n; i++)
        if (groups[i] == gid)
            return true;
    return getegid() == gid;
}

static bool is_listed(const struct group *group, const char *user) {
    for (char **member = group->gr_mem; member && *member; member++)
        if (strcmp(*member, user) == 0)
            return true;
    return false;
}

static void examine_group(struct leat_doctor *doctor, const char *name, const char *what) {
    const struct passwd *entry = getpwuid(geteuid());
    char user[64] = "?";
    const struct group *group = getgrnam(name);

    if (entry)
        (void)snprintf(user, sizeof(user), "%s", entry->pw_name);
    if (!group) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "rights", name,
                        "this group does not exist; the package of leat creates it");
    } else if (is_active(group->gr_gid) || geteuid() == 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "rights", name, "%s may %s", user, what);
    } else if (is_listed(group, user)) {
        leat_doctor_add(doctor, LEAT_DOCTOR_WARN, "rights", name,
                        "%s is a member, but this login is older than the membership", user);
        leat_doctor_mend(doctor, "log in again, or run `newgrp %s`", name);
    } else {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "rights", name,
                        "%s is not a member; only members and the daemon's own user may %s", user,
                        what);
        leat_doctor_mend(doctor, "if you need this: usermod -aG %s %s, then log in again", name,
                         user);
    }
}

void leat_doctor_groups(struct leat_doctor *doctor) {
    examine_group(doctor, "leat-clients", "pull batches and look at the daemon");
    examine_group(doctor, "leat-admin", "change things (drain, reload, kick, trace, log-level)");
}

/* ---- the daemon ---- */

static void examine_version(struct leat_doctor *doctor) {
    const char *own = leat_version();
    bool is_same = strcmp(doctor->status->version, own) == 0;

    leat_doctor_add(doctor, is_same ? LEAT_DOCTOR_OK : LEAT_DOCTOR_WARN, "daemon", "version",
                    is_same ? "%s, the same as this leatctl"
                            : "the daemon is %s, but this leatctl is %s",
                    doctor->status->version, own);
    leat_doctor_mend(doctor, "upgrade both programs, then run `systemctl restart leatd`; trainers "
                             "continue after the restart");
}

static void examine_state(struct leat_doctor *doctor) {
    const Leat__StatusReply *status = doctor->status;
    char up[LEAT_CLI_UNIT_MAX];

    leat_doctor_add(
        doctor, status->is_draining || status->n_stalled ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK,
        "daemon", "state", "process %u, up for %s, %u streams, %u trainers, %" PRIu64 " refused%s",
        status->pid, leat_cli_duration(status->uptime_ns, up), status->n_streams,
        status->n_sessions, status->n_refused,
        status->is_draining ? "; it is draining, so it accepts no new trainers"
        : status->n_stalled ? "; some tasks stall"
                            : "");
    if (status->is_draining)
        leat_doctor_mend(
            doctor,
            "an operator ran `leatctl drain`, so this daemon will stop: then start leatd again");
    else
        leat_doctor_mend(doctor, "run `leatctl streams` to see which stream stalls, and check its "
                                 "disk, FIFO or program");
}

static void examine_memory(struct leat_doctor *doctor) {
    const Leat__StatusReply *status = doctor->status;
    char used[LEAT_CLI_UNIT_MAX], limit[LEAT_CLI_UNIT_MAX];
    uint64_t n_used = status->memory_used_bytes, n_limit = status->memory_limit_bytes;

    if (n_limit == 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "daemon", "memory",
                        "%s are used; there is no memory_limit",
                        leat_cli_bytes(status->rss_bytes, used));
        return;
    }
    leat_doctor_add(doctor, n_used > n_limit / 10 * 9 ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK, "daemon",
                    "memory", "%s are used, and memory_limit is %s", leat_cli_bytes(n_used, used),
                    leat_cli_bytes(n_limit, limit));
    leat_doctor_mend(doctor, "raise memory_limit, use fewer streams, or lower block_bytes");
}

static void examine_files(struct leat_doctor *doctor) {
    uint32_t n = doctor->status->n_fds;
    char path[64];
    uint64_t n_most;

    (void)snprintf(path, sizeof(path), "/proc/%u/limits", doctor->status->pid);
    n_most = leat_doctor_read_number(path, "Max open files"); /* soft, hard; or "unlimited" */
    if (n_most == 0 || n_most == LEAT_DOCTOR_NO_NUMBER) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "daemon", "open files",
                        "%u are open; the limit is unknown", n);
        return;
    }
    leat_doctor_add(doctor, n > n_most / 5 * 4 ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK, "daemon",
                    "open files", "%u of %" PRIu64, n, n_most);
    leat_doctor_mend(doctor, "set LimitNOFILE=%" PRIu64 " in `systemctl edit leatd`", 4 * n_most);
}

/* Adds findings if the stream fails or stalls now. */
static void examine_stream(struct leat_doctor *doctor, const Leat__Stream *stream) {
    const Leat__Failure *failure = stream->last_failure;
    struct leat_text text = {.data = NULL};

    if (stream->stalled_ns > 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_WARN, "streams", stream->name,
                        "it stalls: one of its tasks has been running for %.0f s",
                        (double)stream->stalled_ns / 1e9);
        leat_doctor_mend(doctor, "read the event `stalled` in `journalctl -u leatd`: it says "
                                 "whether a disk, FIFO or program does not answer");
    }
    if (!failure || failure->is_over)
        return;
    leat_cli_failure_text(&text, failure);
    leat_doctor_add(doctor, LEAT_DOCTOR_WARN, "streams", stream->name, "failed: %s",
                    text.failed ? failure->error : text.data);
    leat_doctor_mend(
        doctor,
        "correct the cause of the error, run `leatctl check FILE`, then restart the trainers");
    free(text.data);
}

static void examine_streams(struct leat_doctor *doctor) {
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_before = doctor->n_findings;
    Leat__ControlReply *reply;
    int status;

    reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_STREAMS, NULL,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, &err);
    if (!reply) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "streams", "failures", "%s", err.message);
        return;
    }
    for (size_t i = 0; i < reply->streams->n_streams && doctor->n_findings < n_before + STREAMS_MAX;
         i++)
        examine_stream(doctor, reply->streams->streams[i]);
    if (doctor->n_findings == n_before)
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "streams", "failures",
                        "no stream fails or stalls now; there were %" PRIu64 " failures before",
                        doctor->status->n_failures);
    leat__control_reply__free_unpacked(reply, NULL);
}

void leat_doctor_daemon(struct leat_doctor *doctor) {
    if (!doctor->status) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "daemon", "state", "no daemon answers");
        return;
    }
    examine_version(doctor);
    examine_state(doctor);
    examine_memory(doctor);
    examine_files(doctor);
    examine_streams(doctor);
}

/* ---- its unit ---- */

static void take_property(struct leat_doctor_unit *unit, char *line) {
    const struct {
        const char *key;
        char *value;
    } properties[] = {{"LoadState=", unit->load},
                      {"ActiveState=", unit->active},
                      {"Result=", unit->result},
                      {"NRestarts=", unit->restarts},
                      {"NeedDaemonReload=", unit->reload}};

    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
        if (strncmp(line, properties[i].key, strlen(properties[i].key)) == 0)
            (void)snprintf(properties[i].value, 32, "%.31s", line + strlen(properties[i].key));
}

bool leat_doctor_read_unit(const char *name, struct leat_doctor_unit *ret_unit) {
    char line[256], command[512];
    FILE *pipe = NULL;

    *ret_unit = (struct leat_doctor_unit){.load = ""};
    if (strspn(name, UNIT_LETTERS) != strlen(name) || *name == '-' ||
        (size_t)snprintf(command, sizeof(command), SHOW, name) >= sizeof(command))
        return false;
    if (access("/run/systemd/system", F_OK) == 0)
        pipe = popen(command, "re");
    while (pipe && fgets(line, sizeof(line), pipe))
        take_property(ret_unit, line);
    return pipe && pclose(pipe) == 0 && ret_unit->active[0];
}

void leat_doctor_unit(struct leat_doctor *doctor) {
    struct leat_doctor_unit unit;
    bool has_failed, is_odd;

    if (!leat_doctor_read_unit("leatd.service", &unit)) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "systemd", "leatd.service",
                        "systemd does not run or does not answer here");
        return;
    }
    if (strcmp(unit.load, "loaded") != 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "systemd", "leatd.service",
                        "the unit is %s, so systemd does not start the daemon", unit.load);
        return;
    }
    has_failed = strcmp(unit.active, "failed") == 0 ||
                 (strcmp(unit.active, "activating") == 0 && strcmp(unit.result, "success") != 0);
    is_odd = strcmp(unit.reload, "yes") == 0 || strtoul(unit.restarts, NULL, 10) > 0;
    leat_doctor_add(
        doctor,
        has_failed ? LEAT_DOCTOR_FAIL
        : is_odd   ? LEAT_DOCTOR_WARN
                   : LEAT_DOCTOR_OK,
        "systemd", "leatd.service", "it is %s; systemd has restarted it %s times%s", unit.active,
        unit.restarts,
        strcmp(unit.reload, "yes") == 0 ? "; its unit file changed after systemd loaded it" : "");
    if (strcmp(unit.reload, "yes") == 0)
        leat_doctor_mend(doctor, "systemctl daemon-reload && systemctl restart leatd");
    else
        leat_doctor_mend(doctor, "find the reason in journalctl -u leatd");
}
