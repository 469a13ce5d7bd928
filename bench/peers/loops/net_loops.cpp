// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "net_loops.hpp"

#include "layer_loops.hpp"

#include <variant>
#include <vector>

namespace prumo::peers {
namespace {

template <class T>
class net_loops final : public net_program {
 public:
  explicit net_loops(const net_choice& choice) : net_(choice.net) {
    for (const std::vector<float>& it : choice.weights) weights_.emplace_back(it.begin(), it.end());
    const std::size_t layers = net_.facts.layers.size();
    std::size_t parameter = 0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      first_parameters_.push_back(parameter);
      parameter += net_.facts.layers[layer].parameters.size();
      // What the last layer makes is the caller's.
      const std::int64_t size = layer + 1 < layers ? choice.batch * net_.facts.layers[layer].output.size() : 0;
      between_.emplace_back(static_cast<std::size_t>(size));
    }
  }

  void run_step(std::size_t step, const void* x, void* y, std::int64_t images) override {
    const nets::layer_facts& facts = net_.facts.layers[step];
    const auto parameter = [&](std::size_t place) {
      return place < facts.parameters.size() ? weights_[first_parameters_[step] + place].data() : nullptr;
    };
    const bool is_last = step + 1 == between_.size();
    const layers::layer_arrays<T> it{step == 0 ? static_cast<const T*>(x) : between_[step - 1].data(),
                                     is_last ? static_cast<T*>(y) : between_[step].data(),
                                     images,
                                     facts.input,
                                     facts.output,
                                     parameter(0),
                                     parameter(1)};
    std::visit([&](const auto& layer) { run(layer, it); }, net_.description.layers[step]);
  }

 private:
  data::net net_;
  std::vector<std::vector<T>> weights_;
  std::vector<std::size_t> first_parameters_;
  std::vector<std::vector<T>> between_;  ///< what each layer makes
};

}  // namespace

std::unique_ptr<net_program> make_net_loops(const net_choice& choice) {
  if (choice.type == dtype::f64) return std::make_unique<net_loops<double>>(choice);
  return std::make_unique<net_loops<float>>(choice);
}

}  // namespace prumo::peers
