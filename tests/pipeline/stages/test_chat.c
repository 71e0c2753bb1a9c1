/* test_chat.c: pipeline/stages/chat.c and what it is made of: text, ids and masks against
 * transformers (data/chat.jsonl, of data/make_chat.py), templates of one's own, what is refused,
 * and masks where truncation, blanks and words make them hard. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/tokenizer.h"
#include "tests/pipeline/shared_stream.h"

#define SOURCE "jsonl: {paths: [in.jsonl], fields: {messages: json}}"

/* ---- against transformers */

static struct leat_json_node get(struct leat_json_node object, const char *key) {
    struct leat_json_node node;

    assert_true(leat_json_find(object, key, strlen(key), &node));
    return node;
}

static const char *text_of(struct leat_json_node object, const char *key) {
    size_t n;

    return leat_json_string(get(object, key), &n);
}

static void compare_text(struct leat_json_node test, struct leat_json_node row) {
    size_t n, n_expected;
    const char *text = leat_json_string(get(row, "text"), &n);
    const char *expected = leat_json_string(get(test, "text"), &n_expected);

    if (n != n_expected || memcmp(text, expected, n) != 0)
        fail_msg("%s: \"%s\" instead of \"%s\"", text_of(test, "template"), text, expected);
}

static void compare_list(struct leat_json_node test, struct leat_json_node row, const char *key) {
    struct leat_json_node expected = get(test, key), one, other;
    struct leat_json_iterator ones, others;

    if (leat_json_kind(expected) == LEAT_JSON_NULL)
        return;
    if (leat_json_n_items(get(row, key)) != leat_json_n_items(expected))
        fail_msg("%s: %zu %s, not %zu", text_of(test, "text"), leat_json_n_items(get(row, key)),
                 key, leat_json_n_items(expected));
    leat_json_iterate(get(row, key), &ones);
    leat_json_iterate(expected, &others);
    for (size_t i = 0; leat_json_next(&ones, &one) && leat_json_next(&others, &other); i++)
        if (leat_json_int(one) != leat_json_int(other))
            fail_msg("%s\n%s[%zu] is %lld, not %lld", text_of(test, "text"), key, i,
                     (long long)leat_json_int(one), (long long)leat_json_int(other));
}

static int32_t *marked_ids(struct leat_json_node row, size_t *ret_n) {
    struct leat_json_iterator ids, masks;
    struct leat_json_node id, mask;
    int32_t *marked = calloc(leat_json_n_items(get(row, "ids")) + 1, sizeof(*marked));

    assert_non_null(marked);
    *ret_n = 0;
    leat_json_iterate(get(row, "ids"), &ids);
    leat_json_iterate(get(row, "assistant_masks"), &masks);
    while (leat_json_next(&ids, &id) && leat_json_next(&masks, &mask))
        if (leat_json_int(mask))
            marked[(*ret_n)++] = (int32_t)leat_json_int(id);
    return marked;
}

/* Where transformers marks too much or too little: the marked tokens are what was said. */
static void compare_said(struct leat_json_node test, struct leat_json_node row) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_tokenizer *tokenizer;
    char path[128], *text;
    size_t n, n_text;
    int32_t *ids = marked_ids(row, &n);

    (void)snprintf(path, sizeof(path), "tokenizer/data/%s.json", text_of(test, "tokenizer"));
    assert_int_equal(leat_tokenizer_open(path, NULL, &tokenizer, &err), 0);
    assert_int_equal(leat_tokenizer_decode(tokenizer, ids, n, false, &text, &n_text, &err), 0);
    assert_string_equal(text, text_of(test, "said"));
    leat_tokenizer_free(tokenizer);
    free(text);
    free(ids);
}

/* The row that the stages make of a case; "" if it is bad. */
static char *run_case(struct leat_json_node test) {
    struct leat_text stages = {.data = NULL};
    char folder[4096], *rows;

    assert_non_null(getcwd(folder, sizeof(folder)));
    leat_text_add(&stages,
                  "- chat: {messages: messages, template: %s, add_generation_prompt: %s}\n"
                  "- tokenize: {input: text, output: ids, tokenizer: %s/tokenizer/data/%s.json, "
                  "return_assistant_tokens_mask: true}\n- select: {fields: [ids]}",
                  text_of(test, "template"), leat_json_bool(get(test, "prompt")) ? "true" : "false",
                  folder, text_of(test, "tokenizer"));
    rows = stream_head(SOURCE, "on_error: skip", stages.data, 1, 1);
    free(stages.data);
    return rows;
}

