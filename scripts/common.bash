# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions that every part of ./dev uses. It is sourced, never run. bash 3.2 (macOS) must be able to read it.
# shellcheck shell=bash

say() { printf 'dev: %s\n' "$*" >&2; }

# die CODE LINE...: prints the lines and exits. Code 2 is wrong usage; 3 means that this machine cannot do it.
die() {
    local code=$1 line
    shift
    for line in "$@"; do say "$line"; done
    exit "$code"
}

have() { command -v "$1" > /dev/null 2>&1; }

# Prints the first eight hexadecimal digits of the hash of stdin.
hash8() {
    if have sha256sum; then sha256sum; else shasum -a 256; fi | cut -c1-8
}

cores() { nproc 2> /dev/null || sysctl -n hw.ncpu 2> /dev/null || echo 1; }

# Prints how many compilers run at a time: one for each core, or fewer if memory is short. A Kokkos file takes up to 1.2 GB.
jobs_at_once() {
    if [[ -n ${CMAKE_BUILD_PARALLEL_LEVEL:-} ]]; then
        echo "$CMAKE_BUILD_PARALLEL_LEVEL"
        return
    fi
    local jobs fit
    jobs=$(cores)
    fit=$(awk '/^MemAvailable:/ { print int($2 / 1200000) }' /proc/meminfo 2> /dev/null || true)
    if [[ -n $fit && $fit -lt $jobs ]]; then jobs=$((fit > 1 ? fit : 1)); fi
    echo "$jobs"
}

# Prints what the CPU can do. Programs compiled with -march=native run only on CPUs that print the same.
cpu_facts() {
    uname -sm
    if [[ -r /proc/cpuinfo ]]; then
        local field
        for field in 'vendor_id' 'model name' 'flags' 'Features' 'CPU implementer' 'CPU part' 'isa' 'cpu'; do
            grep -m1 "^${field}[[:space:]]*:" /proc/cpuinfo || true
        done
    else
        sysctl -n machdep.cpu.brand_string machdep.cpu.features 2> /dev/null || true
    fi
}

# version_in V LOW HIGH: whether LOW <= V < HIGH. Only major and minor numbers count.
version_in() {
    local v low high
    v=$(version_number "$1") low=$(version_number "$2") high=$(version_number "$3")
    [[ $v -ge $low && $v -lt $high ]]
}
version_number() {
    local major=${1%%.*} minor=0
    case $1 in *.*) minor=${1#*.} minor=${minor%%.*} ;; esac
    major=${major//[!0-9]/} minor=${minor//[!0-9]/}
    echo $((10#${major:-0} * 1000 + 10#${minor:-0}))
}
