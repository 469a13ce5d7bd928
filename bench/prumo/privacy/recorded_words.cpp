// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "privacy/recorded_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace prumo::bench {
namespace {

using nlohmann::json;

/// Names as their documentation has them. A group shares the beginning of its names.
struct variable_group {
  std::string_view begin;
  std::string_view ends;  ///< separated by blanks
};

constexpr auto recorded_groups = std::to_array<variable_group>({
    {"OMP_",
     "NUM_THREADS PROC_BIND PLACES DYNAMIC WAIT_POLICY SCHEDULE STACKSIZE THREAD_LIMIT MAX_ACTIVE_LEVELS NESTED "
     "TARGET_OFFLOAD DEFAULT_DEVICE NUM_TEAMS TEAMS_THREAD_LIMIT ALLOCATOR CANCELLATION TOOL MAX_TASK_PRIORITY"},
    {"GOMP_", "CPU_AFFINITY SPINCOUNT STACKSIZE RTEMS_THREAD_POOLS"},
    {"KMP_",
     "AFFINITY BLOCKTIME HW_SUBSET LIBRARY STACKSIZE TOPOLOGY_METHOD FORCE_REDUCTION DETERMINISTIC_REDUCTION "
     "ALL_THREADS "
     "USE_YIELD INIT_WAIT NEXT_WAIT"},
    {"KOKKOS_",
     "NUM_THREADS DEVICE_ID MAP_DEVICE_ID_BY VISIBLE_DEVICES NUM_DEVICES SKIP_DEVICE TUNE_INTERNALS "
     "TOOLS_LIBS PROFILE_LIBRARY"},
    {"OPENBLAS_", "NUM_THREADS DEFAULT_NUM_THREADS CORETYPE MAIN_FREE BLOCK_FACTOR THREAD_TIMEOUT VERBOSE"},
    {"GOTO_", "NUM_THREADS"},
    {"BLIS_", "NUM_THREADS ARCH_TYPE MODEL_TYPE JC_NT PC_NT IC_NT JR_NT IR_NT THREAD_IMPL"},
    {"MKL_",
     "NUM_THREADS DOMAIN_NUM_THREADS DYNAMIC CBWR ENABLE_INSTRUCTIONS DEBUG_CPU_TYPE THREADING_LAYER INTERFACE_LAYER "
     "VERBOSE FAST_MEMORY_LIMIT DISABLE_FAST_MM NUM_STRIPES"},
    {"CUDA_",
     "VISIBLE_DEVICES DEVICE_ORDER LAUNCH_BLOCKING MODULE_LOADING MODULE_DATA_LOADING DEVICE_MAX_CONNECTIONS "
     "DEVICE_MAX_COPY_CONNECTIONS CACHE_DISABLE CACHE_MAXSIZE FORCE_PTX_JIT DISABLE_PTX_JIT FORCE_JIT DISABLE_JIT "
     "AUTO_BOOST MANAGED_FORCE_DEVICE_ALLOC SCALE_LAUNCH_QUEUES GRAPHS_USE_NODE_PRIORITY ENABLE_COREDUMP_ON_EXCEPTION "
     "DEVICE_WAITS_ON_EXCEPTION MPS_ACTIVE_THREAD_PERCENTAGE MPS_PINNED_DEVICE_MEM_LIMIT "
     "DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT"},
    {"CUBLAS_",
     "WORKSPACE_CONFIG EMULATION_STRATEGY EMULATE_SINGLE_PRECISION EMULATE_DOUBLE_PRECISION LOGINFO_DBG LOGDEST_DBG"},
    {"CUBLASLT_", "WORKSPACE_SIZE HEURISTICS_CACHE_CAPACITY DISABLE_CPU_INSTRUCTIONS_MASK LOG_LEVEL LOG_MASK"},
    {"NVIDIA_", "TF32_OVERRIDE VISIBLE_DEVICES"},
    {"HIP_", "VISIBLE_DEVICES LAUNCH_BLOCKING FORCE_DEV_KERNARG HOST_COHERENT INITIAL_DM_SIZE"},
    {"GPU_", "MAX_HW_QUEUES DEVICE_ORDINAL MAX_HEAP_SIZE SINGLE_ALLOC_PERCENT"},
    {"AMD_", "SERIALIZE_KERNEL SERIALIZE_COPY LOG_LEVEL DIRECT_DISPATCH"},
    {"HSA_",
     "OVERRIDE_GFX_VERSION ENABLE_SDMA XNACK ENABLE_INTERRUPT NO_SCRATCH_RECLAIM CU_MASK FORCE_FINE_GRAIN_PCIE "
     "ENABLE_PEER_SDMA SCRATCH_MEM"},
    {"ROCR_", "VISIBLE_DEVICES"},
    {"ROC_", "GLOBAL_CU_MASK ACTIVE_WAIT_TIMEOUT"},
    {"ROCBLAS_",
     "LAYER USE_HIPBLASLT TENSILE_LIBPATH INTERNAL_FP16_ALT_IMPL DEFAULT_ATOMICS_MODE DEVICE_MEMORY_SIZE "
     "STREAM_ORDER_ALLOC "
     "CHECK_NUMERICS"},
    {"HIPBLASLT_", "LOG_LEVEL LOG_MASK TENSILE_LIBPATH TUNING_FILE TUNING_OVERRIDE_FILE"},
    {"TENSILE_", "DB SOLUTION_SELECTION_METHOD STREAMK_FIXED_GRID STREAMK_MAX_CUS STREAMK_DYNAMIC_GRID SOLUTION_INDEX"},
    {"MALLOC_", "ARENA_MAX ARENA_TEST CHECK_ MMAP_MAX_ MMAP_THRESHOLD_ PERTURB_ TOP_PAD_ TRIM_THRESHOLD_"},
    {"GLIBC_", "TUNABLES"},
    {"LD_", "PRELOAD BIND_NOW"},
    {"NPY_", "DISABLE_CPU_FEATURES ENABLE_CPU_FEATURES PROMOTION_STATE"},
    {"PYTHON", "MALLOC OPTIMIZE NODEBUGRANGES"},
    {"ONEDNN_",
     "MAX_CPU_ISA CPU_ISA_HINTS DEFAULT_FPMATH_MODE PRIMITIVE_CACHE_CAPACITY VERBOSE ENABLE_MAX_CPU_ISA JIT_PROFILE"},
    {"DNNL_", "MAX_CPU_ISA CPU_ISA_HINTS DEFAULT_FPMATH_MODE PRIMITIVE_CACHE_CAPACITY VERBOSE"},
    {"TORCH_", "ALLOW_TF32_CUBLAS_OVERRIDE BLAS_PREFER_CUBLASLT BLAS_PREFER_HIPBLASLT COMPILE_DISABLE"},
    {"TORCHINDUCTOR_", "MAX_AUTOTUNE FREEZING"},
    {"PYTORCH_",
     "ALLOC_CONF CUDA_ALLOC_CONF HIP_ALLOC_CONF NO_CUDA_MEMORY_CACHING TUNABLEOP_ENABLED TUNABLEOP_TUNING JIT "
     "NVML_BASED_"
     "CUDA_CHECK"},
    {"XLA_", "FLAGS PYTHON_CLIENT_PREALLOCATE PYTHON_CLIENT_MEM_FRACTION PYTHON_CLIENT_ALLOCATOR"},
    {"JAX_",
     "PLATFORMS PLATFORM_NAME ENABLE_X64 DEFAULT_MATMUL_PRECISION DISABLE_JIT NUM_CPU_DEVICES "
     "CPU_ENABLE_ASYNC_DISPATCH"},
    {"PJRT_", "DEVICE NPROC"},
    {"CUPY_", "TF32 ACCELERATORS GPU_MEMORY_LIMIT COMPILE_WITH_PTX CUDA_PER_THREAD_DEFAULT_STREAM"},
    {"PRUMO_", "VERBOSE"},
});

constexpr std::string_view hidden = "...";

bool holds_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// `https://user:password@host/` without user and password.
std::string without_url_password(std::string text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at)) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/ \t'\"", at), text.size());
    const std::size_t host = text.rfind('@', end);
    if (host != std::string::npos && host >= at && host < end) text.replace(at, host - at, hidden);
  }
  return text;
}

