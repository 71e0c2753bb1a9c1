/* chat.c: writes a conversation as a text, by a chat template: one of leat's own (tokenizer/chat/),
 * or with `template: auto` the one that a model brings with it (model_template.h).
 *
 * Messages are read, checked as the template checks them, and written one after the other
 * (tokenizer/chat/). What the assistant says, with the token that ends its turn, are the parts that
 * the model is to say (shared_loss.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/chat/model_template.h"
#include "pipeline/stages/shared_dialogue.h"
#include "pipeline/tokenizer/chat/chat_writer.h"
#include "pipeline/tokenizer/json_path.h"

enum { INJECTION_ALLOW, INJECTION_FAIL };

struct chat {
    struct leat_config base;
    const char *messages, *completion;
    struct leat_dialogue dialogue;
    int template;
    struct leat_text_map prefixes, suffixes;
    const char *separator;
    const char *bos, *eos;
    const char *system;
    bool add_generation_prompt;
    struct leat_text_map roles;
    const char *role_key, *content_key;
    int injection;

    const char *tokenizer, *template_file; /* `auto` */
    const char *tools, *documents;
    struct leat_text_map variables;
    const char *date;
    struct leat_model_template model;
    struct leat_model_settings settings;
    uint32_t tools_column, documents_column;

    struct leat_chat_writer writer;
    struct leat_chat_format format;
    uint32_t column, completion_column;
};

static const char *const injections[] = {"allow", "fail", NULL};
static const char *const templates[] = {LEAT_CHAT_TEMPLATE_NAMES, "auto", NULL};

static const struct leat_arg args[] = {
    LEAT_ARG(chat, messages, FIELD,
             "the field with the conversation, as JSON text: an array of objects such as "
             "{\"role\": \"user\", \"content\": \"Hi\"}; in the source `jsonl`, declare "
             "this field with `fields: {messages: json}`",
             .is_positional = true, .is_required = true),
    LEAT_DIALOGUE_ARG(chat, dialogue),
    LEAT_ARG(chat, completion, FIELD,
             "a second field with messages, as JSON text; leat appends them to those of "
             "`messages`; the completion is then only what the assistant says in this "
             "second field"),
    LEAT_ARG(chat, template, CHOICE,
             "the template that formats the messages; `auto`: the template of the model in "
             "`tokenizer`; give either `template` or `prefixes`",
             .choices = templates),
    LEAT_ARG(chat, tokenizer, PATH,
             "if `template` is `auto`: the model's folder, which has chat_template.jinja "
             "or tokenizer_config.json, or a file in this folder"),
    LEAT_ARG(chat, template_file, PATH,
             "if `template` is `auto`: a Jinja file that replaces the model's own template"),
    LEAT_ARG(chat, tools, FIELD,
             "if `template` is `auto`: a field with the tools that the model may call, as "
             "JSON text"),
    LEAT_ARG(chat, documents, FIELD,
             "if `template` is `auto`: a field with documents for the model, as JSON text"),
    LEAT_ARG(chat, variables, MAP,
             "if `template` is `auto`: more variables for the template, such as "
             "`{enable_thinking: \"false\"}`; leat reads each value as JSON, or as text "
             "if it is not JSON",
             .min = 1, .max = 64),
    LEAT_ARG(chat, date, TEXT,
             "if `template` is `auto`: the date that the function strftime_now() uses in the "
             "template, such as 2025-03-09"),
    LEAT_ARG(chat, prefixes, MAP,
             "for a template of your own: the text before each message of a role, such as `{user: "
             "\"User: \", assistant: \"Assistant: \"}`",
             .min = 1, .max = LEAT_CHAT_ROLES_MAX),
    LEAT_ARG(chat, suffixes, MAP,
             "only with `prefixes`: the text after each message of a role; the model also learns "
             "to write the text after an assistant's message",
             .min = 1, .max = LEAT_CHAT_ROLES_MAX),
    LEAT_ARG(chat, separator, TEXT,
             "only with `prefixes`: a text after each message; the model does not learn "
             "to write this text"),
    LEAT_ARG(chat, bos, TEXT,
             "the first token of the text; default: the first token of the template; "
             "\"\": no such token"),
    LEAT_ARG(chat, eos, TEXT,
             "for the templates mistral, phi-3 and zephyr: the token that the template "
             "calls eos_token; default: the model's own token"),
    LEAT_ARG(chat, system, TEXT,
             "a system message, which leat puts in front of conversations without one"),
    LEAT_ARG(
        chat, add_generation_prompt, BOOL,
        "true: ends the text with the start of an assistant's message, as a prompt for an answer",
        .fallback = "false"),
    LEAT_ARG(chat, roles, MAP,
             "the names of the roles in your data and the roles that they stand for, such "
             "as `{human: user, gpt: assistant}`",
             .min = 1, .max = 64),
    LEAT_ARG(chat, role_key, TEXT, "the key of a message that holds its role", .fallback = "role"),
    LEAT_ARG(chat, content_key, TEXT, "the key of a message that holds its content",
             .fallback = "content"),
    LEAT_ARG(chat, injection, CHOICE,
             "what happens if a message contains special text of the template, such as "
             "<|im_end|>; `allow`: the stage `tokenize` reads this text as the special "
             "token, as transformers does; `fail`: the record is bad",
             .fallback = "allow", .choices = injections),
    LEAT_ARGS_END,
};

