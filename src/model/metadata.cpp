// SPDX-License-Identifier: MIT
#include "model/metadata.hpp"

namespace hiptool::model {

bool Metadata::add(MetadataItem item) {
  items_.push_back(std::move(item));
  if (index_.insert(items_, items_.size() - 1)) return true;
  items_.pop_back();
  return false;
}

}  // namespace hiptool::model
