"""``run_workbench``: the pages on a port of this machine, opened in a browser."""

from __future__ import annotations

import secrets
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask._foreign import need
from halfmask._validation import integer_at_least
from halfmask.workbench._warming import WARMING

if TYPE_CHECKING:
    from collections.abc import Callable

HOST: Final = "127.0.0.1"
_MOST_PORT: Final = 65_535


def run_workbench(
    folder: str | Path,
    *,
    table: str | None = None,
    policy: str | Path | None = None,
    port: int = 0,
    opens_browser: bool = True,
    idle_seconds: float = 3_600.0,
    announce: Callable[[str], None] = print,
) -> bool:
    """Serve the pages of the workbench on this machine until it is stopped.

    Parameters
    ----------
    folder
        The folder of the policy and of all that the workbench writes.
    table
        The table to open: a file or the URL of a database.
    policy
        The policy file to open.
    port
        The port to listen on; 0 takes a free one.
    opens_browser
        Whether the address is opened in a browser.
    idle_seconds
        It stops after so long without a request and without a job.
    announce
        Called with the address when the workbench listens.

    Returns
    -------
    bool
        Whether it stopped because it was idle.

    Raises
    ------
    ParameterError
        If the port is taken.
    MissingDependencyError
        If the extra ``workbench`` isn't installed.

    Notes
    -----
    **Guarantees.** Other machines can't reach it. The address holds a token that opens it once, in
    one browser. Requests of other sites are refused. No log holds the token or a cell.
    """
    need("starlette", "uvicorn", "python_multipart")
    integer_at_least(0, owner="run_workbench", port=port)
    if port > _MOST_PORT:
        raise ParameterError(f"The 'port' parameter of run_workbench must be at most {_MOST_PORT}.")
    from halfmask.workbench._app import create_workbench  # noqa: PLC0415 # an extra
    from halfmask.workbench._server import serve_pages  # noqa: PLC0415 # the same

    with closing(_listener(port)) as listener:
        taken = int(listener.getsockname()[1])
        token = secrets.token_urlsafe(32)
        address = f"http://{HOST}:{taken}/#{token}"

        def started() -> None:
            announce(address)
            WARMING.start()
            if opens_browser:
                # A browser in the terminal returns when it is closed.
                threading.Thread(target=_open_browser, args=[address], daemon=True).start()

        file = None if policy is None else Path(policy)
        guard = create_workbench(Path(folder), table, file, token=token, port=taken)
        return serve_pages(guard, listener, idle_seconds=idle_seconds, started=started)


def _listener(port: int) -> socket.socket:
    """Return a socket of this machine alone, so that the address is known before it is said."""
    try:
        return socket.create_server((HOST, port))
    except OSError:
        raise ParameterError(
            f"The workbench can't listen on port {port}.",
            hint="Another program may use it. Choose another port; 0 is one that is free.",
        ) from None


def _open_browser(address: str) -> None:
    import webbrowser  # noqa: PLC0415 - only this needs it

    webbrowser.open(address)
