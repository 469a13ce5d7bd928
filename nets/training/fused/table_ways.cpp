// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ways `fused` and `persistent`: steps in the scratch memory of teams.

#include "plan/array_places.hpp"
#include "plan/step_places.hpp"
#include "plan/step_table.hpp"
#include "plan/update_tiles.hpp"
#include "step_launches.hpp"
#include "step_order.hpp"
#include "step_way.hpp"
#include "table_of_task.hpp"
#include <prumo/detail/host/host_work.hpp>
#include <prumo/detail/host/meeting_threads.hpp>
#include <prumo/detail/launch.hpp>
#include <prumo/detail/team_kernel.hpp>

#include <climits>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace prumo::nets {
namespace {

/// What the threads of a host do in a launch: each has a share of the groups or tiles.
template <class C>
struct host_step_kernel {
  const step_data<C>* data;
  step_part part;
  int threads;  ///< of a launch of blocks
  unsigned char* scratch;
  std::size_t scratch_bytes;

  std::int64_t blocks() const { return threads; }
  void operator()(std::int64_t thread) const { run(static_cast<int>(thread), threads); }

  void run(int thread, int of) const {
    run_host_steps(*data, part, {thread, of}, scratch + static_cast<std::size_t>(thread) * scratch_bytes);
  }
  static void run_meeting(const void* kernel, int thread, int of) {
    static_cast<const host_step_kernel*>(kernel)->run(thread, of);
  }
};

/// Steps of numbers of C.
template <class Exec, class C>
class table_way final : public step_way<Exec> {
 public:
  /// \param whole whether a launch takes whole steps, as many as there are
  table_way(context<Exec>& ctx, const training_task& task, bool whole)
      : task_(task), whole_(whole), of_teams_(made_tables(ctx.instance(), task, whole)), table_(of_teams_.tables[0]) {
    const Exec& instance = ctx.instance();
    constexpr bool on_host = is_host_space<Exec>;
    threads_ = on_host ? concurrency_of(instance) : 1;
    const std::size_t images = static_cast<std::size_t>(std::min(task.options.batch, task.images));
    scratch_bytes_ = static_cast<std::size_t>(table_.scratch_bytes);
    order_ = memory(instance, "order", static_cast<std::size_t>(task.images) * sizeof(std::int32_t));
    partials_ =
        memory(instance, "partials",
               static_cast<std::size_t>(table_.groups) * static_cast<std::size_t>(table_.gradients) * sizeof(C) +
                   (on_host ? host_scratch_slack : 0));
    factors_ =
        memory(instance, "factors",
               images * static_cast<std::size_t>(table_.factors) * sizeof(C) + (on_host ? host_scratch_slack : 0));
    // Tiles read what lies between an image's factors and behind the partial sums, too, though nothing comes of it.
    Kokkos::deep_copy(instance, factors_, std::byte{0});
    if (on_host) Kokkos::deep_copy(instance, partials_, std::byte{0});
    kept_ = memory(instance, "kept",
                   static_cast<std::size_t>(table_.groups) * static_cast<std::size_t>(table_.images_of_a_stage) *
                       static_cast<std::size_t>(table_.kept) * sizeof(C));
    sums_ = memory(instance, "sums", static_cast<std::size_t>(table_.groups) * 2 * sizeof(double));
    if constexpr (on_host) {
      scratch_bytes_ = (scratch_bytes_ + host_scratch_slack + 63) / 64 * 64;
      scratch_ = memory(instance, "scratch", static_cast<std::size_t>(threads_) * scratch_bytes_ + 64);
      Kokkos::deep_copy(instance, scratch_, std::byte{0});
    } else {
      meeting_ = memory(instance, "meeting", sizeof(unsigned));
    }
    table_there_ = there(instance, "table", std::span<const step_table>(of_teams_.tables));
    shares_there_ = there(instance, "shares", std::span<const net_share>(of_teams_.shares));
    std::vector<parameter_copy> copies;
    std::vector<filter_parameter> parameters;
    for (std::size_t team = 0; team < of_teams_.tables.size(); ++team) {
      const step_places places =
          make_step_places(of_teams_.tables[team], of_teams_.shares.empty() ? nullptr : &of_teams_.shares[team]);
      copies.insert(copies.end(), places.copies.begin(), places.copies.end());
      parameters.insert(parameters.end(), places.filter_parameters.begin(), places.filter_parameters.end());
      // The first team has the largest share.
      parameters.resize((team + 1) * static_cast<std::size_t>(table_.gradients));
      if (team == 0) update_tiles_ = there(instance, "update tiles", std::span<const update_tile>(places.update_tiles));
    }
    copies_ = there(instance, "copies", std::span<const parameter_copy>(copies));
    filter_parameters_ = there(instance, "filter parameters", std::span<const filter_parameter>(parameters));
  }

