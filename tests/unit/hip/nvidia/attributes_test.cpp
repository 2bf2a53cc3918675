// SPDX-License-Identifier: MIT
#include "hip/nvidia/attributes.hpp"

#include <doctest/doctest.h>

#include <set>

namespace hiptool::hip::nvidia {

/// Numbers of both headers (HIP 5.0 to 7.2, cuda.h 13.0), not our names for them.
TEST_CASE("attributes are renumbered as the headers say") {
  constexpr int pairs[][2] = {
      {0, 32},   {2, 40},    {3, 19},  {4, 91},  {5, 13},  {6, 20},   {8, 31},   {9, 89},
      {10, 95},  {13, 101},  {15, 86}, {16, 18}, {18, 17}, {19, 38},  {23, 75},  {24, 83},
      {25, 106}, {26, 2},    {27, 3},  {28, 4},  {29, 5},  {30, 6},   {31, 7},   {56, 1},
      {57, 39},  {58, 11},   {59, 37}, {60, 36}, {61, 76}, {62, 85},  {63, 16},  {65, 88},
      {66, 100}, {67, 33},   {68, 34}, {69, 50}, {71, 12}, {72, 82},  {74, 8},   {75, 97},
      {76, 81},  {78, 78},   {83, 9},  {85, 41}, {87, 10}, {88, 115}, {89, 102}, {90, 99},
      {91, 119}, {10015, 16}};
  std::set<int> known;
  for (const auto& pair : pairs) {
    CAPTURE(pair[0]);
    const auto number = to_cuda(static_cast<hipDeviceAttribute_t>(pair[0]));
    REQUIRE(number);
    CHECK(*number == pair[1]);
    known.insert(pair[0]);
  }
  CHECK(known.size() == std::size(attribute_pairs));
}

TEST_CASE("attributes that only one side has are unknown") {
  // Name, total memory (int-sized in HIP), uuid, AMD's own.
  for (const int number : {1, 64, 84, 86, 92, 10000, 10014, 10016, -1}) {
    CHECK_FALSE(to_cuda(static_cast<hipDeviceAttribute_t>(number)));
  }
}

}  // namespace hiptool::hip::nvidia
