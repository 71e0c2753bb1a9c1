/* score_reader.h: the scores of a Unigram vocabulary, as `serde_json` reads them.
 *
 * The result is not the double nearest to the number: its digits are taken as an integer, rounded
 * to a double, and multiplied with or divided by a power of ten. One score in four of a typical
 * file differs in the last bit, and with it now and then the best path. So the numbers are read
 * from the text of the document, in step with its nodes. Owner: the thread that loads. */
#pragma once

#include "pipeline/tokenizer/component.h"

struct leat_score_reader {
    const uint8_t *at, *end; /* at the next item of the array, or at its end */
};

/* array: an array of [piece, score], of a component that knows its document. */
void leat_score_reader_init(struct leat_score_reader *reader, const struct leat_component *array);

/* The score of the next item, which must be [string, number]. False if it is beyond a double. */
bool leat_score_reader_next(struct leat_score_reader *reader, double *ret_score);

/* A JSON number; *ret_end: after it. False if it is beyond a double. */
bool leat_score_parse(const char *number, const char *end, double *ret_value, const char **ret_end);
