// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `inspect`.
#include "tools/tlc/Inspect.h"

#include "compiler/analysis/Remarks.h"
#include "compiler/codegen/Ptxas.h"
#include "runtime/target/Hardware.h"
#include "runtime/target/Occupancy.h"
#include "runtime/target/Target.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/InspectLibrary.h"
#include "tools/tlc/InstructionMix.h"
#include "tools/tlc/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr std::array<std::string_view, occupancyLimits> limitNames = {"blocks", "threads", "registers",
                                                                      "shared memory"};

/// One launch of a variant.
struct LaunchReport {
  const Launch *launch = nullptr;
  InstructionMix mix;
  std::optional<KernelResources> machine; ///< by ptxas, where it is installed
  unsigned registers = 0;                 ///< per thread: ptxas's number, or the most that the bounds allow
  Occupancy occupancy;
};

std::vector<LaunchReport> reportsOf(const Variant &variant, const Target &target,
                                    const std::optional<MachineCode> &machine) {
  std::vector<LaunchReport> reports;
  for (const Launch &launch : variant.launches) {
    LaunchReport report{&launch, mixOf(variant.ptx, launch), std::nullopt, 0, {}};
    if (machine)
      for (const KernelResources &kernel : machine->kernels)
        if (kernel.entry == launch.entry)
          report.machine = kernel;
    const LaunchBounds bounds = boundsOf(variant.ptx, launch.entry);
    report.registers = report.machine
                           ? report.machine->registers
                           : target.maxRegistersForBlock(launch.threads, std::max(1u, bounds.residents));
    report.occupancy = occupancyOf({launch.threads, report.registers, launch.sharedBytes}, target);
    reports.push_back(std::move(report));
  }
  return reports;
}

