/* parquet/codec.h: pages decompressed by their codec's library (Compression.md). Pure; any thread.
 */
#pragma once

#include "pipeline/sources/parquet/footer.h"

const char *leat_parquet_codec_name(enum leat_parquet_codec codec);

/* Decompresses a page to exactly n_to bytes. -EBADMSG: it does not decompress to that; -ENOTSUP:
 * leat does not know the codec; -ENOMEM. */
int leat_parquet_expand(enum leat_parquet_codec codec, const uint8_t *from, size_t n_from,
                        uint8_t *to, size_t n_to);
