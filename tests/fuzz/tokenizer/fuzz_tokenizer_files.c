/* fuzz_tokenizer_files.c: vocab.txt, vocab.json, merges.txt and tokenizer_config.json of any bytes.
 * What is made of them is JSON.
 *
 * The first byte chooses what is asked for; the rest is the files, with a 0xff byte between them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/files/files.h"
#include "pipeline/tokenizer/json.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(1, mutate_text(data, size, max_size, seed))

struct input {
    const uint8_t *data;
    size_t size;
};

/* The part of that number; none: there is no such file. */
static int read_part(void *context, const char *path, size_t max_bytes, char **ret_data,
                     size_t *ret_n, struct leat_error *err) {
    static const char *const names[] = {"d/vocab.txt", "d/vocab.json", "d/merges.txt",
                                        "d/tokenizer_config.json"};
    const struct input *input = context;
    const uint8_t *at = input->data, *end = at + input->size, *next;

    for (size_t i = 0; i < 4 && at <= end; i++, at = next + 1) {
        next = at < end ? memchr(at, 0xff, (size_t)(end - at)) : NULL;
        next = next ? next : end;
        if (strcmp(path, names[i]) != 0)
            continue;
        if ((size_t)(next - at) > max_bytes)
            abort();
        *ret_n = (size_t)(next - at);
        *ret_data = malloc(*ret_n + 1);
        if (!*ret_data)
            return leat_error_oom(err);
        memcpy(*ret_data, at, *ret_n);
        (*ret_data)[*ret_n] = '\0';
        return 0;
    }
    return -ENOENT;
}

static bool is_directory(void *context, const char *path) {
    (void)context;
    return strcmp(path, "d") == 0;
}

static void check_json(const struct leat_tokenizer_files *files) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node root;
    struct leat_json *json;

    if (leat_json_new(0, &json) < 0)
        return;
    if (leat_json_parse(json, files->json, files->n, files->n, &root, &err) < 0)
        abort();
    leat_json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const paths[] = {"d", "d/vocab.txt", "d/vocab.json", "d/merges.txt"};
    struct input input = {.data = data + 1, .size = size - 1};
    struct leat_tokenizer_reader reader = {
        .context = &input, .read = read_part, .is_directory = is_directory};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer_files files;
    int r;

    if (size < 1 || size > 65536)
        return 0;
    r = leat_tokenizer_files_read(paths[data[0] % 4], &reader, &files, &err);
    if (r == 0)
        check_json(&files);
    else if (r != err.code || !err.file[0])
        abort();
    if (r == 0)
        leat_tokenizer_files_deinit(&files);
    return 0;
}