static void check_case(struct leat_json_node test, struct leat_json *json) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node row;
    char *rows = run_case(test);
    bool is_bad = leat_json_find(test, "error", 5, &row);

    if (is_bad != (rows[0] == '\0'))
        fail_msg("%s: %s", is_bad ? text_of(test, "error") : text_of(test, "text"), rows);
    if (!is_bad) {
        assert_int_equal(leat_json_parse(json, rows, strlen(rows), strlen(rows), &row, &err), 0);
        compare_text(test, row);
        compare_list(test, row, "ids");
        compare_list(test, row, "assistant_masks");
        if (leat_json_kind(get(test, "assistant_masks")) == LEAT_JSON_NULL)
            compare_said(test, row);
    }
    free(rows);
}

static void test_transformers(void **state) {
    FILE *file = fopen("pipeline/data/chat.jsonl", "r");
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json *cases, *rows;
    struct leat_json_node test;
    char *line = NULL;
    size_t capacity = 0, n_cases = 0;
    ssize_t n;

    (void)state;
    assert_non_null(file);
    assert_int_equal(leat_json_new(0, &cases), 0);
    assert_int_equal(leat_json_new(0, &rows), 0);
    for (; (n = getline(&line, &capacity, file)) > 0; n_cases++) {
        assert_int_equal(leat_json_parse(cases, line, (size_t)n, (size_t)n, &test, &err), 0);
        folder_write("in.jsonl", line, (size_t)n);
        check_case(test, rows);
    }
    assert_true(n_cases > 100);
    free(line);
    leat_json_free(cases);
    leat_json_free(rows);
    assert_int_equal(fclose(file), 0);
}

/* ---- one conversation */

#define A "{\"role\":\"user\",\"content\":\"Hi\"}"
#define B "{\"role\":\"assistant\",\"content\":\"Oh\"}"

/* Writes a record of these messages. */
static void write_messages(const char *messages) {
    folder_print("in.jsonl", "{\"messages\": %s}\n", messages);
}

static char *run_chat(const char *args) {
    struct leat_text stages = {.data = NULL};
    char *rows;

    leat_text_add(&stages,
                  "- chat: {messages: messages, %s}\n- template: {output: end, parts: ['1']}\n"
                  "- cast: {input: end, dtype: int32}\n- select: {fields: [end]}",
                  args);
    rows = stream_head(SOURCE, "", stages.data, 0, 1);
    free(stages.data);
    return rows;
}

/* `expected`: the text as JSON has it, or the end of what is wrong with the record, from its column
 * on if there is one. */
static void check_chat(const char *args, const char *messages, const char *expected) {
    const char *gap = strchr("123456789", expected[0]) ? "" : " ";
    struct leat_text end = {.data = NULL};
    char *rows;

    write_messages(messages);
    rows = run_chat(args);
    if (expected[0] == '"')
        leat_text_add(&end, ", \"text\": %s}\n", expected);
    else
        leat_text_add(&end, "in.jsonl:1:%s%s\n", gap, expected);
    if (strlen(rows) < end.n_bytes || strcmp(rows + strlen(rows) - end.n_bytes, end.data) != 0)
        fail_msg("%s of %s gives %s, not %s", args, messages, rows, end.data);
    free(end.data);
    free(rows);
}

static void test_own_template(void **state) {
    const char *own = "prefixes: {user: 'U: ', assistant: 'A: ', note: '# '}, "
                      "suffixes: {assistant: '</s>'}, separator: \"\\n\"";
    const char *with_bos = "prefixes: {user: 'U: ', assistant: 'A: '}, bos: '<s>', "
                           "add_generation_prompt: true";

    (void)state;
    check_chat(own, "[" A "," B ",{\"content\":\" x \",\"role\":\"note\"}]",
               "\"U: Hi\\nA: Oh</s>\\n#  x \\n\"");
    check_chat(with_bos, "[" A "]", "\"<s>U: HiA: \"");
    check_chat("prefixes: {user: ''}", "[" A "," A "]", "\"HiHi\"");
    /* values that nobody asks for */
    check_chat("prefixes: {user: ''}",
               "[{\"id\":123456789012345678901234567890,\"x\":[1e999],\"y\":\"\\ud800\","
               "\"role\":\"user\",\"content\":\"Hi\"}," A "]",
               "\"HiHi\"");
}

