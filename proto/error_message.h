/* error_message.h: the error value on the wire. */
#pragma once

#include "proto/base/error.h"
#include "proto/leat.pb-c.h"

/* Makes *message refer to err's texts; err must outlive it. */
void leat_error_to_message(const struct leat_error *err, Leat__Error *ret_message);

/* Copies, cut to the error's sizes; a code that is not a negative errno becomes -EPROTO, and an
 * empty text says that there is no reason. */
void leat_error_from_message(struct leat_error *err, const Leat__Error *message);
