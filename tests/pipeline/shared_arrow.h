/* shared_arrow.h: what the sources `arrow` and `parquet` see in bytes, as a file or through a pipe;
 * for their tests and fuzz targets. */
#pragma once

#include "pipeline/sources/arrow/stripe.h"
#include "tests/pipeline/shared_source.h"

/* Holds what the source gave: stripes, the same records as frames, and the place of each frame. The
 * caller owns it. */
struct arrow_view {
    uint8_t *stripes, *frames;
    size_t n_bytes;
    uint64_t *places; /* [n_frames] */
    size_t *starts;   /* [n_frames], in `frames` */
    size_t n_frames;
    int r; /* 0, or how it ended */
    struct leat_error err;
};

enum arrow_how { ARROW_FILE, ARROW_PIPE };

extern const struct leat_input_limits arrow_limits;

/* All of it from `place` on (0: the start). A pipe takes up to 64 KiB. Aborts if an error is not
 * final. */
void arrow_see(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
               const struct leat_input_limits *limits, uint64_t place, struct arrow_view *ret_view);
/* As source_parse() in one piece. Aborts if other rows come of the frames in pieces of about
 * piece_bytes, also where only some of the records are wanted. */
int arrow_parse(struct source *source, const struct arrow_view *view, size_t piece_bytes,
                struct leat_text *text, struct leat_error *err);
/* Reads on behind errors, which only the record reader itself allows, and enters a file at other
 * rows: aborts if there comes something else than in the view, of which there is some. */
void arrow_go_on(const struct source *source, const void *bytes, size_t n_bytes, enum arrow_how how,
                 const struct leat_input_limits *limits, const struct arrow_view *view);
/* Any bytes as a file of the source: aborts if what is seen from the place of a record on is not
 * what comes behind it, if the records make other rows in small pieces, or as arrow_go_on(). */
#define ARROW_ROWS_MAX 2000 /* a file may say that it has millions, which take most of the time */
void arrow_fuzz(const char *kind, const char *args, const uint8_t *data, size_t size,
                const struct leat_input_limits *limits);
void arrow_view_deinit(struct arrow_view *view);
