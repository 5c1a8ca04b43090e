"""A network trained by DP-SGD. Runs in opacus' venv; the job comes by stdin.

Large batches, clipping at 1, the noise that opacus finds for the epsilon and delta asked for.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

HIDDEN = 100
BATCH_ROWS = 512
EPOCHS = 20
CLIP = 1.0
STEP = 0.005


class Rows(TensorDataset):
    """Rows that are fetched by the batch, not one by one."""

    def __getitems__(self, places: list[int]) -> tuple[torch.Tensor, ...]:
        return self[torch.tensor(places, dtype=torch.int64)]


def as_fetched(batch: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return batch


def trained(job: dict, rows: np.ndarray, labels: np.ndarray) -> nn.Module:
    torch.manual_seed(job["seed"])
    model = nn.Sequential(
        nn.Linear(rows.shape[1], HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, job["n_classes"])
    )
    table = Rows(torch.from_numpy(rows), torch.from_numpy(labels))
    model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=STEP),
        data_loader=DataLoader(table, batch_size=BATCH_ROWS, collate_fn=as_fetched),
        target_epsilon=job["epsilon"],
        target_delta=job["delta"],
        epochs=EPOCHS,
        max_grad_norm=CLIP,
    )
    loss = nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    return model


def main() -> None:
    torch.set_num_threads(1)
    job = json.load(sys.stdin)
    with np.load(job["given"], allow_pickle=False) as given:
        rows, labels, queries = given["rows"], given["labels"], given["queries"]
    model = trained(job, rows.astype(np.float32), labels)
    model.eval()
    with torch.no_grad():
        said = torch.softmax(model(torch.from_numpy(queries.astype(np.float32))), dim=1)
    np.save(job["out"], said.numpy().astype(float))


if __name__ == "__main__":
    main()
