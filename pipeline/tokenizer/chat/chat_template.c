/* chat_template.c: see chat_template.h. The templates are those that come with the
 * models: ChatML (as of OpenAI and Qwen), Meta-Llama-3-Instruct, Mistral-7B-Instruct-v0.2,
 * gemma-it, Phi-3-mini-instruct, zephyr-7b-beta. */
#include "pipeline/tokenizer/chat/chat_template.h"

#include <string.h>

#define CHATML(role)                                                                               \
    { .name = role, .before = "<|im_start|>" role "\n", .after = "<|im_end|>", .behind = "\n" }
#define LLAMA3(role)                                                                               \
    {                                                                                              \
        .name = role, .before = "<|start_header_id|>" role "<|end_header_id|>\n\n",                \
        .after = "<|eot_id|>"                                                                      \
    }
#define GEMMA(role, as)                                                                            \
    { .name = role, .before = "<start_of_turn>" as "\n", .after = "<end_of_turn>", .behind = "\n" }
#define PHI3(role)                                                                                 \
    { .name = role, .before = "<|" role "|>\n", .after = "<|end|>", .behind = "\n" }
#define ZEPHYR(role)                                                                               \
    { .name = role, .before = "<|" role "|>\n", .adds_eos = true, .behind = "\n" }

const char *const leat_chat_template_names[] = {LEAT_CHAT_TEMPLATE_NAMES, NULL};

const struct leat_chat_template leat_chat_templates[] = {
    {.name = "chatml",
     .roles = {CHATML("system"), CHATML("user"), CHATML("assistant"), CHATML("tool")},
     .specials = {"<|im_start|>", "<|im_end|>"}},
    {.name = "llama-3",
     .bos = "<|begin_of_text|>",
     .roles = {LLAMA3("system"), LLAMA3("user"), LLAMA3("assistant"), LLAMA3("tool")},
     .trims = true,
     .specials = {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {.name = "mistral",
     .bos = "<s>",
     .eos = "</s>",
     .roles = {{.name = "system"},
               {.name = "user", .before = " [INST] ", .after = " [/INST]"},
               {.name = "assistant", .lead = " ", .adds_eos = true}},
     .system_joint = "\n\n",
     .alternates = true,
     .specials = {"[INST]", "[/INST]"}},
    {.name = "gemma",
     .bos = "<bos>",
     .roles = {GEMMA("user", "user"), GEMMA("assistant", "model")},
     .trims = true,
     .alternates = true,
     .specials = {"<start_of_turn>", "<end_of_turn>"}},
    {.name = "phi-3",
     .eos = "<|endoftext|>",
     .roles = {PHI3("system"), PHI3("user"), PHI3("assistant")},
     .ends_with_eos = true,
     .specials = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>"}},
    {.name = "zephyr",
     .eos = "</s>",
     .roles = {ZEPHYR("system"), ZEPHYR("user"), ZEPHYR("assistant")},
     .specials = {"<|system|>", "<|user|>", "<|assistant|>"}},
};

const struct leat_chat_role *leat_chat_template_role(const struct leat_chat_template *chat,
                                                     const char *name, size_t n_name) {
    for (size_t i = 0; i < LEAT_CHAT_ROLES_MAX && chat->roles[i].name; i++)
        if (strlen(chat->roles[i].name) == n_name && memcmp(chat->roles[i].name, name, n_name) == 0)
            return &chat->roles[i];
    return NULL;
}