bool is_variable_name(std::string_view name) {
  const auto fits = [](unsigned char it) { return std::isupper(it) != 0 || std::isdigit(it) != 0 || it == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, fits);
}

/// True for `--api-token`, `password`.
bool names_secret(std::string_view name) {
  constexpr std::string_view secrets =
      "token password passwd passphrase pass secret key apikey credential credentials auth";
  std::string word;
  for (const char it : std::string(name) + '-') {
    if (it != '-' && it != '_') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(it)));
    } else if (!word.empty()) {
      if (holds_word(secrets, word)) return true;
      word.clear();
    }
  }
  return false;
}

bool is_in_user_name(unsigned char it) { return std::isalnum(it) != 0 || it == '.' || it == '_' || it == '-'; }

/// True for `NAME=...` of a variable that is not recorded.
bool sets_hidden_variable(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = word.substr(0, equals);
  return is_variable_name(name) && !is_recorded_variable(name);
}

/// Goes over the words of a command and hides what may be a secret.
class word_filter {
 public:
  explicit word_filter(bool starts_programs) : starts_programs_(starts_programs) {}

  std::string recorded(const std::string& word) {
    if (std::exchange(hide_next_, false)) return std::string(hidden);
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool has_value = equals != std::string::npos;
    if (sets_hidden_variable(word)) return name + '=' + std::string(hidden);
    if (names_secret(name) && (has_value || name.starts_with('-'))) {
      hide_next_ = !has_value;
      return has_value ? name + '=' + std::string(hidden) : word;
    }
    if (starts_programs_) {
      if (word.ends_with("sshpass")) of_sshpass_ = true;
      if (of_sshpass_ && word.starts_with("-p")) {
        hide_next_ = word.size() == 2;
        return hide_next_ ? word : "-p" + std::string(hidden);
      }
      hide_next_ = word == "-i" || word == "-l";
      const std::size_t at = word.find('@');
      if (at != std::string::npos && at > 0 &&
          std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(at), is_in_user_name)) {
        return std::string(hidden) + word.substr(at);
      }
    }
    return without_url_password(word);
  }

 private:
  bool starts_programs_;
  bool hide_next_ = false;
  bool of_sshpass_ = false;
};

