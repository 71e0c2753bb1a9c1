#include "pipeline/stages/chat/model_template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"
#include "proto/base/text.h"

/* ---- a conversation */

struct leat_model_workspace {
    struct leat_jinja_render *render;
    struct leat_json *json;
    struct leat_text text;         /* the whole conversation */
    struct leat_jinja_part *parts; /* of it */
    size_t n_parts, parts_capacity;
    struct leat_jinja_turn *turns; /* what loops over messages print of it */
    size_t turns_capacity;
};

struct leat_model_workspace *leat_model_workspace_new(const struct leat_model_template *model) {
    struct leat_model_workspace *workspace = calloc(1, sizeof(*workspace));

    if (workspace)
        workspace->render = leat_jinja_render_new(model->jinja);
    if (!workspace || !workspace->render || leat_json_new(1 << 14, &workspace->json) < 0) {
        leat_model_workspace_free(workspace);
        return NULL;
    }
    return workspace;
}

void leat_model_workspace_free(struct leat_model_workspace *workspace) {
    if (!workspace)
        return;
    (void)leat_jinja_render_free(workspace->render);
    leat_json_free(workspace->json);
    free(workspace->text.data);
    free(workspace->parts);
    free(workspace->turns);
    free(workspace);
}

struct writing {
    const struct leat_model_template *model;
    const struct leat_model_settings *settings;
    struct leat_model_workspace *workspace;
    struct leat_jinja_value messages, tools, documents;
    size_t n_asked; /* messages that the model is not to answer with */
    bool wants_parts;
    struct leat_error *err;
};

/* A value of JSON text; what is no JSON is an error, or a text if `is_lenient`. */
static int parse(struct writing *writing, const void *text, size_t n, bool is_lenient,
                 struct leat_jinja_value *ret) {
    struct leat_error error = LEAT_ERROR_INIT;
    struct leat_json_node root;
    int r = leat_json_parse_record(writing->workspace->json, text, n, n, &root, &error);

    if (r == -EINVAL && is_lenient) {
        *ret = leat_jinja_string(text, n);
        return 0;
    }
    if (r < 0) {
        *writing->err = error;
        return r;
    }
    return leat_jinja_render_json(writing->workspace->render, root, ret, writing->err);
}

static int parse_optional(struct writing *writing, const void *text, size_t n,
                          struct leat_jinja_value *ret) {
    *ret = leat_jinja_none();
    return text && n > 0 ? parse(writing, text, n, false, ret) : 0;
}

static const struct leat_jinja_value *role_of(const struct leat_jinja_value *message) {
    const struct leat_jinja_value key = leat_jinja_string("role", 4);

    return message->kind == LEAT_JINJA_DICT ? leat_jinja_dict_find(message->dict, &key) : NULL;
}

static bool has_role(const struct leat_jinja_value *message, const char *role) {
    const struct leat_jinja_value *value = role_of(message);

    return value && value->kind == LEAT_JINJA_STRING &&
           leat_jinja_equals_text(value, role, strlen(role));
}

static int fail_memory(struct writing *writing) {
    return leat_jinja_heap_error(leat_jinja_render_heap(writing->workspace->render), writing->err);
}

/* ---- messages, as transformers gives them to a template: without what is null, and with thoughts
 * under the names `thinking` and `reasoning_content` too */

static const struct leat_jinja_value *member_of(const struct leat_jinja_dict *message,
                                                const char *name) {
    const struct leat_jinja_value key = leat_jinja_string(name, strlen(name));
    const struct leat_jinja_value *value = leat_jinja_dict_find(message, &key);

    return value && value->kind != LEAT_JINJA_NONE ? value : NULL;
}

static const struct leat_jinja_value *thoughts_of(const struct leat_jinja_dict *message) {
    static const char *const names[] = {"reasoning_content", "thinking", "reasoning"};
    const struct leat_jinja_value *thoughts = NULL;

    for (size_t i = 0; !thoughts && i < sizeof(names) / sizeof(*names); i++)
        thoughts = member_of(message, names[i]);
    return thoughts;
}

static bool has_null(const struct leat_jinja_dict *message) {
    for (size_t i = 0; i < message->n_pairs; i++)
        if (message->pairs[i].value.kind == LEAT_JINJA_NONE)
            return true;
    return false;
}

static void append(struct leat_jinja_dict *message, struct leat_jinja_value key,
                   const struct leat_jinja_value *value) {
    message->pairs[message->n_pairs++] = (struct leat_jinja_pair){.key = key, .value = *value};
}