/* ---- the template */

static const char *value_of(const struct leat_text_map *map, const char *key) {
    for (size_t i = 0; i < map->n_items; i++)
        if (strcmp(map->keys[i], key) == 0)
            return map->values[i];
    return NULL;
}

/* Makes a template of `prefixes` and `suffixes`. */
static int compose(struct chat *self, struct leat_error *err) {
    struct leat_chat_template *chat = &self->writer.chat;

    chat->name = "the template";
    for (size_t i = 0; i < self->prefixes.n_items; i++) {
        const char *suffix = value_of(&self->suffixes, self->prefixes.keys[i]);

        chat->roles[i] = (struct leat_chat_role){.name = self->prefixes.keys[i],
                                                 .before = self->prefixes.values[i],
                                                 .after = suffix,
                                                 .behind = self->separator};
        leat_chat_writer_add_special(&self->writer, self->prefixes.values[i]);
        leat_chat_writer_add_special(&self->writer, suffix);
    }
    for (size_t i = 0; i < self->suffixes.n_items; i++)
        if (!value_of(&self->prefixes, self->suffixes.keys[i]))
            return leat_config_error(
                &self->base, "suffixes", err,
                "the role \"%.64s\" has no prefix: add one to `prefixes`, or \"\" for no text",
                self->suffixes.keys[i]);
    return 0;
}

static int choose(struct chat *self, struct leat_error *err) {
    static const char *const own[] = {"suffixes", "separator"};
    const struct leat_config *config = &self->base;

    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (leat_config_given(config, own[i]))
            return leat_config_error(config, own[i], err,
                                     "works only with `prefixes`, not with `template`");
    leat_chat_writer_choose(&self->writer, &leat_chat_templates[self->template]);
    return 0;
}

static bool is_auto(const struct chat *self) {
    return self->prefixes.n_items == 0 && leat_config_given(&self->base, "template") &&
           strcmp(templates[self->template], "auto") == 0;
}

static int check_date(struct chat *self, struct leat_error *err) {
    struct tm *date = &self->settings.date, wanted;
    const char *end;

    if (!self->date)
        return 0;
    end = strptime(self->date, "%Y-%m-%d", date);
    date->tm_hour = 12;
    wanted = *date;
    if (!end || *end || timegm(date) == -1 || date->tm_mday != wanted.tm_mday)
        return leat_config_error(&self->base, "date", err, "is not a date such as 2025-03-09");
    self->settings.has_date = true;
    return 0;
}

/* `template: auto`. */
static int check_auto(struct chat *self, struct leat_error *err) {
    static const char *const others[] = {"suffixes", "separator",   "roles",
                                         "role_key", "content_key", "injection"};
    const struct leat_config *config = &self->base;

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (leat_config_given(config, others[i]))
            return leat_config_error(config, others[i], err,
                                     "does not work with `template: auto`: remove it");
    if (!self->tokenizer && !self->template_file)
        return leat_config_error(config, "template", err,
                                 "`auto` needs `tokenizer`, the folder of the model's tokenizer");
    self->settings.variables = &self->variables;
    self->settings.bos = self->bos;
    self->settings.eos = self->eos;
    self->settings.system = self->system;
    self->settings.add_generation_prompt = self->add_generation_prompt;
    return check_date(self, err);
}

static int check_not_auto(const struct chat *self, struct leat_error *err) {
    static const char *const others[] = {"tokenizer", "template_file", "tools",
                                         "documents", "variables",     "date"};

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (leat_config_given(&self->base, others[i]))
            return leat_config_error(&self->base, others[i], err,
                                     "works only with `template: auto`");
    return 0;
}

