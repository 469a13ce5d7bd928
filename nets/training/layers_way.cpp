// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "layers_pass.hpp"
#include "step_kernels.hpp"
#include "step_way.hpp"
#include <prumo/backend/recorded_calls.hpp>
#include <prumo/gather.hpp>
#include <prumo/images.hpp>
#include <prumo/nets/detail/layer_arrays.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

namespace prumo::nets {
namespace {

/// Steps of public operations. Devices record a step of the whole batch and one of the images that are left at the end
/// of an epoch, and replay them.
template <class Exec>
class layers_way final : public step_way<Exec> {
 public:
  layers_way(context<Exec>& ctx, const training_task& task)
      : task_(task),
        pass_(task_),
        arena_(memory(ctx, "arena", pass_.arena_elements() * static_cast<std::int64_t>(dtype_size(task.plan.type())))),
        index_(memory(ctx, "index", batch() * static_cast<std::int64_t>(sizeof(std::int64_t)))),
        labels_(memory(ctx, "labels", batch() * static_cast<std::int64_t>(sizeof(std::int32_t)))) {}

  void enqueue(context<Exec>& ctx, std::int64_t first, std::int64_t steps) override {
    for (std::int64_t step = first; step < first + steps; ++step) {
      const std::int64_t images = task_.images_of_step(step);
      recorded_step& recorded = recorded_[images == batch() ? 0 : 1];
      if (recorded.can_replay(ctx)) {
        recorded.calls->replay();
        continue;
      }
      if (recorded.is_warm && is_recordable_) {
        recorded.calls = backend::record_calls(ctx.instance(), [&] { enqueue_step(ctx, images); });
        recorded.workspace_bytes = ctx.workspace_bytes();
        is_recordable_ = recorded.calls != nullptr;
        if (is_recordable_) {
          recorded.calls->replay();
          continue;
        }
      }
      // Memory of operations may grow at the first step of each size, and recorded steps would point to the old one.
      if (!recorded.is_warm) {
        for (recorded_step& each : recorded_) each.calls = nullptr;
      }
      enqueue_step(ctx, images);
      recorded.is_warm = true;
    }
  }

 private:
  using bytes_view = Kokkos::View<std::byte*, typename Exec::memory_space>;

  /// A step of a number of images.
  struct recorded_step {
    bool is_warm = false;  ///< it has been enqueued once, so that operations have their memory
    std::unique_ptr<backend::recorded_calls> calls;
    std::size_t workspace_bytes = 0;

    bool can_replay(const context<Exec>& ctx) const {
      return calls != nullptr && workspace_bytes == ctx.workspace_bytes();
    }
  };

  std::int64_t batch() const { return std::min(task_.options.batch, task_.images); }

  static bytes_view memory(const context<Exec>& ctx, const char* label, std::int64_t bytes) {
    return bytes_view(
        Kokkos::view_alloc(ctx.instance(), std::string("prumo::nets::trainer::") + label, Kokkos::WithoutInitializing),
        static_cast<std::size_t>(bytes));
  }
  static array_ref on_device(const bytes_view& data, dtype type, std::int64_t elements) {
    return {data.data(), type, {elements}, {}, prumo::detail::memory_kind_of<typename Exec::memory_space>()};
  }

  /// An array without gaps as a matrix with a row for each image.
  static array_ref rows_of(const array_ref& array) {
    const std::int64_t images = array.extents[0];
    return layer_arrays::array_at(array, 0, {images, images == 0 ? 0 : array.size() / images});
  }

  void enqueue_step(context<Exec>& ctx, std::int64_t images) const {
    const array_ref arena = on_device(arena_, task_.plan.type(), pass_.arena_elements());
    const array_ref index = on_device(index_, dtype::i64, images), labels = on_device(labels_, dtype::i32, images);
    begin_step_of_layers(ctx, task_, index, labels);
    if (task_.takes_numbers()) {
      gather_rows(instance_ref(ctx), rows_of(task_.numbers), index, rows_of(pass_.input(arena, images)));
      gather_rows(instance_ref(ctx), rows_of(task_.targets), index, pass_.targets(arena, images));
    } else {
      image_options gather;
      gather.index = index;
      convert_images(instance_ref(ctx), task_.pixels, pass_.input(arena, images), gather);
    }
    pass_.run(ctx, arena, labels, images);
  }

  const training_task task_;
  const layers_pass pass_;
  bytes_view arena_, index_, labels_;
  recorded_step recorded_[2];
  bool is_recordable_ = true;
};

}  // namespace

template <class Exec>
step_candidate<Exec> layers_candidate() {
  return {"layers", [](const Exec&, const training_task&) { return std::string(); },
          [](context<Exec>& ctx, const training_task& task) -> std::unique_ptr<step_way<Exec>> {
            return std::make_unique<layers_way<Exec>>(ctx, task);
          },
          true};
}

#define PRUMO_INSTANTIATE_LAYERS(Space) template step_candidate<Space> layers_candidate<Space>();
PRUMO_FOR_EACH_SPACE(PRUMO_INSTANTIATE_LAYERS)
#undef PRUMO_INSTANTIATE_LAYERS

}  // namespace prumo::nets
