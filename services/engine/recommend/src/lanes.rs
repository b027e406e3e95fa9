//! Arithmetic on rows of `f32` in blocks of sixteen, which compilers turn into vector instructions.
//!
//! A [`Kernel`] is written once, without intrinsics, and compiled twice on x86-64: for AVX2 with fused multiply-add, and
//! for any processor. Its functions are `inline(always)`, so that they take on the instructions of the caller. The two
//! round differently; each gives the same result every time.

use std::array;

/// Numbers in a block: a cache line.
pub(crate) const LANES: usize = 16;

/// A block of a row, aligned so that it never lies across two cache lines.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);

    /// These, and a row's times those of another, lane by lane. By value: what lies in memory might overlap.
    #[inline(always)]
    pub(crate) fn add_product<const FMA: bool>(self, row: Self, with: Self) -> Self {
        Self(array::from_fn(|lane| multiply_add::<FMA>(row.0[lane], with.0[lane], self.0[lane])))
    }

    /// A block of one number.
    #[inline(always)]
    pub(crate) fn all(number: f32) -> Self {
        Self([number; LANES])
    }

    /// The sum of all numbers, by halves.
    #[inline(always)]
    fn sum(self) -> f32 {
        let all = self.0;
        let eight: [f32; 8] = array::from_fn(|lane| all[lane] + all[lane + 8]);
        let four: [f32; 4] = array::from_fn(|lane| eight[lane] + eight[lane + 4]);
        (four[0] + four[2]) + (four[1] + four[3])
    }
}

/// The numbers of blocks, in their order.
pub(crate) fn flat(blocks: &[Lanes]) -> &[f32] {
    let length = blocks.len() * LANES;
    // SAFETY: a block is exactly its array of `f32` (`repr(C)`, size 64, alignment 64), so that blocks that follow each
    // other are `length` initialised numbers; the lifetime is that of the blocks.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts(blocks.as_ptr().cast::<f32>(), length)
    }
}

/// A piece of work that is compiled for the instructions that are there.
pub(crate) trait Kernel {
    /// What it computes.
    type Output;

    /// Does it; `FMA` says whether a fused multiply-add is one instruction. Has to be `inline(always)`.
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Runs a kernel with the widest instructions of this processor that it was compiled for.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn wide<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<true>()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions that `wide` was compiled for.
            #[allow(unsafe_code)]
            return unsafe { wide(kernel) };
        }
    }
    portable(kernel)
}

/// Runs a kernel with the instructions that every processor of this architecture has.
fn portable<K: Kernel>(kernel: K) -> K::Output {
    if cfg!(target_arch = "aarch64") { kernel.run::<true>() } else { kernel.run::<false>() }
}

/// `a * b + c`, fused where that is one instruction.
#[inline(always)]
fn multiply_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Asks for a row, so that it is near when it is needed.
#[inline(always)]
pub(crate) fn prefetch(row: &[Lanes]) {
    #[cfg(target_arch = "x86_64")]
    for block in row {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint which reads nothing; every x86-64 processor has it.
        #[allow(unsafe_code)]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(block).cast::<i8>());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}

/// Dot products of `N` rows with one; rows are at least as long as that.
#[inline(always)]
pub(crate) fn dots<const FMA: bool, const N: usize>(rows: [&[Lanes]; N], with: &[Lanes]) -> [f32; N] {
    let mut sums = [Lanes::ZERO; N];
    for (block, with) in with.iter().enumerate() {
        for (sum, row) in sums.iter_mut().zip(rows) {
            *sum = sum.add_product::<FMA>(row[block], *with);
        }
    }
    sums.map(Lanes::sum)
}

/// The dot product of two rows.
#[inline(always)]
pub(crate) fn dot<const FMA: bool>(row: &[Lanes], with: &[Lanes]) -> f32 {
    dots::<FMA, 1>([row], with)[0]
}

/// Adds `N` rows, each times its factor, to a sum.
#[inline(always)]
pub(crate) fn add_scaled<const FMA: bool, const N: usize>(rows: [&[Lanes]; N], factors: [f32; N], sum: &mut [Lanes]) {
    for (block, sum) in sum.iter_mut().enumerate() {
        let mut total = *sum;
        for (row, factor) in rows.iter().zip(factors) {
            total = total.add_product::<FMA>(row[block], Lanes::all(factor));
        }
        *sum = total;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Both<'a>(&'a [Lanes], &'a [Lanes]);

    impl Kernel for Both<'_> {
        type Output = (f32, Vec<Lanes>);

        #[inline(always)]
        fn run<const FMA: bool>(self) -> Self::Output {
            let mut sum = self.1.to_vec();
            add_scaled::<FMA, 2>([self.0, self.1], [2.0, -1.0], &mut sum);
            (dot::<FMA>(self.0, self.1), sum)
        }
    }

    fn rows() -> (Vec<Lanes>, Vec<Lanes>) {
        let row =
            |step: f32| [0.0, 16.0].map(|first| Lanes(array::from_fn(|lane| step * (first + lane as f32)))).to_vec();
        (row(1.0), row(2.0))
    }

    #[test]
    fn a_kernel_computes_the_same_with_and_without_wide_instructions() {
        let (a, b) = rows();
        // twice the squares of 0 to 31; 2 a - b + b is 2 a
        let expected = (2.0 * (31 * 32 * 63 / 6) as f32, b.clone());
        assert_eq!(dispatch(Both(&a, &b)), expected);
        assert_eq!(portable(Both(&a, &b)), expected);
    }

    #[test]
    fn blocks_are_flat_numbers_in_their_order() {
        let (a, _) = rows();
        assert_eq!(flat(&a), (0..32).map(|number| number as f32).collect::<Vec<_>>());
        assert_eq!(flat(&[]), [0.0; 0]);
    }
}
