/* convert.h: dates, times, decimals and the like as text, as Arrow prints them, or as numbers
 * (parquet/schema.h). Pure; any thread.
 */
#pragma once

#include "pipeline/sources/parquet/schema.h"

#define LEAT_PARQUET_TEXT_MAX 96 /* bytes of such a text */

/* True if values of the leaf are made into texts, or numbers, by these functions. */
bool leat_parquet_is_converted(const struct leat_parquet_leaf *leaf);

/* value: as it stands in the file, of n_bytes. Returns the bytes of the text. A decimal has at most
 * 32 bytes. */
size_t leat_parquet_print(const struct leat_parquet_leaf *leaf, const uint8_t *value,
                          size_t n_bytes, char *text);
/* Stores it as the number: int32, int64 or float64. */
void leat_parquet_store(const struct leat_parquet_leaf *leaf, const uint8_t *value, size_t n_bytes,
                        enum leat_arrow_number number, uint8_t *out);