static int make_template(struct chat *self, struct leat_error *err) {
    const struct leat_config *config = &self->base;
    struct leat_error error = LEAT_ERROR_INIT;
    bool has_own = self->prefixes.n_items > 0;
    int r;

    if (has_own == leat_config_given(config, "template"))
        return leat_config_error(config, has_own ? "prefixes" : NULL, err,
                                 "give exactly one of `template` and `prefixes`");
    r = has_own ? compose(self, err) : choose(self, err);
    if (r < 0)
        return r;
    if (leat_chat_writer_finish(&self->writer, self->bos, self->eos, &error) < 0)
        return leat_config_error(config, "eos", err, "%s", error.message);
    return 0;
}

static int check_roles(const struct chat *self, struct leat_error *err) {
    const struct leat_chat_writer *writer = &self->writer;

    for (size_t i = 0; i < self->roles.n_items; i++)
        if (!leat_chat_template_role(&writer->chat, self->roles.values[i],
                                     strlen(self->roles.values[i])))
            return leat_config_error(&self->base, "roles", err, "%s has no role \"%.64s\"",
                                     writer->chat.name, self->roles.values[i]);
    if (self->system && !writer->system_role)
        return leat_config_error(&self->base, "system", err, "%s has no system messages",
                                 writer->chat.name);
    if (self->add_generation_prompt && !writer->assistant)
        return leat_config_error(&self->base, "add_generation_prompt", err,
                                 "needs a prefix for the role \"assistant\"");
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct chat *self = (struct chat *)config;
    int r;

    if (is_auto(self))
        return check_auto(self, err);
    r = check_not_auto(self, err);
    if (r == 0)
        r = make_template(self, err);
    if (r < 0)
        return r;
    self->writer.system = self->system;
    self->writer.add_generation_prompt = self->add_generation_prompt;
    self->writer.fails_on_specials = self->injection == INJECTION_FAIL;
    self->format = (struct leat_chat_format){
        .chat = &self->writer.chat,
        .role_key = self->role_key,
        .content_key = self->content_key,
        .names = self->roles.keys,
        .roles = self->roles.values,
        .n_names = self->roles.n_items,
    };
    return check_roles(self, err);
}

static int load_paths(struct chat *self, const char *tokenizer, const char *template_file,
                      const struct leat_opener *opener, struct leat_error *err) {
    int r;

    if ((self->tokenizer && !tokenizer) || (self->template_file && !template_file))
        return leat_error_oom(err);
    r = leat_model_template_load(&self->model, tokenizer, template_file, self->tools != NULL,
                                 opener, err);
    if (r < 0 && err->file[0])
        leat_error_prefix(err, "template");
    else if (r < 0)
        leat_config_place_error(&self->base, self->tokenizer ? "tokenizer" : "template_file", err);
    return r;
}

static int load(struct leat_config *config, const struct leat_opener *opener,
                struct leat_error *err) {
    struct chat *self = (struct chat *)config;
    char *tokenizer, *template_file;
    int r;

    if (!is_auto(self))
        return 0;
    tokenizer = self->tokenizer ? leat_config_path(config, self->tokenizer) : NULL;
    template_file = self->template_file ? leat_config_path(config, self->template_file) : NULL;
    r = load_paths(self, tokenizer, template_file, opener, err);
    free(tokenizer);
    free(template_file);
    if (r == 0 && !self->date && !value_of(&self->variables, "date_string") &&
        leat_jinja_template_reads(self->model.jinja, "strftime_now"))
        return leat_config_error(config, "date", err,
                                 "the chat template asks for today's date: set `date`, such as "
                                 "2025-03-09, so that the batches do not depend on the day");
    return r;
}

static void unload(struct leat_config *config) {
    leat_model_template_unload(&((struct chat *)config)->model);
}

static void digest(const struct leat_config *config, struct leat_blake2b *state) {
    const struct chat *self = (const struct chat *)config;
    struct leat_blake2b contents = self->model.digest;
    uint8_t hash[LEAT_DIGEST_BYTES];

    if (!self->model.jinja)
        return;
    leat_blake2b_final(&contents, hash);
    leat_blake2b_update(state, hash, sizeof(hash));
}

