#include "proto/error_message.h"

#include <errno.h>
#include <stdint.h>

void leat_error_to_message(const struct leat_error *err, Leat__Error *ret_message) {
    leat__error__init(ret_message);
    ret_message->code = err->code;
    ret_message->file = (char *)(uintptr_t)err->file;
    ret_message->line = err->line;
    ret_message->column = err->column;
    ret_message->path = (char *)(uintptr_t)err->path;
    ret_message->message = (char *)(uintptr_t)err->message;
}

void leat_error_from_message(struct leat_error *err, const Leat__Error *message) {
    int code = message->code < 0 && message->code > -4096 ? message->code : -EPROTO;

    leat_error_set(err, code, "%s",
                   message->message[0] ? message->message : "the other end gave no reason");
    leat_error_locate(err, message->file, message->line, message->column);
    if (message->path[0])
        leat_error_prefix(err, "%s", message->path);
}
