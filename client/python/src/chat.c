/* chat.c: see chat.h. The text is written by pipeline/tokenizer/chat/, as the stage `chat` has it
 * written, so that the two cannot differ. Messages come as JSON, as in the stage.
 */
#define PY_SSIZE_T_CLEAN
#include "client/python/src/chat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/python/src/raise.h"
#include "pipeline/tokenizer/chat/chat_writer.h"
#include "pipeline/tokenizer/range.h"

#define TEXT_BYTES_MAX (UINT32_C(1) << 30)

/* A text that grows, and the parts of it that the model is to say. */
struct page {
    char *bytes;
    size_t n, capacity;
    struct leat_range *parts;
    size_t n_parts, parts_capacity;
    size_t part_start;
    bool failed;
};

static bool grow(void **items, size_t n_wanted, size_t item_bytes, size_t *capacity) {
    size_t larger = n_wanted + n_wanted / 2 + 256;
    void *grown;

    if (n_wanted <= *capacity)
        return true;
    grown = reallocarray(*items, larger, item_bytes);
    if (!grown)
        return false;
    *items = grown;
    *capacity = larger;
    return true;
}

static void put(void *context, const void *bytes, size_t n_bytes) {
    struct page *page = context;
    void *items = page->bytes;

    page->failed |=
        n_bytes > TEXT_BYTES_MAX - page->n || !grow(&items, page->n + n_bytes, 1, &page->capacity);
    page->bytes = items;
    if (page->failed || n_bytes == 0)
        return;
    memcpy(page->bytes + page->n, bytes, n_bytes);
    page->n += n_bytes;
}

static void open_part(void *context) {
    struct page *page = context;

    page->part_start = page->n;
}

static void close_part(void *context) {
    struct page *page = context;
    void *items = page->parts;

    if (page->n == page->part_start)
        return;
    page->failed |= !grow(&items, page->n_parts + 1, sizeof(*page->parts), &page->parts_capacity);
    page->parts = items;
    if (!page->failed)
        page->parts[page->n_parts++] =
            (struct leat_range){.start = (uint32_t)page->part_start, .end = (uint32_t)page->n};
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
    leat_error_set(err, -EINVAL, "there is no chat template \"%.64s\", only those of %s", name,
                   "leat._leat.chat_templates");
    return NULL;
}

/* Of the texts given, which must stay. */
static int make_writer(struct leat_chat_writer *writer, const char *name, const char *bos,
                       const char *eos, struct leat_error *err) {
    const struct leat_chat_template *template = find_template(name, err);
    int r;

    if (!template)
        return -EINVAL;
    leat_chat_writer_choose(writer, template);
    r = leat_chat_writer_finish(writer, bos, eos, err);
    if (r == 0 && writer->system && !writer->system_role)
        r = leat_error_set(err, -EINVAL, "%s has no system messages", name);
    return r;
}

static PyObject *make_result(const struct page *page) {
    PyObject *text = PyUnicode_DecodeUTF8(page->bytes, (Py_ssize_t)page->n, "replace"),
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
    struct page page = {.n = 0};
    PyObject *made = NULL;
    int adds_prompt = 0, r;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s*s|zzzp", names, &messages, &name, &bos, &eos,
                                     &writer.system, &adds_prompt))
        return NULL;
    writer.add_generation_prompt = adds_prompt;
    r = make_writer(&writer, name, bos, eos, &err);
    if (r == 0)
        r = write_page(&writer, messages.buf, (size_t)messages.len, &page, &err);
    made = r < 0 ? leat_py_raise(&err) : make_result(&page);
    PyBuffer_Release(&messages);
    free(page.bytes);
    free(page.parts);
    return made;
}

static PyMethodDef functions[] = {
    {"chat", (PyCFunction)(void (*)(void))chat, METH_VARARGS | METH_KEYWORDS,
     "chat(messages, template, bos=None, eos=None, system=None, add_generation_prompt=False)\n"
     "--\n\nA conversation, a JSON text of [{role, content}, ...], as its template writes it, and "
     "the parts that the assistant says: native uint32 pairs (start, end) of its UTF-8."},
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
