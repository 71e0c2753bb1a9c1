/* decoder.h: the `decoder` of a tokenizer.json: tokens, as the file spells them, to text.
 *
 * All types of Hugging Face `tokenizers` 0.23: ByteLevel, WordPiece, Metaspace, BPEDecoder, CTC,
 * Replace, Fuse, Strip, ByteFallback, Sequence. Without a decoder tokens are joined by a blank.
 * Bytes that are no valid UTF-8 become U+FFFD where HF does that.
 *
 * A decoder is immutable: any thread.
 */
#pragma once

#include "pipeline/tokenizer/component.h"
#include "pipeline/tokenizer/decode/pieces.h"

struct leat_decoder;

int leat_decoder_new(const struct leat_component *component /* NULL: none */,
                     struct leat_decoder **ret_decoder, struct leat_error *err);
struct leat_decoder *leat_decoder_free(struct leat_decoder *decoder);

/* Appends the text of the tokens to a buffer. 0, -ENOMEM, -E2BIG. May allocate. */
int leat_decoder_run(const struct leat_decoder *decoder, const struct leat_decoder_token *tokens,
                     size_t n_tokens, struct leat_text_buffer *text, struct leat_error *err);

const char *leat_decoder_describe(const struct leat_decoder *decoder);
