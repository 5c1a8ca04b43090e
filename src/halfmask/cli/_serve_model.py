"""``halfmask serve model``: make and list the models of a trainer that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from halfmask.cli._console import console, listing, printable
from halfmask.cli._option_groups import argument, option, required, spreads_groups
from halfmask.cli._options import AnswerOptions, command_group
from halfmask.cli._remote import ConnectionOptions

if TYPE_CHECKING:
    from halfmask.trainer.client import RemoteModel

LossName: TypeAlias = Literal["logistic", "hinge", "squared", "softmax", "quantile"]

model = command_group("model", "Make and list the models of a running trainer.")


@model.command()
@spreads_groups
def create(
    name: str = argument("NAME: The model's name."),
    *,
    bits: int = required("--bits N: The bits of the hasher.", min=1, max=31),
    loss: LossName = option("--loss: The loss function.", "logistic"),
    classes: int | None = option("--classes N: Number of classes, for softmax.", min=2),
    connection: ConnectionOptions,
    answer: AnswerOptions,
) -> int:
    """Make a model on a trainer. The token needs the scope admin."""
    settings: dict[str, Any] = {} if classes is None else {"classes": classes}
    with connection.connect() as client:
        made = client.create(name, loss=loss, bits=bits, **settings)
    return answer.say(_told(made), f"The model {printable(made.name)} was made.")


@model.command(name="list")
@spreads_groups
def list_(*, connection: ConnectionOptions, answer: AnswerOptions) -> int:
    """List the models that the token can access. It needs the scope read."""
    with connection.connect() as client:
        found = client.models()
    if answer.as_json:
        return answer.say({"models": [_told(each) for each in found]})
    table = listing("model", "loss", "bits", "classes", "rows", right=("bits", "classes", "rows"))
    for each in found:
        numbers = (f"{number:,}" for number in (each.bits, each.classes, each.rows))
        table.add_row(printable(each.name), printable(each.loss), *numbers)
    console().print(table)
    return 0


def _told(of: RemoteModel) -> dict[str, object]:
    return {name: getattr(of, name) for name in ("name", "loss", "bits", "classes", "rows")}
