/* test_instruction.c: pipeline/stages/instruction.c: Alpaca's prompts, texts of one's own, and
 * which part of them the model is to say. */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define ONLY   "\n- select: {fields: [text]}"
#define BELOW  "Below is an instruction that describes a task"
#define WRITE  ". Write a response that appropriately completes the request.\\n\\n"
#define PAIRED ", paired with an input that provides further context"

static void test_alpaca(void **state) {
    (void)state;
    check_rows("{\"instruction\": \"Add.\", \"input\": \"1, 2\", \"output\": \"3\"}\n"
               "{\"instruction\": \"Say hi.\", \"input\": \"\", \"output\": \"Hi.\"}\n",
               "- instruction: {preset: alpaca}" ONLY,
               "{\"text\": \"" BELOW PAIRED WRITE "### Instruction:\\nAdd.\\n\\n### "
               "Input:\\n1, 2\\n\\n### Response:\\n3\"}\n"
               "{\"text\": \"" BELOW WRITE "### Instruction:\\nSay hi.\\n\\n### "
               "Response:\\nHi.\"}\n");
    check_rows("{\"q\": \"Say hi.\", \"output\": 4}\n",
               "- instruction: {preset: alpaca, fields: {instruction: q}, eos: </s>}" ONLY,
               "{\"text\": \"" BELOW WRITE "### Instruction:\\nSay hi.\\n\\n### "
               "Response:\\n4</s>\"}\n");
    check_rows("{\"instruction\": \"a\", \"n\": 5, \"output\": \"b\"}\n",
               "- instruction: {preset: alpaca, fields: {input: n}}" ONLY,
               "{\"text\": \"" BELOW PAIRED WRITE "### Instruction:\\na\\n\\n### "
               "Input:\\n5\\n\\n### Response:\\nb\"}\n");
}

static void test_own(void **state) {
    (void)state;
    check_rows("{\"q\": \"{1}\", \"n\": 2, \"a\": \"\"}\n",
               "- instruction: {prompt: 'Q{n}: {q} {{', response: \" A: {a}\", output: t}\n"
               "- select: {fields: [t]}",
               "{\"t\": \"Q2: {1} { A: \"}\n");
}

static void test_loss(void **state) {
    (void)state;
    folder_print("t.json",
                 "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": "
                 "\"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0, \"a\": 10, \"b\": 11, "
                 "\"c\": 12, \"</s>\": 3}}}");
    check_rows("{\"q\": \"a b\", \"r\": \"b c\"}\n{\"q\": \"a\", \"r\": \"\"}\n",
               "- instruction: {prompt: '{q} ', response: '{r}'}\n"
               "- tokenize: {input: text, output: input_ids, tokenizer: t.json, eos: </s>, "
               "return_assistant_tokens_mask: true}\n- causal_labels: {loss_on: completion}\n"
               "- select: {fields: [input_ids, assistant_masks, labels]}",
               "{\"input_ids\": [10, 11, 11, 12, 3], \"assistant_masks\": [0, 0, 1, 1, 1], "
               "\"labels\": [-100, -100, 11, 12, 3]}\n"
               "{\"input_ids\": [10, 3], \"assistant_masks\": [0, 0], \"labels\": [-100, -100]}\n");
}

static void test_refused(void **state) {
    const char *data = "{\"instruction\": \"a\", \"input\": \"b\"}\n";

    (void)state;
    check_refused(data, "- instruction: {preset: alpaca}",
                  "x.yaml:5:31: streams.x.stages[0].instruction.preset: there is no field "
                  "\"output\" here; did you mean \"input\"?");
    check_refused(data, "- instruction: {output: t}",
                  "x.yaml:5:9: streams.x.stages[0].instruction: give either `preset`, or `prompt` "
                  "and `response`");
    check_refused(data, "- instruction: {prompt: t}",
                  "x.yaml:5:9: streams.x.stages[0].instruction: give either `preset`, or `prompt` "
                  "and `response`");
    check_refused(
        data, "- instruction: {preset: alpaca, response: t}",
        "x.yaml:5:49: streams.x.stages[0].instruction.response: does not work with `preset`: "
        "remove one of the two");
    check_refused(data, "- instruction: {prompt: a, response: b, fields: {input: x}}",
                  "x.yaml:5:55: streams.x.stages[0].instruction.fields: works only with `preset`");
    check_refused(data, "- instruction: {preset: alpaca, fields: {question: x}}",
                  "x.yaml:5:47: streams.x.stages[0].instruction.fields: `alpaca` has no field "
                  "\"question\", only instruction, input and output");
    check_refused(data, "- instruction: {prompt: '{', response: b}",
                  "x.yaml:5:31: streams.x.stages[0].instruction.prompt: part 0 has a single '{': "
                  "write '{{' for a brace");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alpaca),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
