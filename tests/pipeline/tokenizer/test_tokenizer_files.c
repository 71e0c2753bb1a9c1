/* test_tokenizer_files.c: pipeline/tokenizer/files*.c: which files are read, what is made of them,
 * and what is said about wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pipeline/tokenizer/files/files.h"
#include "pipeline/tokenizer/json.h"

/* Files in memory; the path of a directory ends with a slash. */
struct memory_file {
    const char *path, *text;
};

static int read_memory(void *context, const char *path, size_t max_bytes, char **ret_data,
                       size_t *ret_n, struct leat_error *err) {
    const struct memory_file *file = context;

    for (; file->path; file++) {
        if (strcmp(file->path, path) != 0)
            continue;
        *ret_n = strlen(file->text);
        if (*ret_n > max_bytes)
            return leat_error_set(err, -EFBIG, "too large");
        *ret_data = strdup(file->text);
        return *ret_data ? 0 : leat_error_oom(err);
    }
    return -ENOENT;
}

static bool is_memory_directory(void *context, const char *path) {
    (void)context;
    return path[strlen(path) - 1] == '/';
}

static int read_files(const struct memory_file *files, const char *path,
                      struct leat_tokenizer_files *ret_files, struct leat_error *err) {
    struct leat_tokenizer_reader reader = {.context = (void *)(uintptr_t)files,
                                           .read = read_memory,
                                           .is_directory = is_memory_directory};

    return leat_tokenizer_files_read(path, &reader, ret_files, err);
}

#define VOCAB_TXT "[PAD]\n[UNK] \n[CLS]\xe3\x80\x80\r\n[SEP]\na\"\\\n\n\x7f\x01\na\"\\\n##b"
#define VOCAB     "{\"a\": 0, \"\\u0062\": 1, \"ab\": 2, \"<|endoftext|>\": 3}"
#define MERGES    "#version: 0.2\r\na b\r\n"

static const struct memory_file model[] = {
    {"json/tokenizer.json", "{}"},
    {"json/vocab.txt", VOCAB_TXT},
    {"json/tokenizer_config.json",
     "{\"model_max_length\": 1000000000000000019884624838656, \"s\": "
     "\"\\\"100000000000000000000000000\", "
     "\"x\": [-1000000000000000019884624838656,0.1000000000000000000001, "
     "1e+10,123456789012345678901.5], "
     "\"pad_token\": \"<p>\"}"},
    {"gpt/vocab.json", VOCAB},
    {"gpt/merges.txt", MERGES},
    {"gpt/tokenizer_config.json", "{\"add_prefix_space\": true, \"pad_token\": null}"},
    {"bert/vocab.txt", VOCAB_TXT},
    {"bert/tokenizer_config.json",
     "{\"pad_token\": {\"content\": \"[PAD]\"}, \"do_lower_case\": false, \"strip_accents\": true, "
     "\"tokenize_chinese_chars\": false}"},
    {"plain/my-vocab.json", VOCAB},
    {"plain/my-merges.txt", MERGES},
    {"plain/bert.txt", VOCAB_TXT},
    {"alone.json", "[]"},
    {NULL, NULL},
};

static void check_files(const char *path, const char *file, const char *pad_token,
                        const char *const *parts) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer_files files;
    struct leat_json_node root;
    struct leat_json *json;

    assert_int_equal(read_files(model, path, &files, &err), 0);
    assert_string_equal(files.file, file);
    assert_int_equal(strlen(files.json), files.n);
    if (pad_token)
        assert_string_equal(files.pad_token, pad_token);
    else
        assert_null(files.pad_token);
    assert_int_equal(leat_json_new(0, &json), 0);
    assert_int_equal(leat_json_parse(json, files.json, files.n, files.n, &root, &err), 0);
    for (; *parts; parts++)
        if (!strstr(files.json, *parts))
            fail_msg("%s is not in %s", *parts, files.json);
    leat_json_free(json);
    leat_tokenizer_files_deinit(&files);
}

