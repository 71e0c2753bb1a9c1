/* shared_loss.h: on which tokens there may be loss, as stages pass it on.
 *
 * A stage that writes a conversation (chat, instruction) knows which bytes of its text the model is
 * to say. It makes a hidden column of them: two int32 a part, start and end, ascending. `tokenize`
 * turns that into another hidden column with an enum leat_loss a token. causal_labels finds it by
 * `loss_column` of the ids' field. Columns that no stage reads are not made.
 */
#pragma once

enum leat_loss {
    LEAT_LOSS_NONE,       /* the prompt and the text of the template */
    LEAT_LOSS_COMPLETION, /* the last part that the model is to say */
    LEAT_LOSS_ASSISTANT,  /* an earlier part */
};
