// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "processor.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#define PRUMO_X86 1
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace prumo::machine::host {

namespace {

struct feature {
  const char* name;
  std::uint32_t x86_feature_words::* word;
  int bit;
  std::uint64_t states;  ///< bits of XCR0 that must be set
};

constexpr std::uint64_t avx_states = 0x6;
constexpr std::uint64_t avx512_states = 0xe6;
constexpr std::uint64_t amx_states = 0x60000;

/// Intel 64 Software Developer's Manual, volume 2A, CPUID.
constexpr feature x86_features[] = {
    {"sse2", &x86_feature_words::leaf1_edx, 26, 0},
    {"sse4_2", &x86_feature_words::leaf1_ecx, 20, 0},
    {"avx", &x86_feature_words::leaf1_ecx, 28, avx_states},
    {"f16c", &x86_feature_words::leaf1_ecx, 29, avx_states},
    {"fma", &x86_feature_words::leaf1_ecx, 12, avx_states},
    {"avx2", &x86_feature_words::leaf7_ebx, 5, avx_states},
    {"avx_vnni", &x86_feature_words::leaf7_1_eax, 4, avx_states},
    {"avx512f", &x86_feature_words::leaf7_ebx, 16, avx512_states},
    {"avx512vl", &x86_feature_words::leaf7_ebx, 31, avx512_states},
    {"avx512_vnni", &x86_feature_words::leaf7_ecx, 11, avx512_states},
    {"avx512_bf16", &x86_feature_words::leaf7_1_eax, 5, avx512_states},
    {"avx512_fp16", &x86_feature_words::leaf7_edx, 23, avx512_states},
    {"amx_tile", &x86_feature_words::leaf7_edx, 24, amx_states},
    {"amx_bf16", &x86_feature_words::leaf7_edx, 22, amx_states},
    {"amx_int8", &x86_feature_words::leaf7_edx, 25, amx_states},
};

int parse_hexadecimal(const std::optional<std::string>& text) {
  return text ? static_cast<int>(std::strtol(text->c_str(), nullptr, 0)) : -1;
}

#if defined(__APPLE__)
std::optional<std::string> system_text(const char* name) {
  std::array<char, 256> text{};
  std::size_t size = text.size() - 1;
  if (sysctlbyname(name, text.data(), &size, nullptr, 0) != 0 || text[0] == 0) return std::nullopt;
  return std::string(text.data());
}
#endif

#if defined(PRUMO_X86)
struct registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  registers result;
  if (leaf <= static_cast<std::uint32_t>(__get_cpuid_max(leaf & 0x80000000u, nullptr))) {
    __cpuid_count(leaf, subleaf, result.eax, result.ebx, result.ecx, result.edx);
  }
  return result;
}

std::string letters_of(std::initializer_list<std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words) {
    char letters[4];
    std::memcpy(letters, &word, 4);
    text.append(letters, 4);
  }
  return std::string(trimmed(text));
}

std::uint64_t enabled_states() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

void ask_x86(processor& subject) {
  const registers leaf0 = cpuid(0);
  const std::string vendor = letters_of({leaf0.ebx, leaf0.edx, leaf0.ecx});
  if (vendor == "GenuineIntel") {
    subject.vendor = "Intel";
  } else if (vendor == "AuthenticAMD") {
    subject.vendor = "AMD";
  } else if (!vendor.empty()) {
    subject.vendor = vendor;
  }

  std::string brand;
  for (std::uint32_t leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf) {
    const registers part = cpuid(leaf);
    for (const std::uint32_t word : {part.eax, part.ebx, part.ecx, part.edx}) {
      char letters[4];
      std::memcpy(letters, &word, 4);
      brand.append(letters, 4);
    }
  }
  brand = std::string(trimmed(brand.substr(0, brand.find('\0'))));
  if (!brand.empty()) subject.name = brand;

  const registers leaf1 = cpuid(1);
  subject.family = static_cast<int>((leaf1.eax >> 8) & 0xf);
  subject.model = static_cast<int>((leaf1.eax >> 4) & 0xf);
  if (subject.family == 0xf || subject.family == 6) subject.model += static_cast<int>((leaf1.eax >> 16) & 0xf) << 4;
  if (subject.family == 0xf) subject.family += static_cast<int>((leaf1.eax >> 20) & 0xff);
  subject.virtual_machine = (leaf1.ecx >> 31) != 0;

  const registers leaf7 = cpuid(7);
  x86_feature_words words{leaf1.ecx, leaf1.edx, leaf7.ebx, leaf7.ecx, leaf7.edx, cpuid(7, 1).eax, 0};
  if ((leaf1.ecx >> 27) & 1) words.enabled_states = enabled_states();  // OSXSAVE
  subject.instruction_sets = x86_instruction_sets(words);

  // Hypervisors invent the values of leaf 16h or leave it empty.
  const registers clocks = cpuid(0x16);
  if (subject.vendor == "Intel" && !*subject.virtual_machine) {
    if ((clocks.eax & 0xffff) != 0) subject.clock_base_mhz = clocks.eax & 0xffff;
    if ((clocks.ebx & 0xffff) != 0) subject.clock_max_mhz = clocks.ebx & 0xffff;
  }
}
#endif