static void what_is_read(void **state) {
    static const char *const bert[] = {
        "\"[UNK]\": 1,\n\"[CLS]\": 2,\n\"[SEP]\": 3,\n\"a\\\"\\\\\": 4,\n\"\": 5,\n"
        "\"\\u007f\\u0001\": 6,\n\"a\\\"\\\\\": 7,\n\"##b\": 8}",
        "\"strip_accents\": null, \"lowercase\": true",
        "\"handle_chinese_chars\": true",
        "\"sep\": [\"[SEP]\", 3], \"cls\": [\"[CLS]\", 2]",
        "{\"id\": 1, \"content\": \"[UNK]\"",
        NULL};
    static const char *const cased[] = {"\"strip_accents\": true, \"lowercase\": false",
                                        "\"handle_chinese_chars\": false", NULL};
    static const char *const gpt[] = {"[\"a\", \"b\"]]}}", "\"add_prefix_space\": false, ",
                                      "{\"id\": 3, \"content\": \"<|endoftext|>\"", NULL};
    static const char *const prefixed[] = {"[\"a\", \"b\"]]}}", "\"add_prefix_space\": true, ",
                                           NULL};
    static const char *const empty[] = {"{}", NULL}, *const array[] = {"[]", NULL};

    (void)state;
    check_files("json/", "json/tokenizer.json", "<p>", empty);
    check_files("json/tokenizer.json", "json/tokenizer.json", "<p>", empty);
    check_files("json/vocab.txt", "json/vocab.txt", "<p>", bert);
    check_files("gpt/", "gpt/vocab.json", NULL, prefixed);
    check_files("gpt/merges.txt", "gpt/vocab.json", NULL, prefixed);
    check_files("bert/", "bert/vocab.txt", "[PAD]", cased);
    check_files("plain/my-vocab.json", "plain/my-vocab.json", NULL, gpt);
    check_files("plain/my-merges.txt", "plain/my-vocab.json", NULL, gpt);
    check_files("plain/bert.txt", "plain/bert.txt", NULL, bert);
    check_files("alone.json", "alone.json", NULL, array);
}

static void check_error(const struct memory_file *files, const char *path, const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer_files result;
    char printed[LEAT_ERROR_PRINT_MAX];
    int r = read_files(files, path, &result, &err);

    assert_true(r < 0);
    assert_int_equal(r, err.code);
    (void)leat_error_print(&err, printed, sizeof(printed));
    if (strncmp(printed, message, strlen(message)) != 0)
        fail_msg("%s instead of %s", printed, message);
}

static void check_merges_error(const char *vocab, const char *merges, const char *message) {
    const struct memory_file files[] = {
        {"vocab.json", vocab}, {"merges.txt", merges}, {NULL, NULL}};

    check_error(files, "vocab.json", message);
}

static void check_config_error(const char *config, const char *message) {
    const struct memory_file files[] = {
        {"m/tokenizer.json", "{}"}, {"m/tokenizer_config.json", config}, {NULL, NULL}};

    check_error(files, "m/", message);
}

