/* chat.c: `_leat.chat`: writes a conversation as its template says. The stage `chat` uses the same
 * code, pipeline/tokenizer/chat/, so the two cannot differ. Messages are JSON, as in the stage.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/python/src/raise.h"
#include "client/python/src/types.h"
#include "pipeline/tokenizer/chat/chat_writer.h"
#include "pipeline/tokenizer/range.h"
#include "proto/base/array.h"
#include "proto/base/text.h"

#define TEXT_BYTES_MAX (UINT32_C(1) << 30)

/* The text so far, and the parts of it that the assistant says. */
struct page {
    struct leat_text text;
    struct leat_range *parts;
    size_t n_parts, parts_capacity;
    size_t part_start;
    bool failed;
};

static void put(void *context, const void *bytes, size_t n_bytes) {
    struct page *page = context;

    page->failed |= n_bytes > TEXT_BYTES_MAX - page->text.n_bytes;
    if (!page->failed)
        leat_text_add_bytes(&page->text, bytes, n_bytes);
    page->failed |= page->text.failed != 0;
}

static void open_part(void *context) {
    struct page *page = context;

    page->part_start = page->text.n_bytes;
}

static void close_part(void *context) {
    struct page *page = context;

    if (page->text.n_bytes == page->part_start)
        return;
    page->failed |= !leat_array_reserve(&page->parts, page->n_parts + 1, &page->parts_capacity);
    if (!page->failed)
        page->parts[page->n_parts++] = (struct leat_range){.start = (uint32_t)page->part_start,
                                                           .end = (uint32_t)page->text.n_bytes};
}

static int write_page(const struct leat_chat_writer *writer, const char *json, size_t n,
                      struct page *page, struct leat_error *err) {
    const struct leat_chat_format format = {
        .chat = &writer->chat, .role_key = "role", .content_key = "content"};
    const struct leat_chat_sink sink = {
        .context = page, .put = put, .open_part = open_part, .close_part = close_part};
    struct leat_chat_messages messages;
    int r = leat_chat_messages_init(&messages);

    if (r < 0)
        return leat_error_oom(err);
    r = leat_chat_messages_read(&messages, &format, json, n, err);
    if (r == 0)
        r = leat_chat_writer_check(writer, &messages, err);
    if (r == 0)
        leat_chat_writer_write(writer, &messages, &sink);
    leat_chat_messages_deinit(&messages);
    return r == 0 && page->failed ? leat_error_oom(err) : r;
}

static const struct leat_chat_template *find_template(const char *name, struct leat_error *err) {
    for (size_t i = 0; leat_chat_template_names[i]; i++)
        if (strcmp(leat_chat_template_names[i], name) == 0)
            return &leat_chat_templates[i];
    leat_error_set(err, -EINVAL, "there is no chat template \"%.64s\"; %s lists the names", name,
                   "leat.chats.TEMPLATES");
    return NULL;
}

/* The texts that are given must outlive the writer. */
static int make_writer(struct leat_chat_writer *writer, const char *name, const char *bos,
                       const char *eos, struct leat_error *err) {
    const struct leat_chat_template *template = find_template(name, err);
    int r;

    if (!template)
        return -EINVAL;
    leat_chat_writer_choose(writer, template);
    r = leat_chat_writer_finish(writer, bos, eos, err);
    if (r == 0 && writer->system && !writer->system_role)
        r = leat_error_set(err, -EINVAL, "the chat template %s has no place for a system message",
                           name);
    return r;
}

static PyObject *make_result(const struct page *page) {
    PyObject *text = PyUnicode_DecodeUTF8(page->text.data ? page->text.data : "",
                                          (Py_ssize_t)page->text.n_bytes, "replace"),
             *parts = PyBytes_FromStringAndSize((const char *)page->parts,
                                                (Py_ssize_t)(page->n_parts * sizeof(*page->parts))),
             *made = text && parts ? PyTuple_Pack(2, text, parts) : NULL;

    Py_XDECREF(text);
    Py_XDECREF(parts);
    return made;
}

static PyObject *chat(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"messages", "template", "bos", "eos", "system", "add_generation_prompt",
                            NULL};
    struct leat_chat_writer writer = {.n_specials = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    const char *name, *bos = NULL, *eos = NULL;
    Py_buffer messages;
    struct page page = {.n_parts = 0};
    PyObject *made = NULL;
    int adds_prompt = 0, r;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s*s|zzzp", names, &messages, &name, &bos, &eos,
                                     &writer.system, &adds_prompt))
        return NULL;
    writer.add_generation_prompt = adds_prompt;
    r = make_writer(&writer, name, bos, eos, &err);
    if (r == 0)
        r = write_page(&writer, messages.buf, (size_t)messages.len, &page, &err);
    made = r < 0 ? leat_py_raise(&err) : make_result(&page);
    PyBuffer_Release(&messages);
    free(page.text.data);
    free(page.parts);
    return made;
}

static PyMethodDef functions[] = {
    {"chat", LEAT_PY_KEYWORDS(chat), NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *template_names(void) {
    PyObject *names = PyList_New(0), *tuple;

    for (size_t i = 0; names && leat_chat_template_names[i]; i++) {
        PyObject *name = PyUnicode_FromString(leat_chat_template_names[i]);

        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return tuple;
}

int leat_py_chat_register(PyObject *module) {
    PyObject *names = template_names();
    int r = names ? PyModule_AddObjectRef(module, "chat_templates", names) : -1;

    Py_XDECREF(names);
    return r < 0 ? r : PyModule_AddFunctions(module, functions);
}
