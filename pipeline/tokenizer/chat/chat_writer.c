/* chat_writer.c: see chat_writer.h. What the assistant says, with the token that ends its turn, are
 * the parts that the model is to say: what the markers {% generation %} of a template are in
 * transformers. */
#include "pipeline/tokenizer/chat/chat_writer.h"

#include <errno.h>
#include <string.h>

void leat_chat_writer_choose(struct leat_chat_writer *writer,
                             const struct leat_chat_template *chat) {
    writer->chat = *chat;
    while (writer->chat.specials[writer->n_specials])
        writer->n_specials++;
}

void leat_chat_writer_add_special(struct leat_chat_writer *writer, const char *text) {
    if (text && text[0])
        writer->chat.specials[writer->n_specials++] = text;
}

static const struct leat_chat_role *role(const struct leat_chat_writer *writer, const char *name) {
    return leat_chat_template_role(&writer->chat, name, strlen(name));
}

int leat_chat_writer_finish(struct leat_chat_writer *writer, const char *bos, const char *eos,
                            struct leat_error *err) {
    struct leat_chat_template *chat = &writer->chat;

    if (eos && !chat->ends_with_eos && !chat->eos)
        return leat_error_set(err, -EINVAL, "does not work with %s: remove it", chat->name);
    if (bos)
        chat->bos = bos[0] ? bos : NULL;
    if (eos)
        chat->eos = eos;
    leat_chat_writer_add_special(writer, chat->bos);
    leat_chat_writer_add_special(writer, chat->eos);
    writer->system_role = role(writer, "system");
    writer->user = role(writer, "user");
    writer->assistant = role(writer, "assistant");
    return 0;
}

/* ---- check */

static int check_special(const struct leat_chat_writer *writer, size_t at,
                         const struct leat_chat_message *message, struct leat_error *err) {
    for (size_t i = 0; i < writer->n_specials; i++) {
        const char *special = writer->chat.specials[i];

        if (memmem(message->content, message->n_content, special, strlen(special)))
            return leat_error_set(
                err, -EINVAL,
                "message %zu: its content has \"%.64s\", which is a special token in %s", at,
                special, writer->chat.name);
    }
    return 0;
}

static bool begins_with_system(const struct leat_chat_writer *writer,
                               const struct leat_chat_messages *messages) {
    return writer->system_role && messages->items[0].role == writer->system_role;
}

/* As the template of the model raises: user first, then by turns, after a system message. */
static int check_turns(const struct leat_chat_writer *writer,
                       const struct leat_chat_messages *messages, struct leat_error *err) {
    size_t first = begins_with_system(writer, messages);

    if (first == messages->n_items)
        return leat_error_set(err, -EINVAL, "there is only a system message: add a user message");
    for (size_t i = first; i < messages->n_items; i++) {
        const struct leat_chat_role *due = (i - first) % 2 ? writer->assistant : writer->user;

        if (messages->items[i].role != due)
            return leat_error_set(err, -EINVAL,
                                  "message %zu has the role %s, but %s must be next: in %s, user "
                                  "and assistant must take turns",
                                  i, messages->items[i].role->name, due->name, writer->chat.name);
    }
    return 0;
}

int leat_chat_writer_check(const struct leat_chat_writer *writer,
                           const struct leat_chat_messages *messages, struct leat_error *err) {
    int r = writer->chat.alternates ? check_turns(writer, messages, err) : 0;

    for (size_t i = 0; r == 0 && writer->fails_on_specials && i < messages->n_items; i++)
        r = check_special(writer, i, &messages->items[i], err);
    return r;
}

/* ---- write */

static void put_text(const struct leat_chat_sink *sink, const char *text) {
    if (text)
        sink->put(sink->context, text, strlen(text));
}

/* system: what goes in front of the content; NULL: nothing. */
static void write_message(const struct leat_chat_writer *writer, const struct leat_chat_sink *sink,
                          const struct leat_chat_message *message,
                          const struct leat_chat_message *system, bool is_asked) {
    const struct leat_chat_role *as = message->role;
    bool is_said = as == writer->assistant && !is_asked;

    put_text(sink, as->before);
    if (is_said)
        sink->open_part(sink->context);
    put_text(sink, as->lead);
    if (system) {
        sink->put(sink->context, system->content, system->n_content);
        put_text(sink, writer->chat.system_joint);
    }
    sink->put(sink->context, message->content, message->n_content);
    put_text(sink, as->adds_eos ? writer->chat.eos : as->after);
    if (is_said)
        sink->close_part(sink->context);
    put_text(sink, as->behind);
}

void leat_chat_writer_write(const struct leat_chat_writer *writer,
                            const struct leat_chat_messages *messages,
                            const struct leat_chat_sink *sink) {
    const struct leat_chat_message given = {.role = writer->system_role,
                                            .content = (const uint8_t *)writer->system,
                                            .n_content =
                                                writer->system ? strlen(writer->system) : 0};
    const struct leat_chat_message *system = writer->system ? &given : NULL;
    size_t first = begins_with_system(writer, messages);

    if (first)
        system = &messages->items[0];
    put_text(sink, writer->chat.bos);
    if (system && !writer->chat.system_joint) {
        write_message(writer, sink, system, NULL, true);
        system = NULL;
    }
    for (size_t i = first; i < messages->n_items; i++)
        write_message(writer, sink, &messages->items[i], i == first ? system : NULL,
                      i < messages->n_asked);
    if (writer->add_generation_prompt)
        put_text(sink, writer->assistant->before);
    else if (writer->chat.ends_with_eos)
        put_text(sink, writer->chat.eos);
}