static void wrong_files(void **state) {
    const struct memory_file bad[] = {{"no_sep.txt", "[UNK]\n[CLS]\n"},
                                      {"latin1.txt", "[UNK]\na\xe9\n"},
                                      {"lone/vocab.json", "{}"},
                                      {"merges.txt", "a b"},
                                      {NULL, NULL}};

    (void)state;
    check_error(bad, "none/", "none/: the folder has neither tokenizer.json, vocab.json");
    check_error(bad, "none.json", "none.json: there is no such file");
    check_error(bad, "no_sep.txt", "no_sep.txt: has no token [SEP]");
    check_error(bad, "latin1.txt", "latin1.txt:2:1: the text is not valid UTF-8");
    check_error(bad, "lone/", "lone/merges.txt: there is no such file");
    check_error(bad, "merges.txt", "merges.txt: there is no vocab.json in the same folder");
    check_merges_error("[]", "", "vocab.json:1:1: must be an object of tokens");
    check_merges_error("{\"a\":0,\n  \"b\": -1}", "", "vocab.json:2:8: the id of \"b\" must be");
    check_merges_error("{\"a\":0,\n  \"b\": \"1\"}", "", "vocab.json:2:8: the id of \"b\" must be");
    check_merges_error("{\"a\":0,\n  \"b\": }", "", "vocab.json:2:8: ");
    check_merges_error(VOCAB, "a b\nab\n", "merges.txt:2:1: \"ab\" must be two tokens");
    check_merges_error(VOCAB, "a b\n\n", "merges.txt:2:1: \"\" must be two tokens");
    check_merges_error(VOCAB, "a b c\n", "merges.txt:1:1: \"a b c\" must be two tokens");
    check_merges_error(VOCAB, "a c", "merges.txt:1:1: \"c\" is not in vocab.json");
    check_merges_error(VOCAB, "b a", "merges.txt:1:1: \"ba\" is not in vocab.json");
    check_merges_error(VOCAB, "b \xff", "merges.txt:1:1: the text is not valid UTF-8");
    check_config_error("{", "m/tokenizer_config.json:1:2: ");
    check_config_error("{\"a\": 100000000000000000000000 1}", "m/tokenizer_config.json:1:32: ");
    check_config_error("{\"a\": 00000000000000000000000}", "m/tokenizer_config.json:1:8: ");
    check_config_error("{\"a\": \"1", "m/tokenizer_config.json:1:7: ");
    check_config_error("[]", "m/tokenizer_config.json");
    check_config_error("{\"pad_token\": 3}",
                       "m/tokenizer_config.json:1:15: pad_token: is an integer");
    check_config_error("{\"pad_token\": {}}", "m/tokenizer_config.json:1:15: pad_token: `content`");
    check_config_error("{\"do_lower_case\": 1}", "m/tokenizer_config.json:1:19: do_lower_case: ");
}

static void write_file(const char *directory, const char *name, const char *text) {
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

static int open_path(const char *directory, const char *name, struct leat_error *err) {
    struct leat_tokenizer_files files;
    char path[256];
    int r;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    *err = LEAT_ERROR_INIT;
    r = leat_tokenizer_files_read(path, NULL, &files, err);
    if (r == 0)
        leat_tokenizer_files_deinit(&files);
    assert_int_equal(r, err->code);
    return r;
}

static void plain_files(void **state) {
    static const char *const names[] = {"tokenizer.json", "fifo.json", "link.json", "huge.json",
                                        "loop.json"};
    char directory[] = "/tmp/leat-test-XXXXXX", path[256];
    struct leat_error err;

    (void)state;
    assert_non_null(mkdtemp(directory));
    write_file(directory, "tokenizer.json", "{}");
    write_file(directory, "huge.json", "");
    (void)snprintf(path, sizeof(path), "%s/huge.json", directory);
    assert_int_equal(truncate(path, (off_t)LEAT_TOKENIZER_FILE_BYTES_MAX + 1), 0);
    (void)snprintf(path, sizeof(path), "%s/fifo.json", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)snprintf(path, sizeof(path), "%s/link.json", directory);
    assert_int_equal(symlink("tokenizer.json", path), 0);
    (void)snprintf(path, sizeof(path), "%s/loop.json", directory);
    assert_int_equal(symlink("loop.json", path), 0);
    assert_int_equal(open_path(directory, ".", &err), 0);
    assert_int_equal(open_path(directory, "tokenizer.json", &err), 0);
    assert_int_equal(open_path(directory, "link.json", &err), 0);
    assert_int_equal(open_path(directory, "none.json", &err), -ENOENT);
    assert_int_equal(open_path(directory, "tokenizer.json/x", &err), -ENOENT);
    assert_int_equal(open_path(directory, "fifo.json", &err), -EINVAL);
    assert_non_null(strstr(err.message, "not a regular file"));
    assert_int_equal(open_path(directory, "huge.json", &err), -EFBIG);
    assert_int_equal(open_path(directory, "loop.json", &err), -ELOOP);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(open_path(directory, ".", &err), -ENOENT);
    assert_int_equal(rmdir(directory), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read),
        cmocka_unit_test(wrong_files),
        cmocka_unit_test(plain_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
