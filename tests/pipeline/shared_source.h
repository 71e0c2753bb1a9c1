/* shared_source.h: a source on bytes in memory, without files, run or threads; for the tests and
 * fuzz targets of sources. */
#pragma once

#include <stdbool.h>

#include "pipeline/stage/planner.h"
#include "proto/base/text.h"

struct source {
    const struct leat_stage_ops *ops;
    struct leat_value values;
    struct leat_config *config;
    struct leat_planner planner;
    bool has_planner;
    struct leat_cutter cutter;
    uint32_t every; /* not 0: of each piece, only one in so many records is parsed */
};

/* Binds `args` (a YAML flow map with some `paths`, which are not read) and checks them. 0 or
 * -errno. */
int source_init(struct source *source, const char *kind, const char *args, struct leat_error *err);
void source_deinit(struct source *source);

/* Declares the fields from the head of a file "in". */
int source_probe(struct source *source, const void *data, size_t n_bytes, bool is_whole,
                 struct leat_error *err);

/* Shortens the head that a source with these arguments was probed with. Aborts if another one finds
 * other fields in what is left. malloc'ed. */
uint8_t *source_shorten(const struct source *source, const char *kind, const char *args,
                        const void *data, size_t *n_bytes, bool is_whole);

/* All of a probed file, in blocks of about piece_bytes (0: in one), as text: a line of
 * "name=value|..." a row, text and items as they are, and "! line:column field: message" for bad
 * records. Columns of odd number are not needed if skips_odd. 0 or -errno. */
int source_parse(struct source *source, const void *data, size_t n_bytes, size_t piece_bytes,
                 bool skips_odd, struct leat_text *text, struct leat_error *err);

/* "name:dtype name:list<dtype> ..." */
void source_schema(const struct source *source, struct leat_text *text);

/* For fuzz targets: probes a file, then parses it in one piece and in small ones, which must give
 * the same rows and the same faults. The first byte of the data chooses the arguments, the second
 * the pieces; the rest is the file. 0. */
int source_fuzz(const char *kind, const char *const *args, size_t n_args, const uint8_t *data,
                size_t size);
