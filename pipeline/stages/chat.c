/* chat.c: a conversation to the text that its model was made for, by a chat template.
 *
 * Messages are read (shared_chat_messages.c), checked as the template of the model checks them, and
 * written one behind the other (shared_chat_template.h says what stands around them). What the
 * assistant says, with the token that ends its turn, are the parts that the model is to say
 * (shared_loss.h): what the markers {% generation %} of a template are in transformers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stages/shared_chat_messages.h"
#include "pipeline/stages/shared_dialogue.h"

enum { INJECTION_ALLOW, INJECTION_FAIL };

struct chat {
    struct leat_config base;
    const char *messages;
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

    struct leat_chat_template chat;
    struct leat_chat_format format;
    const struct leat_chat_role *system_role, *user, *assistant; /* of chat; NULL: has none */
    size_t n_specials;
    uint32_t column;
};

static const char *const injections[] = {"allow", "fail", NULL};

static const struct leat_arg args[] = {
    {.name = "messages",
     .type = LEAT_ARG_FIELD,
     .offset = offsetof(struct chat, messages),
     .is_positional = true,
     .is_required = true,
     .help = "the conversation, as JSON text: an array of objects like {\"role\": \"user\", "
             "\"content\": \"Hi\"}; of JSON Lines it is had by `fields: {messages: json}`"},
    LEAT_DIALOGUE_ARG(chat, dialogue),
    {.name = "template",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct chat, template),
     .choices = leat_chat_template_names,
     .help = "what the messages are written by; this or `prefixes`"},
    {.name = "prefixes",
     .type = LEAT_ARG_MAP,
     .offset = offsetof(struct chat, prefixes),
     .min = 1,
     .max = LEAT_CHAT_ROLES_MAX,
     .help = "a template of one's own: what stands before a content, for each role that there is: "
             "`{user: \"User: \", assistant: \"Assistant: \"}`"},
    {.name = "suffixes",
     .type = LEAT_ARG_MAP,
     .offset = offsetof(struct chat, suffixes),
     .min = 1,
     .max = LEAT_CHAT_ROLES_MAX,
     .help = "`prefixes`: what stands behind a content; the assistant's is said by the model"},
    {.name = "separator",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, separator),
     .help = "`prefixes`: what stands behind each message, and is said by nobody"},
    {.name = "bos",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, bos),
     .help = "the token in front of all; left out: that of the template; \"\": none"},
    {.name = "eos",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, eos),
     .help = "mistral, phi-3, zephyr: the token that the template calls eos_token; left out: that "
             "of the model"},
    {.name = "system",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, system),
     .help = "a system message for conversations that do not begin with one"},
    {.name = "add_generation_prompt",
     .type = LEAT_ARG_BOOL,
     .offset = offsetof(struct chat, add_generation_prompt),
     .fallback = "false",
     .help = "ends with what the assistant's next message begins with"},
    {.name = "roles",
     .type = LEAT_ARG_MAP,
     .offset = offsetof(struct chat, roles),
     .min = 1,
     .max = 64,
     .help = "what the data calls the roles: `{human: user, gpt: assistant}`"},
    {.name = "role_key",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, role_key),
     .fallback = "role",
     .help = "the key of a message's role"},
    {.name = "content_key",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct chat, content_key),
     .fallback = "content",
     .help = "the key of a message's content"},
    {.name = "injection",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct chat, injection),
     .fallback = "allow",
     .choices = injections,
     .help =
         "a content with a text that means something in the template, such as <|im_end|>, which "
         "`tokenize` takes for the token: allow: so it is, as in transformers; fail: the record "
         "is bad"},
    LEAT_ARGS_END,
};

/* ---- the template */

static const char *value_of(const struct leat_text_map *map, const char *key) {
    for (size_t i = 0; i < map->n_items; i++)
        if (strcmp(map->keys[i], key) == 0)
            return map->values[i];
    return NULL;
}

static void add_special(struct chat *self, const char *text) {
    if (text && text[0])
        self->chat.specials[self->n_specials++] = text;
}

/* A template of prefixes and suffixes. */
static int compose(struct chat *self, struct leat_error *err) {
    struct leat_chat_template *chat = &self->chat;

    chat->name = "the template";
    for (size_t i = 0; i < self->prefixes.n_items; i++) {
        const char *suffix = value_of(&self->suffixes, self->prefixes.keys[i]);

        chat->roles[i] = (struct leat_chat_role){.name = self->prefixes.keys[i],
                                                 .before = self->prefixes.values[i],
                                                 .after = suffix,
                                                 .behind = self->separator};
        add_special(self, self->prefixes.values[i]);
        add_special(self, suffix);
    }
    for (size_t i = 0; i < self->suffixes.n_items; i++)
        if (!value_of(&self->prefixes, self->suffixes.keys[i]))
            return leat_config_error(&self->base, "suffixes", err,
                                     "there is no prefix for \"%.64s\": if it has none, write \"\"",
                                     self->suffixes.keys[i]);
    return 0;
}

