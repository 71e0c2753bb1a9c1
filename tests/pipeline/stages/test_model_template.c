/* test_model_template.c: pipeline/stages/chat/model_template*.c: which files of a model give its
 * template and tokens, and which parts of a conversation are the assistant's words, also where the
 * template does not say so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pipeline/stages/chat/model_template.h"
#include "tests/pipeline/shared_stream.h"

#define MESSAGE(role, content) "{\"role\":\"" role "\",\"content\":\"" content "\"}"
#define U                      MESSAGE("user", "Hi")
#define A                      MESSAGE("assistant", "Oh")
#define B                      MESSAGE("assistant", "So")
#define S                      MESSAGE("system", "Be")

/* ---- writing */

struct chat {
    const char *messages, *completion, *tools, *documents;
    const char *system;
    bool add_generation_prompt;
    const char *mood; /* a variable */
};

static size_t length(const char *text) {
    return text ? strlen(text) : 0;
}

/* The conversation with [[ and ]] around what the model is to say, or the error behind !. */
static char *write_chat(const struct leat_model_template *model, const struct chat *chat) {
    char *keys[] = {"mood"}, *values[] = {(char *)(uintptr_t)chat->mood};
    const struct leat_text_map variables = {
        .keys = keys, .values = values, .n_items = chat->mood ? 1 : 0};
    const struct leat_model_settings settings = {.variables = &variables,
                                                 .system = chat->system,
                                                 .add_generation_prompt =
                                                     chat->add_generation_prompt};
    const struct leat_model_chat texts = {.messages = chat->messages,
                                          .n_messages = length(chat->messages),
                                          .completion = chat->completion,
                                          .n_completion = length(chat->completion),
                                          .tools = chat->tools,
                                          .n_tools = length(chat->tools),
                                          .documents = chat->documents,
                                          .n_documents = length(chat->documents),
                                          .wants_parts = true};
    struct leat_model_workspace *workspace = leat_model_workspace_new(model);
    struct leat_dialogue_writer writer = {.bytes = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    size_t at = 0;

    assert_non_null(workspace);
    leat_dialogue_begin_row(&writer);
    if (leat_model_template_write(model, &settings, &texts, workspace, &writer, &err) < 0) {
        leat_text_add(&text, "!%s", err.message);
        writer.n_bytes = writer.n_parts = 0;
    }
    for (size_t i = 0; i < writer.n_parts; i += 2) {
        size_t start = (size_t)writer.parts[i], end = (size_t)writer.parts[i + 1];

        leat_text_add(&text, "%.*s[[%.*s]]", (int)(start - at), writer.bytes + at,
                      (int)(end - start), writer.bytes + start);
        at = end;
    }
    leat_text_add(&text, "%.*s", (int)(writer.n_bytes - at),
                  writer.bytes ? (const char *)writer.bytes + at : "");
    leat_dialogue_writer_deinit(&writer);
    leat_model_workspace_free(workspace);
    return text.data;
}

static char *write_file(const char *template, const struct chat *chat) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_model_template model;
    char *text;

    folder_print("one.jinja", "%s", template);
    if (leat_model_template_load(&model, NULL, folder_path("one.jinja"), false, &leat_opener_any,
                                 &err) < 0)
        fail_msg("%s: %s", template, err.message);
    text = write_chat(&model, chat);
    leat_model_template_unload(&model);
    return text;
}

#define EACH(words) "{% for m in messages %}" words "{% endfor %}"
/* It invites as transformers asks it to. */
#define ASKED                                                                                      \
    EACH("<{{ m.role }}>{{ m.content }};") "{% if add_generation_prompt %}<assistant>{% endif %}"
/* The same, but a message is shorter if more follow. */
#define SHORTENS                                                                                   \
    EACH("<{{ m.role }}>{{ '(long)' if loop.last and m.role == 'assistant' }}{{ m.content }};")    \
    "{% if add_generation_prompt %}<assistant>{% endif %}"