/* NULL: the heap is used up. */
static struct leat_jinja_dict *adapt(struct leat_jinja_heap *heap,
                                     struct leat_jinja_dict *message) {
    const struct leat_jinja_value thinking = leat_jinja_string("thinking", 8),
                                  reasoning = leat_jinja_string("reasoning_content", 17);
    const struct leat_jinja_value *thoughts = thoughts_of(message), *own;
    struct leat_jinja_dict *adapted;

    if (!thoughts && !has_null(message))
        return message;
    adapted = leat_jinja_dict_new(heap, message->n_pairs + 2);
    if (!adapted)
        return NULL;
    own = member_of(message, "thinking");
    if (thoughts)
        append(adapted, thinking, own ? own : thoughts);
    for (size_t i = 0; i < message->n_pairs; i++) {
        const struct leat_jinja_pair *pair = &message->pairs[i];

        if (pair->value.kind != LEAT_JINJA_NONE && &pair->value != own)
            append(adapted, pair->key, &pair->value);
    }
    if (thoughts && !member_of(message, "reasoning_content"))
        append(adapted, reasoning, thoughts);
    return adapted;
}

static int read_messages(struct writing *writing, const void *text, size_t n,
                         const struct leat_jinja_list **ret_list) {
    struct leat_jinja_value value;
    int r = parse(writing, text, n, false, &value);

    if (r < 0)
        return r;
    if (value.kind != LEAT_JINJA_LIST)
        return leat_error_set(writing->err, -EINVAL, "the conversation is not an array of objects");
    for (size_t i = 0; i < value.list->n_items; i++) {
        struct leat_jinja_value *message = &value.list->items[i];

        if (!role_of(message))
            return leat_error_set(writing->err, -EINVAL, "message %zu is not an object with a role",
                                  i + 1);
        message->dict = adapt(leat_jinja_render_heap(writing->workspace->render), message->dict);
        if (!message->dict)
            return fail_memory(writing);
    }
    *ret_list = value.list;
    return 0;
}

static int add_messages(struct writing *writing, const struct leat_jinja_list *messages,
                        struct leat_jinja_list *list) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);

    for (size_t i = 0; i < messages->n_items; i++)
        if (!leat_jinja_list_add(heap, list, messages->items[i]))
            return fail_memory(writing);
    return 0;
}

static int add_system(struct writing *writing, const char *text, struct leat_jinja_list *list) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);
    struct leat_jinja_dict *dict = leat_jinja_dict_new(heap, 2);

    if (!dict ||
        !leat_jinja_dict_put(heap, dict, leat_jinja_string("role", 4),
                             leat_jinja_string("system", 6)) ||
        !leat_jinja_dict_put(heap, dict, leat_jinja_string("content", 7),
                             leat_jinja_string(text, strlen(text))) ||
        !leat_jinja_list_add(heap, list,
                             (struct leat_jinja_value){.kind = LEAT_JINJA_DICT, .dict = dict}))
        return fail_memory(writing);
    return 0;
}

static int read_chat(struct writing *writing, const struct leat_model_chat *chat) {
    struct leat_jinja_heap *heap = leat_jinja_render_heap(writing->workspace->render);
    struct leat_jinja_list *list = leat_jinja_list_new(heap, 0);
    const char *system = writing->settings->system;
    const struct leat_jinja_list *messages;
    int r = list ? read_messages(writing, chat->messages, chat->n_messages, &messages)
                 : fail_memory(writing);

    if (r == 0 && system && (messages->n_items == 0 || !has_role(&messages->items[0], "system")))
        r = add_system(writing, system, list);
    if (r == 0)
        r = add_messages(writing, messages, list);
    if (r == 0 && chat->completion) {
        writing->n_asked = list->n_items;
        r = read_messages(writing, chat->completion, chat->n_completion, &messages);
        if (r == 0)
            r = add_messages(writing, messages, list);
    }
    writing->messages = (struct leat_jinja_value){.kind = LEAT_JINJA_LIST, .list = list};
    if (r == 0)
        r = parse_optional(writing, chat->tools, chat->n_tools, &writing->tools);
    if (r == 0)
        r = parse_optional(writing, chat->documents, chat->n_documents, &writing->documents);
    return r;
}

static int set(struct writing *writing, const char *name, struct leat_jinja_value value) {
    return leat_jinja_render_set(writing->workspace->render, name, strlen(name), value,
                                 writing->err);
}

static int set_text(struct writing *writing, const char *name, const char *text) {
    return text ? set(writing, name, leat_jinja_string(text, strlen(text))) : 0;
}