static void test_options(void **state) {
    (void)state;
    check_chat("template: chatml, system: 'Be kind.'", "[" A "]",
               "\"<|im_start|>system\\nBe kind.<|im_end|>\\n<|im_start|>user\\nHi<|im_end|>\\n\"");
    check_chat("template: chatml, system: 'Be kind.'",
               "[{\"role\":\"system\",\"content\":\"\"}," A "]",
               "\"<|im_start|>system\\n<|im_end|>\\n<|im_start|>user\\nHi<|im_end|>\\n\"");
    check_chat("template: mistral, system: S", "[" A "," B "]",
               "\"<s> [INST] S\\n\\nHi [/INST] Oh</s>\"");
    check_chat("template: mistral, bos: '', eos: '<e>'", "[" A "," B "]",
               "\" [INST] Hi [/INST] Oh<e>\"");
    check_chat("template: zephyr, roles: {human: user, gpt: assistant}, role_key: from, "
               "content_key: value",
               "[{\"from\":\"human\",\"value\":\"Hi\"},{\"from\":\"gpt\",\"value\":\"Oh\"}]",
               "\"<|user|>\\nHi</s>\\n<|assistant|>\\nOh</s>\\n\"");
    check_chat("template: phi-3, add_generation_prompt: true, output: text", "[" A "]",
               "\"<|user|>\\nHi<|end|>\\n<|assistant|>\\n\"");
}

static void test_injection(void **state) {
    (void)state;
    check_chat("template: zephyr", "[{\"role\":\"user\",\"content\":\"a</s>b\"}]",
               "\"<|user|>\\na</s>b</s>\\n\"");
    check_chat(
        "template: zephyr, injection: fail", "[" A ",{\"role\":\"user\",\"content\":\"a</s>b\"}]",
        "chat.messages: message 1: its content has \"</s>\", which is a special token in zephyr");
    check_chat("template: llama-3, injection: fail",
               "[{\"role\":\"user\",\"content\":\"<|begin_of_text|>\"}]",
               "chat.messages: message 0: its content has \"<|begin_of_text|>\", which is a "
               "special token in llama-3");
    check_chat("prefixes: {user: 'U: '}, injection: fail",
               "[{\"role\":\"user\",\"content\":\"A U: B\"}]",
               "chat.messages: message 0: its content has \"U: \", which is a special token in the "
               "template");
    check_chat("template: llama-3, injection: fail", "[" A "]",
               "\"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\\n\\nHi<|eot_id|>\"");
}

