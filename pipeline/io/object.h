/* object.h: objects of stores and web servers, read through leat-fetch, which keeps their blocks on
 * the local disk.
 *
 * An object is named by its URL: s3://bucket/key, https://host/path or http://host/path. What it is
 * is told by its ETag and size, as they were when it was listed last; a version that is gone cannot
 * be read any more (-ESTALE).
 *
 * The service is asked at $LEAT_FETCH_SOCKET, else at LEAT_FETCH_SOCKET where that may be
 * connected to; else this process starts a leat-fetch of its own, which ends with it. Any thread;
 * the functions block as those of a disk do. Messages name the URL, but for those of reading.
 */
#pragma once

#include "pipeline/io/opener.h"
#include "proto/base/error.h"
#include "proto/base/file.h"

/* leat_file_state.device of objects; inode and modified_ns are their identity */
#define LEAT_OBJECT_DEVICE UINT64_MAX

struct leat_object;

/* The URLs of all objects that begin with `prefix` (s3://bucket/, or longer), in no order: *ret_n
 * bytes, malloc'ed, each URL with its NUL byte. */
int leat_object_list(const struct leat_opener *opener, const char *prefix, char **ret_urls,
                     size_t *ret_n, struct leat_error *err);
/* Says which objects are going to be read, in order, as leat_object_list() returns them; looks
 * anew for those that were not listed just now. -ENOENT: one of them is not there. */
int leat_object_expect(const struct leat_opener *opener, const char *urls, size_t n,
                       struct leat_error *err);
/* Returns what is known of the object. The store is asked only if nothing is known. */
int leat_object_look(const struct leat_opener *opener, const char *url,
                     struct leat_file_state *ret_state, struct leat_error *err);

int leat_object_open(const struct leat_opener *opener, const char *url,
                     struct leat_object **ret_object, struct leat_error *err);
struct leat_object *leat_object_close(struct leat_object *object); /* accepts NULL */
/* Ends its connection to leat-fetch, which takes a limited number; a read makes a new one. */
void leat_object_rest(struct leat_object *object);
void leat_object_state(const struct leat_object *object, struct leat_file_state *ret_state);
/* Some bytes from that offset on; *ret_n 0: its end. */
int leat_object_read(struct leat_object *object, void *data, size_t size, uint64_t offset,
                     size_t *ret_n, struct leat_error *err);

/* ---- parts of an object ---- */

/* Another reader of that version, for one more thread; nothing is asked for it. NULL: no memory.
 * is_unchecked: the caller has checksums of what it reads, so that copies on the local disk are
 * taken as they are. */
struct leat_object *leat_object_dup(const struct leat_object *object, bool is_unchecked);
/* n bytes from that offset on; leat-fetch reads no others. -EBADMSG: the object ends before. */
int leat_object_read_part(struct leat_object *object, void *data, size_t n, uint64_t offset,
                          struct leat_error *err);
/* Makes leat-fetch read a part that is asked for soon. */
void leat_object_read_ahead(struct leat_object *object, size_t n, uint64_t offset);
/* All of an object of at most limit_bytes, as it is now: the store is asked. *ret_data is malloc'ed
 * and ended by a NUL byte. */
int leat_object_read_all(const struct leat_opener *opener, const char *url, size_t limit_bytes,
                         char **ret_data, size_t *ret_size, struct leat_error *err);

/* ---- storing ---- */

/* Stores the file as an object in s3://, whole or not at all, by a leat-fetch of this process: it
 * has the credentials of the user. is_new: -EEXIST if the object is there. */
int leat_object_store(int fd, const char *url, bool is_new, struct leat_error *err);
