/* shared_loss.h: on what there may be loss, as stages hand it on.
 *
 * A stage that writes a conversation (chat, instruction) knows which bytes of its text the model is
 * to say. It makes a hidden column of them, two int32 a part: where it starts and ends; ascending.
 * `tokenize` turns that into another hidden column with an int32 a token: enum leat_loss. Whoever
 * needs to know (causal_labels) finds it by `loss_column` of the ids' field. What nobody asks for
 * is not made.
 */
#pragma once

enum leat_loss {
    LEAT_LOSS_NONE,       /* the prompt, and what the template puts around */
    LEAT_LOSS_COMPLETION, /* the last part that the model is to say */
    LEAT_LOSS_ASSISTANT,  /* one before */
};