std::string counted(unsigned count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string fileAndLine(StringRef place) {
  return place.empty() ? "no line" : sys::path::filename(place).str();
}

void printResources(const LaunchReport &report) {
  const Launch &launch = *report.launch;
  outs() << fmt::format("{}: {} threads", launch.entry, launch.threads);
  if (launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 1)
    outs() << fmt::format(" in clusters of {}", fmt::join(launch.cluster, "x"));
  outs() << fmt::format(", {} bytes of shared memory\n", launch.sharedBytes);
  if (const auto &machine = report.machine)
    outs() << fmt::format(
        "  registers: {} per thread, {} bytes of stack, {} bytes of spill stores, {} of spill "
        "loads (ptxas)\n",
        machine->registers, machine->stackBytes, machine->spillStoreBytes, machine->spillLoadBytes);
  else
    outs() << fmt::format(
        "  registers: at most {} per thread, by its launch bounds; ptxas of the CUDA toolkit knows "
        "how many and what is spilled, but is not installed\n",
        report.registers);
  const Occupancy &occupancy = report.occupancy;
  std::vector<std::string> limits;
  for (size_t i = 0; i < occupancyLimits; ++i)
    limits.push_back(fmt::format("{} {}", limitNames[i], occupancy.most[i]));
  outs() << fmt::format("  occupancy: {} per multiprocessor, limited by {} ({})\n",
                        counted(occupancy.blocks(), "block"), limitNames[size_t(occupancy.limit())],
                        fmt::join(limits, ", "));
}

void printMemory(const LaunchReport &report) {
  const LaunchNames &names = report.launch->names;
  size_t width = 0;
  for (const SharedObject &object : names.shared)
    width = std::max(width, object.name.size());
  unsigned mbarriers = 0;
  std::vector<std::string> holders;
  if (!names.shared.empty())
    outs() << "  shared memory:\n";
  for (const SharedObject &object : names.shared) {
    std::string what = object.slots > 1 ? fmt::format("{} slots of {} bytes", object.slots, object.slotBytes)
                                        : fmt::format("{} bytes", object.slotBytes);
    if (object.kind != SharedObject::Kind::buffer) {
      const auto count = unsigned(object.bytes() / mbarrierBytes);
      what = counted(count, "mbarrier");
      mbarriers += count;
      holders.push_back(fmt::format("{} of {}", count, object.name));
    }
    outs() << fmt::format("    {:<{}}  at {:>6}: {}\n", object.name, width, object.offset, what);
  }
  outs() << "  barriers: " << counted(mbarriers, "mbarrier");
  if (!holders.empty())
    outs() << fmt::format(" ({})", fmt::join(holders, ", "));
  if (!report.mix.barriers.empty())
    outs() << fmt::format(", bar.sync {}", fmt::join(report.mix.barriers, ", "));
  outs() << (report.mix.computesBarriers ? " and others, one for each warpgroup\n" : "\n");
}

void printMix(const LaunchReport &report) {
  const InstructionMix &mix = report.mix;
  SmallVector<const InstructionMix::OfRole *> shown;
  for (const InstructionMix::OfRole &role : mix.roles)
    if (!report.launch->names.roles.empty() && (!role.name.empty() || role.kinds.total() != 0))
      shown.push_back(&role);
  outs() << "  instructions of the PTX, as they stand there:\n" << fmt::format("    {:<12} {:>7}", "", "all");
  const auto width = [](const InstructionMix::OfRole &role) { return std::max<size_t>(7, role.name.size()); };
  for (const InstructionMix::OfRole *role : shown)
    outs() << fmt::format(" {:>{}}", role->name.empty() ? "several" : role->name, width(*role));
  outs() << '\n';
  for (size_t kind = 0; kind < instructionKinds; ++kind) {
    if (mix.all.counts[kind] == 0)
      continue;
    outs() << fmt::format("    {:<12} {:>7}", toString(InstructionKind(kind)), mix.all.counts[kind]);
    for (const InstructionMix::OfRole *role : shown)
      outs() << fmt::format(" {:>{}}", role->kinds.counts[kind], width(*role));
    outs() << '\n';
  }
  outs() << fmt::format("    {:<12} {:>7}", "total", mix.all.total());
  for (const InstructionMix::OfRole *role : shown)
    outs() << fmt::format(" {:>{}}", role->kinds.total(), width(*role));
  outs() << '\n';
}

void printLines(const InstructionMix &mix, size_t most) {
  const size_t count = std::min(most, mix.lines.size());
  if (count == 0)
    return;
  outs() << "  lines with the most instructions:\n";
  for (const InstructionMix::OfLine &line : ArrayRef(mix.lines).take_front(count)) {
    std::vector<std::string> kinds;
    for (size_t kind = 0; kind < instructionKinds; ++kind)
      if (line.kinds.counts[kind] != 0)
        kinds.push_back(fmt::format("{} {}", toString(InstructionKind(kind)), line.kinds.counts[kind]));
    outs() << fmt::format("    {:<24} {:>6}: {}\n", fileAndLine(line.place), line.kinds.total(),
                          fmt::join(kinds, ", "));
  }
  if (mix.lines.size() > count)
    outs() << fmt::format("    and {} more; --lines shows them\n",
                          counted(unsigned(mix.lines.size() - count), "line"));
}

void printText(const LaunchReport &report, size_t lines) {
  printResources(report);
  for (const auto &[i, role] : enumerate(report.launch->names.roles)) {
    const unsigned registers = report.mix.roles[i].registers;
    outs() << fmt::format("  role {}: warps {} to {}{}\n", role.name, role.firstWarp,
                          role.firstWarp + role.warps - 1,
                          registers == 0 ? "" : fmt::format(", {} registers by setmaxnreg", registers));
  }
  printMemory(report);
  printMix(report);
  printLines(report.mix, lines);
}

void writeKinds(json::OStream &os, const KindCounts &kinds) {
  os.attributeObject("instructions", [&] {
    for (size_t kind = 0; kind < instructionKinds; ++kind)
      if (kinds.counts[kind] != 0)
        os.attribute(toString(InstructionKind(kind)), int64_t(kinds.counts[kind]));
  });
}

void writeShared(json::OStream &os, const LaunchNames &names) {
  os.attributeArray("shared", [&] {
    for (const SharedObject &object : names.shared)
      os.object([&] {
        os.attribute("name", object.name);
        os.attribute("kind", object.kind == SharedObject::Kind::buffer ? "buffer"
                             : object.kind == SharedObject::Kind::ring ? "channel"
                                                                       : "barrier");
        os.attribute("offset", int64_t(object.offset));
        os.attribute("slots", int64_t(object.slots));
        os.attribute("slot_bytes", int64_t(object.slotBytes));
      });
  });
}

void writeJson(json::OStream &os, const LaunchReport &report) {
  const Launch &launch = *report.launch;
  os.attribute("entry", launch.entry);
  os.attribute("threads", int64_t(launch.threads));
  os.attribute("shared_bytes", int64_t(launch.sharedBytes));
  os.attribute("registers", int64_t(report.registers));
  os.attribute("registers_by", report.machine ? "ptxas" : "launch bounds");
  if (report.machine) {
    os.attribute("stack_bytes", int64_t(report.machine->stackBytes));
    os.attribute("spill_store_bytes", int64_t(report.machine->spillStoreBytes));
    os.attribute("spill_load_bytes", int64_t(report.machine->spillLoadBytes));
  }
  os.attributeObject("occupancy", [&] {
    os.attribute("blocks", int64_t(report.occupancy.blocks()));
    os.attribute("limit", StringRef(limitNames[size_t(report.occupancy.limit())]));
    os.attributeObject("most", [&] {
      for (size_t i = 0; i < occupancyLimits; ++i)
        os.attribute(StringRef(limitNames[i]), int64_t(report.occupancy.most[i]));
    });
  });
  writeShared(os, launch.names);
  os.attributeArray("barriers", [&] {
    for (unsigned barrier : report.mix.barriers)
      os.value(int64_t(barrier));
  });
  writeKinds(os, report.mix.all);
  os.attributeArray("roles", [&] {
    for (const auto &[role, kinds] : zip(launch.names.roles, report.mix.roles))
      os.object([&] {
        os.attribute("name", role.name);
        os.attribute("first_warp", int64_t(role.firstWarp));
        os.attribute("warps", int64_t(role.warps));
        os.attribute("registers", int64_t(kinds.registers));
        writeKinds(os, kinds.kinds);
      });
  });
  os.attributeArray("lines", [&] {
    for (const InstructionMix::OfLine &line : report.mix.lines)
      os.object([&] {
        os.attribute("place", line.place);
        writeKinds(os, line.kinds);
      });
  });
}

/// ptxas's opinion, where it is installed.
Expected<std::optional<MachineCode>> assembled(const Variant &variant, const Target &target) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return std::optional<MachineCode>();
  Expected<MachineCode> code = assemble(*ptxas, variant.ptx, target);
  if (!code)
    return code.takeError();
  return std::optional(std::move(*code));
}

