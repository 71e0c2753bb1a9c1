/* chat_messages.h: the messages of a conversation, from their JSON: an array of objects with
 * a role and a content. What a message says to the model elsewhere, such as calls of tools, no
 * template here writes: it is refused rather than lost. Owner: the job. */
#pragma once

#include "pipeline/tokenizer/chat/chat_template.h"
#include "pipeline/tokenizer/json.h"

#define LEAT_CHAT_MESSAGES_MAX 65536

struct leat_chat_message {
    const struct leat_chat_role *role;
    const uint8_t *content;
    size_t n_content;
};

/* The names of keys and roles by which messages are read. */
struct leat_chat_format {
    const struct leat_chat_template *chat;
    const char *role_key, *content_key;
    char *const *names, *const *roles; /* [n_names]: what the data calls roles, and what they are */
    size_t n_names;
};

struct leat_chat_messages {
    struct leat_json *json;
    struct leat_chat_message *items;
    size_t n_items, capacity;
    size_t n_asked;        /* the first of them: the model is not to say what is in these */
    const char *fault_key; /* whose value, in message n_items, is wrong; NULL: none */
};

int leat_chat_messages_init(struct leat_chat_messages *messages); /* 0 or -ENOMEM */
void leat_chat_messages_deinit(struct leat_chat_messages *messages);

/* Reads a conversation; contents are valid until the next. -EINVAL with what is wrong with it, and
 * in n_items and fault_key where; -ENOMEM. */
int leat_chat_messages_read(struct leat_chat_messages *messages,
                            const struct leat_chat_format *format, const void *text, size_t n_bytes,
                            struct leat_error *err);
/* Appends the messages that the model is to say. It refers to the contents of `completion`, so both
 * are valid until one of them is read again. 0; -EINVAL: they are too many; -ENOMEM. */
int leat_chat_messages_answer(struct leat_chat_messages *messages,
                              const struct leat_chat_messages *completion, struct leat_error *err);
