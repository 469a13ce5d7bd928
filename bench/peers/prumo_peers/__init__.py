# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers in other frameworks beside which prumo is measured: ``python3 -m prumo_peers.numpy``.

They speak the protocol of docs/protocol.md over standard input and output.
"""

__version__ = "0.1.0"