/* As transformers sets them: variables win over special tokens. */
static int set_variables(struct writing *writing, const struct leat_jinja_value *messages,
                         bool add_generation_prompt) {
    const struct leat_model_template *model = writing->model;
    const struct leat_text_map *variables = writing->settings->variables;
    int r = set(writing, "messages", *messages);

    if (r == 0)
        r = set(writing, "tools", writing->tools);
    if (r == 0)
        r = set(writing, "documents", writing->documents);
    if (r == 0)
        r = set(writing, "add_generation_prompt", leat_jinja_bool(add_generation_prompt));
    for (size_t i = 0; r == 0 && i < model->n_tokens; i++)
        r = set_text(writing, model->tokens[i].name, model->tokens[i].text);
    if (r == 0)
        r = set_text(writing, "bos_token", writing->settings->bos);
    if (r == 0)
        r = set_text(writing, "eos_token", writing->settings->eos);
    for (size_t i = 0; r == 0 && i < variables->n_items; i++) {
        struct leat_jinja_value value;

        r = parse(writing, variables->values[i], strlen(variables->values[i]), true, &value);
        if (r == 0)
            r = set(writing, variables->keys[i], value);
    }
    return r;
}

static int fail_template(struct writing *writing, int r) {
    struct leat_error *err = writing->err;
    struct leat_error error = *err;

    if (r == -ENOMEM || err->line == 0)
        return r;
    *err = LEAT_ERROR_INIT;
    return leat_error_set(err, error.code, "%s (line %u of the chat template)", error.message,
                          error.line);
}

/* Renders the first n messages. */
static int render(struct writing *writing, size_t n, bool add_generation_prompt,
                  const char **ret_text, size_t *ret_n, const struct leat_jinja_part **ret_parts,
                  size_t *ret_n_parts) {
    struct leat_jinja_list list = *writing->messages.list;
    struct leat_jinja_value messages = {.kind = LEAT_JINJA_LIST, .list = &list};
    int r = leat_jinja_render_rewind(writing->workspace->render, writing->err);

    list.n_items = n;
    if (r == 0)
        r = set_variables(writing, &messages, add_generation_prompt);
    if (r == 0)
        r = leat_jinja_render_run(writing->workspace->render, ret_text, ret_n, ret_parts,
                                  ret_n_parts, writing->err);
    return r < 0 ? fail_template(writing, r) : 0;
}

static int add_part(struct writing *writing, size_t start, size_t end) {
    struct leat_model_workspace *workspace = writing->workspace;

    if (!leat_array_reserve(&workspace->parts, workspace->n_parts + 1, &workspace->parts_capacity))
        return leat_error_oom(writing->err);
    workspace->parts[workspace->n_parts++] = (struct leat_jinja_part){.start = start, .end = end};
    return 0;
}

/* -EINVAL: message n is written otherwise if more messages follow. */
static int fail_turn(struct writing *writing, size_t n) {
    return leat_error_set(writing->err, -EINVAL,
                          "leat cannot find the assistant's words. The chat template has no {%% "
                          "generation %%} block, and writes message %zu differently if more "
                          "messages follow: set `template_file` to a template with {%% generation "
                          "%%} blocks",
                          n);
}

/* Where the first n messages end in the whole conversation: they must be its start. */
static int find_end(struct writing *writing, size_t n, bool add_generation_prompt,
                    size_t *ret_end) {
    const struct leat_text *whole = &writing->workspace->text;
    const struct leat_jinja_part *parts;
    size_t n_parts, n_bytes = 0;
    const char *text = NULL;
    int r = render(writing, n, add_generation_prompt, &text, &n_bytes, &parts, &n_parts);

    if (r < 0)
        return r;
    if (n_bytes > whole->n_bytes || (n_bytes && memcmp(whole->data, text, n_bytes) != 0))
        return fail_turn(writing, n);
    *ret_end = n_bytes;
    return 0;
}

/* ---- turns of a template that writes a message otherwise if more follow (as Qwen3 leaves out the
 * thoughts of all but the last answer): what the pass of a loop prints is the message's */

static bool is_start(const char *text, size_t n, const char *start, size_t n_start) {
    return n_start <= n && (n_start == 0 || memcmp(text, start, n_start) == 0);
}

/* Keeps the turns of the conversation without an invitation to answer; *ret_end: where the last one
 * ends. False: the loops do not print each message once. */
