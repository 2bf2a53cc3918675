// SPDX-License-Identifier: MIT
#include "load/read/direct_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace hiptool::load {
namespace {

struct FileSystem {
  std::uint32_t type;
  const char* name;
};

// Types of linux/magic.h; those that it lacks from the file systems' own sources: Lustre
// (lustre_user.h, LL_SUPER_MAGIC), GPFS (gpfs.h), BeeGFS (FhgfsOpsSuper.h) and ZFS (zfs_vfsops.h,
// which before 2.3 took O_DIRECT and ignored it), the rest from statfs(2).
constexpr std::array file_systems{
    FileSystem{TMPFS_MAGIC, "tmpfs"},         FileSystem{RAMFS_MAGIC, "ramfs"},
    FileSystem{HUGETLBFS_MAGIC, "hugetlbfs"}, FileSystem{OVERLAYFS_SUPER_MAGIC, "overlay"},
    FileSystem{SQUASHFS_MAGIC, "squashfs"},   FileSystem{FUSE_SUPER_MAGIC, "fuse"},
    FileSystem{NFS_SUPER_MAGIC, "nfs"},       FileSystem{SMB_SUPER_MAGIC, "smb"},
    FileSystem{CIFS_SUPER_MAGIC, "cifs"},     FileSystem{SMB2_SUPER_MAGIC, "smb2"},
    FileSystem{NCP_SUPER_MAGIC, "ncp"},       FileSystem{CODA_SUPER_MAGIC, "coda"},
    FileSystem{AFS_SUPER_MAGIC, "afs"},       FileSystem{AFS_FS_MAGIC, "afs"},
    FileSystem{CEPH_SUPER_MAGIC, "ceph"},     FileSystem{V9FS_MAGIC, "9p"},
    FileSystem{0x0BD00BD0u, "lustre"},        FileSystem{0x47504653u, "gpfs"},
    FileSystem{0x19830326u, "beegfs"},        FileSystem{0x2FC12FC1u, "zfs"},
};

constexpr std::uint64_t least_alignment_bytes = 4096;
constexpr std::uint64_t most_alignment_bytes = 64u << 10;

std::string message_of(int number) { return std::generic_category().message(number); }

// 0: the file system says that it reads nothing directly. Where it says nothing, a page does: no
// block device of Linux has larger sectors by default.
std::uint64_t alignment_of(int descriptor) {
#ifdef STATX_DIOALIGN  // Linux 6.1
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    if (status.stx_dio_offset_align == 0) return 0;
    return std::max({least_alignment_bytes, std::uint64_t{status.stx_dio_offset_align},
                     std::uint64_t{status.stx_dio_mem_align}});
  }
#else
  static_cast<void>(descriptor);
#endif
  return least_alignment_bytes;
}

}  // namespace

const char* indirect_file_system(std::uint64_t type) noexcept {
  for (const FileSystem& known : file_systems) {
    // f_type is signed and as wide as a word, so some magics come sign-extended.
    if (known.type == static_cast<std::uint32_t>(type)) return known.name;
  }
  return nullptr;
}

DirectFile DirectFile::refused(std::string why) {
  DirectFile file;
  file.refusal_ = std::move(why);
  return file;
}

DirectFile DirectFile::open(const base::File& file, bool is_forced) {
  struct statfs system {};
  if (!is_forced && fstatfs(file.descriptor(), &system) == 0) {
    const char* name = indirect_file_system(static_cast<std::uint64_t>(system.f_type));
    if (name != nullptr) return refused(std::string("it is on ") + name);
  }
  const std::string link = "/proc/self/fd/" + std::to_string(file.descriptor());
  DirectFile direct;
  direct.descriptor_ = ::open(link.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (!direct.is_open()) return refused("open with O_DIRECT: " + message_of(errno));
  direct.alignment_bytes_ = alignment_of(direct.descriptor_);
  if (direct.alignment_bytes_ == 0) return refused("its file system reads nothing directly");
  if (direct.alignment_bytes_ > most_alignment_bytes) {
    return refused("direct reads need an alignment of " +
                   base::plain_count_of(direct.alignment_bytes_, "byte"));
  }
  return direct;
}

DirectFile::~DirectFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

DirectFile::DirectFile(DirectFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      alignment_bytes_(other.alignment_bytes_),
      refusal_(std::move(other.refusal_)) {}

DirectFile& DirectFile::operator=(DirectFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(alignment_bytes_, other.alignment_bytes_);
  std::swap(refusal_, other.refusal_);
  return *this;
}

}  // namespace hiptool::load
