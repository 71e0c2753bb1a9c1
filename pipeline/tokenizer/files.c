/* files.c: see files.h. Which files there are, and what they are made into. */
#include "pipeline/tokenizer/files.h"
#include "pipeline/tokenizer/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/files_vocab.h"
#include "proto/base/elsewhere.h"

#define CONFIG_BYTES_MAX (16U << 20)

struct reading {
    const struct leat_tokenizer_reader *reader;
    struct leat_files_config config;
    struct leat_tokenizer_files *files;
    struct leat_error *err;
};

/* A file, which may be absent: -ENOENT with no error set. */
struct file {
    char *path, *data;
    size_t n;
};

static void file_deinit(struct file *file) {
    free(file->path);
    free(file->data);
    *file = (struct file){.path = NULL};
}

static int read_path(const struct reading *reading, char *take_path, size_t max_bytes,
                     struct file *ret_file) {
    int r;

    *ret_file = (struct file){.path = take_path};
    if (!take_path)
        return leat_error_oom(reading->err);
    r = reading->reader->read(reading->reader->context, take_path, max_bytes, &ret_file->data,
                              &ret_file->n, reading->err);
    if (r < 0) {
        ret_file->data = NULL;
        file_deinit(ret_file);
    }
    return r;
}

/* Whether it may be the name of a model: "gpt2", "org/name"; not "../gpt2" or "model/vocab.txt". */
static bool is_model_name(const char *name) {
    static const char *const ends[] = {".json", ".txt", ".model"};
    const char *slash = strchr(name, '/');
    size_t n = strlen(name);

    if (n == 0 || name[0] == '.' || name[0] == '/' || name[n - 1] == '/' ||
        (slash && strchr(slash + 1, '/')))
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0)
            return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") == n;
}

static int not_there(const struct reading *reading, const char *path) {
    const char *name = reading->reader->name ? reading->reader->name : path;

    if (leat_elsewhere_tell(name, reading->err))
        return -ENOENT;
    if (is_model_name(name)) {
        leat_error_set(
            reading->err, -ENOENT,
            "there is no such file or folder: \"%.128s\". If it is a model of the Hugging "
            "Face hub, leat downloads nothing: hf download %.128s tokenizer.json "
            "--local-dir DIR, and name DIR",
            name, name);
        return -ENOENT;
    }
    leat_error_set(reading->err, -ENOENT, "there is no such file");
    leat_error_locate(reading->err, path, 0, 0);
    return -ENOENT;
}

static int read_config(struct reading *reading, char *take_path) {
    struct file file;
    int r = read_path(reading, take_path, CONFIG_BYTES_MAX, &file);

    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = leat_files_config_parse(file.data, file.n, file.path, &reading->config, reading->err);
    file_deinit(&file);
    return r;
}

/* Hands over what was found or made. */
static int finish(struct reading *reading, char *take_json, size_t n, struct file *main_file) {
    struct leat_tokenizer_files *files = reading->files;

    files->json = take_json;
    files->n = n;
    files->file = main_file->path;
    files->pad_token = reading->config.pad_token;
    main_file->path = NULL;
    reading->config.pad_token = NULL;
    return 0;
}

static int finish_text(struct reading *reading, int r, struct leat_files_text *text,
                       struct file *main_file) {
    if (r == 0 && text->failure == -ENOMEM)
        r = leat_error_oom(reading->err);
    else if (r == 0 && text->failure < 0)
        r = leat_error_set(reading->err, text->failure, "the vocabulary is too large");
    if (r < 0) {
        leat_error_locate(reading->err, main_file->path, 0, 0);
        free(text->data);
        return r;
    }
    return finish(reading, text->data, text->n, main_file);
}

/* Each of the following: *ret_file was read; it is freed by the caller. */

static int make_json(struct reading *reading, struct file *file) {
    char *json = file->data;

    file->data = NULL;
    return finish(reading, json, file->n, file);
}

static int make_vocab_txt(struct reading *reading, struct file *file) {
    const struct leat_files_input input = {file->data, file->n, file->path};
    struct leat_files_text text = {.n = 0};
    int r = leat_files_vocab_txt(&input, &reading->config, &text, reading->err);

    return finish_text(reading, r, &text, file);
}

static int make_merges(struct reading *reading, struct file *vocab, const struct file *merges) {
    const struct leat_files_input inputs[] = {{vocab->data, vocab->n, vocab->path},
                                              {merges->data, merges->n, merges->path}};
    struct leat_files_text text = {.n = 0};
    int r = leat_files_vocab_merges(&inputs[0], &inputs[1], &reading->config, &text, reading->err);

    return finish_text(reading, r, &text, vocab);
}

