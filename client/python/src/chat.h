/* chat.h: the function `_leat.chat`: a conversation as its template writes it. */
#pragma once

#include <Python.h>

/* Adds it to the module. 0 or -1 with an exception. */
int leat_py_chat_register(PyObject *module);