  void enqueue(context<Exec>& ctx, std::int64_t first, std::int64_t steps) override {
    const std::int64_t most = steps_of_a_launch();
    for (std::int64_t done = 0; done < steps; done += most) {
      enqueue_slice(ctx.instance(), first + done, std::min(most, steps - done));
    }
  }

 private:
  using bytes_view = Kokkos::View<std::byte*, typename Exec::memory_space>;

  static team_tables made_tables(const Exec& instance, const training_task& task, bool whole) {
    team_tables tables;
    (void)tables_for(instance, task, whole, tables);  // the trainer has asked why it would not do
    return tables;
  }

  static bytes_view memory(const Exec& instance, const char* label, std::size_t bytes) {
    return bytes_view(
        Kokkos::view_alloc(instance, std::string("prumo::nets::trainer::") + label, Kokkos::WithoutInitializing),
        bytes);
  }

  /// A copy of what this object holds, where the steps run. It may be made later, in the order of the instance.
  template <class T>
  static bytes_view there(const Exec& instance, const char* label, std::span<const T> values) {
    const bytes_view result = memory(instance, label, values.size_bytes());
    Kokkos::deep_copy(instance, result,
                      Kokkos::View<const std::byte*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                          reinterpret_cast<const std::byte*>(values.data()), values.size_bytes()));
    return result;
  }

