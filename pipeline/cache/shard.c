#include "pipeline/cache/shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/io/files.h"
#include "proto/base/elsewhere.h"

void leat_cache_shard_identify(uint32_t shard, uint32_t n_shards,
                               struct leat_cache_identity *identity) {
    struct leat_blake2b state;

    identity->shard = shard;
    identity->n_shards = n_shards;
    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat shard 1");
    leat_blake2b_update(&state, identity->spec, sizeof(identity->spec));
    leat_blake2b_update(&state, identity->data, sizeof(identity->data));
    leat_blake2b_final(&state, identity->key);
}

static int fail_path(struct leat_error *err, const char *path) {
    int code = errno;

    return leat_error_set(err, -code, "%s: %s", path, strerror(code));
}

static char *path_of(const char *folder, const struct leat_cache_identity *identity) {
    char name[LEAT_CACHE_NAME_MAX];

    leat_cache_store_name(identity, name);
    return leat_files_join(folder, name);
}

/* 0; -ENOENT: there is none; -EBADMSG: it is damaged, or none of that identity. */
static int open_complete(const char *path, const struct leat_cache_identity *identity,
                         struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : fail_path(err, path);
    r = leat_cache_file_open(fd, ret_file, &own);
    if (r == -EBADMSG)
        return r;
    if (r < 0)
        return leat_error_set(err, r, "%s: %s", path, own.message);
    if ((*ret_file)->is_complete &&
        memcmp(&(*ret_file)->identity, identity, sizeof(*identity)) == 0)
        return 0;
    *ret_file = leat_cache_file_unref(*ret_file);
    return -EBADMSG;
}

static int begin_file(const char *path, const struct leat_cache_identity *identity,
                      const char *description, struct leat_cache_file **ret_file,
                      struct leat_error *err) {
    char *temporary = NULL;
    uint64_t number;
    int fd, r;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return fail_path(err, path);
    if (asprintf(&temporary, "%s.%016llx.tmp", path, (unsigned long long)number) < 0)
        return leat_error_oom(err);
    fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    r = fd < 0 ? fail_path(err, temporary)
               : leat_cache_file_new(fd, identity, description, ret_file, err);
    if (r == 0) {
        (*ret_file)->temporary = temporary;
        return 0;
    }
    if (fd >= 0)
        (void)unlink(temporary);
    free(temporary);
    return r;
}

/* ---- in a store ---- */

/* 0; -ENOENT: there is none. One that is there and is another or damaged stays: an object that may
 * be read already is not replaced. */
static int open_object(const char *url, const struct leat_cache_identity *identity,
                       struct leat_cache_file **ret_file, struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    struct leat_object *object = NULL;
    int r = leat_object_open(&leat_opener_any, url, &object, &own);

    if (r == 0)
        r = leat_cache_file_open_object(object, 0, ret_file, &own);
    if (r == 0 && memcmp(&(*ret_file)->identity, identity, sizeof(*identity)) != 0) {
        *ret_file = leat_cache_file_unref(*ret_file);
        r = leat_error_set(&own, -EBADMSG, "it belongs to another set");
    }
    if (r == -EBADMSG)
        return leat_error_set(err, r,
                              "%.256s: this object is not the expected shard (%.128s): remove the "
                              "object, and prepare the shard again",
                              url, own.message);
    if (r < 0 && r != -ENOENT)
        *err = own;
    return r;
}

/* A file without a name, for what becomes an object. */
static int begin_unnamed(const struct leat_cache_identity *identity, const char *description,
                         struct leat_cache_file **ret_file, struct leat_error *err) {
    const char *folder = getenv("TMPDIR");
    int fd;

    folder = folder && folder[0] ? folder : "/var/tmp";
    fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return leat_error_set(err, -errno,
                              "%s: cannot make a temporary file for the shard in this folder: %s: "
                              "set TMPDIR to a folder with enough space",
                              folder, strerror(errno));
    return leat_cache_file_new(fd, identity, description, ret_file, err);
}

/* Whatever went wrong, the shard may be there: by another attempt, or by this one, if the answer of
 * the store was lost. */
static int publish_object(const char *url, const struct leat_cache_file *file,
                          struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT, of_other = LEAT_ERROR_INIT;
    struct leat_cache_file *other = NULL;
    int r = leat_object_store(file->fd, url, true, &own);

    if (r < 0 && open_object(url, &file->identity, &other, &of_other) == 0)
        r = 0;
    leat_cache_file_unref(other);
    if (r < 0)
        *err = r == -EEXIST && of_other.code ? of_other : own;
    return r;
}

/* ---- both ---- */

int leat_cache_shard_open(const char *folder, const struct leat_cache_identity *identity,
                          const char *description, struct leat_cache_found *ret_found,
                          struct leat_error *err) {
    char *path = path_of(folder, identity);
    int r;

    *ret_found = (struct leat_cache_found){.file = NULL};
    if (!path)
        return leat_error_oom(err);
    if (leat_elsewhere_is_object(path)) {
        r = open_object(path, identity, &ret_found->file, err);
        ret_found->is_builder = r == -ENOENT;
        if (r == -ENOENT)
            r = begin_unnamed(identity, description, &ret_found->file, err);
        free(path);
        return r;
    }
    r = mkdir(folder, 0777) < 0 && errno != EEXIST ? fail_path(err, folder) : 0;
    if (r == 0)
        r = open_complete(path, identity, &ret_found->file, err);
    if (r == -ENOENT || r == -EBADMSG) {
        r = begin_file(path, identity, description, &ret_found->file, err);
        ret_found->is_builder = r == 0;
    }
    free(path);
    return r;
}

/* A file system without RENAME_NOREPLACE replaces what another attempt made in the meantime, which
 * is equal. */
static int rename_file(const char *temporary, const char *path, bool replaces,
                       struct leat_error *err) {
    int r = replaces ? rename(temporary, path)
                     : renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE);

    if (r < 0 && !replaces && errno != EEXIST && errno != ENOENT)
        r = rename(temporary, path);
    if (r < 0 && (errno == EEXIST || errno == ENOENT))
        return -errno;
    return r < 0 ? fail_path(err, temporary) : 0;
}

static int publish(const char *path, struct leat_cache_file *file, struct leat_error *err) {
    struct leat_cache_file *other = NULL;
    int r = rename_file(file->temporary, path, false, err);

    if (r == -EEXIST || r == -ENOENT) {
        int there = open_complete(path, &file->identity, &other, err);

        leat_cache_file_unref(other);
        if (there == 0) /* another attempt was faster */
            return 0;
        if (there == -EBADMSG && r == -EEXIST)
            r = rename_file(file->temporary, path, true, err);
    }
    if (r < 0 && !err->code)
        leat_error_set(err, -ESTALE, "%s: the file was removed while leat wrote it",
                       file->temporary);
    if (r < 0)
        return err->code;
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

int leat_cache_shard_publish(const char *folder, struct leat_cache_file *file,
                             struct leat_error *err) {
    char *path = path_of(folder, &file->identity);
    int r = path ? leat_cache_file_finish(file, err) : leat_error_oom(err);
    int fd;

    if (r == 0 && leat_elsewhere_is_object(path)) {
        r = publish_object(path, file, err);
        free(path);
        return r;
    }
    if (r == 0)
        r = publish(path, file, err);
    free(path);
    fd = r == 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    return r;
}
