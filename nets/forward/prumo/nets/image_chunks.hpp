// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace prumo::nets {

/// How a batch of images is cut, so that a chunk is copied while the one before it is computed. The first chunk is
/// small, because nothing is computed while it is copied. The number of images of each further one is 1.3 times that of
/// the chunk before it plus half that of the first one: kernels like many images, but a device waits for a chunk that
/// takes longer to be copied than the one before takes to be computed. A chunk is not larger than 64 MiB, and no chunk
/// is smaller than the first one, unless the batch is.
class image_chunks {
 public:
  /// \param most_images of a batch
  /// \param first images of the first chunk; 0: as many as take a GPU long enough to be worth a chunk of their own
  image_chunks(std::int64_t most_images, std::int64_t bytes_per_image, std::int64_t first = 0);

  /// The most images of a chunk, of batches of most_images or fewer.
  std::int64_t largest() const { return largest_; }

  /// The images of the chunk that follows one of `before` images (0: the first one), if this many are left.
  std::int64_t next(std::int64_t before, std::int64_t left) const;

 private:
  std::int64_t first_;
  std::int64_t limit_;
  std::int64_t largest_ = 0;
};

}  // namespace prumo::nets
