"""A rank that torchrun has started: what becomes of each case, and the rows that it saw, as JSON.

    torch_rank.py FOLDER
"""
import json
import os
import pathlib
import socket
import sys

import torch.distributed

import leat


def see(name, **options):
    with leat.open(name, epochs=1, **options) as stream:
        return [[batch.step, batch["id"].tolist()] for batch in stream]


def cases(rank, world_size):
    """Case: what it does."""
    half = world_size // 2
    yield "same", lambda: see("same")
    yield "other", lambda: see("other")
    yield "half", lambda: see("same", agree=False) if rank < half else see("same", agree_timeout=2)
    yield "mixed", lambda: see("same", rank=rank % half, world_size=world_size if rank < half else half, agree=True, agree_timeout=2)


def main():
    folder = pathlib.Path(sys.argv[1])
    leat.connect(str(folder / socket.gethostname() / "sockets"))
    torch.distributed.init_process_group("gloo")
    rank, told = torch.distributed.get_rank(), {}
    for name, case in cases(rank, torch.distributed.get_world_size()):
        try:
            told[name] = case()
        except (leat.AgreementError, leat.SpecError) as error:
            told[name] = f"{type(error).__name__}: {error}"
        torch.distributed.barrier()
    (folder / f"rank-{rank}.json").write_text(json.dumps({"host": socket.gethostname(), **told}))
    torch.distributed.destroy_process_group()
    assert os.environ["RANK"] == str(rank)


main()
