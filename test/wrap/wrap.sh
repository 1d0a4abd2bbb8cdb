# SPDX-License-Identifier: Apache-2.0
# PTX of nvcc becomes an artifact and a library.
set -e
# [wrap]
nvcc -ptx -arch=sm_80 kernels.cu
tlc wrap saxpy.txt --ptx kernels.ptx --out saxpy.artifact
tlc inspect saxpy.artifact
tlc build --emulator --out libnv.a --header nv.h saxpy.artifact
# [wrap]
