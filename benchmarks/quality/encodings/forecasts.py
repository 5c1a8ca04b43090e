"""Forecasts one hour ahead of bike sharing: plain training against training on encoded rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from halfmask.encode import SeriesCodec
from halfmask.vault import Secret

Numbers = NDArray[np.float64]
WEATHER = ["temp", "hum", "windspeed"]
NEAR = (1, 2, 3, 4, 5, 6, 12, 24, 25, 48, 168)


def lagged(columns: dict[str, Numbers], target: str) -> Numbers:
    """Return the target's past and everything else's present and past: what is known at home."""
    n = len(columns[target])
    found = []
    for name, values in columns.items():
        lags = NEAR if name == target else (0, 1, 2)
        found += [np.concatenate([np.full(lag, np.nan), values[: n - lag]]) for lag in lags]
    return np.column_stack(found)


def learners(seed: int, *, quick: bool) -> dict[str, Any]:
    rounds = 100 if quick else 300
    return {
        "boosting": HistGradientBoostingRegressor(
            loss="absolute_error", max_iter=rounds, random_state=seed
        ),
        "ridge": Ridge(alpha=1.0),
    }


def trained(
    model: HistGradientBoostingRegressor | Ridge,
    rows: Numbers,
    target: Numbers,
    first: int,
    cut: int,
) -> Numbers:
    """Train on rows up to the cut, and forecast those behind it."""
    known = np.isfinite(target) & np.isfinite(rows).all(axis=1)
    known[:first] = False
    known[cut:] = False
    model.fit(rows[known], target[known])
    answer: Numbers = model.predict(np.nan_to_num(rows[cut:]))
    return answer


def forecast_bars(bars: dict[str, Any], folder: Path, *, quick: bool, seed: int) -> str:
    """Add the bars, and return the table: errors on the last fifth of the hours."""
    print("forecasts of bike sharing", file=sys.stderr)
    raw = pl.read_csv(folder / "bike_sharing_hour.csv.gz", try_parse_dates=True)
    table = raw.select(
        (pl.col("dteday").cast(pl.Datetime("us")) + pl.duration(hours=pl.col("hr"))).alias("time"),
        "cnt",
        *WEATHER,
    )
    known, later = table[: int(0.8 * table.height)], table[int(0.8 * table.height) :]
    true = later["cnt"].to_numpy().astype(float)
    secret = Secret.from_bytes(seed.to_bytes(32, "big"))
    codec = SeriesCodec(time="time", every="1h", secret=secret).fit(known)
    sent = pl.concat([codec.encode(known), codec.encode(later, state=codec.state_)])
    sent = sent.sort(codec.time_name_)
    names = codec.column_names_
    columns = {name: sent[token].to_numpy() for name, token in names.items()}
    cut = sent.height - codec.encode(later, state=codec.state_).height
    grid = table.upsample("time", every="1h").interpolate()
    plain = {name: grid[name].cast(pl.Float64).to_numpy() for name in ["cnt", *WEATHER]}
    clock = {
        "hour": grid["time"].dt.hour().to_numpy().astype(float),
        "weekday": grid["time"].dt.weekday().to_numpy().astype(float),
        "day": grid["time"].dt.ordinal_day().to_numpy().astype(float),
    }
    there = grid["time"].is_in(later["time"].implode()).to_numpy()

    def home(answer: Numbers) -> float:
        numbers = codec.decode_one_step(answer, later, column="cnt", state=codec.state_)
        return float(np.abs(numbers - true).mean())

    alone = home(np.zeros(sent.height - cut))
    last_week = float(np.nanmean(np.abs(plain["cnt"][there] - np.roll(plain["cnt"], 168)[there])))
    lines = [
        "| forecasts one hour ahead | mean absolute error |",
        "|---|---|",
        f"| the same hour of last week | {last_week:.1f} |",
        f"| home's own model, nothing sent | {alone:.1f} |",
    ]
    errors = {}
    for name in learners(seed, quick=quick):
        rows = lagged({**plain, **clock}, "cnt")
        answer = trained(learners(seed, quick=quick)[name], rows, plain["cnt"], 168, cut)
        errors[name, "plain"] = float(np.abs(answer[there[cut:]] - true).mean())
        rows = lagged(columns, "cnt")
        answer = trained(learners(seed, quick=quick)[name], rows, columns["cnt"], 168, cut)
        errors[name, "encoded"] = home(answer)
        for arm in ("plain", "encoded"):
            what = "with the clock, plain" if arm == "plain" else "encoded, decoded at home"
            lines.append(f"| {name}, {what} | {errors[name, arm]:.1f} |")
    for name in ("boosting", "ridge"):
        bars[f"bike sharing: {name} on encoded rows against plain"] = {
            "value": errors[name, "encoded"] / errors[name, "plain"],
            "goal": "at most 1.1 of plain training's mean absolute error",
            "holds": errors[name, "encoded"] <= 1.1 * errors[name, "plain"],
        }
    best = min(errors["boosting", "encoded"], errors["ridge", "encoded"])
    bars["bike sharing: what the rented machine adds to home's model"] = {
        "value": best / alone, "goal": "below 1", "holds": best < alone,
    }  # fmt: skip
    return "\n".join(lines)
