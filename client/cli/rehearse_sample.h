/* rehearse_sample.h: what a rehearsal runs: the spec of a stream of the daemon, of the beginnings
 * of its files, that writes nowhere the stream itself writes.
 */
#pragma once

#include <stdint.h>

#include "proto/error.h"
#include "proto/leat.pb-c.h"
#include "proto/spec.h"

struct leat_cli_sample {
    struct leat_spec *spec;
    uint64_t n_bytes; /* of the text of all its files, at most; UINT64_MAX: all of it */
};

/* stats: of the stream; records_per_s: that it reads. Reads the stream's files with the rights of
 * who asks. 0 or -errno; *ret_sample is to be deinited in any case. */
int leat_cli_sample_make(const char *stream, const Leat__StreamStats *stats, double records_per_s,
                         struct leat_cli_sample *ret_sample, struct leat_error *err);
/* The same with a cache in that folder. The spec is the caller's. */
int leat_cli_sample_cached(const struct leat_cli_sample *sample, const char *folder,
                           struct leat_spec **ret_spec, struct leat_error *err);
void leat_cli_sample_deinit(struct leat_cli_sample *sample);
