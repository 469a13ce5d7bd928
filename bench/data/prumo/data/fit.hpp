// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <prumo/data/data_folder.hpp>
#include <prumo/data/net_file.hpp>

namespace prumo::data {

/// Refuses images that a net cannot take: of another size or number of channels, or none at all. Also refuses labels
/// that are not below the net's number of classes, and nets that tell no classes.
/// \param names of the files, for the message
/// \throws bench::file_error that names the file and the remedy
void check_fit(const labelled_images& set, const data_files& names, const net& which);

}  // namespace prumo::data
