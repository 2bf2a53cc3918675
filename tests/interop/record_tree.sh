#!/bin/sh
# SPDX-License-Identifier: MIT
# Records what `devices --doctor` reads of this machine below /sys, /proc and /dev, as one text file
# that tests unpack (tests/unit/machine/tree_file.hpp): `file PATH` and its lines after "|", `link
# PATH TARGET`, `folder PATH`, `node PATH MODE UID GID`.
#
# Leaves out what tells one machine from another: serial numbers, UUIDs, host and process names, all
# of the kernel's command line but the words about IOMMU and PCI.
#
# Usage: record_tree.sh [OUT.tree [ROOT]]   (standard output and / without)
set -u
LC_ALL=C
export LC_ALL
out=${1:--}
root=${2:-}
root=${root%/}
[ "$out" = - ] || exec >"$out"

# Text on standard input as the content of a file.
emit() {
  printf 'file %s\n' "$1"
  sed 's/^/|/'
}

file() {
  [ -f "$root/$1" ] && [ -r "$root/$1" ] || return 0
  text=$(head -c 65536 "$root/$1" 2>/dev/null | tr -d '\000') || return 0
  [ -n "$text" ] || return 0
  printf '%s\n' "$text" | hide | emit "$1"
}

hide() {
  zeros=00000000-0000-0000-0000-000000000000
  sed -e "s/[0-9A-Fa-f]\{8\}\(-[0-9A-Fa-f]\{4\}\)\{3\}-[0-9A-Fa-f]\{12\}/$zeros/g" \
      -e 's/\(unique_id \)[0-9]*/\10/' \
      -e 's/\(pid=.*name=\)[^,]*/\1hidden/' \
      -e 's/\([Ss]erial[^:]*:\).*/\1 hidden/' \
      -e 's/\(GPU Excluded[^:]*:\).*/\1 No/'
}

link() {
  [ -L "$root/$1" ] && printf 'link %s %s\n' "$1" "$(readlink "$root/$1")"
  return 0
}

folder() {
  [ -d "$root/$1" ] && printf 'folder %s\n' "$1"
  return 0
}

# Path below the root of everything a pattern names; nothing where there is nothing.
list() {
  for path in "$root"/$1; do
    [ -e "$path" ] || [ -L "$path" ] || continue
    printf '%s\n' "${path#"$root"/}"
  done
}

each() { # COMMAND PATTERN...
  command=$1
  shift
  for pattern in "$@"; do
    list "$pattern" | while IFS= read -r path; do "$command" "$path"; done
  done
}

pci_function() {
  for name in vendor device class subsystem_vendor subsystem_device revision current_link_speed \
    current_link_width max_link_speed max_link_width numa_node local_cpulist resource enable \
    power/control power/runtime_status d3cold_allowed mem_info_vram_total mem_info_vram_used \
    mem_info_vis_vram_total gpu_busy_percent current_compute_partition current_memory_partition \
    pcie_replay_count reset_method aer_dev_correctable aer_dev_fatal aer_dev_nonfatal; do
    file "$1/$name"
  done
  link "$1/driver"
  link "$1/iommu_group"
  each file "$1/ras/umc_err_count" "$1/hwmon/*/freq*_input" "$1/hwmon/*/temp1_input" \
    "$1/hwmon/*/power1_*"
}

is_gpu() {
  read -r vendor <"$root/$1/vendor" && read -r class <"$root/$1/class" || return 1
  case "$vendor:$class" in
    0x1002:0x03*|0x1002:0x1200*|0x10de:0x03*|0x10de:0x1200*|0x10de:0x0680*) return 0 ;;
  esac
  return 1
}

