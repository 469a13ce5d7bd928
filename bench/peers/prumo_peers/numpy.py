# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The worker of NumPy: ``python3 -m prumo_peers.numpy``."""

import sys

from prumo_peers import __version__, protocol


def make_adaptor():
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise ImportError("NumPy is not installed: apt-get install python3-numpy, or python3 -m pip install numpy") from None
    from prumo_peers import numpy_adaptor

    return numpy_adaptor.NumpyAdaptor()


if __name__ == "__main__":
    sys.exit(protocol.run_program("prumo_peers.numpy", __version__, "It measures prumo's operations in NumPy.", make_adaptor))
