#include "pipeline/tokenizer/chat/chat_messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/token_encoding.h"
#include "pipeline/tokenizer/white_space.h"
#include "proto/base/array.h"

int leat_chat_messages_init(struct leat_chat_messages *messages) {
    *messages = (struct leat_chat_messages){.n_items = 0};
    return leat_json_new(0, &messages->json);
}

void leat_chat_messages_deinit(struct leat_chat_messages *messages) {
    leat_json_free(messages->json);
    free(messages->items);
}

/* Blanks as Python's str.strip has them: those of Unicode, and four control characters. */
static size_t blank_length(const uint8_t *text, size_t n) {
    return n > 0 && text[0] >= 0x1c && text[0] <= 0x1f ? 1 : leat_white_space_length(text, n);
}

static size_t blank_length_before(const uint8_t *text, size_t n) {
    return n > 0 && text[n - 1] >= 0x1c && text[n - 1] <= 0x1f
               ? 1
               : leat_white_space_length_before(text, n);
}

static void trim(struct leat_chat_message *message) {
    size_t n;

    while ((n = blank_length_before(message->content, message->n_content)) > 0)
        message->n_content -= n;
    while ((n = blank_length(message->content, message->n_content)) > 0) {
        message->content += n;
        message->n_content -= n;
    }
}

/* "system, user, assistant" */
static void list_roles(const struct leat_chat_template *chat, char *text, size_t size) {
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < LEAT_CHAT_ROLES_MAX && chat->roles[i].name && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", chat->roles[i].name);
}

static int find_role(const struct leat_chat_format *format, size_t at, const char *name, size_t n,
                     const struct leat_chat_role **ret_role, struct leat_error *err) {
    char shown[LEAT_TOKEN_TEXT_MAX], list[256];

    *ret_role = NULL;
    for (size_t i = 0; i < format->n_names && !*ret_role; i++)
        if (strlen(format->names[i]) == n && memcmp(format->names[i], name, n) == 0)
            *ret_role =
                leat_chat_template_role(format->chat, format->roles[i], strlen(format->roles[i]));
    if (!*ret_role)
        *ret_role = leat_chat_template_role(format->chat, name, n);
    if (*ret_role)
        return 0;
    list_roles(format->chat, list, sizeof(list));
    return leat_error_set(err, -EINVAL,
                          "message %zu has the role \"%s\", but %s has only the "
                          "roles %s",
                          at, leat_token_text((const uint8_t *)name, n, shown), format->chat->name,
                          list);
}

/* A text of the message. */
static int find_text(struct leat_chat_messages *messages, struct leat_json_node object,
                     const char *key, const char **ret_text, size_t *ret_n,
                     struct leat_error *err) {
    struct leat_json_node value;
    size_t at = messages->n_items;

    messages->fault_key = NULL;
    if (!leat_json_find(object, key, strlen(key), &value))
        return leat_error_set(err, -EINVAL, "message %zu has no \"%.64s\"", at, key);
    messages->fault_key = key;
    if (leat_json_kind(value) != LEAT_JSON_STRING)
        return leat_error_set(err, -EINVAL, "message %zu: \"%.64s\" is %s, but must be a string",
                              at, key, leat_json_kind_name(leat_json_kind(value)));
    *ret_text = leat_json_string(value, ret_n);
    return 0;
}

/* Keys of messages that the templates of models write besides the content. */
static const char *const unwritten[] = {
    "tool_calls", "function_call",     "tool_call_id", "tool_responses",
    "thinking",   "reasoning_content", "reasoning",
};

/* null, "", [] and {}: many writers give every message all keys. */
static bool is_nothing(struct leat_json_node value) {
    enum leat_json_kind kind = leat_json_kind(value);
    size_t n = 1;

    if (kind == LEAT_JSON_STRING)
        (void)leat_json_string(value, &n);
    else if (kind == LEAT_JSON_ARRAY || kind == LEAT_JSON_OBJECT)
        n = leat_json_n_items(value);
    return kind == LEAT_JSON_NULL || n == 0;
}

