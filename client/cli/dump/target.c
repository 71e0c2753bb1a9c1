#include "client/cli/dump/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPRESSION 6 /* of --compress: zlib's own default */

/* ---- the command line ---- */

static bool is_folder(const char *path) {
    size_t n = strlen(path);
    struct stat status;

    return (n > 0 && path[n - 1] == '/') || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

/* The format of the path's ending; LEAT_SAVE_BY_NAME: it has no known ending. */
static int32_t ending_format(const char *path) {
    struct leat_error unused = LEAT_ERROR_INIT;
    enum leat_save_format format;

    return leat_save_format_of(path, LEAT_SAVE_BY_NAME, &format, &unused) < 0 ? LEAT_SAVE_BY_NAME
                                                                              : (int32_t)format;
}

static enum leat_cli_dump_kind choose_kind(struct leat_cli_dump_target *target) {
    int32_t *format = &target->options.format;

    if (!target->path || strcmp(target->path, "-") == 0) {
        target->path = "standard output";
        *format = *format == LEAT_SAVE_BY_NAME ? LEAT_SAVE_JSONL : *format;
        return LEAT_CLI_DUMP_PRINTED;
    }
    if (!is_folder(target->path)) {
        int32_t ending = ending_format(target->path);

        *format = *format == LEAT_SAVE_BY_NAME ? ending : *format;
        if (*format == LEAT_SAVE_JSONL)
            return LEAT_CLI_DUMP_LINES;
        if (ending != LEAT_SAVE_BY_NAME)
            return LEAT_CLI_DUMP_SINGLE;
    }
    *format = *format == LEAT_SAVE_BY_NAME ? LEAT_SAVE_SAFETENSORS : *format;
    return LEAT_CLI_DUMP_FOLDER;
}

/* The ending of a name that is not of a folder: of "x.parquet", not of "x.d/" or "../x". NULL:
 * none. */
static const char *unknown_ending(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *point = strrchr(name, '.');

    return point && point > name && point[1] && !is_folder(path) ? point : NULL;
}

int leat_cli_dump_target_init(struct leat_cli_dump_target *target,
                              const struct leat_cli_arguments *arguments, struct leat_error *err) {
    *target = (struct leat_cli_dump_target){.path = arguments->output};
    leat_save_options_init(&target->options);
    target->options.format = (int32_t)arguments->save_format;
    target->options.compression = arguments->compress ? COMPRESSION : 0;
    target->kind = choose_kind(target);
    if (target->kind == LEAT_CLI_DUMP_FOLDER && unknown_ending(target->path)) {
        leat_error_set(err, -EINVAL,
                       "leatctl dump: unknown suffix \"%.32s\"; give NAME.jsonl for all batches, "
                       "NAME.safetensors or NAME.npz for one batch, or a folder (%.200s/) with a "
                       "file for each batch",
                       unknown_ending(target->path), target->path);
        return LEAT_CLI_USAGE;
    }
    if (target->kind == LEAT_CLI_DUMP_PRINTED && target->options.format != LEAT_SAVE_JSONL) {
        leat_error_set(err, -EINVAL,
                       "leatctl dump: only JSONL can be printed; to write other formats to files, "
                       "give -o PATH");
        return LEAT_CLI_USAGE;
    }
    if (target->kind == LEAT_CLI_DUMP_SINGLE && arguments->batches.value != 1) {
        leat_error_set(err, -EINVAL,
                       "leatctl dump: the file \"%.300s\" can hold only one batch: add --batches "
                       "1, or give a folder",
                       target->path);
        return LEAT_CLI_USAGE;
    }
    if (arguments->compress && target->options.format != LEAT_SAVE_NPZ) {
        leat_error_set(err, -EINVAL, "leatctl dump: --compress works only for .npz");
        return LEAT_CLI_USAGE;
    }
    return LEAT_CLI_OK;
}

/* ---- batches ---- */

static int open_folder(struct leat_cli_dump_target *target, struct leat_error *err) {
    target->has_made_folder = mkdir(target->path, 0777) == 0;
    if (target->has_made_folder || errno == EEXIST)
        return 0; /* if it is not a folder, the first file fails */
    return leat_error_set(err, -errno, "cannot create the folder %.300s: %s", target->path,
                          strerror(errno));
}

int leat_cli_dump_target_open(struct leat_cli_dump_target *target, struct leat_error *err) {
    switch (target->kind) {
    case LEAT_CLI_DUMP_PRINTED:
        return leat_saved_file_of(STDOUT_FILENO, target->path, &target->file, err);
    case LEAT_CLI_DUMP_LINES:
        return leat_saved_file_new(target->path, &target->file, err);
    case LEAT_CLI_DUMP_FOLDER:
        return open_folder(target, err);
    case LEAT_CLI_DUMP_SINGLE:
        break;
    }
    return 0;
}

static int put_lines(struct leat_cli_dump_target *target, const struct leat_batch *batch,
                     struct leat_error *err) {
    struct leat_saving saving = leat_saving_of(batch);
    int r = leat_save_write(&saving, LEAT_SAVE_JSONL, target->file, err);

    if (r == 0)
        r = leat_saved_file_flush(target->file, err);
    if (r == -EPIPE && target->kind == LEAT_CLI_DUMP_PRINTED) { /* as with `| head` */
        *err = LEAT_ERROR_INIT;
        return 1;
    }
    target->n_bytes = target->file->n_bytes;
    return r;
}

static int put_file(struct leat_cli_dump_target *target, const char *path, struct leat_batch *batch,
                    struct leat_error *err) {
    int r = leat_batch_save(batch, path, &target->options);
    struct stat status;

    if (r < 0)
        *err = *leat_batch_error(batch);
    else if (stat(path, &status) == 0)
        target->n_bytes += (uint64_t)status.st_size;
    return r;
}

static int put_into_folder(struct leat_cli_dump_target *target, struct leat_batch *batch,
                           struct leat_error *err) {
    size_t n = strlen(target->path);
    char *path;
    int r;

    if (asprintf(&path, "%s%sepoch-%04" PRIu64 "-step-%08" PRIu64 "%s", target->path,
                 target->path[n - 1] == '/' ? "" : "/", leat_batch_epoch(batch),
                 leat_batch_step(batch),
                 leat_save_ending((enum leat_save_format)target->options.format)) < 0)
        return leat_error_oom(err);
    r = put_file(target, path, batch, err);
    free(path);
    return r;
}

int leat_cli_dump_target_put(struct leat_cli_dump_target *target, struct leat_batch *batch,
                             struct leat_error *err) {
    int r;

    if (target->kind == LEAT_CLI_DUMP_FOLDER)
        r = put_into_folder(target, batch, err);
    else if (target->kind == LEAT_CLI_DUMP_SINGLE)
        r = put_file(target, target->path, batch, err);
    else
        r = put_lines(target, batch, err);
    if (r == 0) {
        target->n_batches++;
        target->n_rows += leat_batch_n_rows(batch);
    }
    return r;
}

int leat_cli_dump_target_close(struct leat_cli_dump_target *target, int r, struct leat_error *err) {
    if (target->has_made_folder && target->n_batches == 0)
        (void)rmdir(target->path);
    if (!target->file)
        return r;
    if (r == 0 && target->kind == LEAT_CLI_DUMP_LINES)
        return leat_saved_file_commit(target->file, err);
    leat_saved_file_free(target->file);
    return r;
}