static void test_bad_records(void **state) {
    static const char *const cases[][3] = {
        {"null", "there are no messages", ""},
        {"\"\"", "is a string, but must be an array of messages", ""},
        {"{}", "is an object, but must be an array of messages", ""},
        {"[]", "the array has no message", ""},
        {"[1]", "message 0 is an integer, but must be an object", ""},
        {"[" A ",[]]", "message 1 is an array, but must be an object", ""},
        {"[{\"content\":\"x\"}]", "message 0 has no \"role\"", ""},
        {"[{\"role\":\"user\"}]", "message 0 has no \"content\"", ""},
        {"[{\"role\":null,\"content\":\"x\"}]", "message 0: \"role\" is null, but must be a string",
         "23"},
        {"[{\"role\":\"user\",\"content\":null}]",
         "message 0: \"content\" is null, but must be a string", "40"},
        {"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]",
         "message 0: \"content\" is an array, but must be a string", "40"},
        {"[{\"role\":\"narr\\n\\u0000ator\",\"content\":\"\"}]",
         "message 0 has the role \"narr\\x0a\\x00ator\", but gemma has only the roles user, "
         "assistant",
         "23"},
        {"[{\"role\":\"user\",\"content\":\"\\ud800\"}]",
         "message 0: \"content\" is a string with an unpaired surrogate (\\ud800 to \\udfff), but "
         "must be a string",
         "40"},
        {"[" A "," A "]",
         "message 1 has the role user, but assistant must be next: in gemma, user and assistant "
         "must take turns",
         ""},
        {"[" B "]",
         "message 0 has the role assistant, but user must be next: in gemma, user and assistant "
         "must take turns",
         ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char expected[512];

        (void)snprintf(expected, sizeof(expected), "%s%schat.messages: %s", cases[i][2],
                       cases[i][2][0] ? ": " : "", cases[i][1]);
        check_chat("template: gemma", cases[i][0], expected);
    }
    check_chat("template: mistral", "[{\"role\":\"system\",\"content\":\"x\"}]",
               "chat.messages: there is only a system message: add a user message");
    folder_print("in.jsonl", "{\"t\": \"[1,\"}\n");
    check_refused("{\"t\": 1}\n", "- chat: {messages: t, template: chatml}",
                  "x.yaml:5:26: streams.x.stages[0].chat.messages: \"t\" is int64, but `chat` "
                  "needs JSON text: add `fields: {t: json}` to the source");
}

/* ---- the template of a model */

#define MARKED                                                                                     \
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}"           \
    "{% generation %}{{ m.content }}</s>{% endgeneration %}{% else %}{{ m.content }}{% endif %}"   \
    "{% endfor %}{{ tools | tojson if tools }}{{ 'A: ' if add_generation_prompt }}{{ mood }}"

static void write_tokenizer(const char *template) {
    folder_print("tokenizer_config.json",
                 "{\"chat_template\": \"%s\", \"bos_token\": {\"content\": \"<s>\"}}", template);
}

static void test_model_template(void **state) {
    (void)state;
    write_tokenizer(MARKED);
    check_chat("template: auto, tokenizer: .", "[" A "," B "]", "\"<s>user: Hiassistant: Oh</s>\"");
    check_chat("template: auto, tokenizer: tokenizer_config.json, bos: '', system: S, "
               "add_generation_prompt: true, variables: {mood: '[1, null]'}",
               "[" A "]", "\"system: Suser: HiA: [1, None]\"");
    folder_print("own.jinja", "%s", "{{ messages | length }}{{ strftime_now('%d %b') }}");
    check_chat("template: auto, template_file: own.jinja, date: 2025-03-09", "[" A "]",
               "\"109 Mar\"");
    folder_print("chat_template.jinja", "%s", "first {{ messages[0].content }}");
    check_chat("template: auto, tokenizer: .", "[" A "]", "\"first Hi\"");
    (void)remove(folder_path("chat_template.jinja"));
}

/* As transformers has them: without nulls, and with thoughts under two more names. */
static void test_model_template_messages(void **state) {
    static const char *const cases[][2] = {
        {"{\"role\":\"user\",\"content\":null,\"tool_calls\":null,\"x\":{\"y\":null}}",
         "{'role': 'user', 'x': {'y': None}}"},
        {"{\"role\":\"assistant\",\"thinking\":\"a\"}",
         "{'thinking': 'a', 'role': 'assistant', 'reasoning_content': 'a'}"},
        {"{\"role\":\"assistant\",\"thinking\":null,\"reasoning\":\"a\"}",
         "{'thinking': 'a', 'role': 'assistant', 'reasoning': 'a', 'reasoning_content': 'a'}"},
        {"{\"role\":\"assistant\",\"reasoning_content\":\"a\",\"content\":\"c\",\"thinking\":"
         "\"b\"}",
         "{'thinking': 'b', 'role': 'assistant', 'reasoning_content': 'a', 'content': 'c'}"},
        {"{\"role\":\"assistant\",\"thinking\":null,\"reasoning_content\":null}",
         "{'role': 'assistant'}"},
    };

    (void)state;
    write_tokenizer("{% for m in messages %}{{ m }}{% endfor %}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char messages[256], expected[256];

        (void)snprintf(messages, sizeof(messages), "[%s]", cases[i][0]);
        (void)snprintf(expected, sizeof(expected), "\"%s\"", cases[i][1]);
        check_chat("template: auto, tokenizer: .", messages, expected);
    }
}

