// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prumo/data/fit.hpp>
#include <prumo/inference/net_files.hpp>
#include <prumo/protocol/seconds_since.hpp>

#include <chrono>

namespace prumo::inference {

net_files read_net_files(const protocol::open_request& request) {
  const auto begun = std::chrono::steady_clock::now();
  net_files files;
  files.net = data::parse_net(request.net.dump(), "the field 'net'");
  const data::data_files names{request.images, request.labels};
  files.set = data::read_set(names);
  data::check_fit(files.set, names, files.net);
  files.weights = data::weights_for(files.net.description, data::read_tensors(request.weights), request.weights);
  files.seconds = protocol::seconds_since(begun);
  return files;
}

}  // namespace prumo::inference
