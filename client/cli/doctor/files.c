/* files.c: the configuration, and the folders that the daemon writes to. They are examined through
 * /proc/PID/root if this user may look there, since the daemon's unit may have made read-only what
 * is writable for others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/daemon/private_daemon.h"
#include "client/cli/base/stream_file.h"
#include "client/cli/base/units.h"
#include "client/cli/doctor/doctor.h"
#include "pipeline/io/files.h"
#include "pipeline/spec/cache_options.h"

#define USUAL_FILE        "/etc/leat/leatd.yaml"
#define LITTLE_SPACE      (UINT64_C(1) << 30)
#define FOLDERS_MAX       16
#define RELOAD_TIMEOUT_MS 60000

/* ---- configuration ---- */

/* The daemon reads the whole configuration with its own rights, and puts nothing in force. */
static void check_by_daemon(struct leat_doctor *doctor) {
    Leat__ReloadRequest reload = LEAT__RELOAD_REQUEST__INIT;
    struct leat_error err = LEAT_ERROR_INIT;
    char line[LEAT_ERROR_PRINT_MAX];
    Leat__ControlReply *reply;
    int status;

    reload.only_checks = true;
    reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_RELOAD, &reload, RELOAD_TIMEOUT_MS,
                             &status, &err);
    if (reply) {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, "configuration", "reload",
                        "the daemon accepts the file, with %zu streams", reply->reload->n_streams);
        leat__control_reply__free_unpacked(reply, NULL);
        return;
    }
    (void)leat_error_print(&err, line, sizeof(line));
    leat_doctor_add(doctor, err.code == -EACCES ? LEAT_DOCTOR_UNSEEN : LEAT_DOCTOR_FAIL,
                    "configuration", "reload", "%s", line);
    if (err.code != -EACCES)
        leat_doctor_mend(doctor, "correct this error, then run `leatctl reload`; until then, the "
                                 "daemon uses the old configuration");
}

/* cwd: a link to the folder that a relative path starts from. */
static void make_absolute(const char *path, const char *cwd, char *ret_path, size_t size) {
    char folder[2048];
    ssize_t n = path[0] == '/' ? 0 : readlink(cwd, folder, sizeof(folder));

    (void)snprintf(ret_path, size, "%.*s%s%s", n > 0 ? (int)n : 0, folder, n > 0 ? "/" : "", path);
}

static bool is_same_file(const char *a, const char *b) {
    struct stat of_a, of_b;

    return strcmp(a, b) == 0 || (stat(a, &of_a) == 0 && stat(b, &of_b) == 0 &&
                                 of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino);
}

/* Takes the file of the command line, or the daemon's, or the usual one. */
static void find_file(struct leat_doctor *doctor) {
    char own[sizeof(doctor->path)] = "", cwd[32];

    if (doctor->status && doctor->status->config_file[0]) {
        (void)snprintf(cwd, sizeof(cwd), "/proc/%u/cwd", doctor->status->pid);
        make_absolute(doctor->status->config_file, cwd, own, sizeof(own));
    }
    if (!doctor->file && !own[0] && access(USUAL_FILE, F_OK) < 0)
        return;
    if (doctor->file)
        make_absolute(doctor->file, "/proc/self/cwd", doctor->path, sizeof(doctor->path));
    else
        (void)snprintf(doctor->path, sizeof(doctor->path), "%s", own[0] ? own : USUAL_FILE);
    doctor->file = doctor->path;
    doctor->is_the_daemons = own[0] && is_same_file(doctor->path, own);
}

void leat_doctor_configuration(struct leat_doctor *doctor) {
    char text[LEAT_ERROR_MESSAGE_MAX] = "";
    int status;

    find_file(doctor);
    if (!doctor->file) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "configuration", "file",
                        "there is no configuration file at the default path; to check your file, "
                        "run `leatctl doctor FILE`");
        return;
    }
    status = leat_cli_daemon_check(doctor->file, NULL, 0, text, sizeof(text));
    text[strcspn(text, "\n")] = '\0';
    leat_doctor_add(
        doctor,
        status == 0     ? LEAT_DOCTOR_OK
        : status == 127 ? LEAT_DOCTOR_UNSEEN
                        : LEAT_DOCTOR_FAIL,
        "configuration", "file", "%s%s", status == 0 ? doctor->file : text,
        status == 127
            ? "there is no leatd in the folder of leatctl, so doctor cannot check the file"
            : "");
    if (status != 0 && status != 127)
        leat_doctor_mend(doctor, "correct this error; `leatctl check %s` lists all errors",
                         doctor->file);
    if (doctor->is_the_daemons)
        check_by_daemon(doctor);
}