static void test_model_template_fails(void **state) {
    (void)state;
    write_tokenizer("{{ messages[0].content }}{% if not messages %}{{ raise_exception('none') }}"
                    "{% endif %}{{ messages[1].x.y }}");
    check_chat("template: auto, tokenizer: .", "[]",
               "chat.messages: 'an item' is undefined (line 1 of the chat template)");
    check_chat("template: auto, tokenizer: .", "[" A "," B "]",
               "chat.messages: 'x' is undefined (line 1 of the chat template)");
    check_chat("template: auto, tokenizer: .", "[1]",
               "chat.messages: message 1 is not an object with a role");
    check_chat("template: auto, tokenizer: .", "{}",
               "chat.messages: the conversation is not an array of objects");
    check_refused("{\"messages\": []}\n", "- chat: {messages: messages, template: auto}",
                  "x.yaml:5:46: streams.x.stages[0].chat.template: `auto` needs `tokenizer`, the "
                  "folder of the model's tokenizer");
    check_refused(
        "{\"messages\": []}\n", "- chat: {messages: messages, template: chatml, tokenizer: .}",
        "x.yaml:5:65: streams.x.stages[0].chat.tokenizer: works only with `template: auto`");
    write_tokenizer("{{ (1 if messages).x }}");
    check_chat("template: auto, tokenizer: .", "[]",
               "chat.messages: 'an if expression without an else' is undefined (line 1 of the chat "
               "template)");
    write_tokenizer("{{ (messages | max).x }}");
    check_chat("template: auto, tokenizer: .", "[]",
               "chat.messages: 'an item of an empty list' is undefined (line 1 of the chat "
               "template)");
    write_tokenizer("{% for m in messages %}{{ loop.previtem.role }}{% endfor %}");
    check_chat("template: auto, tokenizer: .", "[" A "]",
               "chat.messages: 'loop.previtem' is undefined (line 1 of the chat template)");
    write_tokenizer("{% for m in messages %}{{ loop.nextitem.role }}{% endfor %}");
    check_chat("template: auto, tokenizer: .", "[" A "]",
               "chat.messages: 'loop.nextitem' is undefined (line 1 of the chat template)");
}

/* A text is not made as long as someone likes. */
static void test_growth(void **state) {
    struct leat_text messages = {.data = NULL}, args = {.data = NULL};
    char *rows;

    (void)state;
    leat_text_add(&messages, "[" A);
    for (int i = 0; i < 2000; i++)
        leat_text_add(&messages, "," A);
    leat_text_add(&messages, "]");
    leat_text_add(&args, "prefixes: {user: '%0*d'}", 60000, 0);
    write_messages(messages.data);
    rows = run_chat(args.data);
    if (!strstr(rows, "chat.text: the text has more than 67108864 bytes"))
        fail_msg("%.200s", rows);
    free(messages.data);
    free(args.data);
    free(rows);
}

/* What a template does not write is not lost without a word. */
static void test_lost(void **state) {
    static const char *const keys[][2] = {
        {"tool_calls", "[{\"type\":\"function\"}]"},
        {"function_call", "{\"name\":\"f\"}"},
        {"tool_call_id", "\"1\""},
        {"tool_responses", "[1]"},
        {"thinking", "\"Hm\""},
        {"reasoning_content", "\"Hm\""},
        {"reasoning", "\"Hm\""},
    };
    char messages[256], expected[256];

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        (void)snprintf(messages, sizeof(messages),
                       "[" A ",{\"role\":\"assistant\",\"content\":null,\"%s\": %s}]", keys[i][0],
                       keys[i][1]);
        (void)snprintf(
            expected, sizeof(expected),
            "%zu: chat.messages: message 1: \"%s\" would be lost, because chatml writes only the "
            "content: remove it, or put it into the content as the model's template does",
            strlen("{'messages': ") + strlen(messages) - strlen(keys[i][1]) - 1, keys[i][0]);
        check_chat("template: chatml", messages, expected);
    }
    check_chat("template: chatml, content_key: CONTENT",
               "[{\"role\":\"user\",\"CONTENT\":\"Hi\",\"tool_calls\":[],\"thinking\":\"\","
               "\"function_call\":{},\"reasoning\":null,\"name\":\"Ann\"}]",
               "\"<|im_start|>user\\nHi<|im_end|>\\n\"");
    check_chat("template: chatml, content_key: thinking",
               "[{\"role\":\"user\",\"thinking\":\"Hm\"}]",
               "\"<|im_start|>user\\nHm<|im_end|>\\n\"");
}

