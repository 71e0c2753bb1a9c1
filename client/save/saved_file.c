/* saved_file.c: see saved_file.h. A process that is killed while it writes leaves a file `.leat-..`
 * behind, never a partial file of the requested name. */
#include "client/save/saved_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TRIES 100
#define MAX_SHOWN 300 /* a message has the last bytes of a path, so that the reason fits */

static const char *shorten_path(const char *path) {
    size_t n = strlen(path);

    return n > MAX_SHOWN ? path + n - MAX_SHOWN : path;
}

static int fail_write(struct leat_saved_file *file, int code) {
    return leat_error_set(&file->error, code, "%s: cannot be written: %s", shorten_path(file->path),
                          strerror(-code));
}

/* ---- the temporary name ---- */

/* Returns the length of the path up to and including its last '/'. */
static int folder_length(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash - path + 1) : 0;
}

static int open_temporary(struct leat_saved_file *file) {
    static atomic_uint n_files;

    for (int i = 0; i < MAX_TRIES; i++) {
        if (asprintf(&file->temporary, "%.*s.leat-%ld-%u", folder_length(file->path), file->path,
                     (long)getpid(), atomic_fetch_add(&n_files, 1)) < 0) {
            file->temporary = NULL;
            return -ENOMEM;
        }
        file->fd =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (file->fd >= 0)
            return 0;
        free(file->temporary);
        file->temporary = NULL;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* Renaming would replace a device or a pipe by a file, and fail for a folder. */
static int check_target(const char *path, struct leat_error *err) {
    struct stat status;

    if (!path[0] || path[strlen(path) - 1] == '/')
        return leat_error_set(err, -EINVAL, "\"%s\" is not the name of a file", shorten_path(path));
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return leat_error_set(err, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL,
                              "%s: cannot be written: it exists, and is %s", shorten_path(path),
                              S_ISDIR(status.st_mode) ? "a folder" : "not a regular file");
    return 0;
}

static int make_file(const char *path, struct leat_saved_file **ret_file, struct leat_error *err) {
    struct leat_saved_file *file = malloc(sizeof(*file));

    if (!file)
        return leat_error_oom(err);
    file->fd = -1;
    file->path = strdup(path);
    file->temporary = NULL;
    file->n_bytes = 0;
    file->n_buffered = 0;
    file->error = LEAT_ERROR_INIT;
    if (!file->path) {
        free(file);
        return leat_error_oom(err);
    }
    *ret_file = file;
    return 0;
}

int leat_saved_file_new(const char *path, struct leat_saved_file **ret_file,
                        struct leat_error *err) {
    struct leat_saved_file *file = NULL;
    int r = check_target(path, err);

    if (r == 0)
        r = make_file(path, &file, err);
    if (r < 0)
        return r;
    r = open_temporary(file);
    if (r == -ENOENT || r == -ENOTDIR)
        r = leat_error_set(err, r, "%s: cannot be written: its folder does not exist",
                           shorten_path(path));
    else if (r < 0)
        r = leat_error_set(err, r, "%s: cannot be written: %s", shorten_path(path), strerror(-r));
    if (r < 0)
        leat_saved_file_free(file);
    else
        *ret_file = file;
    return r;
}

int leat_saved_file_of(int fd, const char *path, struct leat_saved_file **ret_file,
                       struct leat_error *err) {
    int r = make_file(path, ret_file, err);

    if (r == 0)
        (*ret_file)->fd = fd;
    return r;
}

/* ---- writing ---- */

static void write_out(struct leat_saved_file *file, const uint8_t *data, size_t n_bytes) {
    while (n_bytes > 0 && !file->error.code) {
        ssize_t n = write(file->fd, data, n_bytes);

        if (n < 0 && errno != EINTR)
            (void)fail_write(file, -errno);
        if (n > 0) {
            data += n;
            n_bytes -= (size_t)n;
        }
    }
}

static void drain_buffer(struct leat_saved_file *file) {
    write_out(file, file->buffer, file->n_buffered);
    file->n_buffered = 0;
}

void leat_saved_file_write(struct leat_saved_file *file, const void *data, size_t n_bytes) {
    file->n_bytes += n_bytes;
    if (n_bytes > sizeof(file->buffer) - file->n_buffered)
        drain_buffer(file);
    if (n_bytes > sizeof(file->buffer)) {
        write_out(file, data, n_bytes);
    } else if (n_bytes > 0) {
        memcpy(file->buffer + file->n_buffered, data, n_bytes);
        file->n_buffered += n_bytes;
    }
}

void leat_saved_file_text(struct leat_saved_file *file, const char *text) {
    leat_saved_file_write(file, text, strlen(text));
}

void leat_saved_file_patch(struct leat_saved_file *file, uint64_t offset, const void *data,
                           size_t n_bytes) {
    const uint8_t *bytes = data;

    drain_buffer(file);
    while (n_bytes > 0 && !file->error.code) {
        ssize_t n = pwrite(file->fd, bytes, n_bytes, (off_t)offset);

        if (n < 0 && errno != EINTR)
            (void)fail_write(file, -errno);
        if (n > 0) {
            bytes += n;
            offset += (uint64_t)n;
            n_bytes -= (size_t)n;
        }
    }
}

int leat_saved_file_flush(struct leat_saved_file *file, struct leat_error *err) {
    drain_buffer(file);
    if (file->error.code)
        *err = file->error;
    return file->error.code;
}

/* ---- the end ---- */

/* Makes the new name survive a crash. A folder that cannot be synced is not an error. */
static void sync_folder(const struct leat_saved_file *file) {
    int n = folder_length(file->path), fd;
    char *folder;

    if (asprintf(&folder, "%.*s", n > 0 ? n : 1, n > 0 ? file->path : ".") < 0)
        return;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(folder);
}

static int close_temporary(struct leat_saved_file *file) {
    int r = fsync(file->fd) < 0 ? -errno : 0;

    if (close(file->fd) < 0 && r == 0)
        r = -errno;
    file->fd = -1;
    if (r == 0 && rename(file->temporary, file->path) < 0)
        r = -errno;
    if (r < 0)
        return fail_write(file, r);
    free(file->temporary);
    file->temporary = NULL;
    sync_folder(file);
    return 0;
}

int leat_saved_file_commit(struct leat_saved_file *take_file, struct leat_error *err) {
    int r = leat_saved_file_flush(take_file, err);

    if (r == 0 && take_file->temporary && close_temporary(take_file) < 0)
        r = leat_error_set(err, take_file->error.code, "%s", take_file->error.message);
    leat_saved_file_free(take_file);
    return r;
}

struct leat_saved_file *leat_saved_file_free(struct leat_saved_file *file) {
    if (!file)
        return NULL;
    if (file->temporary) {
        if (file->fd >= 0)
            (void)close(file->fd);
        (void)unlink(file->temporary);
    }
    free(file->temporary);
    free(file->path);
    free(file);
    return NULL;
}