static bool uses_eos(const struct leat_chat_template *chat) {
    return chat->ends_with_eos || chat->eos;
}

static int choose(struct chat *self, struct leat_error *err) {
    static const char *const own[] = {"suffixes", "separator"};
    const struct leat_config *config = &self->base;

    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (leat_config_given(config, own[i]))
            return leat_config_error(config, own[i], err,
                                     "has an effect only with `prefixes`, not with `template`");
    self->chat = leat_chat_templates[self->template];
    while (self->chat.specials[self->n_specials])
        self->n_specials++;
    return 0;
}

static int make_template(struct chat *self, struct leat_error *err) {
    const struct leat_config *config = &self->base;
    bool has_own = self->prefixes.n_items > 0;
    int r;

    if (has_own == leat_config_given(config, "template"))
        return leat_config_error(config, has_own ? "prefixes" : NULL, err,
                                 "one of `template` and `prefixes` says how messages are written");
    r = has_own ? compose(self, err) : choose(self, err);
    if (r < 0)
        return r;
    if (self->eos && !uses_eos(&self->chat))
        return leat_config_error(config, "eos", err, "%s has no use for it", self->chat.name);
    if (self->bos)
        self->chat.bos = self->bos[0] ? self->bos : NULL;
    if (self->eos)
        self->chat.eos = self->eos;
    add_special(self, self->chat.bos);
    add_special(self, self->chat.eos);
    return 0;
}

static const struct leat_chat_role *role(const struct chat *self, const char *name) {
    return leat_chat_template_role(&self->chat, name, strlen(name));
}

static int check_roles(const struct chat *self, struct leat_error *err) {
    for (size_t i = 0; i < self->roles.n_items; i++)
        if (!role(self, self->roles.values[i]))
            return leat_config_error(&self->base, "roles", err, "%s has no role \"%.64s\"",
                                     self->chat.name, self->roles.values[i]);
    if (self->system && !self->system_role)
        return leat_config_error(&self->base, "system", err, "%s has no system messages",
                                 self->chat.name);
    if (self->add_generation_prompt && !self->assistant)
        return leat_config_error(&self->base, "add_generation_prompt", err,
                                 "needs a prefix of the role \"assistant\"");
    return 0;
}

static int check(struct leat_config *config, struct leat_error *err) {
    struct chat *self = (struct chat *)config;
    int r = make_template(self, err);

    if (r < 0)
        return r;
    self->system_role = role(self, "system");
    self->user = role(self, "user");
    self->assistant = role(self, "assistant");
    self->format = (struct leat_chat_format){
        .chat = &self->chat,
        .role_key = self->role_key,
        .content_key = self->content_key,
        .names = self->roles.keys,
        .roles = self->roles.values,
        .n_names = self->roles.n_items,
    };
    return check_roles(self, err);
}

static int plan(struct leat_config *config, struct leat_planner *planner, struct leat_error *err) {
    struct chat *self = (struct chat *)config;
    struct leat_field *field;
    int r;

    if (!leat_planner_has(planner, self->messages))
        return leat_config_error(
            config, "messages", err,
            "there is no field \"%s\" here: arrays of objects must be declared "
            "at the source, `fields: {%s: json}`",
            self->messages, self->messages);
    r = leat_planner_find(planner, config, "messages", self->messages, &self->column, err);
    if (r < 0)
        return r;
    if (leat_planner_field(planner, self->column)->dtype != LEAT_DTYPE_TEXT)
        return leat_config_error(config, "messages", err,
                                 "\"%s\" is %s, not JSON text: declare `fields: {%s: json}` at the "
                                 "source",
                                 self->messages,
                                 leat_dtype_name(leat_planner_field(planner, self->column)->dtype),
                                 self->messages);
    r = leat_dialogue_plan(config, &self->dialogue, planner, &field, err);
    if (r < 0)
        return r;
    field->has_special_tokens = true;
    field->bos = self->chat.bos;
    return 0;
}

/* ---- a conversation */

struct workspace {
    struct leat_chat_messages messages;
    struct leat_dialogue_writer writer;
};

static void workspace_free(void *memory) {
    struct workspace *workspace = memory;

    if (!workspace)
        return;
    leat_chat_messages_deinit(&workspace->messages);
    leat_dialogue_writer_deinit(&workspace->writer);
    free(workspace);
}

static int workspace_new(const struct leat_config *config, void **ret_workspace,
                         struct leat_error *err) {
    struct workspace *workspace = calloc(1, sizeof(*workspace));

    (void)config;
    if (!workspace || leat_chat_messages_init(&workspace->messages) < 0) {
        workspace_free(workspace);
        return leat_error_oom(err);
    }
    *ret_workspace = workspace;
    return 0;
}