/* ---- folders ---- */

/* The process that writes, and the root through which this one sees its paths. */
struct writer {
    uid_t uid;
    gid_t gid;
    char root[32]; /* "/proc/PID/root"; "": our own */
};

static void find_writer(const struct leat_doctor *doctor, struct writer *ret_writer) {
    char path[sizeof(ret_writer->root)];
    struct stat status;

    *ret_writer = (struct writer){.uid = geteuid(), .gid = getegid()};
    if (!doctor->status)
        return;
    (void)snprintf(path, sizeof(path), "/proc/%u", doctor->status->pid);
    if (stat(path, &status) == 0) {
        ret_writer->uid = status.st_uid;
        ret_writer->gid = status.st_gid;
    }
    (void)snprintf(path, sizeof(path), "/proc/%u/root", doctor->status->pid);
    if (access(path, X_OK) == 0)
        memcpy(ret_writer->root, path, sizeof(path));
}

static bool may_write(const struct writer *writer, const char *path, const struct stat *status) {
    if (writer->uid == geteuid())
        return faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 || errno == EROFS;
    if (writer->uid == 0)
        return true;
    if (status->st_uid == writer->uid)
        return (status->st_mode & S_IWUSR) != 0;
    return (status->st_mode & (status->st_gid == writer->gid ? S_IWGRP : S_IWOTH)) != 0;
}

/* Cuts the path to the nearest folder that exists. 0 or the errno. */
static int find_nearest(char *path, size_t n_root, struct stat *ret_status) {
    while (stat(path, ret_status) < 0) {
        char *slash = strrchr(path + n_root, '/');

        if (errno != ENOENT || !slash || (slash == path + n_root && !slash[1]))
            return errno;
        slash[slash == path + n_root] = '\0';
    }
    return S_ISDIR(ret_status->st_mode) ? 0 : ENOTDIR;
}

static void add_space(struct leat_doctor *doctor, const char *name, const char *folder,
                      uint64_t n_free) {
    char bytes[LEAT_CLI_UNIT_MAX];

    leat_doctor_add(doctor,
                    n_free == 0             ? LEAT_DOCTOR_FAIL
                    : n_free < LITTLE_SPACE ? LEAT_DOCTOR_WARN
                                            : LEAT_DOCTOR_OK,
                    "folders", name, "%s: %s free", folder, leat_cli_bytes(n_free, bytes));
    leat_doctor_mend(doctor,
                     "free some space: `leatctl cache ls %s` lists the caches, and `leatctl cache "
                     "rm` removes unused ones; `max_size` limits a cache",
                     folder);
}

static void examine_folder(struct leat_doctor *doctor, const char *name, const char *folder) {
    struct writer writer;
    struct statvfs space;
    struct stat status;
    char path[4096];
    int code;

    find_writer(doctor, &writer);
    (void)snprintf(path, sizeof(path), "%s%s", writer.root, folder);
    code = find_nearest(path, strlen(writer.root), &status);
    if (code == 0 && statvfs(path, &space) < 0)
        code = errno;
    if (code == EACCES || code == EPERM) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "folders", name,
                        "%s: %s; run doctor as the owner of the folder, or as root", folder,
                        strerror(code));
    } else if (code != 0) {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "folders", name, "%s: %s", folder,
                        strerror(code));
        leat_doctor_mend(doctor, "choose a folder that exists, or that leatd can create");
    } else if (space.f_flag & ST_RDONLY) {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "folders", name, "%s: read-only%s", folder,
                        writer.root[0] ? " for the daemon" : "");
        leat_doctor_mend(doctor,
                         "set ReadWritePaths=%s in `systemctl edit leatd`, or use a folder below "
                         "/var/cache/leat",
                         folder);
    } else if (!may_write(&writer, path, &status)) {
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, "folders", name, "%s: uid %u may not write to %s",
                        folder, (unsigned)writer.uid, path + strlen(writer.root));
        leat_doctor_mend(
            doctor,
            "make the daemon's user the owner of this folder (chown), or choose another folder");
    } else {
        add_space(doctor, name, folder, space.f_bavail * space.f_frsize);
    }
}

