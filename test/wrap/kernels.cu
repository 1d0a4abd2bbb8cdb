// SPDX-License-Identifier: Apache-2.0
// Kernels of another compiler: kernels.ptx is what `nvcc -ptx -arch=sm_80 kernels.cu` makes of them.
extern "C" __global__ void saxpy(long long n, float a, const float *x, float *y) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}

/// Blocks of 16 x 16 threads; rows of `in` are `stride` elements apart.
extern "C" __global__ void __launch_bounds__(256)
    transpose(int rows, int columns, int stride, const float *in, float *out) {
  extern __shared__ float tile[];
  const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row < rows && column < columns)
    tile[threadIdx.y * 17 + threadIdx.x] = in[row * (long long)stride + column];
  __syncthreads();
  const int outRow = blockIdx.x * 16 + threadIdx.y, outColumn = blockIdx.y * 16 + threadIdx.x;
  if (outRow < columns && outColumn < rows)
    out[outRow * (long long)rows + outColumn] = tile[threadIdx.x * 17 + threadIdx.y];
}