static bool keep_turns(struct writing *writing, size_t *ret_end) {
    struct leat_model_workspace *workspace = writing->workspace;
    const struct leat_jinja_list *list = writing->messages.list;
    const struct leat_jinja_turn *turns;
    size_t n, n_kept = 0;

    turns = leat_jinja_render_turns(workspace->render, &n);
    if (!leat_array_reserve(&workspace->turns, list->n_items, &workspace->turns_capacity))
        return false;
    *ret_end = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        struct leat_jinja_turn *kept = &workspace->turns[n_kept];
        size_t n_found = 0;

        for (size_t k = 0; k < n; k++)
            if (turns[k].item == list->items[i].dict) {
                *kept = turns[k];
                n_found++;
            }
        if (n_found == 0 && !has_role(&list->items[i], "assistant"))
            continue; /* written elsewhere, as a system message */
        if (n_found != 1 || kept->start < *ret_end)
            return false;
        *ret_end = kept->end;
        n_kept++;
    }
    return true;
}

/* How much of the invitation to answer the turn begins with, in whole lines and tags: a template
 * may invite to think, and write turns without thoughts. 0: the turn does not begin with it. */
static size_t invited(const char *turn, size_t n_turn, const char *invitation, size_t n) {
    size_t n_shared = 0;

    for (size_t i = 0; i < n && i < n_turn && turn[i] == invitation[i]; i++)
        if (i + 1 == n || turn[i] == '\n' || turn[i] == '>')
            n_shared = i + 1;
    return n_shared;
}

/* How the template invites to the first answer: what it prints behind the messages before that. The
 * invitation is valid until the next rendering. */
static int find_invitation(struct writing *writing, size_t n_before, const char **ret_text,
                           size_t *ret_n) {
    const struct leat_jinja_part *parts;
    const struct leat_jinja_turn *turns;
    size_t n = 0, n_parts, n_turns, end;
    const char *text = NULL;
    int r = render(writing, n_before, false, &text, &n, &parts, &n_parts);

    if (r < 0)
        return r;
    turns = leat_jinja_render_turns(writing->workspace->render, &n_turns);
    end = n_turns > 0 ? turns[n_turns - 1].end : n;
    r = render(writing, n_before, true, &text, &n, &parts, &n_parts);
    if (r < 0)
        return r;
    if (n < end)
        return fail_turn(writing, n_before);
    *ret_text = text + end;
    *ret_n = n - end;
    return 0;
}

static size_t find_first_answer(const struct writing *writing) {
    const struct leat_jinja_list *list = writing->messages.list;
    size_t i = writing->n_asked;

    while (i < list->n_items && !has_role(&list->items[i], "assistant"))
        i++;
    return i;
}

/* Adds the parts of the assistant's turns, without the invitation that they begin with; `end`:
 * where the last turn ends. */
static int add_turns(struct writing *writing, size_t end, const char *invitation, size_t n) {
    const struct leat_model_workspace *workspace = writing->workspace;
    const struct leat_jinja_list *list = writing->messages.list;
    const struct leat_text *whole = &workspace->text;
    bool ends_turn = !writing->settings->add_generation_prompt &&
                     invited(whole->data + end, whole->n_bytes - end, invitation, n) == 0;
    int r = 0;

    for (size_t i = writing->n_asked; r == 0 && i < list->n_items; i++) {
        const struct leat_jinja_turn *turn = workspace->turns;
        size_t n_invited;

        if (!has_role(&list->items[i], "assistant"))
            continue;
        while (turn->item != list->items[i].dict)
            turn++;
        n_invited = invited(whole->data + turn->start, turn->end - turn->start, invitation, n);
        if (n > 0 && n_invited == 0)
            return fail_turn(writing, i + 1);
        r = add_part(writing, turn->start + n_invited,
                     ends_turn && turn->end == end ? whole->n_bytes : turn->end);
    }
    return r;
}

static int find_turns_in_loops(struct writing *writing) {
    const struct leat_text *whole = &writing->workspace->text;
    size_t n_messages = writing->messages.list->n_items, n = 0, n_parts, end;
    size_t first = find_first_answer(writing);
    const struct leat_jinja_part *parts;
    const char *text = NULL;
    int r;

    if (first == n_messages)
        return 0;
    r = render(writing, n_messages, false, &text, &n, &parts, &n_parts);
    if (r < 0)
        return r;
    if (!keep_turns(writing, &end) || !is_start(whole->data, whole->n_bytes, text, end))
        return fail_turn(writing, n_messages);
    r = find_invitation(writing, first, &text, &n);
    return r < 0 ? r : add_turns(writing, end, text, n);
}