/* ---- a prompt and its completion */

#define PAIR "jsonl: {paths: [in.jsonl], fields: {prompt: json, completion: json}}"

static void check_pair(const char *prompt, const char *completion, const char *expected) {
    struct leat_text stages = {.data = NULL};
    char folder[4096], *rows;

    assert_non_null(getcwd(folder, sizeof(folder)));
    folder_print("in.jsonl", "{\"prompt\": [%s], \"completion\": %s}\n", prompt, completion);
    leat_text_add(&stages,
                  "- chat: {messages: prompt, completion: completion, template: chatml}\n"
                  "- tokenize: {input: text, output: ids, return_assistant_tokens_mask: true, "
                  "tokenizer: %s/tokenizer/data/qwen.json}\n- select: {fields: [ids]}",
                  folder);
    rows = stream_head(PAIR, "", stages.data, 1, 1);
    if (!strstr(rows, expected))
        fail_msg("%s is not in %s", expected, rows);
    free(stages.data);
    free(rows);
}

static void test_completion(void **state) {
    (void)state;
    check_pair(A "," B "," A, "[" B "]",
               "\"text\": \"<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\nOh<|im_end|>"
               "\\n<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\nOh<|im_end|>\\n\"");
    check_pair(A "," B "," A, "[" B "]",
               "\"assistant_masks\": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
               "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]");
    check_pair(A, "[" B "," A "," B "]",
               "\"assistant_masks\": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, "
               "0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0]");
    check_pair(A, "[]", "in.jsonl:1: chat.completion: the array has no message");
    check_pair(A, "null", "in.jsonl:1: chat.completion: there are no messages");
    check_pair(A, "[{\"role\":1}]",
               "in.jsonl:1:69: chat.completion: message 0: \"role\" is an integer, but must be");
}

static void check_wrong(const char *args, const char *expected) {
    char stages[512];
    const char *error;

    (void)snprintf(stages, sizeof(stages), "- chat: {messages: messages, %s}", args);
    error = stream_error(SOURCE, "", stages);
    if (!strstr(error, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, error);
}

static void test_refused(void **state) {
    (void)state;
    write_messages("[" A "]");
    check_refused("{\"m\": [{}], \"n\": 1}\n", "- chat: {messages: m, template: chatml}",
                  "x.yaml:5:26: streams.x.stages[0].chat.messages: there is no field \"m\": if it "
                  "is an array of objects, add `fields: {m: json}` to the source");
    write_messages("[" A "]");
    check_wrong("template: chatml, completion: c",
                "stages[0].chat.completion: there is no field \"c\"");
    check_wrong("output: t", "give exactly one of `template` and `prefixes`");
    check_wrong("template: chatml, prefixes: {user: x}",
                "give exactly one of `template` and `prefixes`");
    check_wrong("template: chatmi", "\"chatmi\" is not one of chatml, llama-3, mistral, gemma");
    check_wrong("template: chatml, separator: x", "separator: works only with `prefixes`");
    check_wrong("template: chatml, suffixes: {user: x}", "suffixes: works only");
    check_wrong("template: chatml, eos: x", "eos: does not work with chatml");
    check_wrong("prefixes: {user: x}, eos: x", "eos: does not work with the template");
    check_wrong("prefixes: {user: x}, suffixes: {use: x}", "the role \"use\" has no prefix");
    check_wrong("prefixes: {user: x}, add_generation_prompt: true", "needs a prefix for the role");
    check_wrong("prefixes: {user: x}, system: x", "the template has no system messages");
    check_wrong("template: gemma, system: x", "gemma has no system messages");
    check_wrong("template: phi-3, roles: {x: tool}", "phi-3 has no role \"tool\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transformers),
        cmocka_unit_test(test_own_template),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_model_template),
        cmocka_unit_test(test_model_template_messages),
        cmocka_unit_test(test_model_template_fails),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_completion),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
