/* parts.h: the parts of the extension, one line each: `int leat_py_PART_register(PyObject *module)`
 * adds what the part offers. 0 or -1 with an exception.
 */
LEAT_PY_PART(client)
LEAT_PY_PART(stream)
LEAT_PY_PART(batch)
LEAT_PY_PART(tensor)
LEAT_PY_PART(cuda)
