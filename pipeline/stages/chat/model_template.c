/* model_template.c: see model_template.h. */
#include "pipeline/stages/chat/model_template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/array.h"
#include "proto/base/text.h"

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
    struct leat_error error = LEAT_ERROR_INIT;
    int r = leat_opener_read(loading->opener, path, CONFIG_BYTES_MAX, ret_data, ret_n, &error);

    if (r < 0) {
        if (r != -ENOENT)
            *err = error;
        return r;
    }
    leat_contents_add(&loading->model->files, path, *ret_data, *ret_n);
    return 0;
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
        return leat_error_set(err, r, "there is no file %s", path);
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
                           "%s has no chat template: neither chat_template.jinja nor "
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

/* ---- a conversation */

struct leat_model_workspace {
    struct leat_jinja_render *render;
    struct leat_json *json;
    struct leat_text text;         /* the whole conversation */
    struct leat_jinja_part *parts; /* of it */
    size_t n_parts, parts_capacity;
};

struct leat_model_workspace *leat_model_workspace_new(const struct leat_model_template *model) {
    struct leat_model_workspace *workspace = calloc(1, sizeof(*workspace));

    if (workspace)
        workspace->render = leat_jinja_render_new(model->jinja);
    if (!workspace || !workspace->render || leat_json_new(1 << 14, &workspace->json) < 0) {
        leat_model_workspace_free(workspace);
        return NULL;
    }
    return workspace;
}

void leat_model_workspace_free(struct leat_model_workspace *workspace) {
    if (!workspace)
        return;
    (void)leat_jinja_render_free(workspace->render);
    leat_json_free(workspace->json);
    free(workspace->text.data);
    free(workspace->parts);
    free(workspace);
}

struct writing {
    const struct leat_model_template *model;
    const struct leat_model_settings *settings;
    struct leat_model_workspace *workspace;
    struct leat_jinja_value messages, tools, documents;
    size_t n_asked; /* messages that the model is not to answer with */
    bool wants_parts;
    struct leat_error *err;
};

/* A value of JSON text; what is no JSON is an error, or a text if `is_lenient`. */
static int parse(struct writing *writing, const void *text, size_t n, bool is_lenient,
                 struct leat_jinja_value *ret) {
    struct leat_error error = LEAT_ERROR_INIT;
    struct leat_json_node root;
    int r = leat_json_parse_record(writing->workspace->json, text, n, n, &root, &error);

    if (r == -EINVAL && is_lenient) {
        *ret = leat_jinja_string(text, n);
        return 0;
    }
    if (r < 0) {
        *writing->err = error;
        return r;
    }
    return leat_jinja_render_json(writing->workspace->render, root, ret, writing->err);
}

static int parse_optional(struct writing *writing, const void *text, size_t n,
                          struct leat_jinja_value *ret) {
    *ret = leat_jinja_none();
    return text && n > 0 ? parse(writing, text, n, false, ret) : 0;
}

static const struct leat_jinja_value *role_of(const struct leat_jinja_value *message) {
    const struct leat_jinja_value key = leat_jinja_string("role", 4);

    return message->kind == LEAT_JINJA_DICT ? leat_jinja_dict_find(message->dict, &key) : NULL;
}

static bool has_role(const struct leat_jinja_value *message, const char *role) {
    const struct leat_jinja_value *value = role_of(message);

    return value && value->kind == LEAT_JINJA_STRING &&
           leat_jinja_equals_text(value, role, strlen(role));
}

static int fail_memory(struct writing *writing) {
    return leat_jinja_heap_error(leat_jinja_render_heap(writing->workspace->render), writing->err);
}

static int read_messages(struct writing *writing, const void *text, size_t n,
                         const struct leat_jinja_list **ret_list) {
    struct leat_jinja_value value;
    int r = parse(writing, text, n, false, &value);

    if (r < 0)
        return r;
    if (value.kind != LEAT_JINJA_LIST)
        return leat_error_set(writing->err, -EINVAL, "the conversation is not an array of objects");
    for (size_t i = 0; i < value.list->n_items; i++)
        if (!role_of(&value.list->items[i]))
            return leat_error_set(writing->err, -EINVAL, "message %zu is not an object with a role",
                                  i + 1);
    *ret_list = value.list;
    return 0;
}

static int add_messages(struct writing *writing, const struct leat_jinja_list *messages,
                        struct leat_jinja_list *list) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);

    for (size_t i = 0; i < messages->n_items; i++)
        if (!leat_jinja_list_add(heap, list, messages->items[i]))
            return fail_memory(writing);
    return 0;
}

