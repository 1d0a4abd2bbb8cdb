// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/ArchiveFile.h"

#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::aot;

static tlc::Error invalid(const Twine &message) { return {ErrorKind::invalidArgument, message.str()}; }

/// Appends the images in an object. Linkers put those of several objects into one section.
static Result<void> appendKernels(MemoryBufferRef buffer, std::vector<KernelView> &kernels) {
  Expected<std::unique_ptr<object::ObjectFile>> object = object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return invalid(toString(object.takeError()));
  for (const object::SectionRef &section : (*object)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return invalid(toString(name.takeError()));
    if (*name != StringRef(imageSection))
      continue;
    Expected<StringRef> content = section.getContents();
    if (!content)
      return invalid(toString(content.takeError()));
    while (!content->empty()) {
      Result<KernelView> kernel =
          viewImage({reinterpret_cast<const std::byte *>(content->data()), content->size()});
      if (!kernel)
        return kernel.error();
      *content = content->drop_front(std::min(imageStride(kernel->bytes), content->size()));
      kernels.push_back(std::move(*kernel));
    }
  }
  return {};
}

Result<std::string> aot::writeArchive(ArrayRef<ArchiveMember> members) {
  std::vector<NewArchiveMember> entries;
  for (const ArchiveMember &member : members)
    entries.emplace_back(MemoryBufferRef(member.object, member.name));
  Expected<std::unique_ptr<MemoryBuffer>> bytes =
      writeArchiveToBuffer(entries, SymtabWritingMode::NormalSymtab, object::Archive::K_GNU,
                           /*Deterministic=*/true, /*Thin=*/false);
  if (!bytes)
    return invalid(toString(bytes.takeError()));
  return (*bytes)->getBuffer().str();
}

Result<std::vector<KernelView>> aot::kernelsIn(StringRef bytes) {
  std::vector<KernelView> kernels;
  const MemoryBufferRef buffer(bytes, "");
  if (!bytes.starts_with(object::ArchiveMagic)) {
    if (Result<void> done = appendKernels(buffer, kernels); !done)
      return done.error();
    return kernels;
  }
  Expected<std::unique_ptr<object::Archive>> archive = object::Archive::create(buffer);
  if (!archive)
    return invalid(toString(archive.takeError()));
  llvm::Error error = llvm::Error::success();
  Result<void> done;
  for (const object::Archive::Child &child : (*archive)->children(error)) {
    Expected<MemoryBufferRef> member = child.getMemoryBufferRef();
    if (!member)
      done = invalid(toString(member.takeError()));
    else if (member->getBufferEnd() > bytes.end()) // which LLVM does not check
      done = invalid("the archive ends inside of its member '" + member->getBufferIdentifier() + "'");
    else
      done = appendKernels(*member, kernels);
    if (!done)
      break;
  }
  if (error)
    return invalid(llvm::toString(std::move(error)));
  if (!done)
    return done.error();
  return kernels;
}
