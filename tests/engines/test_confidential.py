"""Where keys may be sent: workers on this machine, or over what nobody else can read."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

from halfmask import EngineError
from halfmask.data import open_table
from halfmask.engines import DaskEngine, LocalEngine, SparkEngine, check_confidential
from halfmask.masks import KeyedTokens
from halfmask.masks._masked_table import MaskedTable


def dask(scheduler, *workers):
    """Return the engine of a cluster with these addresses."""
    client = SimpleNamespace(
        asynchronous=False,
        scheduler=SimpleNamespace(address=scheduler),
        nthreads=lambda: dict.fromkeys(workers, 1),
    )
    return DaskEngine(client)


def spark(master, **settings):
    """Return the engine of a session of a master, with these settings."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    context = SimpleNamespace(master=master, getConf=lambda: named)
    return SparkEngine(SimpleNamespace(_jsc=None, sparkContext=context))


@pytest.mark.parametrize(
    "engine",
    [
        LocalEngine(),
        dask("tcp://127.0.0.1:8786", "tcp://127.0.0.1:4001", "tcp://[::1]:4002"),
        dask("tls://10.0.0.7:8786", "tls://10.0.0.8:4001"),
        dask("inproc://10.0.0.7/19/1", "inproc://10.0.0.7/19/4"),
        spark("local"),
        spark("local[2,4]"),
        spark("spark://10.0.0.7:7077", spark_network_crypto_enabled="true"),
        spark("yarn", spark_ssl_rpc_enabled="true"),
    ],
)
def test_keys_may_be_sent(engine):
    check_confidential(engine, what="the key")


@pytest.mark.parametrize(
    "engine",
    [
        dask("tcp://10.0.0.7:8786", "tcp://10.0.0.8:4001"),
        dask("tcp://127.0.0.1:8786", "tcp://127.0.0.1:4001", "tcp://10.0.0.8:4001"),
        dask("tls://10.0.0.7:8786", "tcp://10.0.0.8:4001"),
        dask("tcp://scheduler:8786"),
        dask("ucx://10.0.0.7:8786"),
        dask("tcp://[2001:db8::1]:8786"),
        spark("spark://127.0.0.1:7077"),
        spark("local-cluster[2,1,1024]"),
        spark("yarn", spark_network_crypto_enabled="false"),
    ],
)
def test_keys_may_not_be_sent(engine):
    with pytest.raises(EngineError, match="sends the key to the workers") as caught:
        check_confidential(engine, what="the key")
    assert "10.0.0" not in str(caught.value)


class Heard(LocalEngine):
    """Threads that stand for a cluster without TLS."""

    @property
    def is_confidential(self):
        return False


@pytest.mark.parametrize("scope", ["release", "vault"])
def test_keys_of_a_vault_may_not_be_sent(scope):
    table = open_table(pl.DataFrame({"name": ["Ann", "Bob"]}))

    def masked(engine):
        masks = {"name": KeyedTokens(scope=scope)}
        ours, theirs = bytes(range(32)), bytes(range(1, 33))
        return MaskedTable.of(
            table, masks, [], key=ours, vault_key=theirs, engine=engine
        ).masked.read()

    assert masked(LocalEngine()).height == 2
    if scope == "release":
        assert masked(Heard()).equals(masked(LocalEngine()))
        return
    with pytest.raises(EngineError, match="sends keys of pseudonyms of a vault"):
        masked(Heard())
