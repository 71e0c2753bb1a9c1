/* job.c: see job.h. Whatever the scheduler starts twice does no harm, so the jobs only retry. */
#include "client/cli/cache/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/base/output.h"
#include "pipeline/io/files.h"

#define N_SHARDS "64" /* people edit it in what is printed */

const char *const leat_cli_job_kinds[] = {"none", "slurm", "kubernetes", "ray", "dask", NULL};

/* $SHELL stands for `leatctl prepare -o DIR FILE STREAM` in a shell, $LIST for its words as JSON,
 * $CALL for the arguments FILE, DIR and STREAM of a function in Python. */
static const char *const jobs[] = {
    [1] = "#!/bin/bash\n"
          "# job=$(sbatch --parsable THIS) && sbatch -a 0 -d afterok:$job THIS --seal\n"
          "#SBATCH --job-name=leat-prepare\n"
          "#SBATCH --array=0-63\n"
          "#SBATCH --cpus-per-task=8\n"
          "#SBATCH --requeue\n"
          "export LEAT_SHARDS=" N_SHARDS "  # as many as the array has\n"
          "if [ \"$1\" = --seal ]; then\n"
          "    $SHELL --seal\n"
          "else\n"
          "    srun $SHELL --shard auto --workers \"${SLURM_CPUS_PER_TASK:-1}\" -q\n"
          "fi\n",
    [2] = "# Run kubectl apply -f THIS. The second job fails until all shards exist; Kubernetes\n"
          "# retries this job. Put leatctl into IMAGE. Mount the claim DATA at the folder of the\n"
          "# files. For s3://, give credentials to the pods: a service account with a role, or\n"
          "# envFrom: [{secretRef: {name: AWS}}]\n"
          "apiVersion: batch/v1\n"
          "kind: Job\n"
          "metadata: {name: leat-prepare}\n"
          "spec:\n"
          "  completionMode: Indexed\n"
          "  completions: " N_SHARDS "\n"
          "  parallelism: 8\n"
          "  backoffLimit: 1000\n"
          "  template:\n"
          "    spec:\n"
          "      restartPolicy: OnFailure\n"
          "      volumes:\n"
          "        - {name: data, persistentVolumeClaim: {claimName: DATA}}\n"
          "      containers:\n"
          "        - name: leat\n"
          "          image: IMAGE\n"
          "          command: [$LIST, \"--shard\", \"auto\", \"-q\"]\n"
          "          env: [{name: LEAT_SHARDS, value: \"" N_SHARDS "\"}]\n"
          "          volumeMounts: [{name: data, mountPath: /data}]\n"
          "---\n"
          "apiVersion: batch/v1\n"
          "kind: Job\n"
          "metadata: {name: leat-seal}\n"
          "spec:\n"
          "  backoffLimit: 1000\n"
          "  template:\n"
          "    spec:\n"
          "      restartPolicy: OnFailure\n"
          "      volumes:\n"
          "        - {name: data, persistentVolumeClaim: {claimName: DATA}}\n"
          "      containers:\n"
          "        - name: leat\n"
          "          image: IMAGE\n"
          "          command: [$LIST, \"--seal\"]\n"
          "          volumeMounts: [{name: data, mountPath: /data}]\n",
    [3] = "import leat\n"
          "\n"
          "if __name__ == \"__main__\":\n"
          "    print(leat.cluster.prepare($CALL, shards=" N_SHARDS
          ", executor=\"ray\", workers=8))\n",
    [4] = "import sys\n"
          "\n"
          "import leat\n"
          "from dask.distributed import Client\n"
          "\n"
          "if __name__ == \"__main__\":\n"
          "    with Client(*sys.argv[1:]) as client:  # give the scheduler's address; "
          "without it, Dask starts processes here\n"
          "        executor = client.get_executor()\n"
          "        print(leat.cluster.prepare($CALL, shards=" N_SHARDS ", executor=executor))\n",
};

enum { SHELL, LIST, CALL, N_PLACES };
static const char *const places[N_PLACES] = {"$SHELL", "$LIST", "$CALL"};

struct words {
    const char *file, *output, *stream; /* stream NULL: the only one */
};

static void add_shell(struct leat_text *text, const char *word) {
    leat_text_add(text, "'");
    for (; *word; word++) {
        if (*word == '\'')
            leat_text_add(text, "'\\'");
        leat_text_add_bytes(text, word, 1);
    }
    leat_text_add(text, "'");
}

static void add_words(struct leat_text *text, const char *const *words, bool is_list) {
    for (size_t i = 0; words[i]; i++) {
        leat_text_add(text, "%s", i == 0 ? "" : is_list ? ", " : " ");
        if (is_list)
            leat_text_add_json(text, words[i], strlen(words[i]));
        else
            add_shell(text, words[i]);
    }
}

static void add_call(struct leat_text *text, const struct words *words) {
    const char *const arguments[] = {words->file, words->output, NULL};

    add_words(text, arguments, true);
    if (!words->stream)
        return;
    leat_text_add(text, ", stream=");
    leat_text_add_json(text, words->stream, strlen(words->stream));
}

/* The next place in the text, or NULL. */
static const char *find_place(const char *job, int *ret_place) {
    const char *first = NULL;

    for (int i = 0; i < N_PLACES; i++) {
        const char *at = strstr(job, places[i]);

        if (!at || (first && first < at))
            continue;
        first = at;
        *ret_place = i;
    }
    return first;
}

static void add_job(struct leat_text *text, const char *job, const struct words *words) {
    const char *const command[] = {"leatctl",   "prepare",     "-o", words->output,
                                   words->file, words->stream, NULL};
    const char *at;
    int place = SHELL;

    while ((at = find_place(job, &place))) {
        leat_text_add_bytes(text, job, (size_t)(at - job));
        if (place == CALL)
            add_call(text, words);
        else
            add_words(text, command, place == LIST);
        job = at + strlen(places[place]);
    }
    leat_text_add(text, "%s", job);
}

int leat_cli_job_print(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    char *folder = getcwd(NULL, 0);
    char *file = folder ? leat_files_join(folder, arguments->operand) : NULL;
    char *output = folder ? leat_files_join(folder, arguments->output) : NULL;
    struct words words = {.file = file, .output = output, .stream = arguments->stream};
    struct leat_text text = {.data = NULL};

    if (file && output) {
        add_job(&text, jobs[arguments->job], &words);
        leat_cli_print(&text);
    } else {
        leat_error_oom(err);
    }
    free(folder);
    free(file);
    free(output);
    return err->code ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}
