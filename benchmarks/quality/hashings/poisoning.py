"""What one client of eleven costs a model's accuracy, without defences and with them."""

from __future__ import annotations

from bars import Bar
from halfmask.assess.attacks.poisoning import ClientBackdoor, ClientLabelFlips, ClientWorstCase
from quality.hashings.trainers import DEFENCES, KINDS, scene

#: Points of accuracy, as shares: what may be lost with defences, and must be without.
WORST, FLIPPED, WITHOUT, COST = 0.02, 0.01, 0.05, 0.005
#: Trigger rates: of a backdoor without defences, and with ten rows of clients nobody trusts.
BACKDOOR, TEN_ROWS = 0.9, 0.3


def measure(*, quick: bool, seed: int) -> tuple[list[Bar], str]:
    """Poison 3 % of the rows of Adult, as one client, by eighteen recipes; 1 % by a backdoor."""
    make = scene(seed)
    lines = [
        "| optimizer | defences | accuracy | lost, worst case | lost, flips | trigger | clean |",
        "|---|---|---|---|---|---|---|",
    ]
    bars: list[Bar] = []
    for kind in KINDS[:1] if quick else KINDS:
        lost, clean, trigger = {}, {}, {}
        for defences in DEFENCES:
            target = make(kind, defences)
            worst = ClientWorstCase().run(target, random_state=seed)[0]
            flip = ClientLabelFlips().run(target, random_state=seed)[0]
            trigger[defences] = ClientBackdoor().run(target, random_state=seed)[0]
            clean[defences] = worst.details["accuracy without attack"]
            # Against the bare model without attack: what a defence costs by itself counts, too.
            cost = clean["none"] - clean[defences]
            lost[defences] = (worst.success.value + cost, flip.success.value + cost)
            lines.append(
                f"| {kind} | {defences} | {clean[defences]:.4f} | {lost[defences][0]:.4f} "
                f"| {lost[defences][1]:.4f} | {trigger[defences].success.value:.3f} "
                f"| {trigger[defences].control.value:.3f} |"
            )
        bars += [
            Bar(name=f"{kind}: accuracy lost by the worst case, all defences",
                value=lost["all"][0], goal=WORST, side="at most"),
            Bar(name=f"{kind}: accuracy lost by the worst case, no defence",
                value=lost["none"][0], goal=WITHOUT, side="at least"),
            Bar(name=f"{kind}: accuracy lost by random flips, all defences",
                value=lost["all"][1], goal=FLIPPED, side="at most"),
            Bar(name=f"{kind}: accuracy that defences cost without an attack",
                value=clean["none"] - clean["all"], goal=COST, side="at most"),
            Bar(name=f"{kind}: trigger rate of a backdoor, no defence",
                value=trigger["none"].success.value, goal=BACKDOOR, side="at least"),
            Bar(name=f"{kind}: trigger rate of a backdoor, ten rows of untrusted clients",
                value=trigger["all, trust"].success.value, goal=TEN_ROWS, side="at most"),
        ]  # fmt: skip
    return bars, "\n".join(lines)
