/* elsewhere.h: names of what is on no disk of this machine: s3://bucket/a.jsonl, hf://, https://.
 * The `paths` of data may be objects (pipeline/io/object.h); all else is a file.
 */
#pragma once

#include <stdbool.h>

#include "proto/base/error.h"

/* True: the path holds such a name, also behind the folder that it was taken against; the error
 * (-ENOENT) says what the name stands for and what to do. */
bool leat_elsewhere_tell(const char *path, struct leat_error *err);
/* True of s3://, https:// and http://, in small letters and at the start. */
bool leat_elsewhere_is_object(const char *path);
/* The error for a file or folder that cannot be opened: what leat_elsewhere_tell() says if nothing
 * is there (-ENOENT), else the path and strerror(). Returns code, a negative errno. */
int leat_elsewhere_fail(const char *path, int code, struct leat_error *err);
