/* fuzz_chat.c: conversations as JSON: whatever they are, each message has a role of the template
 * and a content within its text, or there is an error that says why not.
 *
 * The first byte chooses the template; the rest is the text.
 */
#include <stdint.h>
#include <stdlib.h>

#include "pipeline/tokenizer/chat/chat_messages.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(1, mutate_text(data, size, max_size, seed))

static void check(const struct leat_chat_messages *messages,
                  const struct leat_chat_format *format) {
    if (messages->n_items == 0)
        abort();
    for (size_t i = 0; i < messages->n_items; i++) {
        const struct leat_chat_message *message = &messages->items[i];

        if (message->role < format->chat->roles ||
            message->role >= format->chat->roles + LEAT_CHAT_ROLES_MAX || !message->content ||
            !leat_json_is_utf8(message->content, message->n_content))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *const names[] = {(char[]){"human"}, (char[]){"gpt"}};
    char *const roles[] = {(char[]){"user"}, (char[]){"assistant"}};
    struct leat_chat_format format = {
        .role_key = "role", .content_key = "content", .names = names, .roles = roles, .n_names = 2};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_chat_messages messages;
    int r;

    if (size < 1 || size > 65536)
        return 0;
    format.chat = &leat_chat_templates[data[0] % 6];
    if (leat_chat_messages_init(&messages) < 0)
        abort();
    r = leat_chat_messages_read(&messages, &format, data + 1, size - 1, &err);
    if (r == 0)
        check(&messages, &format);
    else if (r != err.code || !err.message[0])
        abort();
    leat_chat_messages_deinit(&messages);
    return 0;
}