/* The cache folders that were examined: each is examined once. */
struct folders {
    size_t n_items;
    char *items[FOLDERS_MAX];
};

/* take_folder may be NULL. */
static void examine_once(struct leat_doctor *doctor, struct folders *folders, char *take_folder) {
    bool is_new = take_folder && folders->n_items < FOLDERS_MAX;

    for (size_t i = 0; is_new && i < folders->n_items; i++)
        is_new = strcmp(folders->items[i], take_folder) != 0;
    if (!is_new) {
        free(take_folder);
        return;
    }
    folders->items[folders->n_items++] = take_folder;
    examine_folder(doctor, "cache", take_folder);
}

static void examine_daemons_caches(struct leat_doctor *doctor, struct folders *folders) {
    struct leat_error err = LEAT_ERROR_INIT;
    Leat__ControlReply *reply;
    int status;

    reply = leat_cli_control(NULL, LEAT__CONTROL_REQUEST__VERB_CACHES, NULL,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, &err);
    if (!reply) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, "folders", "caches", "%s", err.message);
        return;
    }
    for (size_t i = 0; i < reply->caches->n_caches; i++)
        examine_once(doctor, folders, strdup(reply->caches->caches[i]->folder));
    leat__control_reply__free_unpacked(reply, NULL);
}

static void examine_files_caches(struct leat_doctor *doctor, struct folders *folders) {
    struct leat_cli_streams streams;
    char *folder;

    (void)leat_cli_streams_load(
        doctor->file, NULL, 0, &streams,
        LEAT_ERROR_IGNORED); /* the configuration has a finding of its own */
    for (size_t i = 0; i < streams.n_specs; i++) {
        (void)leat_cache_folder(streams.specs[i], &folder, LEAT_ERROR_IGNORED);
        examine_once(doctor, folders, folder);
    }
    leat_cli_streams_deinit(&streams);
}

/* The folder that the configuration names, to be freed. NULL: it names none. */
static char *read_state_setting(const struct leat_doctor *doctor) {
    struct leat_value document = {.kind = LEAT_VALUE_NULL};
    const struct leat_value *setting = NULL;
    char *folder = NULL;

    if (doctor->file && leat_cli_document_load(doctor->file, &document, LEAT_ERROR_IGNORED) == 0)
        setting = leat_value_get(&document, "state_directory");
    if (setting && setting->kind == LEAT_VALUE_SCALAR)
        folder = leat_files_beside(doctor->file, setting->text);
    leat_value_deinit(&document);
    return folder;
}

/* The first path of a variable of the daemon's environment, with something behind it; to be freed.
 * NULL: it cannot be read. */
static char *read_variable(const struct leat_doctor *doctor, const char *name, const char *behind) {
    char path[64], *line = NULL, *folder = NULL;
    size_t n_line = 0, n = strlen(name);
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%u/environ", doctor->status->pid);
    file = fopen(path, "re");
    while (file && !folder && getdelim(&line, &n_line, '\0', file) > 0) {
        if (strncmp(line, name, n) != 0 || line[n] != '=' || line[n + 1] != '/')
            continue;
        line[n + 1 + strcspn(line + n + 1, ":")] = '\0';
        if (asprintf(&folder, "%s%s", line + n + 1, behind) < 0)
            folder = NULL;
    }
    free(line);
    if (file)
        (void)fclose(file);
    return folder;
}

/* Without the setting, the folder follows from the daemon's environment. */
static void examine_state(struct leat_doctor *doctor) {
    char *folder = read_state_setting(doctor);

    if (!folder)
        folder = read_variable(doctor, "STATE_DIRECTORY", "");
    if (!folder)
        folder = read_variable(doctor, "XDG_STATE_HOME", "/leat");
    if (!folder)
        folder = read_variable(doctor, "HOME", "/.local/state/leat");
    if (folder)
        examine_folder(doctor, "state", folder);
    free(folder);
}

void leat_doctor_folders(struct leat_doctor *doctor) {
    struct folders folders = {.n_items = 0};

    if (doctor->status)
        examine_daemons_caches(doctor, &folders);
    if (doctor->file && !doctor->is_the_daemons)
        examine_files_caches(doctor, &folders);
    if (doctor->status)
        examine_state(doctor);
    for (size_t i = 0; i < folders.n_items; i++)
        free(folders.items[i]);
}
