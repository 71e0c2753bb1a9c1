/* parts.h: the parts of the extension, one line each. `int leat_py_PART_register(PyObject *module)`
 * adds the part's types, functions and constants to the module.
 */
LEAT_PY_PART(link)
LEAT_PY_PART(client)
LEAT_PY_PART(stream)
LEAT_PY_PART(batch)
LEAT_PY_PART(save)
LEAT_PY_PART(tensor)
LEAT_PY_PART(tokenizer)
LEAT_PY_PART(encodings)
LEAT_PY_PART(chat)
LEAT_PY_PART(jinja)
LEAT_PY_PART(cuda_device)
LEAT_PY_PART(cuda_copy)
LEAT_PY_PART(cuda_memory)
