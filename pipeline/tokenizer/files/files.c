/* files.c: see files.h. Which files there are, and what they are made into. */
#include "pipeline/tokenizer/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/tokenizer/files/vocab_files.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/elsewhere.h"

#define CONFIG_BYTES_MAX (16U << 20)

/* ---- plain files */

static int fail_on(struct leat_error *err, const char *path, int code, const char *what) {
    leat_error_set(err, code, "%s: %s", what, strerror(-code));
    leat_error_locate(err, path, 0, 0);
    return code;
}

/* Does not wait for the other end of a FIFO. */
static int open_regular(const char *path, size_t max_bytes, size_t *ret_size,
                        struct leat_error *err) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), r = 0;
    struct stat status;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return -ENOENT;
    if (fd < 0)
        return fail_on(err, path, -errno, "cannot open the file");
    if (fstat(fd, &status) < 0)
        r = fail_on(err, path, -errno, "cannot get the size of the file");
    else if (!S_ISREG(status.st_mode))
        r = leat_error_set(err, -EINVAL, "is not a regular file");
    else if ((uint64_t)status.st_size > max_bytes)
        r = leat_error_set(err, -EFBIG, "has %lld bytes; at most %zu are possible",
                           (long long)status.st_size, max_bytes);
    if (r < 0) {
        leat_error_locate(err, path, 0, 0);
        (void)close(fd);
        return r;
    }
    *ret_size = (size_t)status.st_size;
    return fd;
}

/* As much as the file had when it was opened; less if it was cut since. */
static int read_all(int fd, const char *path, char *data, size_t size, size_t *ret_n,
                    struct leat_error *err) {
    size_t n = 0;

    while (n < size) {
        ssize_t got = read(fd, data + n, size - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_on(err, path, -errno, "cannot read the file");
        if (got == 0)
            break;
        n += (size_t)got;
    }
    data[n] = '\0';
    *ret_n = n;
    return 0;
}

static int read_plain(void *context, const char *path, size_t max_bytes, char **ret_data,
                      size_t *ret_n, struct leat_error *err) {
    size_t size = 0;
    int fd = open_regular(path, max_bytes, &size, err), r;
    char *data;

    (void)context;
    if (fd < 0)
        return fd;
    data = malloc(size + 1);
    r = data ? read_all(fd, path, data, size, ret_n, err) : leat_error_oom(err);
    (void)close(fd);
    if (r < 0) {
        free(data);
        return r;
    }
    *ret_data = data;
    return 0;
}

static bool is_plain_directory(void *context, const char *path) {
    struct stat status;

    (void)context;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Regular files only; follows symbolic links. */
static const struct leat_tokenizer_reader plain_reader = {.read = read_plain,
                                                          .is_directory = is_plain_directory};

/* ---- paths */

/* "DIRECTORY/name", malloc'ed; NULL when memory is out. */
static char *path_in(const char *directory, const char *name) {
    size_t n = strlen(directory);
    char *path;

    while (n > 1 && directory[n - 1] == '/')
        n--;
    return asprintf(&path, "%.*s/%s", (int)n, directory, name) < 0 ? NULL : path;
}

/* A file of that name in the same directory as `path`. */
static char *path_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)(slash + 1 - path) : 0;
    char *beside;

    return asprintf(&beside, "%.*s%s", n, path, name) < 0 ? NULL : beside;
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

/* ---- one tokenizer */

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

/* True if a text like "gpt2" or "org/name" may name a model; not "../gpt2" or "model/vocab.txt". */
static bool is_model_name(const char *name) {
    static const char *const ends[] = {".json", ".txt", ".model"};
    const char *slash = strchr(name, '/');
    size_t n = strlen(name);

    if (n == 0 || name[0] == '.' || name[0] == '/' || name[n - 1] == '/' ||
        (slash && strchr(slash + 1, '/')))
        return false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (ends_with(name, ends[i]))
            return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") == n;
}

static int not_there(const struct reading *reading, const char *path) {
    const char *name = reading->reader->name ? reading->reader->name : path;

    if (leat_elsewhere_tell(name, reading->err))
        return -ENOENT;
    if (is_model_name(name)) {
        leat_error_set(reading->err, -ENOENT,
                       "there is no file or folder \"%.128s\", and leat downloads nothing: if it "
                       "is a model of the Hugging Face hub, run `hf download %.128s tokenizer.json "
                       "--local-dir DIR`, and give the path DIR",
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

/* Hands over the text of a tokenizer.json, which `main_file` is or became. */
static int finish(struct reading *reading, char *take_json, size_t n, struct file *main_file) {
    *reading->files = (struct leat_tokenizer_files){
        .json = take_json, .n = n, .file = main_file->path, .pad_token = reading->config.pad_token};
    main_file->path = NULL;
    reading->config.pad_token = NULL;
    return 0;
}

static int finish_text(struct reading *reading, int r, struct leat_text *text,
                       struct file *main_file) {
    if (r == 0 && text->failed)
        r = leat_error_oom(reading->err);
    if (r == 0)
        return finish(reading, text->data, text->n_bytes, main_file);
    leat_error_locate(reading->err, main_file->path, 0, 0);
    free(text->data);
    return r;
}

/* Each of the following: the files were read; the caller frees them. */

static int make_json(struct reading *reading, struct file *file) {
    char *json = file->data;

    file->data = NULL;
    return finish(reading, json, file->n, file);
}

static int make_vocab_txt(struct reading *reading, struct file *file) {
    const struct leat_files_input input = {file->data, file->n, file->path};
    struct leat_text text = {.n_bytes = 0};
    int r = leat_files_vocab_txt(&input, &reading->config, &text, reading->err);

    return finish_text(reading, r, &text, file);
}

static int make_merges(struct reading *reading, struct file *vocab, const struct file *merges) {
    const struct leat_files_input inputs[] = {{vocab->data, vocab->n, vocab->path},
                                              {merges->data, merges->n, merges->path}};
    struct leat_text text = {.n_bytes = 0};
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
    int r = read_config(reading, path_in(path, "tokenizer_config.json"));

    if (r < 0)
        return r;
    do
        r = read_path(reading, path_in(path, names[i]), LEAT_TOKENIZER_FILE_BYTES_MAX, &file);
    while (r == -ENOENT && ++i < 3);
    if (r == -ENOENT) {
        leat_error_set(reading->err, r,
                       "the folder has neither tokenizer.json, vocab.json nor vocab.txt");
        leat_error_locate(reading->err, path, 0, 0);
    } else if (r == 0) {
        r = i == 0   ? make_json(reading, &file)
            : i == 1 ? read_merges(reading, &file, path_in(path, "merges.txt"))
                     : make_vocab_txt(reading, &file);
    }
    file_deinit(&file);
    return r;
}

/* True if a file that is called vocab.json is a whole tokenizer after all. */
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
    int r = read_config(reading, path_beside(path, "tokenizer_config.json"));

    if (r < 0) {
        free(main_path);
        return r;
    }
    r = read_path(reading, main_path, LEAT_TOKENIZER_FILE_BYTES_MAX, &file);
    if (r == -ENOENT && is_merges)
        leat_error_set(reading->err, r, "there is no vocab.json in the same folder");
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
    struct reading reading = {.reader = reader ? reader : &plain_reader,
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
