/* chat_template.h: how a chat template writes messages.
 *
 *     bos  { before  [ lead  content  after ]  behind }*  eos, or what asks for an answer
 *
 * The model is to say the part in brackets, if it is the assistant's. Any text may be NULL, which
 * means that there is none. Immutable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LEAT_CHAT_ROLES_MAX    16
#define LEAT_CHAT_SPECIALS_MAX (2 * LEAT_CHAT_ROLES_MAX + 2)

struct leat_chat_role {
    const char *name; /* NULL: there are no more */
    const char *before;
    const char *lead;
    const char *after;
    const char *behind;
    bool adds_eos; /* in place of `after` */
};

struct leat_chat_template {
    const char *name; /* as `chat: {template: NAME}` */
    const char *bos, *eos;
    struct leat_chat_role roles[LEAT_CHAT_ROLES_MAX];
    const char *system_joint; /* a first system message goes into the user's first message, with
                                 this behind it; NULL: it is a message as others */
    bool trims;               /* blanks around contents are taken off */
    bool alternates;          /* user, assistant, user, ... behind a first system message */
    bool ends_with_eos;       /* unless an answer is asked for */
    /* Texts that the model treats as special tokens, besides bos and eos. A content with one of
     * them is refused. */
    const char *specials[LEAT_CHAT_SPECIALS_MAX]; /* NULL-terminated, unless full */
};

/* In the order of leat_chat_template_names, which is NULL-terminated. */
extern const struct leat_chat_template leat_chat_templates[];
#define LEAT_CHAT_TEMPLATE_NAMES "chatml", "llama-3", "mistral", "gemma", "phi-3", "zephyr"
extern const char *const leat_chat_template_names[];

/* The role of that name; NULL: the template has none. */
const struct leat_chat_role *leat_chat_template_role(const struct leat_chat_template *chat,
                                                     const char *name, size_t n_name);