/* Templates of models once saw what is null in a message, and thoughts under one name only. */
static unsigned revision(const struct leat_config *config) {
    return ((const struct chat *)config)->model.jinja ? 1 : 0;
}

static const struct leat_contents *contents(const struct leat_config *config) {
    return &((const struct chat *)config)->model.files;
}

static int find_messages(const struct leat_config *config, struct leat_planner *planner,
                         const char *arg, const char *name, uint32_t *ret_column,
                         struct leat_error *err) {
    int r;

    if (!leat_planner_has(planner, name))
        return leat_config_error(config, arg, err,
                                 "there is no field \"%s\": if it is an array of objects, add "
                                 "`fields: {%s: json}` to the source",
                                 name, name);
    r = leat_planner_find(planner, config, arg, name, ret_column, err);
    if (r < 0)
        return r;
    if (leat_planner_field(planner, *ret_column)->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(
            config, arg, err,
            "\"%s\" is %s, but `chat` needs JSON text: add `fields: {%s: json}` to the source",
            name, leat_dtype_name(leat_planner_field(planner, *ret_column)->dtype), name);
    return 0;
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct chat *self = (struct chat *)config;
    struct leat_field *field;
    int r = find_messages(config, planner, "messages", self->messages, &self->column, err);

    if (r == 0 && self->completion)
        r = find_messages(config, planner, "completion", self->completion, &self->completion_column,
                          err);
    if (r == 0 && self->tools)
        r = find_messages(config, planner, "tools", self->tools, &self->tools_column, err);
    if (r == 0 && self->documents)
        r = find_messages(config, planner, "documents", self->documents, &self->documents_column,
                          err);
    if (r < 0)
        return r;
    r = leat_dialogue_plan(config, &self->dialogue, planner, &field, err);
    if (r < 0)
        return r;
    field->has_special_tokens = true;
    field->bos = !self->model.jinja ? self->writer.chat.bos
                 : self->bos        ? self->bos
                                    : leat_model_template_token(&self->model, "bos_token");
    return 0;
}

/* ---- a conversation */

struct workspace {
    struct leat_chat_messages messages, completion;
    struct leat_model_workspace *model; /* `auto` */
    struct leat_dialogue_writer writer;
};

static void workspace_free(void *memory) {
    struct workspace *workspace = memory;

    if (!workspace)
        return;
    leat_chat_messages_deinit(&workspace->messages);
    leat_chat_messages_deinit(&workspace->completion);
    leat_model_workspace_free(workspace->model);
    leat_dialogue_writer_deinit(&workspace->writer);
    free(workspace);
}

static int workspace_new(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err) {
    const struct leat_model_template *model = &((const struct chat *)config)->model;
    struct workspace *workspace = calloc(1, sizeof(*workspace));

    if (workspace && model->jinja)
        workspace->model = leat_model_workspace_new(model);
    if (!workspace || (model->jinja && !workspace->model) ||
        leat_chat_messages_init(&workspace->messages) < 0 ||
        leat_chat_messages_init(&workspace->completion) < 0) {
        workspace_free(workspace);
        return leat_error_oom(err);
    }
    *ret_workspace = workspace;
    return 0;
}

static void put(void *context, const void *bytes, size_t n_bytes) {
    leat_dialogue_put(context, bytes, n_bytes);
}

static void open_part(void *context) {
    leat_dialogue_open_part(context);
}

static void close_part(void *context) {
    leat_dialogue_close_part(context);
}

static void write_messages(const struct chat *self, struct workspace *workspace) {
    const struct leat_chat_sink sink = {.context = &workspace->writer,
                                        .put = put,
                                        .open_part = open_part,
                                        .close_part = close_part};

    leat_chat_writer_write(&self->writer, &workspace->messages, &sink);
}

/* The column of the faulty value, if the record is a line of JSON; 0: unknown. */
static uint32_t column_of(const struct leat_map *map, uint32_t row, const char *field,
                          const struct leat_chat_messages *messages) {
    const struct leat_block *block = map->block;
    const char *key = messages->fault_key;
    uint32_t record = block->records[row], start = block->record_starts[record], line, column;
    const struct leat_json_step steps[] = {
        {.key = field, .n_key = strlen(field)},
        {.index = messages->n_items},
        {.key = key, .n_key = key ? strlen(key) : 0},
    };

    if (!key || map->cutter->kind == LEAT_CUTTER_FRAMES ||
        !leat_json_locate_value(block->source + start, block->record_ends[record] - start, steps, 3,
                                &line, &column))
        return 0;
    return line == 1 ? column : 0;
}

/* -EINVAL: the row was rejected. -ENOMEM. */
static int read_field(const struct chat *self, struct leat_map *map, uint32_t row,
                      const char *field, uint32_t column_index,
                      struct leat_chat_messages *messages) {
    const struct leat_column *column = leat_map_column(map, column_index);
    struct leat_error error = LEAT_ERROR_INIT;
    int r = leat_chat_messages_read(messages, &self->format,
                                    (const uint8_t *)column->values + column->starts[row],
                                    column->lengths[row], &error);

    if (r < 0 && r != -ENOMEM)
        leat_map_reject_value(map, row, field, column_of(map, row, field, messages), "%s",
                              error.message);
    return r;
}

static int read_row(const struct chat *self, struct leat_map *map, uint32_t row) {
    struct workspace *workspace = map->workspace;
    struct leat_error error = LEAT_ERROR_INIT;
    int r = read_field(self, map, row, self->messages, self->column, &workspace->messages);

    if (r == 0 && self->completion)
        r = read_field(self, map, row, self->completion, self->completion_column,
                       &workspace->completion);
    if (r < 0)
        return r;
    if (self->completion)
        r = leat_chat_messages_answer(&workspace->messages, &workspace->completion, &error);
    if (r == 0)
        r = leat_chat_writer_check(&self->writer, &workspace->messages, &error);
    if (r < 0 && r != -ENOMEM)
        leat_map_reject(map, row, self->messages, "%s", error.message);
    return r;
}

static const void *text_at(const struct leat_map *map, const char *field, uint32_t column,
                           uint32_t row, size_t *ret_n) {
    const struct leat_column *texts;

    *ret_n = 0;
    if (!field)
        return NULL;
    texts = leat_map_column(map, column);
    *ret_n = texts->lengths[row];
    return (const uint8_t *)texts->values + texts->starts[row];
}

/* The same as map_row() by the template of a model. */
static int map_row_auto(const struct chat *self, struct leat_map *map, uint32_t row,
                        struct leat_error *err) {
    struct workspace *workspace = map->workspace;
    struct leat_error error = LEAT_ERROR_INIT;
    struct leat_model_chat chat = {.wants_parts = map->is_needed[self->dialogue.parts_column]};
    int r;

    chat.messages = text_at(map, self->messages, self->column, row, &chat.n_messages);
    chat.completion =
        text_at(map, self->completion, self->completion_column, row, &chat.n_completion);
    chat.tools = text_at(map, self->tools, self->tools_column, row, &chat.n_tools);
    chat.documents = text_at(map, self->documents, self->documents_column, row, &chat.n_documents);
    leat_dialogue_begin_row(&workspace->writer);
    r = leat_model_template_write(&self->model, &self->settings, &chat, workspace->model,
                                  &workspace->writer, &error);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r < 0)
        leat_map_reject(map, row, self->messages, "%s", error.message);
    return leat_dialogue_end_row(&self->dialogue, &workspace->writer, map, row, r < 0, err);
}

