/* logistic_regression.c: a complete trainer in C. It predicts from numeric columns who survived the
 * Titanic, and trains by stochastic gradient descent.
 *
 *     leatd --config client/examples/logistic_regression.yaml &
 *     cc logistic_regression.c -o logistic_regression $(pkg-config --cflags --libs leat) -lm
 *     ./logistic_regression passengers 20
 *
 * The stream has the tensors `features`, float32 [rows, columns], and `labels`, float32 [rows]. The
 * trainer reads them in shared memory, without a copy. It prints the mean loss of each epoch. If
 * the loss does not fall, the exit status is 1.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <leat.h>

#define MAX_COLUMNS   64
#define LEARNING_RATE 0.1

struct model {
    size_t n_columns;
    double bias, weights[MAX_COLUMNS];
};

struct epoch {
    double loss; /* a sum over rows */
    uint64_t n_rows, n_right;
};

static double predict(const struct model *model, const float *row) {
    double sum = model->bias;

    for (size_t i = 0; i < model->n_columns; i++)
        sum += model->weights[i] * (double)row[i];
    return 1 / (1 + exp(-sum));
}

/* Takes one step of gradient descent, with the mean gradient of the batch. */
static void train(struct model *model, const float *features, const float *labels, size_t n_rows,
                  struct epoch *epoch) {
    double gradient[MAX_COLUMNS] = {0}, bias = 0, rate = LEARNING_RATE / (double)n_rows;

    for (size_t i = 0; i < n_rows; i++) {
        const float *row = features + i * model->n_columns;
        double p = predict(model, row), error = p - (double)labels[i];

        for (size_t k = 0; k < model->n_columns; k++)
            gradient[k] += error * (double)row[k];
        bias += error;
        epoch->loss -= log(fmax(labels[i] > 0.5F ? p : 1 - p, 1e-12));
        epoch->n_right += (p > 0.5) == (labels[i] > 0.5F);
    }
    for (size_t k = 0; k < model->n_columns; k++)
        model->weights[k] -= rate * gradient[k];
    model->bias -= rate * bias;
    epoch->n_rows += n_rows;
}

static void take_batch(struct model *model, const struct leat_batch *batch, struct epoch *epoch) {
    const struct leat_tensor *features = leat_batch_find(batch, "features");
    const struct leat_tensor *labels = leat_batch_find(batch, "labels");

    if (!features || features->dtype != LEAT_FLOAT32 || features->ndim != 2 ||
        features->shape[1] > MAX_COLUMNS)
        errx(1, "the stream has no tensor `features` of float32 and shape [rows, at most %d]",
             MAX_COLUMNS);
    if (!labels || labels->dtype != LEAT_FLOAT32 || labels->ndim != 1)
        errx(1, "the stream has no tensor `labels` of float32 and shape [rows]");
    model->n_columns = features->shape[1];
    train(model, features->data, labels->data, leat_batch_n_rows(batch), epoch);
}

static struct leat_stream *open_stream(const char *name, uint64_t n_epochs) {
    struct leat_open_options options;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;

    leat_open_options_init(&options);
    options.n_epochs = n_epochs;
    options.client_name = "logistic_regression";
    if (leat_client_new(NULL, &client) < 0)
        errx(1, "out of memory");
    if (leat_client_open(client, name, &options, &stream) < 0)
        errx(1, "%s", leat_error_text(leat_client_error(client)));
    leat_client_free(client);
    return stream;
}

int main(int argc, char **argv) {
    struct leat_stream *stream =
        open_stream(argc > 1 ? argv[1] : "passengers", argc > 2 ? strtoull(argv[2], NULL, 10) : 20);
    struct model model = {.n_columns = 0};
    struct epoch epoch = {.loss = 0};
    struct leat_batch *batch = NULL;
    double first = 0, last = 0;
    unsigned n_epochs = 0;
    int r = 0;

    while (r != LEAT_END) {
        r = leat_stream_next(stream, -1, &batch);
        if (r < 0)
            errx(1, "%s", leat_error_text(leat_stream_error(stream)));
        if (r == 0) {
            take_batch(&model, batch, &epoch);
            leat_batch_release(batch);
        } else if (epoch.n_rows > 0) { /* LEAT_END_EPOCH, or LEAT_END after the last epoch */
            last = epoch.loss / (double)epoch.n_rows;
            first = n_epochs == 0 ? last : first;
            printf("epoch %2u: loss %.4f, %.1f %% right\n", n_epochs++, last,
                   100 * (double)epoch.n_right / (double)epoch.n_rows);
            epoch = (struct epoch){.loss = 0};
        }
    }
    leat_stream_close(stream);
    return last < first ? 0 : 1;
}
