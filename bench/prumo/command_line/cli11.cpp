// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CLI11, for all sources of the front-end: with CLI11_COMPILE, its headers only declare them. Without
// it, each source that includes CLI11 would compile the whole library, which takes four seconds.
#include <CLI/CLI.hpp>
#include <CLI/impl/App_inl.hpp>
#include <CLI/impl/Config_inl.hpp>
#include <CLI/impl/Formatter_inl.hpp>
#include <CLI/impl/Option_inl.hpp>
#include <CLI/impl/Split_inl.hpp>
#include <CLI/impl/StringTools_inl.hpp>
#include <CLI/impl/Validators_inl.hpp>
// Later releases have more.
#if __has_include(<CLI/impl/Argv_inl.hpp>)
#include <CLI/impl/Argv_inl.hpp>
#endif
#if __has_include(<CLI/impl/Encoding_inl.hpp>)
#include <CLI/impl/Encoding_inl.hpp>
#endif
#if __has_include(<CLI/impl/ExtraValidators_inl.hpp>)
#include <CLI/impl/ExtraValidators_inl.hpp>
#endif
