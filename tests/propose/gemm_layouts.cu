// Facts about the gemm family's layouts, checked by the compiler. gemm_device_test.cc appends this to a rendered candidate and builds it.
#include <cutegen/gemm_mma_sync.cuh>
#include <cutegen/gemm_wgmma.cuh>

namespace layout_facts {
using namespace cutegen::gemm;

// 16-byte chunk c of row r lies at chunk c ^ (r % 8): the 128-byte swizzle of wgmma's descriptors.
constexpr bool swizzled() {
  for (int row = 0; row < kTileRows; row += 3)
    for (int chunk = 0; chunk < kTileK / 8; ++chunk)
      if (tile_offset(row, 8 * chunk + 5) != row * kTileK + (chunk ^ row % 8) * 8 + 5) return false;
  return true;
}
static_assert(swizzled(), "tile_offset");
// Neighbours in an accumulator fragment are neighbours in N, from an even column: PackedOutput stores them as pairs.
template <class Mma>
constexpr bool pairs_are_columns(int threads) {
  for (int t = 0; t < threads; t += 37) {
    auto coords = Mma{}.get_slice(t).partition_C(cute::make_identity_tensor(cute::Shape<cute::_128, cute::_128>{}));
    for (int i = 0; i < cute::size(coords); i += 2)
      if (cute::get<0>(coords(i)) != cute::get<0>(coords(i + 1)) || cute::get<1>(coords(i)) + 1 != cute::get<1>(coords(i + 1)) ||
          cute::get<1>(coords(i)) % 2)
        return false;
  }
  return true;
}
using WgmmaTiles = decltype(cute::make_tiled_mma(cute::SM90_64x128x16_F32F16F16_SS<cute::GMMA::Major::K, cute::GMMA::Major::K>{},
                                                 cute::Layout<cute::Shape<cute::_2, cute::_1, cute::_1>>{}));
static_assert(pairs_are_columns<WgmmaTiles>(256), "wgmma");
using MmaSyncTiles =
    decltype(cute::make_tiled_mma(cute::SM80_16x8x16_F32F16F16F32_TN{}, cute::Layout<cute::Shape<cute::_2, cute::_4, cute::_1>>{},
                                  cute::Tile<cute::_32, cute::_64, cute::_16>{}));
static_assert(pairs_are_columns<MmaSyncTiles>(256), "mma");
// A scaled row's largest magnitude is in [2^14, 2^15); what a pair cannot hold is marked.
static_assert(scale_exponent(0) == 0 && scale_exponent(0x3f800000) == 14 && scale_exponent(0x7f800000) == kUnpackable &&
                  scale_exponent(0x7fc00000) == kUnpackable && scale_exponent(1) == kUnpackable && scale_exponent(0x7f7fffff) == 14 - 127,
              "scale_exponent");
// Every tile is some CTA's, once.
constexpr bool tiles_once() {
  bool seen[5 * 3] = {};
  for (int i = 0; i < 15; ++i) {
    auto t = tile_of<5, 3, 4>(i);
    bool& s = seen[cute::get<0>(t) * 3 + cute::get<1>(t)];
    if (s) return false;
    s = true;
  }
  return true;
}
static_assert(tiles_once(), "tile_of");

}  // namespace layout_facts
