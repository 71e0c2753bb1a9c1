/* model_template_load.c: the files of a model's chat template (see model_template.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/stages/chat/model_template.h"

#define CONFIG_BYTES_MAX (UINT32_C(64) << 20)

/* ---- files */

struct loading {
    struct leat_model_template *model;
    const struct leat_opener *opener;
    char *folder;
    bool with_tools;
};

/* *ret_data is malloc'ed. -ENOENT: there is no such file, and err is not set. */
static int read_file(struct loading *loading, const char *path, char **ret_data, size_t *ret_n,
                     struct leat_error *err) {
    int r =
        leat_opener_read_optional(loading->opener, path, CONFIG_BYTES_MAX, ret_data, ret_n, err);

    if (r == 0)
        leat_contents_add(&loading->model->files, path, *ret_data, *ret_n);
    return r;
}

static int read_beside(struct loading *loading, const char *name, char **ret_path, char **ret_data,
                       size_t *ret_n, struct leat_error *err) {
    size_t n = strlen(loading->folder) + 1 + strlen(name) + 1;
    int r;

    *ret_path = malloc(n);
    if (!*ret_path)
        return leat_error_oom(err);
    (void)snprintf(*ret_path, n, "%s/%s", loading->folder, name);
    r = read_file(loading, *ret_path, ret_data, ret_n, err);
    if (r < 0) {
        free(*ret_path);
        *ret_path = NULL;
    }
    return r;
}

static int find_folder(struct loading *loading, const char *path, struct leat_error *err) {
    struct leat_error error = LEAT_ERROR_INIT;
    int fd = loading->opener->open_directory(loading->opener, path, &error);
    const char *slash = strrchr(path, '/');

    if (fd >= 0) {
        (void)close(fd);
        loading->folder = strdup(path);
    } else {
        loading->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
    }
    return loading->folder ? 0 : leat_error_oom(err);
}

static int compile(struct loading *loading, const char *source, size_t n, const char *file,
                   struct leat_error *err) {
    struct leat_model_template *model = loading->model;
    int r;

    if (model->jinja)
        return 0;
    r = leat_jinja_compile(source, n, &model->jinja, err);
    if (r < 0) {
        leat_error_locate(err, file, 0, 0);
        return r;
    }
    model->marks = leat_jinja_template_marks(model->jinja);
    leat_blake2b_u64(&model->digest, n);
    leat_blake2b_update(&model->digest, source, n);
    return 0;
}

/* ---- tokenizer_config.json and special_tokens_map.json */

static bool find(struct leat_json_node object, const char *key, enum leat_json_kind kind,
                 struct leat_json_node *ret) {
    return leat_json_kind(object) == LEAT_JSON_OBJECT &&
           leat_json_find(object, key, strlen(key), ret) && leat_json_kind(*ret) == kind;
}

/* A list of templates with names: the one for tools, if tools are given, else the default. */
static bool choose_template(const struct loading *loading, struct leat_json_node list,
                            struct leat_json_node *ret) {
    bool is_found = false;

    for (int wants_default = !loading->with_tools; wants_default < 2 && !is_found;
         wants_default++) {
        struct leat_json_iterator iterator;
        struct leat_json_node item, name;

        leat_json_iterate(list, &iterator);
        while (!is_found && leat_json_next(&iterator, &item)) {
            size_t n;

            is_found =
                find(item, "name", LEAT_JSON_STRING, &name) &&
                strcmp(leat_json_string(name, &n), wants_default ? "default" : "tool_use") == 0 &&
                find(item, "template", LEAT_JSON_STRING, ret);
        }
    }
    return is_found;
}

static int read_template(struct loading *loading, struct leat_json_node root, const char *file,
                         struct leat_error *err) {
    struct leat_json_node node;
    const char *text;
    size_t n;

    if (find(root, "chat_template", LEAT_JSON_ARRAY, &node)) {
        if (!choose_template(loading, node, &node))
            return 0;
    } else if (!find(root, "chat_template", LEAT_JSON_STRING, &node)) {
        return 0;
    }
    text = leat_json_string(node, &n);
    return compile(loading, text, n, file, err);
}

static bool is_token_name(const char *key, size_t n) {
    return n > 6 && memcmp(key + n - 6, "_token", 6) == 0;
}

