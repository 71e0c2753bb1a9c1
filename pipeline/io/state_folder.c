/* state_folder.c: see state_folder.h. The time of change is the age, which touching sets. */
#include "pipeline/io/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/calls.h"
#include "proto/base/file.h"

#define ENTRY_MAX (LEAT_STATE_NAME_MAX + 32) /* with that of a temporary file */
#define PATH_SIZE (sizeof(((struct leat_state_folder *)0)->path) + ENTRY_MAX)

void leat_state_folder_init(struct leat_state_folder *folder, const char *directory,
                            const char *name, const char *suffix, size_t max_files,
                            size_t max_bytes) {
    const char *state = getenv("STATE_DIRECTORY"), *user = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    size_t size = sizeof(folder->path);
    int n = -1;

    folder->suffix = suffix;
    folder->max_files = max_files;
    folder->max_bytes = max_bytes;
    if (directory)
        n = snprintf(folder->path, size, "%s/%s", directory, name);
    else if (state && state[0] == '/')
        n = snprintf(folder->path, size, "%.*s/%s", (int)strcspn(state, ":"), state, name);
    else if (user && user[0] == '/')
        n = snprintf(folder->path, size, "%s/leat/%s", user, name);
    else if (home && home[0] == '/')
        n = snprintf(folder->path, size, "%s/.local/state/leat/%s", home, name);
    if (n < 0 || (size_t)n >= size)
        folder->path[0] = '\0';
}

/* Makes the folders above, too. */
int leat_state_folder_make(const char *path) {
    char copy[PATH_SIZE];

    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return -errno;
        *at = '/';
    }
    return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static void path_of(const struct leat_state_folder *folder, const char *name,
                    char ret_path[PATH_SIZE]) {
    (void)snprintf(ret_path, PATH_SIZE, "%s/%s%s", folder->path, name, folder->suffix);
}

void leat_state_folder_locate(const struct leat_state_folder *folder, const char *name,
                              struct leat_error *err) {
    char path[PATH_SIZE];

    path_of(folder, name, path);
    leat_error_locate(err, path, 0, 0);
}

/* ---- reading ---- */

static int read_all(int fd, size_t n_wanted, char **ret_data, size_t *ret_n_bytes) {
    char *data = malloc(n_wanted + 1);
    ssize_t n = data ? leat_file_read(fd, data, n_wanted, 0) : -ENOMEM;

    if (n < 0) {
        free(data);
        return (int)n;
    }
    data[n] = '\0';
    *ret_data = data;
    *ret_n_bytes = (size_t)n;
    return 0;
}

/* Opens the file of that path, and tells how it is. */
static int open_file(const char *path, size_t max_bytes, struct stat *ret_status) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), r = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, ret_status) < 0)
        r = -errno;
    else if (!S_ISREG(ret_status->st_mode))
        r = -EINVAL;
    else if ((uint64_t)ret_status->st_size > max_bytes)
        r = -EFBIG;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

static int read_file(const struct leat_state_folder *folder, const char *name, size_t max_bytes,
                     bool is_own, char **ret_data, size_t *ret_n_bytes, struct stat *status,
                     struct leat_error *err) {
    char path[PATH_SIZE];
    int fd, r = 0;

    if (!folder->path[0])
        return -ENOENT;
    path_of(folder, name, path);
    fd = open_file(path, max_bytes, status);
    if (fd == -ENOENT)
        return -ENOENT;
    if (fd < 0)
        r = fd;
    else if (is_own && status->st_uid != geteuid() && status->st_uid != 0)
        r = -EPERM;
    else
        r = read_all(fd, (size_t)status->st_size, ret_data, ret_n_bytes);
    leat_file_close(&fd);
    if (r < 0) {
        leat_error_set(err, r == -ENOENT ? -EIO : r, "cannot read the file: %s",
                       r == -EPERM ? "it belongs to another user" : strerror(-r));
        leat_state_folder_locate(folder, name, err);
    }
    return r;
}

int leat_state_folder_read(const struct leat_state_folder *folder, const char *name,
                           size_t max_bytes, char **ret_data, size_t *ret_n_bytes,
                           struct leat_error *err) {
    struct stat status;

    return read_file(folder, name, max_bytes, false, ret_data, ret_n_bytes, &status, err);
}

int leat_state_folder_read_own(const struct leat_state_folder *folder, const char *name,
                               size_t max_bytes, char **ret_data, size_t *ret_n_bytes,
                               int64_t *ret_written_ns, struct leat_error *err) {
    struct stat status;
    int r = read_file(folder, name, max_bytes, true, ret_data, ret_n_bytes, &status, err);

    if (r == 0)
        *ret_written_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return r;
}

/* ---- how many there are ---- */

struct survey {
    size_t n_files;
    uint64_t n_bytes;
    struct timespec oldest_time;
    char oldest[ENTRY_MAX + 1];
};

/* True also of a temporary file that a killed process left. */
static bool is_ours(const struct leat_state_folder *folder, const char *name) {
    size_t n;

    name += name[0] == '.';
    n = strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-");
    return n > 0 && strlen(name) < ENTRY_MAX &&
           strncmp(name + n, folder->suffix, strlen(folder->suffix)) == 0;
}

static bool is_earlier(struct timespec a, struct timespec b) {
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static void survey_folder(const struct leat_state_folder *folder, DIR *directory,
                          struct survey *ret_survey) {
    struct dirent *entry;
    struct stat status;

    *ret_survey = (struct survey){.n_files = 0};
    rewinddir(directory);
    while ((entry = readdir(directory))) {
        if (!is_ours(folder, entry->d_name) ||
            fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        ret_survey->n_bytes += (uint64_t)status.st_size;
        if (ret_survey->n_files++ > 0 && !is_earlier(status.st_mtim, ret_survey->oldest_time))
            continue;
        ret_survey->oldest_time = status.st_mtim;
        memcpy(ret_survey->oldest, entry->d_name, strlen(entry->d_name) + 1);
    }
}

static void remove_oldest(const struct leat_state_folder *folder) {
    DIR *directory = opendir(folder->path);
    struct survey survey;

    if (!directory)
        return;
    for (survey_folder(folder, directory, &survey);
         survey.n_files > folder->max_files ||
         (survey.n_bytes > folder->max_bytes && survey.n_files > 1);
         survey_folder(folder, directory, &survey))
        if (unlinkat(dirfd(directory), survey.oldest, 0) < 0)
            break;
    (void)closedir(directory);
}

/* ---- writing ---- */

static int write_new(const char *path, const void *data, size_t n_bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

    if (fd < 0)
        return -errno;
    r = leat_file_write(fd, data, n_bytes, 0);
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

int leat_state_folder_write(const struct leat_state_folder *folder, const char *name,
                            const void *data, size_t n_bytes, struct leat_error *err) {
    char path[PATH_SIZE], temporary[PATH_SIZE];
    int r;

    if (!folder->path[0])
        return 0;
    path_of(folder, name, path);
    (void)snprintf(temporary, sizeof(temporary), "%s/.%s%s.%ld", folder->path, name, folder->suffix,
                   (long)leat_thread_id());
    r = leat_state_folder_make(folder->path);
    if (r == 0)
        r = write_new(temporary, data, n_bytes);
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary);
        return leat_error_set(err, r, "%s: cannot write the file: %s", path, strerror(-r));
    }
    remove_oldest(folder);
    return 0;
}

bool leat_state_folder_touch(const struct leat_state_folder *folder, const char *name) {
    char path[PATH_SIZE];

    if (!folder->path[0])
        return false;
    path_of(folder, name, path);
    return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}
