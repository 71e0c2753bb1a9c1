/* chat_writer.h: writes a conversation in a template to a sink: for the stage `chat` and for
 * users of one conversation. Only this file decides what is written.
 *
 * Immutable once made: any thread. A sink belongs to the job.
 */
#pragma once

#include "pipeline/tokenizer/chat/chat_messages.h"
#include "pipeline/tokenizer/chat/chat_template.h"

struct leat_chat_writer {
    struct leat_chat_template chat;
    size_t n_specials;                                           /* of chat.specials */
    const struct leat_chat_role *system_role, *user, *assistant; /* of chat; NULL: has none */
    const char *system; /* for conversations that do not begin with one; NULL: none */
    bool add_generation_prompt;
    bool fails_on_specials; /* a content must not have what means something to the template */
};

/* Takes what is written. */
struct leat_chat_sink {
    void *context;
    void (*put)(void *context, const void *bytes, size_t n_bytes);
    /* Around what the model is to say. */
    void (*open_part)(void *context);
    void (*close_part)(void *context);
};

/* Starts with one of leat_chat_templates; `writer` is zeroed. */
void leat_chat_writer_choose(struct leat_chat_writer *writer,
                             const struct leat_chat_template *chat);
/* One more text that means something in the template; NULL and "" are none. */
void leat_chat_writer_add_special(struct leat_chat_writer *writer, const char *text);
/* Ends the making, when `chat` is all there: bos and eos (NULL: as the template has it; bos "":
 * none) and the roles. -EINVAL: the template has no use for the eos. */
int leat_chat_writer_finish(struct leat_chat_writer *writer, const char *bos, const char *eos,
                            struct leat_error *err);

/* Refuses (-EINVAL) turns that do not alternate, as the model's template does, and contents with
 * special tokens. */
int leat_chat_writer_check(const struct leat_chat_writer *writer,
                           const struct leat_chat_messages *messages, struct leat_error *err);
/* Messages that were checked. */
void leat_chat_writer_write(const struct leat_chat_writer *writer,
                            const struct leat_chat_messages *messages,
                            const struct leat_chat_sink *sink);
