// SPDX-License-Identifier: Apache-2.0
/// \file
/// How fast a kernel could be by the peaks of its device, and how fast it is.
#pragma once

#include "runtime/artifact/Artifact.h"
#include "runtime/target/Target.h"

#include <string>
#include <vector>

namespace tlc::driver {

/// A rate of arithmetic that the device reaches at most.
struct Ceiling {
  std::string name;          ///< "products of 16 bits"
  double flopsPerSecond = 0; ///< of all multiprocessors
};

struct Roofline {
  std::string kernel, device;
  double flops = 0, bytes = 0; ///< as `tlc bench` counts them: every input and output crosses memory once
  double seconds = 0;
  double bytesPerSecond = 0;     ///< of memory, at most
  std::vector<Ceiling> ceilings; ///< the highest first
  size_t own = 0;                ///< the one that holds for the kernel's arithmetic

  double intensity() const { return flops / bytes; }
  /// What the ceiling and the bandwidth allow at that intensity.
  double attainable() const;
  /// Of the time that it takes at least, by arithmetic and by memory, as a share of the time that it takes.
  double share() const;
  bool isBoundByMemory() const { return bytes / bytesPerSecond > flops / ceilings[own].flopsPerSecond; }
};

/// With the peaks of the table of targets, for so many multiprocessors.
Roofline rooflineOf(const Artifact &artifact, const Variant &variant, const Target &target,
                    int multiprocessors);

/// A line of text.
std::string textOf(const Roofline &roofline);
/// Both axes logarithmic; `flops` is above 0.
std::string toSvg(const Roofline &roofline);

} // namespace tlc::driver