  /// A launch of many steps takes a tenth of a second, roughly, so that a program can stop between launches.
  std::int64_t steps_of_a_launch() const {
    if (!whole_) return LLONG_MAX;
    // Those that one team has.
    const std::int64_t teams = is_host_space<Exec> ? std::min(threads_, table_.groups) : table_.groups;
    const std::int64_t images = (table_.batch - 1) / teams + 1;
    constexpr double seconds_of_a_step = 3e-6, seconds_of_a_flop = 2e-11;
    const double step = seconds_of_a_step +
                        seconds_of_a_flop * static_cast<double>(images) * static_cast<double>(task_.plan.facts().flops);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(0.1 / step));
  }

  step_data<C> data_of(std::int64_t first, std::int64_t steps) const {
    const bool has_moments = task_.first_moments.extents[0] > 0, has_squares = task_.second_moments.extents[0] > 0;
    step_data<C> data{};
    data.table = reinterpret_cast<const step_table*>(table_there_.data());
    data.copies = reinterpret_cast<const parameter_copy*>(copies_.data());
    data.filter_parameters = reinterpret_cast<const filter_parameter*>(filter_parameters_.data());
    data.update_tiles = reinterpret_cast<const update_tile*>(update_tiles_.data());
    data.pixels = static_cast<const std::uint8_t*>(task_.pixels.data);
    data.labels = static_cast<const std::uint8_t*>(task_.labels.data);
    data.order = reinterpret_cast<const std::int32_t*>(order_.data());
    data.weights = static_cast<C*>(task_.weights.data);
    data.first_moments = has_moments ? static_cast<C*>(task_.first_moments.data) : nullptr;
    data.second_moments = has_squares ? static_cast<C*>(task_.second_moments.data) : nullptr;
    data.counters = task_.counters;
    data.partials = reinterpret_cast<C*>(partials_.data());
    data.factors = reinterpret_cast<C*>(factors_.data());
    data.kept = reinterpret_cast<C*>(kept_.data());
    data.sums = reinterpret_cast<double*>(sums_.data());
    data.images = task_.images;
    data.steps_per_epoch = task_.steps_per_epoch();
    data.first_step = first;
    data.steps = steps;
    data.momentum = task_.options.momentum;
    data.share = reinterpret_cast<const net_share*>(shares_there_.data());
    return data;
  }

  void enqueue_slice(const Exec& instance, std::int64_t first, std::int64_t steps) const {
    const std::int64_t batch = task_.options.batch;
    const std::int64_t count = std::min(task_.images - first * batch, steps * batch);
    const step_order_kernel order{image_choice(task_),
                                  task_.counters,
                                  task_.steps_per_epoch(),
                                  first,
                                  count,
                                  reinterpret_cast<std::int32_t*>(order_.data())};
    constexpr double nanoseconds_of_a_choice = 60;
    prumo::detail::launch_blocks(instance, "prumo::nets::training::order", order,
                                 prumo::detail::host_work::repeated(count, nanoseconds_of_a_choice));
    if (whole_) {
      enqueue_whole(instance, data_of(first, steps));
      return;
    }
    for (std::int64_t step = 0; step < steps; ++step) {
      step_data<C> data = data_of(first + step, 1);
      data.order += step * batch;
      enqueue_part(instance, data, step_part::images);
      enqueue_part(instance, data, step_part::update);
    }
  }

  void enqueue_whole(const Exec& instance, const step_data<C>& data) const {
    if constexpr (is_host_space<Exec>) {
      const host_step_kernel<C> kernel{&data, step_part::all, threads_, host_scratch(), scratch_bytes_};
      const int threads = prumo::detail::threads_for_blocks(instance, work_of(table_.batch), table_.groups);
      prumo::detail::launch_meeting_threads(instance, "prumo::nets::training::steps", threads,
                                            {&host_step_kernel<C>::run_meeting, &kernel});
    } else if (!of_teams_.shares.empty()) {
      launch_share_steps(instance, data, static_cast<int>(of_teams_.shares.size()), scratch_bytes_);
    } else {
      // Teams without images help to change the weights.
      const bool is_alone = table_.batch == 1;
      const int teams = is_alone ? 1 : meeting_teams(instance);
      launch_steps(instance, data,
                   {step_part::all, teams, scratch_bytes_, table_.shape,
                    is_alone ? nullptr : reinterpret_cast<unsigned*>(meeting_.data())});
    }
  }

  void enqueue_part(const Exec& instance, const step_data<C>& data, step_part part) const {
    const bool is_update = part == step_part::update;
    // A team of a device has several tiles at once.
    const int stretches = is_host_space<Exec> ? 1 : step_threads / prumo::detail::exchange_threads;
    const int slices = is_host_space<Exec> ? 1 : table_.update_slices;
    const int pieces = is_update ? (table_.update_tiles * slices - 1) / stretches + 1 : table_.groups;
    if constexpr (is_host_space<Exec>) {
      const std::string& label = is_update ? update_label() : images_label();
      const double images = static_cast<double>(data.images_of_step(data.first_step, table_.batch));
      const double of_update = static_cast<double>(task_.plan.weights_elements()) * images * 0.1;
      prumo::detail::launch_blocks(
          instance, label, host_step_kernel<C>{&data, part, std::min(threads_, pieces), host_scratch(), scratch_bytes_},
          is_update ? prumo::detail::host_work{of_update}
                    : work_of(data.images_of_step(data.first_step, table_.batch)));
    } else {
      launch_steps(instance, data,
                   {part, pieces, is_update ? scratch_bytes_of_update(table_) : scratch_bytes_, table_.shape, nullptr});
    }
  }

  /// Of images forward and backward. Of the flops of a forward pass these have three times as many.
  prumo::detail::host_work work_of(std::int64_t images) const {
    return prumo::detail::host_work::repeated(images, static_cast<double>(task_.plan.facts().flops) * 0.15);
  }

  unsigned char* host_scratch() const {
    auto* const begin = reinterpret_cast<unsigned char*>(scratch_.data());
    return begin + (64 - reinterpret_cast<std::uintptr_t>(begin) % 64) % 64;
  }

  static const std::string& images_label() {
    static const std::string label = "prumo::nets::training::images";
    return label;
  }
  static const std::string& update_label() {
    static const std::string label = "prumo::nets::training::update";
    return label;
  }

  const training_task task_;
  const bool whole_;
  const team_tables of_teams_;
  const step_table& table_;  ///< of the first team
  int threads_ = 1;
  std::size_t scratch_bytes_ = 0;
  bytes_view order_, partials_, factors_, kept_, sums_, scratch_, meeting_;
  bytes_view table_there_, shares_there_, copies_, filter_parameters_, update_tiles_;
};