static int check_special(const struct chat *self, size_t at,
                         const struct leat_chat_message *message, struct leat_error *err) {
    for (size_t i = 0; i < self->n_specials; i++) {
        const char *special = self->chat.specials[i];

        if (memmem(message->content, message->n_content, special, strlen(special)))
            return leat_error_set(err, -EINVAL,
                                  "message %zu: its content has \"%.64s\", which means something "
                                  "in %s",
                                  at, special, self->chat.name);
    }
    return 0;
}

static bool begins_with_system(const struct chat *self, const struct leat_chat_messages *messages) {
    return self->system_role && messages->items[0].role == self->system_role;
}

/* As the template of the model raises: user first, then by turns, behind a system message. */
static int check_turns(const struct chat *self, const struct leat_chat_messages *messages,
                       struct leat_error *err) {
    size_t first = begins_with_system(self, messages);

    if (first == messages->n_items)
        return leat_error_set(err, -EINVAL, "there is no message but that of the system");
    for (size_t i = first; i < messages->n_items; i++) {
        const struct leat_chat_role *due = (i - first) % 2 ? self->assistant : self->user;

        if (messages->items[i].role != due)
            return leat_error_set(err, -EINVAL,
                                  "message %zu is of the role %s, but it is the turn of %s: in %s "
                                  "user and assistant must alternate",
                                  i, messages->items[i].role->name, due->name, self->chat.name);
    }
    return 0;
}

static int check_messages(const struct chat *self, const struct leat_chat_messages *messages,
                          struct leat_error *err) {
    int r = self->chat.alternates ? check_turns(self, messages, err) : 0;

    for (size_t i = 0; r == 0 && self->injection == INJECTION_FAIL && i < messages->n_items; i++)
        r = check_special(self, i, &messages->items[i], err);
    return r;
}

/* system: what goes in front of the content; NULL: nothing. */
static void write_message(const struct chat *self, struct leat_dialogue_writer *writer,
                          const struct leat_chat_message *message,
                          const struct leat_chat_message *system) {
    const struct leat_chat_role *as = message->role;

    leat_dialogue_put_text(writer, as->before);
    leat_dialogue_open_part(writer);
    leat_dialogue_put_text(writer, as->lead);
    if (system) {
        leat_dialogue_put(writer, system->content, system->n_content);
        leat_dialogue_put_text(writer, self->chat.system_joint);
    }
    leat_dialogue_put(writer, message->content, message->n_content);
    leat_dialogue_put_text(writer, as->adds_eos ? self->chat.eos : as->after);
    if (as == self->assistant)
        leat_dialogue_close_part(writer);
    leat_dialogue_put_text(writer, as->behind);
}

static void write_messages(const struct chat *self, const struct leat_chat_messages *messages,
                           struct leat_dialogue_writer *writer) {
    const struct leat_chat_message given = {.role = self->system_role,
                                            .content = (const uint8_t *)self->system,
                                            .n_content = self->system ? strlen(self->system) : 0};
    const struct leat_chat_message *system = self->system ? &given : NULL;
    size_t first = begins_with_system(self, messages);

    if (first)
        system = &messages->items[0];
    leat_dialogue_put_text(writer, self->chat.bos);
    if (system && !self->chat.system_joint) {
        write_message(self, writer, system, NULL);
        system = NULL;
    }
    for (size_t i = first; i < messages->n_items; i++)
        write_message(self, writer, &messages->items[i], i == first ? system : NULL);
    if (self->add_generation_prompt)
        leat_dialogue_put_text(writer, self->assistant->before);
    else if (self->chat.ends_with_eos)
        leat_dialogue_put_text(writer, self->chat.eos);
}

static int map_row(const struct chat *self, struct leat_map *map, uint32_t row,
                   struct leat_error *err) {
    const struct leat_column *column = leat_map_column(map, self->column);
    struct workspace *workspace = map->workspace;
    struct leat_error error = LEAT_ERROR_INIT;
    int r = leat_chat_messages_read(&workspace->messages, &self->format,
                                    (const uint8_t *)column->values + column->starts[row],
                                    column->lengths[row], &error);

    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r == 0)
        r = check_messages(self, &workspace->messages, &error);
    leat_dialogue_begin_row(&workspace->writer);
    if (r == 0)
        write_messages(self, &workspace->messages, &workspace->writer);
    else
        leat_map_reject(map, row, self->messages, "%s", error.message);
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
    .name = "chat",
    .summary = "writes a conversation as a text, by the chat template of a model",
    .example = "{ messages: messages, template: chatml }",
    .kind = LEAT_STAGE_MAP,
    .args = args,
    .config_size = sizeof(struct chat),
    .check = check,
    .plan = plan,
    .map = map_rows,
    .workspace_new = workspace_new,
    .workspace_free = workspace_free,
};