# A GPU, then every bridge above it, each at the place that its link below bus/pci names.
gpu_and_bridges() {
  is_gpu "$1" || return 0
  real=$(readlink -f "$root/$1")
  real=${real#"$root"/}
  while :; do
    name=${real##*/}
    case "$name" in
      *:*:*.*) ;;
      *) break ;;
    esac
    printf '%s\n' "$real"
    real=${real%/*}
  done
}

printf '# Recorded by record_tree.sh on a real machine; see there for what is left out.\n'

list 'sys/bus/pci/devices/*' | while IFS= read -r path; do gpu_and_bridges "$path"; done |
  sort -u | while IFS= read -r real; do
    printf 'link sys/bus/pci/devices/%s ../../../../%s\n' "${real##*/}" "$real"
    pci_function "$real"
    group=$(readlink "$root/$real/iommu_group") && file "sys/kernel/iommu_groups/${group##*/}/type"
  done

for module in amdgpu nvidia nvidia_uvm nvidia_drm nvidia_modeset nvidia_peermem nouveau radeon; do
  folder "sys/module/$module"
  file "sys/module/$module/version"
done
folder sys/kernel/iommu_groups
each folder 'sys/class/iommu/*'

each file 'proc/driver/nvidia/version' 'proc/driver/nvidia/params' \
  'proc/driver/nvidia/gpus/*/information' 'proc/driver/nvidia/gpus/*/numa_status' \
  'proc/driver/nvidia/gpus/*/power' 'proc/driver/nvidia-nvswitch/devices/*/information' \
  'proc/driver/nvidia/capabilities/mig/*'
each folder 'proc/driver/nvidia/capabilities/gpu*/mig'

nodes=sys/class/kfd/kfd/topology/nodes
each file "$nodes/*/gpu_id" "$nodes/*/name" "$nodes/*/properties" \
  "$nodes/*/mem_banks/*/properties" "$nodes/*/io_links/*/properties" \
  "$nodes/*/p2p_links/*/properties"
each link 'sys/class/drm/renderD*/device' 'sys/class/drm/card[0-9]/device'

each file sys/devices/system/node/online 'sys/devices/system/node/node*/cpulist' \
  'sys/devices/system/node/node*/distance' proc/sys/kernel/numa_balancing \
  proc/sys/kernel/osrelease
each file sys/devices/virtual/dmi/id/sys_vendor

[ -r "$root/proc/cmdline" ] && tr ' ' '\n' <"$root/proc/cmdline" |
  grep -E '^(iommu|amd_iommu|intel_iommu|pci|pcie_[a-z_]*|numa_balancing|rcutree)[=.]' |
  paste -sd ' ' - | emit proc/cmdline
[ -r "$root/proc/self/limits" ] && grep -E '^(Limit|Max locked memory)' "$root/proc/self/limits" |
  emit proc/self/limits
[ -r "$root/proc/self/mounts" ] && grep -E '^[^ ]+ /dev/shm ' "$root/proc/self/mounts" |
  emit proc/self/mounts
[ -r "$root/proc/meminfo" ] && grep -E '^(MemTotal|MemAvailable|Hugetlb):' "$root/proc/meminfo" |
  emit proc/meminfo
[ -r "$root/proc/cpuinfo" ] && grep -m 1 -E '^model name' "$root/proc/cpuinfo" | emit proc/cpuinfo

node() {
  [ -d "$root/$1" ] || printf 'node %s %s\n' "$1" "$(stat -c '%a %u %g' "$root/$1")"
}
each node 'dev/nvidia*' 'dev/nvidia-caps/*' 'dev/nvidia-caps-imex-channels/*' dev/kfd dev/dxg \
  'dev/dri/renderD*' 'dev/dri/card*'

# The kernel's log needs a right that containers seldom have.
kernel_log() {
  if [ -n "$root" ]; then cat "$root/dev/kmsg"; else dmesg --raw; fi 2>/dev/null |
    grep -E 'NVRM|Xid|amdgpu|kfd|limited by|rejects atomics|nvidia-nvswitch' | head -n 300 |
    sed -n -e 's/^<\([0-9]*\)>\(.*\)/\1,0,0,-;\2/' -e '/^[0-9]*,/p' | hide
}
log=$(kernel_log)
[ -z "$log" ] || printf '%s\n' "$log" | emit dev/kmsg
exit 0