void ask_system(processor& subject, const system_files& files) {
  const std::string table = files.text("/proc/cpuinfo").value_or("");
  if (const auto features = field_of(table, "Features")) subject.instruction_sets = arm_instruction_sets(*features);
  subject.implementer = parse_hexadecimal(field_of(table, "CPU implementer"));
  subject.part = parse_hexadecimal(field_of(table, "CPU part"));
  if (const auto vendor = arm_vendor(subject.implementer); !vendor.empty()) subject.vendor = vendor;
  if (const auto name = arm_core_name(subject.implementer, subject.part); !name.empty()) subject.name = name;
  for (const char* key : {"model name", "Model", "cpu"}) {
    if (!subject.name) subject.name = field_of(table, key);
  }
  // The vector length of new processes, in bytes.
  if (has_instruction_set(subject.instruction_sets, "sve")) {
    if (const auto bytes = files.integer("/proc/sys/abi/sve_default_vector_length"); bytes && *bytes > 0) {
      subject.vector_bits = static_cast<int>(*bytes * 8);
    }
  }
#if defined(__APPLE__)
  if (const auto brand = system_text("machdep.cpu.brand_string")) subject.name = brand;
#if defined(__aarch64__)
  subject.vendor = "Apple";
  subject.instruction_sets = {"neon"};
#endif
#endif
  if (!subject.virtual_machine) {
    const auto product = files.word("/sys/class/dmi/id/product_name");
    if (files.exists("/sys/hypervisor/type")) subject.virtual_machine = true;
    if (product && (product->starts_with("KVM") || product->find("Virtual") != std::string::npos)) {
      subject.virtual_machine = true;
    }
  }
}

}  // namespace

bool has_instruction_set(const std::vector<std::string>& instruction_sets, std::string_view name) {
  return std::find(instruction_sets.begin(), instruction_sets.end(), name) != instruction_sets.end();
}

std::vector<std::string> x86_instruction_sets(const x86_feature_words& words) {
  std::vector<std::string> sets;
  for (const feature& candidate : x86_features) {
    const bool present = (words.*candidate.word >> candidate.bit & 1u) != 0;
    if (present && (words.enabled_states & candidate.states) == candidate.states) sets.emplace_back(candidate.name);
  }
  return sets;
}

std::vector<std::string> arm_instruction_sets(std::string_view features) {
  constexpr std::pair<std::string_view, const char*> wanted[] = {
      {"asimd", "neon"}, {"asimdhp", "neon_fp16"}, {"sve", "sve"}, {"sve2", "sve2"},
      {"bf16", "bf16"},  {"i8mm", "i8mm"},         {"sme", "sme"}};
  const std::string padded = " " + std::string(features) + " ";
  std::vector<std::string> sets;
  for (const auto& [word, name] : wanted) {
    if (padded.find(" " + std::string(word) + " ") != std::string::npos) sets.emplace_back(name);
  }
  return sets;
}

std::optional<int> vector_bits_of(const std::vector<std::string>& instruction_sets) {
  if (has_instruction_set(instruction_sets, "sve")) return std::nullopt;
  if (has_instruction_set(instruction_sets, "avx512f")) return 512;
  if (has_instruction_set(instruction_sets, "avx")) return 256;
  if (has_instruction_set(instruction_sets, "sse2") || has_instruction_set(instruction_sets, "neon")) return 128;
  return std::nullopt;
}

processor identify_processor(const system_files& files) {
  processor subject;
#if defined(__x86_64__)
  subject.architecture = "x86_64";
#elif defined(__aarch64__)
  subject.architecture = "aarch64";
#elif defined(__powerpc64__)
  subject.architecture = "ppc64";
#elif defined(__riscv)
  subject.architecture = "riscv";
#endif
#if defined(PRUMO_X86)
  ask_x86(subject);
#endif
  ask_system(subject, files);
  if (!subject.vector_bits) subject.vector_bits = vector_bits_of(subject.instruction_sets);
  return subject;
}

}  // namespace prumo::machine::host