static int map_row(const struct chat *self, struct leat_map *map, uint32_t row,
                   struct leat_error *err) {
    struct workspace *workspace = map->workspace;
    int r;

    if (workspace->model)
        return map_row_auto(self, map, row, err);
    r = read_row(self, map, row);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    leat_dialogue_begin_row(&workspace->writer);
    if (r == 0)
        write_messages(self, workspace);
    return leat_dialogue_end_row(&self->dialogue, &workspace->writer, map, row, r < 0, err);
}

static int map_rows(const struct leat_config *config, struct leat_map *map,
                    struct leat_error *err) {
    const struct chat *self = (const struct chat *)config;
    struct workspace *workspace = map->workspace;
    int r = 0;

    if (leat_dialogue_begin(&self->dialogue, &workspace->writer, map) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; r == 0 && row < map->block->n_rows; row++)
        r = map_row(self, map, row, err);
    return r < 0 ? r : leat_dialogue_end(&self->dialogue, &workspace->writer, map, err);
}

const struct leat_stage_ops leat_stage_chat = {
    LEAT_STAGE_BASE("chat", chat, MAP),
    .summary = "writes a conversation as text with a model's chat template",
    .example = "{ messages: messages, template: chatml }",
    .check = check,
    .load = load,
    .unload = unload,
    .digest = digest,
    .contents = contents,
    .plan = plan,
    .revision = revision,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
};