static int check_lost(struct leat_chat_messages *messages, const struct leat_chat_format *format,
                      struct leat_json_node object, struct leat_error *err) {
    struct leat_json_node value;

    for (size_t i = 0; i < sizeof(unwritten) / sizeof(*unwritten); i++) {
        const char *key = unwritten[i];

        if (strcmp(key, format->content_key) == 0 ||
            !leat_json_find(object, key, strlen(key), &value) || is_nothing(value))
            continue;
        messages->fault_key = key;
        return leat_error_set(
            err, -EINVAL,
            "message %zu: \"%s\" would be lost, because %s writes only the content: remove it, or "
            "put it into the content as the model's template does",
            messages->n_items, key, format->chat->name);
    }
    return 0;
}

static int read_message(struct leat_chat_messages *messages, const struct leat_chat_format *format,
                        struct leat_json_node node, struct leat_error *err) {
    struct leat_chat_message *message = &messages->items[messages->n_items];
    const char *role = NULL, *content = NULL;
    size_t at = messages->n_items, n_role = 0, n_content = 0;
    int r;

    if (leat_json_kind(node) != LEAT_JSON_OBJECT)
        return leat_error_set(err, -EINVAL, "message %zu is %s, but must be an object", at,
                              leat_json_kind_name(leat_json_kind(node)));
    r = check_lost(messages, format, node, err);
    if (r == 0)
        r = find_text(messages, node, format->role_key, &role, &n_role, err);
    if (r == 0)
        r = find_role(format, at, role, n_role, &message->role, err);
    if (r == 0)
        r = find_text(messages, node, format->content_key, &content, &n_content, err);
    message->content = (const uint8_t *)content;
    message->n_content = n_content;
    if (r == 0 && format->chat->trims)
        trim(message);
    return r;
}

static int reserve(struct leat_chat_messages *messages, size_t n, struct leat_error *err) {
    if (n > LEAT_CHAT_MESSAGES_MAX)
        return leat_error_set(err, -EINVAL, "there are %zu messages; at most %d are possible", n,
                              LEAT_CHAT_MESSAGES_MAX);
    return leat_array_reserve(&messages->items, n, &messages->capacity) ? 0 : leat_error_oom(err);
}

static int open_array(struct leat_chat_messages *messages, const void *text, size_t n_bytes,
                      struct leat_json_node *ret_root, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    int r;

    if (n_bytes == 0)
        return leat_error_set(err, -EINVAL, "there are no messages");
    r = leat_json_parse_record(messages->json, text, n_bytes, n_bytes, ret_root, &fault);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    if (r < 0)
        return leat_error_set(err, -EINVAL,
                              "is not valid JSON: %s; expected an array of messages (for JSON "
                              "Lines, set `fields: {messages: json}`)",
                              fault.message);
    if (leat_json_kind(*ret_root) != LEAT_JSON_ARRAY)
        return leat_error_set(err, -EINVAL, "is %s, but must be an array of messages",
                              leat_json_kind_name(leat_json_kind(*ret_root)));
    return 0;
}

int leat_chat_messages_read(struct leat_chat_messages *messages,
                            const struct leat_chat_format *format, const void *text, size_t n_bytes,
                            struct leat_error *err) {
    struct leat_json_iterator iterator;
    struct leat_json_node root, item;
    size_t n;
    int r = open_array(messages, text, n_bytes, &root, err);

    messages->n_items = messages->n_asked = 0;
    messages->fault_key = NULL;
    if (r < 0)
        return r;
    n = leat_json_n_items(root);
    if (n == 0)
        return leat_error_set(err, -EINVAL, "the array has no message");
    r = reserve(messages, n, err);
    leat_json_iterate(root, &iterator);
    while (r == 0 && leat_json_next(&iterator, &item)) {
        messages->fault_key = NULL;
        r = read_message(messages, format, item, err);
        messages->n_items += r == 0;
    }
    return r;
}

int leat_chat_messages_answer(struct leat_chat_messages *messages,
                              const struct leat_chat_messages *completion, struct leat_error *err) {
    int r = reserve(messages, messages->n_items + completion->n_items, err);

    if (r < 0)
        return r;
    memcpy(messages->items + messages->n_items, completion->items,
           completion->n_items * sizeof(*completion->items));
    messages->n_asked = messages->n_items;
    messages->n_items += completion->n_items;
    return 0;
}