/// The text of a command for a shell, word by word. What stands in quotes and has blanks is a command, too: sh -c
/// '...'.
std::string recorded_text(std::string_view text) {
  constexpr std::string_view blanks = " \t\n";
  word_filter filter(true);
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (blanks.find(text[at]) != std::string_view::npos) {
      result += text[at++];
      continue;
    }
    const std::size_t begin = at;
    char quote = 0;
    for (; at < text.size() && (quote != 0 || blanks.find(text[at]) == std::string_view::npos); ++at) {
      if (quote == 0 && (text[at] == '\'' || text[at] == '"')) {
        quote = text[at];
      } else if (text[at] == quote) {
        quote = 0;
      }
    }
    const std::string word(text.substr(begin, at - begin));
    const char first = word.front();
    const bool quoted = word.size() > 2 && (first == '\'' || first == '"') && word.back() == first;
    // If it begins with a variable, its value may have blanks.
    const bool sets_variable = sets_hidden_variable(std::string_view(word).substr(1));
    if (quoted && !sets_variable && word.find_first_of(blanks) != std::string::npos) {
      result += first + recorded_text(std::string_view(word).substr(1, word.size() - 2)) + first;
      continue;
    }
    std::string bare = word;
    std::erase_if(bare, [](char it) { return it == '\'' || it == '"'; });
    const std::string kept = filter.recorded(bare);
    result += kept == bare ? word : kept;
  }
  return result;
}

}  // namespace

bool is_recorded_variable(std::string_view name) {
  return name.find(' ') == std::string_view::npos &&
         std::ranges::any_of(recorded_groups, [&](const variable_group& it) {
           return name.starts_with(it.begin) && holds_word(it.ends, name.substr(it.begin.size()));
         });
}

std::vector<std::string> recorded_variable_names() {
  std::vector<std::string> names;
  for (const auto& [begin, ends] : recorded_groups) {
    for (std::size_t at = 0; at < ends.size();) {
      const std::size_t end = std::min(ends.find(' ', at), ends.size());
      names.push_back(std::string(begin) + std::string(ends.substr(at, end - at)));
      at = end + 1;
    }
  }
  return names;
}

json recorded_variables(const json& variables) {
  json recorded = json::object();
  if (!variables.is_object()) return recorded;
  for (const auto& [name, value] : variables.items()) {
    if (!is_recorded_variable(name)) continue;
    recorded[name] = value.is_string() ? json(without_url_password(value.get<std::string>())) : value;
  }
  return recorded;
}

std::vector<std::string> recorded_command(std::span<const std::string> words) {
  std::vector<std::string> recorded(words.begin(), words.end());
  change_values(recorded, {"--launcher"}, recorded_text);
  change_values(recorded, {"--worker"}, [](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return text;
    return text.substr(0, equals + 1) + recorded_text(std::string_view(text).substr(equals + 1));
  });
  word_filter filter(false);
  bool is_command = false;  // of --launcher or --worker: done above
  for (std::string& word : recorded) {
    const bool done = std::exchange(is_command, word == "--launcher" || word == "--worker");
    if (!done) word = filter.recorded(word);
  }
  return recorded;
}

}  // namespace prumo::bench