/* It always invites. */
#define UNASKED EACH("<{{ m.role }}>{{ m.content }};") "<assistant>"
#define MARKED                                                                                     \
    EACH("<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.content }};"            \
         "{% endgeneration %}{% else %}{{ m.content }};{% endif %}")

static void conversations(void **state) {
    static const struct {
        const char *template;
        struct chat chat;
        const char *expected;
    } rows[] = {
        /* turns as starts */
        {ASKED, {.messages = "[" U "," A "]"}, "<user>Hi;<assistant>[[Oh;]]"},
        {ASKED,
         {.messages = "[" U "," A "," U "," B "]"},
         "<user>Hi;<assistant>[[Oh;]]<user>Hi;<assistant>[[So;]]"},
        {ASKED, {.messages = "[" A "," B "]"}, "<assistant>[[Oh;]]<assistant>[[So;]]"},
        {ASKED, {.messages = "[" U "]", .add_generation_prompt = true}, "<user>Hi;<assistant>"},
        {ASKED,
         {.messages = "[" U "," A "]", .add_generation_prompt = true},
         "<user>Hi;<assistant>[[Oh;]]<assistant>"},
        {ASKED, {.messages = "[]"}, ""},
        {ASKED, {.messages = "[]", .system = "Be"}, "<system>Be;"},
        {ASKED, {.messages = "[" U "]", .system = "Be"}, "<system>Be;<user>Hi;"},
        {ASKED, {.messages = "[" S "," A "]", .system = "No"}, "<system>Be;<assistant>[[Oh;]]"},
        {ASKED,
         {.messages = "[{\"role\":1,\"content\":\"x\"}]", .system = "Be"},
         "<system>Be;<1>x;"},
        {"{% for m in messages %}{% if m.content %}{{ m.content }}{% endif %}{% endfor %}"
         "{{ '' if add_generation_prompt }}",
         {.messages = "[" MESSAGE("assistant", "") "," U "]"},
         "Hi"},
        /* turns in loops */
        {SHORTENS,
         {.messages = "[" U "," A "," U "," B "]"},
         "<user>Hi;<assistant>[[Oh;]]<user>Hi;<assistant>[[(long)So;]]"},
        {SHORTENS,
         {.messages = "[" U "," A "]", .add_generation_prompt = true},
         "<user>Hi;<assistant>[[(long)Oh;]]<assistant>"},
        {UNASKED, {.messages = "[" U "," A "]"}, "<user>Hi;<assistant>[[Oh;]]<assistant>"},
        {UNASKED,
         {.messages = "[" U "," A "," U "]"},
         "<user>Hi;<assistant>[[Oh;]]<user>Hi;<assistant>"},
        {UNASKED, {.messages = "[" U "]"}, "<user>Hi;<assistant>"},
        /* a completion */
        {ASKED,
         {.messages = "[" U "," A "," U "]", .completion = "[" B "]"},
         "<user>Hi;<assistant>Oh;<user>Hi;<assistant>[[So;]]"},
        {SHORTENS,
         {.messages = "[" U "," A "," U "]", .completion = "[" B "]"},
         "<user>Hi;<assistant>Oh;<user>Hi;<assistant>[[(long)So;]]"},
        {MARKED, {.messages = "[" U "," A "]"}, "<user>Hi;<assistant>[[Oh;]]"},
        {MARKED,
         {.messages = "[" U "," A "," U "]", .completion = "[" B "]"},
         "<user>Hi;<assistant>Oh;<user>Hi;<assistant>[[So;]]"},
        {MARKED,
         {.messages = "[" A "," A "," U "]", .completion = "[" B "," U "," A "]"},
         "<assistant>Oh;<assistant>Oh;<user>Hi;<assistant>[[So;]]<user>Hi;<assistant>[[Oh;]]"},
        {MARKED, {.messages = "[" A "]", .completion = "[" U "]"}, "<assistant>Oh;<user>Hi;"},
        {MARKED, {.messages = "[]", .completion = "[" A "]"}, "<assistant>[[Oh;]]"},
        {EACH("{% generation %}{{ m.content }}{% endgeneration %}"),
         {.messages = "[" A "," U "]", .completion = "[" B "]"},
         "OhHi[[So]]"},
        /* What follows an answer of no words begins as the invitation does. */
        {EACH("{{ m.content }}") "{{ '>' if add_generation_prompt }}",
         {.messages = "[" MESSAGE("assistant", "") "," MESSAGE("user", ">x") "]"},
         ">x"},
        /* parts within parts are one */
        {"{% generation %}a{% generation %}b{% endgeneration %}c{% endgeneration %}d",
         {.messages = "[" U "]"},
         "[[abc]]d"},
        {"{% generation %}abc{% generation %}b{% endgeneration %}{% endgeneration %}d"
         "{% generation %}e{% endgeneration %}{% generation %}f{% endgeneration %}",
         {.messages = "[" U "]"},
         "[[abcb]]d[[e]][[f]]"},
        {"{% generation %}{% generation %}a{% endgeneration %}{% endgeneration %}b",
         {.messages = "[" U "]"},
         "[[a]]b"},
        {"{% set x %}{% generation %}long text{% endgeneration %}{% endset %}a"
         "{% generation %}b{% endgeneration %}",
         {.messages = "[" U "]"},
         "a[[b]]"},
        {"{% generation %}{% endgeneration %}d", {.messages = "[" U "]"}, "d"},
        /* what else a template reads */
        {"{{ tools }} {{ documents }} {{ mood }}", {.messages = "[]"}, "None None "},
        {"{{ tools }} {{ documents }} {{ mood }}",
         {.messages = "[]",
          .tools = "[1]",
          .documents = "[{\"a\": null}]",
          .mood = "{\"b\": true}"},
         "[1] [{'a': None}] {'b': True}"},
        {"{{ mood }}", {.messages = "[]", .mood = "not JSON"}, "not JSON"},
        {"{{ mood }}", {.messages = "[]", .mood = ""}, ""},
        {"{{ tools }}", {.messages = "[]", .tools = ""}, "None"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = write_file(rows[i].template, &rows[i].chat);

        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%s of %s gives \"%s\", not \"%s\"", rows[i].template, rows[i].chat.messages,
                     text, rows[i].expected);
        free(text);
    }
}