static int add_token(struct leat_model_template *model, const char *name, const char *text,
                     struct leat_error *err) {
    struct leat_model_token *token = &model->tokens[model->n_tokens];

    if (leat_model_template_token(model, name) || model->n_tokens == LEAT_MODEL_TOKENS_MAX)
        return 0;
    *token = (struct leat_model_token){.name = strdup(name), .text = strdup(text)};
    model->n_tokens++;
    if (!token->name || !token->text)
        return leat_error_oom(err);
    leat_blake2b_u64(&model->digest, strlen(name));
    leat_blake2b_update(&model->digest, name, strlen(name));
    leat_blake2b_u64(&model->digest, strlen(text));
    leat_blake2b_update(&model->digest, text, strlen(text));
    return 0;
}

/* A token is a text, or an object whose `content` is one. */
static int read_tokens(struct leat_model_template *model, struct leat_json_node root,
                       struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node item, content;
    const char *key;
    size_t n_key, n;
    int r = 0;

    if (leat_json_kind(root) != LEAT_JSON_OBJECT)
        return 0;
    leat_json_iterate(root, &iterator);
    while (r == 0 && leat_json_next_member(&iterator, &key, &n_key, &item)) {
        if (!is_token_name(key, n_key))
            continue;
        if (leat_json_kind(item) == LEAT_JSON_STRING)
            r = add_token(model, key, leat_json_string(item, &n), err);
        else if (find(item, "content", LEAT_JSON_STRING, &content))
            r = add_token(model, key, leat_json_string(content, &n), err);
    }
    return r;
}

static int read_config(struct loading *loading, const char *name, struct leat_error *err) {
    struct leat_json *json = NULL;
    struct leat_json_node root;
    char *path, *data = NULL;
    size_t n;
    int r = read_beside(loading, name, &path, &data, &n, err);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = leat_json_new(n, &json) < 0 ? leat_error_oom(err)
                                    : leat_json_parse_record(json, data, n, n, &root, err);
    if (r < 0)
        leat_error_locate(err, path, 0, 0);
    if (r == 0)
        r = read_tokens(loading->model, root, err);
    if (r == 0)
        r = read_template(loading, root, path, err);
    leat_json_free(json);
    free(data);
    free(path);
    return r;
}

static int load_file(struct loading *loading, const char *path, struct leat_error *err) {
    char *data;
    size_t n;
    int r = read_file(loading, path, &data, &n, err);

    if (r == -ENOENT)
        return leat_error_set(err, r, "the file %s does not exist", path);
    if (r < 0)
        return r;
    r = compile(loading, data, n, path, err);
    free(data);
    return r;
}

static int load_folder(struct loading *loading, struct leat_error *err) {
    char *path, *data;
    size_t n;
    int r = loading->model->jinja
                ? -ENOENT
                : read_beside(loading, "chat_template.jinja", &path, &data, &n, err);

    if (r == 0) {
        r = compile(loading, data, n, path, err);
        free(data);
        free(path);
    }
    if (r < 0 && r != -ENOENT)
        return r;
    r = read_config(loading, "tokenizer_config.json", err);
    if (r == 0)
        r = read_config(loading, "special_tokens_map.json", err);
    if (r == 0 && !loading->model->jinja)
        r = leat_error_set(err, -ENOENT,
                           "the folder %s has no chat template: add chat_template.jinja, or "
                           "`chat_template` in tokenizer_config.json",
                           loading->folder);
    return r;
}

int leat_model_template_load(struct leat_model_template *model, const char *tokenizer,
                             const char *template_file, bool with_tools,
                             const struct leat_opener *opener, struct leat_error *err) {
    struct loading loading = {.model = model, .opener = opener, .with_tools = with_tools};
    int r;

    *model = (struct leat_model_template){.jinja = NULL};
    leat_blake2b_init(&model->digest);
    r = template_file ? load_file(&loading, template_file, err) : 0;
    if (r == 0 && tokenizer)
        r = find_folder(&loading, tokenizer, err);
    if (r == 0 && tokenizer)
        r = load_folder(&loading, err);
    free(loading.folder);
    return r;
}

void leat_model_template_unload(struct leat_model_template *model) {
    model->jinja = leat_jinja_template_free(model->jinja);
    for (size_t i = 0; i < model->n_tokens; i++) {
        free(model->tokens[i].name);
        free(model->tokens[i].text);
    }
    model->n_tokens = 0;
}

const char *leat_model_template_token(const struct leat_model_template *model, const char *name) {
    for (size_t i = 0; i < model->n_tokens; i++)
        if (strcmp(model->tokens[i].name, name) == 0)
            return model->tokens[i].text;
    return NULL;
}
