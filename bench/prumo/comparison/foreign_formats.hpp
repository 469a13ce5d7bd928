// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "comparison/source.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace prumo::bench {

/// A result of a benchmark that prumo did not run: only name and arguments are known of the case.
/// \param name of the benchmark
/// \param arguments what tells its cases apart; joined with the name it is the key
[[nodiscard]] nlohmann::json foreign_result(const std::string& name, const std::string& arguments);

/// True for a time that a call can take: finite and positive.
[[nodiscard]] bool is_possible_time(double seconds);

/// Marks a foreign result as measured, or as failed where its time is not finite and positive. Seconds.
void set_foreign_time(nlohmann::json& result, double seconds);

/// \param version of the format of a document, where it tells one; `name` is the document's
/// \throws file_error for a version that is not 1
void require_version_1(const std::string& format, const nlohmann::json& version, const std::string& name);

/// True for what Google Benchmark writes with --benchmark_out (fields `context` and `benchmarks`).
[[nodiscard]] bool is_google_benchmark(const nlohmann::json& document);

/// Repetitions are the samples of a benchmark; where only aggregates were written, their mean and standard deviation
/// are all that is known. Times are `real_time`.
/// \throws file_error for a version that is not known
[[nodiscard]] comparison_source read_google_benchmark(const nlohmann::json& document, const std::string& name);

/// True for what nvbench writes with --json (fields `devices` and `benchmarks`).
[[nodiscard]] bool is_nvbench(const nlohmann::json& document);

/// Times are those of single cold calls by the GPU's clock, else by the processor's. Samples come from the files that
/// --jsonbin writes beside the document, into a folder below `folder`; without them mean and standard deviation are all
/// that is known.
/// \throws file_error for a version that is not known
[[nodiscard]] comparison_source read_nvbench(const nlohmann::json& document, const std::string& name,
                                             const std::string& folder);

}  // namespace prumo::bench
