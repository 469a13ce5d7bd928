# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nets in other frameworks: what a net's file says, the files of images and weights, and the nets themselves."""