/* The turns of a template that writes what is said before as if no more followed. */
static int find_turns_as_starts(struct writing *writing) {
    const struct leat_jinja_list *list = writing->messages.list;
    int r = 0;

    for (size_t i = writing->n_asked; r == 0 && i < list->n_items; i++) {
        size_t start, end;

        if (!has_role(&list->items[i], "assistant"))
            continue;
        r = find_end(writing, i, true, &start);
        if (r == 0)
            r = find_end(writing, i + 1, false, &end);
        if (r == 0 && start < end)
            r = add_part(writing, start, end);
    }
    return r;
}

/* The turns of the assistant, for a template that does not mark them. One that does not ask for
 * `add_generation_prompt` may invite to answer after each message, which is no part of a turn. */
static int find_turns(struct writing *writing) {
    bool asks = leat_jinja_template_reads(writing->model->jinja, "add_generation_prompt");
    int r = asks ? find_turns_as_starts(writing) : find_turns_in_loops(writing);
    struct leat_error error = *writing->err;

    if (r != -EINVAL)
        return r;
    *writing->err = LEAT_ERROR_INIT;
    writing->workspace->n_parts = 0;
    r = asks ? find_turns_in_loops(writing) : find_turns_as_starts(writing);
    if (r == -EINVAL && asks)
        *writing->err = error;
    return r;
}

static int write_whole(struct writing *writing) {
    struct leat_model_workspace *workspace = writing->workspace;
    const struct leat_jinja_part *parts;
    size_t n, n_parts, first = 0;
    const char *text;
    int r = render(writing, writing->messages.list->n_items,
                   writing->settings->add_generation_prompt, &text, &n, &parts, &n_parts);

    workspace->text.n_bytes = workspace->n_parts = 0;
    if (r < 0)
        return r;
    leat_text_add_bytes(&workspace->text, text, n);
    if (workspace->text.failed)
        return leat_error_oom(writing->err);
    if (!writing->wants_parts)
        return 0;
    for (size_t i = 0; r == 0 && i < n_parts; i++)
        r = add_part(writing, parts[i].start, parts[i].end);
    if (r == 0 && !writing->model->marks)
        return find_turns(writing);
    if (r == 0 && writing->n_asked) { /* parts of the prompt are not to be said */
        r = find_end(writing, writing->n_asked, false, &n);
        while (r == 0 && first < workspace->n_parts && workspace->parts[first].start < n)
            first++;
        workspace->n_parts -= first;
        memmove(workspace->parts, workspace->parts + first,
                workspace->n_parts * sizeof(*workspace->parts));
    }
    return r;
}

/* Writes the text from `at` on, up to the end of the part, which is returned. */
static size_t put_part(const char *text, size_t at, struct leat_jinja_part part,
                       struct leat_dialogue_writer *writer) {
    leat_dialogue_put(writer, text + at, part.start - at);
    leat_dialogue_open_part(writer);
    leat_dialogue_put(writer, text + part.start, part.end - part.start);
    leat_dialogue_close_part(writer);
    return part.end;
}

/* Parts that overlap become one: a block within another ends before it. Parts that lie outside the
 * text were rendered, but not printed. */
static void put_parts(const struct leat_model_workspace *workspace,
                      struct leat_dialogue_writer *writer) {
    const char *text = workspace->text.data;
    struct leat_jinja_part whole = {.start = 0};
    size_t at = 0;

    for (size_t i = 0; i < workspace->n_parts; i++) {
        const struct leat_jinja_part *part = &workspace->parts[i];

        if (part->end > workspace->text.n_bytes)
            continue;
        if (part->start >= whole.end) {
            at = put_part(text, at, whole, writer);
            whole = *part;
        } else if (part->end > whole.end) {
            whole.end = part->end;
        }
    }
    at = put_part(text, at, whole, writer);
    leat_dialogue_put(writer, text + at, workspace->text.n_bytes - at);
}

int leat_model_template_write(const struct leat_model_template *model,
                              const struct leat_model_settings *settings,
                              const struct leat_model_chat *chat,
                              struct leat_model_workspace *workspace,
                              struct leat_dialogue_writer *writer, struct leat_error *err) {
    struct writing writing = {.model = model,
                              .settings = settings,
                              .workspace = workspace,
                              .wants_parts = chat->wants_parts,
                              .err = err};
    int r = leat_jinja_render_begin(workspace->render, err);

    if (settings->has_date)
        leat_jinja_render_date(workspace->render, &settings->date);
    if (r == 0)
        r = read_chat(&writing, chat);
    if (r == 0)
        r = write_whole(&writing);
    if (r == 0)
        put_parts(workspace, writer);
    return r;
}