/// What ptxas spills is a remark as the compiler's are, without a place.
void addSpills(std::vector<Remark> &remarks, const std::optional<MachineCode> &machine) {
  if (!machine)
    return;
  for (const KernelResources &kernel : machine->kernels)
    if (kernel.spillStoreBytes + kernel.spillLoadBytes != 0)
      remarks.push_back(
          {tile::toString(tile::RemarkId::registerSpills).str(), "",
           fmt::format("'{}' needs more than {} registers of a thread: ptxas spills {} bytes and loads {}; "
                       "smaller tiles or more warps take less",
                       kernel.entry, kernel.registers, kernel.spillStoreBytes, kernel.spillLoadBytes)});
}

} // namespace

InspectCommand::InspectCommand()
    : command("inspect", "Show what a compiled kernel takes of the machine, and its instructions; or what a "
                         "library of 'tlc build' or an artifact of 'tlc wrap' has"),
      programs(command), lines("lines", cl::sub(command), cl::value_desc("number"), cl::init(10),
                               cl::desc("How many lines of the source to show (default 10)")),
      json("json", cl::sub(command), cl::desc("One JSON object")) {}

ExitCode InspectCommand::execute() const {
  if (namesLibrary(programs.name()))
    return inspectLibrary(programs.name(), json ? Format::json : Format::text);
  std::variant<SourceProgram, ExitCode> opened = programs.open(json ? Format::json : Format::text);
  if (const ExitCode *code = std::get_if<ExitCode>(&opened))
    return *code;
  SourceProgram &program = *std::get_if<SourceProgram>(&opened);
  const Heartbeat heartbeat([&] { return "compiling " + program.source; });
  Compiler compiler(program.options);
  mlir::FailureOr<Artifact> artifact = compiler.compile(*program.input.module, program.source);
  programs.report(compiler);
  if (mlir::failed(artifact))
    return programs.fail(program, compiler, json ? Format::json : Format::text);
  const Variant &variant =
      program.alignment == Alignment::aligned ? artifact->variants.front() : artifact->variants.back();
  const Target &target = *findTarget(artifact->target);
  Expected<std::optional<MachineCode>> machine = assembled(variant, target);
  if (!machine)
    return fail(toString(machine.takeError()));
  addSpills(artifact->remarks, *machine);
  const std::vector<LaunchReport> reports = reportsOf(variant, target, *machine);
  if (json) {
    json::OStream os(outs());
    os.object([&] {
      os.attribute("program", artifact->name);
      os.attribute("target", artifact->target);
      os.attribute("variant", variant.name);
      os.attributeArray("launches", [&] {
        for (const LaunchReport &report : reports)
          os.object([&] { writeJson(os, report); });
      });
      os.attributeArray("remarks", [&] {
        for (const Remark &remark : artifact->remarks)
          os.object([&] {
            os.attribute("id", remark.id);
            os.attribute("place", remark.location);
            os.attribute("message", remark.message);
          });
      });
      os.attributeArray("messages", [&] {
        if (*machine)
          for (const std::string &message : (*machine)->messages)
            os.value(message);
      });
    });
    outs() << '\n';
    return ExitCode::success;
  }
  outs() << fmt::format("{}, variant {} of {}, for {}\n", artifact->name, variant.name,
                        counted(unsigned(artifact->variants.size()), "variant"), artifact->target);
  for (const LaunchReport &report : reports)
    printText(report, lines);
  for (const Remark &remark : artifact->remarks)
    outs() << fmt::format("remark: {}: [{}] {}\n", fileAndLine(remark.location), remark.id, remark.message);
  if (*machine)
    for (const std::string &message : (*machine)->messages)
      outs() << message << '\n';
  return ExitCode::success;
}
