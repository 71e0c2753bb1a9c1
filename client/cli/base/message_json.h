/* message_json.h: messages of the daemon as JSON: each field under its own name. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "proto/base/json_writer.h"

/* An object; NULL is null. message: a pointer to any message without a oneof. */
void leat_cli_message_json(struct leat_text *json, const char *key, const void *message);
/* The array that is the message's first field. */
void leat_cli_message_list_json(struct leat_text *json, const void *message);
/* The fields without braces, but for the field `skip` (NULL: none). */
void leat_cli_message_fields(struct leat_text *json, const void *message, const char *skip);
/* An array of messages. Messages that are a name and its value (counts of failures, charges, levels
 * of rooms) become one object instead. */
void leat_cli_messages_json(struct leat_text *json, const char *key,
                            const ProtobufCMessageDescriptor *descriptor, const void *messages,
                            size_t n_messages);