template <class Exec>
std::unique_ptr<step_way<Exec>> made_way(context<Exec>& ctx, const training_task& task, bool whole) {
  if (task.plan.type() == dtype::f32) return std::make_unique<table_way<Exec, float>>(ctx, task, whole);
  return std::make_unique<table_way<Exec, double>>(ctx, task, whole);
}

/// On hosts the convolutions of `layers` are faster where a filter has several channels: a step of lenet5 takes a
/// fourth to two thirds of the time. So they are for filters without tiles: with seven of 4 x 5 and a dense
/// layer, 2,000 images take 27 ms instead of 709. A step with few products takes less time than the calls of `layers`.
/// On devices the ways of this file are faster throughout.
template <class Exec>
bool is_slower_than_layers(const training_task& task) {
  constexpr std::int64_t few_products = 4096;
  if (!is_host_space<Exec>) return false;
  const std::vector<layer>& layers = task.plan.net().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto* const it = std::get_if<convolution>(&layers[i]);
    if (it == nullptr) continue;
    const layer_facts& facts = task.plan.facts().layers[i];
    if (facts.input.channels > 1) return true;
    const std::int64_t products = facts.output.size() * it->filter.height * it->filter.width * task.options.batch;
    const bool is_tiled = has_tiles(it->filter.height, it->filter.width, it->stride.height, it->stride.width);
    if (!is_tiled && products > few_products) return true;
  }
  return false;
}

}  // namespace

template <class Exec>
step_candidate<Exec> fused_candidate() {
  return {"fused",
          [](const Exec& instance, const training_task& task) {
            team_tables tables;
            return tables_for(instance, task, false, tables);
          },
          [](context<Exec>& ctx, const training_task& task) { return made_way(ctx, task, false); }, false,
          is_slower_than_layers<Exec>};
}

template <class Exec>
step_candidate<Exec> persistent_candidate() {
  return {"persistent",
          [](const Exec& instance, const training_task& task) {
            if (task.options.batch > 1 && meeting_teams(instance) == 0) {
              return std::string("takes steps of one image, because teams cannot meet within a launch here");
            }
            team_tables tables;
            return tables_for(instance, task, true, tables);
          },
          [](context<Exec>& ctx, const training_task& task) { return made_way(ctx, task, true); }, false,
          is_slower_than_layers<Exec>};
}

#define PRUMO_INSTANTIATE_TABLE_WAYS(Space)                \
  template step_candidate<Space> fused_candidate<Space>(); \
  template step_candidate<Space> persistent_candidate<Space>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_TABLE_WAYS)
#undef PRUMO_INSTANTIATE_TABLE_WAYS

}  // namespace prumo::nets