static void bad_conversations(void **state) {
    static const struct {
        const char *template;
        struct chat chat;
        const char *expected; /* a part of it */
    } rows[] = {
        {ASKED, {.messages = "[" U}, "!"},
        {ASKED, {.messages = "{}"}, "!the conversation is not an array of objects"},
        {ASKED,
         {.messages = "[" U ", {\"content\": 1}]"},
         "!message 2 is not an object with a role"},
        {ASKED, {.messages = "[[]]"}, "!message 1 is not an object with a role"},
        {ASKED, {.messages = "[" U "]", .completion = "[" U}, "!"},
        {ASKED,
         {.messages = "[" U "]", .completion = "1"},
         "!the conversation is not an array of objects"},
        {ASKED, {.messages = "[]", .tools = "[1"}, "!"},
        {ASKED, {.messages = "[]", .documents = "nil"}, "!"},
        {"a\n{{ 1 + 'x' }}", {.messages = "[]"}, "(line 2 of the chat template)"},
        /* The first pass of two loops, or none, is the message's. */
        {EACH("{{ loop.last }}") "{{ add_generation_prompt }}" EACH("b"),
         {.messages = "[" A "," A "]"},
         "writes message "},
        /* The template turns the messages round. */
        {"{% for m in messages | reverse %}{{ m.content }};{% endfor %}{% if add_generation_prompt "
         "%}>{% endif %}",
         {.messages = "[" A "," B "]"},
         "writes message "},
        /* It prints a number of messages before them. */
        {"{{ messages | length }}" EACH("{{ m.content }}") "{{ '>' if add_generation_prompt }}",
         {.messages = "[" A "," B "]"},
         "writes message "},
        /* It fails while fewer messages are there. */
        {"{{ messages[1].content }}{{ add_generation_prompt }}",
         {.messages = "[" U "," A "]"},
         "is undefined (line 1 of the chat template)"},
        {MARKED "{{ messages[1].content }}",
         {.messages = "[" U "]", .completion = "[" A "]"},
         "is undefined (line 1 of the chat template)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *text = write_file(rows[i].template, &rows[i].chat);

        if (text[0] != '!' || !strstr(text, rows[i].expected))
            fail_msg("%s of %s gives \"%s\", not \"%s\"", rows[i].template, rows[i].chat.messages,
                     text, rows[i].expected);
        free(text);
    }
}

/* ---- files */

#define T "\"chat_template\": \"{{ bos_token }}{{ messages }}\""
#define NAMED(default_text, tool_text)                                                             \
    "{\"chat_template\": [1, {\"name\": 2}, {\"template\": \"no\"}, {\"name\": \"rag\", "          \
    "\"template\": \"rag\"}, {\"name\": \"default\", \"template\": " default_text "}, "            \
    "{\"name\": \"tool_use\", \"template\": " tool_text "}]}"

static void remove_files(void) {
    static const char *const names[] = {"chat_template.jinja", "tokenizer_config.json",
                                        "special_tokens_map.json"};

    for (size_t i = 0; i < 3; i++)
        (void)remove(folder_path(names[i]));
}

static void files(void **state) {
    static const struct {
        const char *jinja, *config, *map; /* files; NULL: there is none; "/": a directory */
        bool with_tools;
        const char *expected; /* !: the end of the error */
    } rows[] = {
        {"j{{ bos_token }}", "{\"bos_token\": \"<s>\"}", NULL, false, "j<s>"},
        {"j", "{" T "}", NULL, false, "j"},
        {"j{{ bos_token }}", NULL, "{\"bos_token\": \"<m>\"}", false, "j<m>"},
        {"j{{ a_token }}{{ b_token }}{{ c_token }}",
         "{\"a_token\": \"a\", \"b_token\": {\"content\": \"b\", \"lstrip\": true}, \"_token\": "
         "\"x\", \"c_token\": {\"content\": 1}, \"add_bos_token\": true, \"a\": \"y\"}",
         "{\"a_token\": \"A\", \"c_token\": \"c\"}", false, "jabc"},
        {"j", "[]", "1", false, "j"},
        {NULL, "{" T ", \"bos_token\": \"<s>\"}", NULL, false, "<s>[]"},
        {NULL, NAMED("\"d\"", "\"t\""), NULL, false, "d"},
        {NULL, NAMED("\"d\"", "\"t\""), NULL, true, "t"},
        {NULL, NAMED("\"d\"", "7"), NULL, true, "d"},
        {NULL, NAMED("7", "\"t\""), NULL, false,
         "! has no chat template: add chat_template.jinja, or `chat_template` in "
         "tokenizer_config.json"},
        {NULL, "{\"chat_template\": 1}", "{\"bos_token\": \"b\"}", false,
         "! has no chat template: add chat_template.jinja, or `chat_template` in "
         "tokenizer_config.json"},
        {NULL, NULL, NULL, false,
         "! has no chat template: add chat_template.jinja, or `chat_template` in "
         "tokenizer_config.json"},
        {"{% if %}", NULL, NULL, false, "!chat_template.jinja"},
        {NULL, "{\"chat_template\": \"{% if %}\"}", NULL, false, "!tokenizer_config.json"},
        {"j", "{", NULL, false, "!tokenizer_config.json"},
        {"j", "", NULL, false, "!tokenizer_config.json"},
        {"j", "{}", "{\"a\": ", false, "!special_tokens_map.json"},
        {"/", NULL, NULL, false, "!chat_template.jinja"},
        {"j", "/", NULL, false, "!tokenizer_config.json"},
        {"j", NULL, "/", false, "!special_tokens_map.json"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *names[] = {"chat_template.jinja", "tokenizer_config.json",
                               "special_tokens_map.json"};
        const char *texts[] = {rows[i].jinja, rows[i].config, rows[i].map};
        const struct chat chat = {.messages = "[]"};
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_model_template model;
        char *text;

        remove_files();
        for (size_t k = 0; k < 3; k++)
            if (texts[k] && strcmp(texts[k], "/") == 0)
                assert_int_equal(mkdir(folder_path(names[k]), 0700), 0);
            else if (texts[k])
                folder_print(names[k], "%s", texts[k]);
        if (leat_model_template_load(&model, folder_path("."), NULL, rows[i].with_tools,
                                     &leat_opener_any, &err) < 0) {
            struct leat_text error = {.data = NULL};

            leat_text_add(&error, "!%s %s", err.file, err.message);
            text = error.data;
        } else {
            text = write_chat(&model, &chat);
        }
        if (rows[i].expected[0] == '!' ? text[0] != '!' || !strstr(text, rows[i].expected + 1)
                                       : strcmp(text, rows[i].expected) != 0)
            fail_msg("%zu: \"%s\", not \"%s\"", i, text, rows[i].expected);
        free(text);
        leat_model_template_unload(&model);
    }
    remove_files();
}

/* A template of one's own has the tokens of the tokenizer, and goes before its template. */
static void own_file(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    const struct chat chat = {.messages = "[]"};
    struct leat_model_template model;
    char *text;

    (void)state;
    folder_print("tokenizer_config.json", "{%s, \"_token\": \"x\", \"bos_token\": \"<s>\"}", T);
    folder_print("own.jinja", "own {{ bos_token }}");
    assert_int_equal(leat_model_template_load(&model, folder_path("tokenizer.json"),
                                              folder_path("own.jinja"), false, &leat_opener_any,
                                              &err),
                     0);
    text = write_chat(&model, &chat);
    assert_string_equal(text, "own <s>");
    free(text);
    assert_string_equal(leat_model_template_token(&model, "bos_token"), "<s>");
    assert_null(leat_model_template_token(&model, "_token"));
    assert_null(leat_model_template_token(&model, "eos_token"));
    leat_model_template_unload(&model);

    assert_int_equal(leat_model_template_load(&model, NULL, folder_path("no.jinja"), false,
                                              &leat_opener_any, &err),
                     -ENOENT);
    assert_non_null(strstr(err.message, "no.jinja does not exist"));
    leat_model_template_unload(&model);
    err = LEAT_ERROR_INIT;
    assert_int_equal(
        leat_model_template_load(&model, NULL, folder_path("."), false, &leat_opener_any, &err),
        -EINVAL);
    leat_model_template_unload(&model);
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_model_template_load(&model, "no-such-tokenizer.json", NULL, false,
                                              &leat_opener_any, &err),
                     -ENOENT);
    assert_non_null(strstr(err.message, ". has no chat template"));
    leat_model_template_unload(&model);
    remove_files();
}

/* A model has 64 special tokens at most. */
static void many_tokens(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text config = {.data = NULL};
    struct leat_model_template model;

    (void)state;
    for (int i = 0; i <= LEAT_MODEL_TOKENS_MAX; i++)
        leat_text_add(&config, "%s\"t%d_token\": \"%d\"", i ? ", " : "{\"chat_template\": \"\", ",
                      i, i);
    folder_print("tokenizer_config.json", "%s}", config.data);
    free(config.data);
    assert_int_equal(
        leat_model_template_load(&model, folder_path("."), NULL, false, &leat_opener_any, &err), 0);
    assert_int_equal(model.n_tokens, LEAT_MODEL_TOKENS_MAX);
    assert_string_equal(leat_model_template_token(&model, "t63_token"), "63");
    assert_null(leat_model_template_token(&model, "t64_token"));
    leat_model_template_unload(&model);
    remove_files();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversations), cmocka_unit_test(bad_conversations),
        cmocka_unit_test(files),         cmocka_unit_test(own_file),
        cmocka_unit_test(many_tokens),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