static int add_system(struct writing *writing, const char *text, struct leat_jinja_list *list) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);
    struct leat_jinja_dict *dict = leat_jinja_dict_new(heap, 2);

    if (!dict ||
        !leat_jinja_dict_put(heap, dict, leat_jinja_string("role", 4),
                             leat_jinja_string("system", 6)) ||
        !leat_jinja_dict_put(heap, dict, leat_jinja_string("content", 7),
                             leat_jinja_string(text, strlen(text))) ||
        !leat_jinja_list_add(heap, list,
                             (struct leat_jinja_value){.kind = LEAT_JINJA_DICT, .dict = dict}))
        return fail_memory(writing);
    return 0;
}

static int read_chat(struct writing *writing, const struct leat_model_chat *chat) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);
    struct leat_jinja_list *list = leat_jinja_list_new(heap, 0);
    const char *system = writing->settings->system;
    const struct leat_jinja_list *messages;
    int r = list ? read_messages(writing, chat->messages, chat->n_messages, &messages)
                 : fail_memory(writing);

    if (r == 0 && system && (messages->n_items == 0 || !has_role(&messages->items[0], "system")))
        r = add_system(writing, system, list);
    if (r == 0)
        r = add_messages(writing, messages, list);
    if (r == 0 && chat->completion) {
        writing->n_asked = list->n_items;
        r = read_messages(writing, chat->completion, chat->n_completion, &messages);
        if (r == 0)
            r = add_messages(writing, messages, list);
    }
    writing->messages = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    if (r == 0)
        r = parse_optional(writing, chat->tools, chat->n_tools, &writing->tools);
    if (r == 0)
        r = parse_optional(writing, chat->documents, chat->n_documents, &writing->documents);
    return r;
}

static int set(struct writing *writing, const char *name, struct leat_jinja_value value) {
    return leat_jinja_render_set(writing->workspace->render, name, strlen(name), value,
                                 writing->err);
}

static int set_text(struct writing *writing, const char *name, const char *text) {
    return text ? set(writing, name, leat_jinja_string(text, strlen(text))) : 0;
}

/* As transformers sets them: variables win over special tokens. */
static int set_variables(struct writing *writing, const struct leat_jinja_value *messages,
                         bool add_generation_prompt) {
    const struct leat_model_template *model = writing->model;
    const struct leat_text_map *variables = writing->settings->variables;
    int r = set(writing, "messages", *messages);

    if (r == 0)
        r = set(writing, "tools", writing->tools);
    if (r == 0)
        r = set(writing, "documents", writing->documents);
    if (r == 0)
        r = set(writing, "add_generation_prompt", leat_jinja_bool(add_generation_prompt));
    for (size_t i = 0; r == 0 && i < model->n_tokens; i++)
        r = set_text(writing, model->tokens[i].name, model->tokens[i].text);
    if (r == 0)
        r = set_text(writing, "bos_token", writing->settings->bos);
    if (r == 0)
        r = set_text(writing, "eos_token", writing->settings->eos);
    for (size_t i = 0; r == 0 && i < variables->n_items; i++) {
        struct leat_jinja_value value;

        r = parse(writing, variables->values[i], strlen(variables->values[i]), true, &value);
        if (r == 0)
            r = set(writing, variables->keys[i], value);
    }
    return r;
}

static int fail_template(struct writing *writing, int r) {
    struct leat_error *err = writing->err;
    struct leat_error error = *err;

    if (r == -ENOMEM || err->line == 0)
        return r;
    *err = LEAT_ERROR_INIT;
    return leat_error_set(err, error.code, "%s (line %u of the chat template)", error.message,
                          error.line);
}

/* Renders the first n messages. */
static int render(struct writing *writing, size_t n, bool add_generation_prompt,
                  const char **ret_text, size_t *ret_n, const struct leat_jinja_part **ret_parts,
                  size_t *ret_n_parts) {
    struct leat_jinja_list list = *writing->messages.list;
    struct leat_jinja_value messages = {.kind = LEAT_JINJA_LIST, .list = &list};
    int r = leat_jinja_render_rewind(writing->workspace->render, writing->err);

    list.n_items = n;
    if (r == 0)
        r = set_variables(writing, &messages, add_generation_prompt);
    if (r == 0)
        r = leat_jinja_render_run(writing->workspace->render, ret_text, ret_n, ret_parts,
                                  ret_n_parts, writing->err);
    return r < 0 ? fail_template(writing, r) : 0;
}

