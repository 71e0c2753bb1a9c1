/* save.c: see save.h and leat.h. The table of formats, checks that all of them need, and the public
 * function. */
#include "client/save/save.h"

#include <errno.h>
#include <string.h>

#include "client/stream/batch.h"
#include "proto/base/utf8.h"

#define MAX_COMPRESSION 9

static const struct {
    const char *name, *ending;
    int (*write)(const struct leat_saving *saving, struct leat_saved_file *file,
                 struct leat_error *err);
} formats[] = {
    [LEAT_SAVE_SAFETENSORS] = {"safetensors", ".safetensors", leat_save_safetensors},
    [LEAT_SAVE_NPZ] = {"npz", ".npz", leat_save_npz},
    [LEAT_SAVE_JSONL] = {"jsonl", ".jsonl", leat_save_jsonl},
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static bool ends_with(const char *path, const char *ending) {
    size_t n_path = strlen(path), n_ending = strlen(ending);

    return n_path > n_ending && strcmp(path + n_path - n_ending, ending) == 0;
}

int leat_save_format_of(const char *path, int32_t format, enum leat_save_format *ret_format,
                        struct leat_error *err) {
    if (format < 0 || format >= (int32_t)N_FORMATS)
        return leat_error_set(
            err, -EINVAL,
            "%d is not a format for saved batches; give a value of enum leat_save_format",
            (int)format);
    *ret_format = (enum leat_save_format)format;
    for (size_t i = LEAT_SAVE_SAFETENSORS; format == LEAT_SAVE_BY_NAME && i < N_FORMATS; i++)
        if (ends_with(path, formats[i].ending))
            *ret_format = (enum leat_save_format)i;
    if (*ret_format != LEAT_SAVE_BY_NAME)
        return 0;
    return leat_error_set(err, -EINVAL,
                          "\"%.300s\" does not end in .safetensors, .npz or .jsonl: use one of "
                          "these suffixes, or give the format",
                          path);
}

const char *leat_save_ending(enum leat_save_format format) {
    return formats[format].ending;
}

static int check_names(const struct leat_view *view, struct leat_error *err) {
    for (size_t i = 0; i < view->header.n_tensors; i++) {
        const char *name = view->tensors[i].name;

        if (!leat_utf8_is_valid(name, strlen(name)))
            return leat_error_set(err, -EILSEQ,
                                  "the name of tensor %zu is not UTF-8: give the tensor another "
                                  "name with the stage `rename`",
                                  i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(view->tensors[k].name, name) == 0)
                return leat_error_set(err, -EINVAL,
                                      "two tensors have the name \"%s\": give one of these tensors "
                                      "another name with the stage `rename`",
                                      name);
    }
    return 0;
}

int leat_save_write(const struct leat_saving *saving, enum leat_save_format format,
                    struct leat_saved_file *file, struct leat_error *err) {
    int r = check_names(saving->view, err);

    return r < 0 ? r : formats[format].write(saving, file, err);
}

struct leat_saving leat_saving_of(const struct leat_batch *batch) {
    return (struct leat_saving){
        .view = leat_batch_view(batch),
        .batch_size = batch->connection->opened.batch_size,
    };
}

/* ---- leat.h ---- */

/* As with the options of an opening: members that the caller lacks are 0, members that the library
 * lacks must be 0. */
static int read_options(const struct leat_save_options *given, struct leat_save_options *ret,
                        struct leat_error *err) {
    leat_save_options_init(ret);
    if (!given)
        return 0;
    if (given->struct_size < sizeof(given->struct_size) || given->struct_size > 4096)
        return leat_error_set(err, -EINVAL,
                              "options: struct_size is %zu; set it with leat_save_options_init()",
                              given->struct_size);
    for (size_t i = sizeof(*ret); i < given->struct_size; i++)
        if (((const uint8_t *)given)[i])
            return leat_error_set(err, -E2BIG,
                                  "options: this libleat " LEAT_VERSION
                                  " is too old for an option that you set; use a newer libleat");
    memcpy(ret, given, given->struct_size < sizeof(*ret) ? given->struct_size : sizeof(*ret));
    if (ret->compression < 0 || ret->compression > MAX_COMPRESSION)
        return leat_error_set(err, -EINVAL, "options: compression %d is outside 0..%d",
                              (int)ret->compression, MAX_COMPRESSION);
    return 0;
}

/* A forked child has no memory at the tensors' addresses. */
static int check_batch(const struct leat_batch *batch, struct leat_error *err) {
    if (!batch->is_held)
        return leat_error_set(err, -EINVAL, "you have already released this batch");
    if (leat_connection_is_own(batch->connection))
        return 0;
    return leat_error_set(
        err, -EPERM,
        "this batch belongs to process %d, which called fork(): a child process cannot read it",
        (int)batch->connection->pid);
}

static int save_batch(const struct leat_batch *batch, const char *path,
                      const struct leat_save_options *given, struct leat_error *err) {
    struct leat_saving saving = leat_saving_of(batch);
    struct leat_saved_file *file = NULL;
    struct leat_save_options options;
    enum leat_save_format format;
    int r = check_batch(batch, err);

    if (r == 0)
        r = read_options(given, &options, err);
    if (r == 0)
        r = leat_save_format_of(path, options.format, &format, err);
    if (r == 0)
        r = leat_saved_file_new(path, &file, err);
    if (r < 0)
        return r;
    saving.compression = options.compression;
    r = leat_save_write(&saving, format, file, err);
    if (r == 0)
        return leat_saved_file_commit(file, err);
    leat_saved_file_free(file);
    return r;
}

int leat_batch_save(struct leat_batch *batch, const char *path,
                    const struct leat_save_options *options) {
    batch->error = LEAT_ERROR_INIT;
    return save_batch(batch, path, options, &batch->error);
}
