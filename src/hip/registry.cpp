// SPDX-License-Identifier: MIT
#include <exception>

#include "hip/amd/library_search.hpp"
#include "hip/binding.hpp"
#include "hip/nvidia/driver_files.hpp"

namespace hiptool::hip {
namespace {

class Registry final : public Binder {
 public:
  Binding bind(Platform platform, const BindRequest& request) override {
    Binding failed;
    failed.status.platform = platform;
    try {
      switch (platform) {
        case Platform::amd: return bind_amd(request);
        case Platform::nvidia: return bind_nvidia(request);
        case Platform::cpu: return bind_cpu(request);
      }
    } catch (const std::exception& error) {
      failed.status.reason = error.what();
    }
    return failed;
  }
};

}  // namespace

std::vector<InstalledRuntime> list_installed_runtimes(const Places& places) {
  std::vector<InstalledRuntime> found;
  for (const std::filesystem::path& file : amd::list_installed(places)) {
    const std::string release = amd::rocm_release(file);
    found.push_back(
        {file, release.empty() ? release : "ROCm " + release, amd::version_of_file(file)});
  }
  for (const std::filesystem::path& file : nvidia::list_driver_files(places)) {
    found.push_back({file, {}, {}});
  }
  return found;
}

std::shared_ptr<Binder> make_registry() { return std::make_shared<Registry>(); }

}  // namespace hiptool::hip
