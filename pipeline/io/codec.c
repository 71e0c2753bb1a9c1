/* codec.c: the formats, and which one a file has by its first bytes. */
#include "pipeline/io/codec.h"

#include <errno.h>

extern const struct leat_codec_ops leat_codec_gzip, leat_codec_zstd, leat_codec_lz4,
    leat_codec_bzip2, leat_codec_xz;

static const struct leat_codec_ops *const codecs[] = {
    &leat_codec_gzip, &leat_codec_zstd, &leat_codec_lz4, &leat_codec_bzip2, &leat_codec_xz,
};

/* True of a frame of zstd or lz4 that holds no data. */
static bool is_skippable(const uint8_t *head, size_t n_bytes) {
    return n_bytes >= 8 && (leat_codec_number(head) & 0xfffffff0U) == 0x184d2a50U;
}

/* Where frames without data come first, what follows them decides. If that is out of sight, the
 * file is of zstd, whose tools write such frames. */
const struct leat_codec_ops *leat_codec_find(const uint8_t *head, size_t n_bytes) {
    bool has_skippables = false;

    while (is_skippable(head, n_bytes)) {
        size_t n = 8 + (size_t)leat_codec_number(head + 4);

        has_skippables = true;
        if (n >= n_bytes)
            return &leat_codec_zstd;
        head += n;
        n_bytes -= n;
    }
    for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++)
        if ((!has_skippables || codecs[i]->has_skippables) && codecs[i]->begins(head, n_bytes))
            return codecs[i];
    return has_skippables ? &leat_codec_zstd : NULL;
}

int leat_codec_between(const struct leat_codec_ops *codec, void *state, const uint8_t *in,
                       size_t n_in, size_t *ret_skip, const char **ret_reason) {
    *ret_skip = 0;
    if (codec->between)
        return codec->between(state, in, n_in, ret_skip, ret_reason);
    if (codec->begins(in, n_in) || (codec->has_skippables && is_skippable(in, n_in)))
        return 0;
    if (n_in == 0 || codec->allows_garbage)
        return LEAT_CODEC_GARBAGE;
    *ret_reason = "unknown data follows the last frame";
    return -EBADMSG;
}
