// SPDX-License-Identifier: MIT
#include "cli/command.hpp"

#include "base/text.hpp"
#include "cli/model_files.hpp"
#include "cli/model_path.hpp"

namespace hiptool::cli {

std::unique_ptr<Platforms> Context::make_platforms() const {
  Platforms::Options options = Platforms::Options::from_environment();
  options.trace = notes;
  options.nvidia_ordinals = devices.nvidia_ordinals;
  options.system_root = environment.system_root.string();
  return environment.make_platforms(std::move(options));
}

void Context::require_apart(const std::vector<NamedFile>& files) const {
  try {
    require_distinct_files(outputs, files);
  } catch (const FilesCollide&) {
    output.discard_exports();
    throw;
  }
}

ModelFile Context::open_model(const std::string& path, const ModelOptions& options) const {
  const auto require_apart_from = [&](const ModelFile* model) {
    if (outputs.empty()) return;
    for (const model::LocalModel& named : models_named(path, environment.getenv)) {
      require_apart(files_of_model(named.path.string(), model));
    }
  };
  const auto open = [&] {
    try {
      return cli::open_model(path, options, environment.getenv);
    } catch (const Error&) {
      require_apart_from(nullptr);  // the report of the error would replace it
      throw;
    }
  };
  ModelFile model = open();
  require_apart_from(&model);
  return model;
}

std::vector<Device> Context::choose_devices(Platforms& platforms) const {
  environment.console.set_step("starting the devices");
  std::vector<Device> chosen = machine::choose_devices(platforms, devices);
  note_devices(environment, platforms, chosen);
  output.explain_devices(machine::explain_default(platforms, devices));
  environment.console.set_step({});
  return chosen;
}

void note_devices(Environment& environment, Platforms& platforms,
                  const std::vector<Device>& devices) {
  environment.devices.clear();
  for (const Device& device : devices) {
    const DeviceInfo info = device.info();
    const PlatformStatus& status = platforms.status(device.platform());
    environment.devices.emplace_back(
        device.id(),
        report::DeviceTexts{info.name, info.arch, info.pci_bus_id.value_or(""),
                            info.uuid.value_or(""), status.driver_version, status.runtime_version});
  }
}

const std::vector<Command>& commands() {
  static const std::vector<Command> list{
      devices_command(),    load_command(),       prove_command(),   bench_copy_command(),
      run_kernel_command(), check_command(),      inspect_command(), make_model_command(),
      report_command(),     completion_command(),
  };
  return list;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

const Form* find_form(const Command& command, std::string_view name) {
  for (const Form& form : command.forms) {
    if (base::equals_ignoring_case(form.name, name)) return &form;
  }
  return nullptr;
}

}  // namespace hiptool::cli