/* vocab.json with merges.txt; both must be there. */
static int read_merges(struct reading *reading, struct file *vocab, char *take_merges_path) {
    struct file merges;
    char *path = take_merges_path ? strdup(take_merges_path) : NULL;
    int r = read_path(reading, take_merges_path, LEAT_TOKENIZER_FILE_BYTES_MAX, &merges);

    if (r == 0)
        r = make_merges(reading, vocab, &merges);
    else if (r == -ENOENT)
        r = not_there(reading, path);
    file_deinit(&merges);
    free(path);
    return r;
}

static int read_directory(struct reading *reading, const char *path) {
    static const char *const names[] = {"tokenizer.json", "vocab.json", "vocab.txt"};
    struct file file = {.path = NULL};
    size_t i = 0;
    int r = read_config(reading, leat_files_path_in(path, "tokenizer_config.json"));

    if (r < 0)
        return r;
    do
        r = read_path(reading, leat_files_path_in(path, names[i]), LEAT_TOKENIZER_FILE_BYTES_MAX,
                      &file);
    while (r == -ENOENT && ++i < 3);
    if (r == -ENOENT) {
        leat_error_set(reading->err, r,
                       "the directory holds none of tokenizer.json, vocab.json, vocab.txt");
        leat_error_locate(reading->err, path, 0, 0);
    } else if (r == 0) {
        r = i == 0   ? make_json(reading, &file)
            : i == 1 ? read_merges(reading, &file, leat_files_path_in(path, "merges.txt"))
                     : make_vocab_txt(reading, &file);
    }
    file_deinit(&file);
    return r;
}

static bool ends_with(const char *path, const char *end) {
    size_t n = strlen(path), n_end = strlen(end);

    return n >= n_end && strcmp(path + n - n_end, end) == 0;
}

/* The path with its end replaced. */
static char *with_end(const char *path, const char *end, const char *other) {
    char *changed;

    return asprintf(&changed, "%.*s%s", (int)(strlen(path) - strlen(end)), path, other) < 0
               ? NULL
               : changed;
}

/* Whether a file that is called vocab.json is a whole tokenizer after all. */
static bool is_tokenizer(const struct file *file) {
    struct leat_json_node root, model;
    struct leat_json *json;
    bool has_model = false;

    if (leat_json_new(file->n, &json) < 0)
        return false;
    if (leat_json_parse(json, file->data, file->n, file->n, &root, LEAT_ERROR_IGNORED) == 0)
        has_model = leat_json_find(root, "model", strlen("model"), &model) &&
                    leat_json_kind(model) == LEAT_JSON_OBJECT;
    leat_json_free(json);
    return has_model;
}

static int read_file(struct reading *reading, const char *path) {
    bool is_merges = ends_with(path, "merges.txt");
    bool is_vocab = is_merges || ends_with(path, "vocab.json");
    char *main_path = is_merges ? with_end(path, "merges.txt", "vocab.json") : strdup(path);
    struct file file;
    int r = read_config(reading, leat_files_path_beside(path, "tokenizer_config.json"));

    if (r < 0) {
        free(main_path);
        return r;
    }
    r = read_path(reading, main_path, LEAT_TOKENIZER_FILE_BYTES_MAX, &file);
    if (r == -ENOENT && is_merges)
        leat_error_set(reading->err, r, "there is no vocab.json beside it");
    if (r == -ENOENT)
        r = not_there(reading, path);
    else if (r == 0 && is_vocab && !is_tokenizer(&file))
        r = read_merges(reading, &file, with_end(file.path, "vocab.json", "merges.txt"));
    else if (r == 0)
        r = ends_with(path, ".txt") ? make_vocab_txt(reading, &file) : make_json(reading, &file);
    file_deinit(&file);
    return r;
}

int leat_tokenizer_files_read(const char *path, const struct leat_tokenizer_reader *reader,
                              struct leat_tokenizer_files *ret_files, struct leat_error *err) {
    struct reading reading = {.reader = reader ? reader : &leat_tokenizer_plain_reader,
                              .config = LEAT_FILES_CONFIG_DEFAULT,
                              .files = ret_files,
                              .err = err};
    int r;

    *ret_files = (struct leat_tokenizer_files){.json = NULL};
    r = reading.reader->is_directory(reading.reader->context, path) ? read_directory(&reading, path)
                                                                    : read_file(&reading, path);
    leat_files_config_deinit(&reading.config);
    return r;
}

void leat_tokenizer_files_deinit(struct leat_tokenizer_files *files) {
    free(files->json);
    free(files->file);
    free(files->pad_token);
    *files = (struct leat_tokenizer_files){.json = NULL};
}