static int add_part(struct writing *writing, size_t start, size_t end) {
    struct leat_model_workspace *workspace = writing->workspace;

    if (!leat_array_reserve(&workspace->parts, workspace->n_parts + 1, &workspace->parts_capacity))
        return leat_error_oom(writing->err);
    workspace->parts[workspace->n_parts++] = (struct leat_jinja_part){.start = start, .end = end};
    return 0;
}

/* Where the first n messages end in the whole conversation: they must be its start. */
static int find_end(struct writing *writing, size_t n, bool add_generation_prompt,
                    size_t *ret_end) {
    const struct leat_text *whole = &writing->workspace->text;
    const struct leat_jinja_part *parts;
    size_t n_parts, n_bytes = 0;
    const char *text = NULL;
    int r = render(writing, n, add_generation_prompt, &text, &n_bytes, &parts, &n_parts);

    if (r < 0)
        return r;
    if (n_bytes > whole->n_bytes || (n_bytes && memcmp(whole->data, text, n_bytes) != 0))
        return leat_error_set(
            writing->err, -EINVAL,
            "the chat template does not say with {%% generation %%} what the assistant says, and "
            "it writes message %zu otherwise if more messages follow",
            n);
    *ret_end = n_bytes;
    return 0;
}

/* The turns of the assistant, for a template that does not mark them. */
static int find_turns(struct writing *writing) {
    const struct leat_jinja_list *list = writing->messages.list;
    int r = 0;

    for (size_t i = writing->n_asked; r == 0 && i < list->n_items; i++) {
        size_t start, end;

        if (!has_role(&list->items[i], "assistant"))
            continue;
        r = find_end(writing, i, true, &start);
        if (r == 0)
            r = find_end(writing, i + 1, false, &end);
        if (r == 0 && start < end)
            r = add_part(writing, start, end);
    }
    return r;
}

static int write_whole(struct writing *writing) {
    struct leat_model_workspace *workspace = writing->workspace;
    const struct leat_jinja_part *parts;
    size_t n, n_parts, first = 0;
    const char *text;
    int r = render(writing, writing->messages.list->n_items,
                   writing->settings->add_generation_prompt, &text, &n, &parts, &n_parts);

    workspace->text.n_bytes = workspace->n_parts = 0;
    if (r < 0)
        return r;
    leat_text_add_bytes(&workspace->text, text, n);
    if (workspace->text.failed)
        return leat_error_oom(writing->err);
    if (!writing->wants_parts)
        return 0;
    for (size_t i = 0; r == 0 && i < n_parts; i++)
        r = add_part(writing, parts[i].start, parts[i].end);
    if (r == 0 && !writing->model->marks)
        return find_turns(writing);
    if (r == 0 && writing->n_asked) { /* parts of the prompt are not to be said */
        r = find_end(writing, writing->n_asked, false, &n);
        while (r == 0 && first < workspace->n_parts && workspace->parts[first].start < n)
            first++;
        workspace->n_parts -= first;
        memmove(workspace->parts, workspace->parts + first,
                workspace->n_parts * sizeof(*workspace->parts));
    }
    return r;
}

static void put_parts(const struct leat_model_workspace *workspace,
                      struct leat_dialogue_writer *writer) {
    const char *text = workspace->text.data;
    size_t at = 0;

    for (size_t i = 0; i < workspace->n_parts; i++) {
        const struct leat_jinja_part *part = &workspace->parts[i];

        if (part->start < at || part->end > workspace->text.n_bytes)
            continue; /* a part within another */
        leat_dialogue_put(writer, text + at, part->start - at);
        leat_dialogue_open_part(writer);
        leat_dialogue_put(writer, text + part->start, part->end - part->start);
        leat_dialogue_close_part(writer);
        at = part->end;
    }
    leat_dialogue_put(writer, text + at, workspace->text.n_bytes - at);
}

int leat_model_template_write(const struct leat_model_template *model,
                              const struct leat_model_settings *settings,
                              const struct leat_model_chat *chat,
                              struct leat_model_workspace *workspace,
                              struct leat_dialogue_writer *writer, struct leat_error *err) {
    struct writing writing = {.model = model,
                              .settings = settings,
                              .workspace = workspace,
                              .wants_parts = chat->wants_parts,
                              .err = err};
    int r = leat_jinja_render_begin(workspace->render, err);

    if (settings->has_date)
        leat_jinja_render_date(workspace->render, &settings->date);
    if (r == 0)
        r = read_chat(&writing, chat);
    if (r == 0)
        r = write_whole(&writing);
    if (r == 0)
        put_parts(workspace, writer);
    return r;
}
