# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all peers share: everything but the framework itself."""
